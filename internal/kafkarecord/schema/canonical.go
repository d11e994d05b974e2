package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Canonical writes a message so that two descriptions of the same bytes give the same text,
// whatever notation they came from. Structures follow in the order in which fields refer to them.
func (m *Message) Canonical() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s key %d versions %s flexible %s\n", m.Kind, m.Name, m.Key, m.Versions, m.Flexible)
	writeFields(&b, m.Fields)
	var queue []string
	collect := func(fields []Field) {
		for _, f := range fields {
			if m.Struct(f.Type) != nil && !slices.Contains(queue, f.Type) {
				queue = append(queue, f.Type)
			}
		}
	}
	collect(m.Fields)
	for i := 0; i < len(queue); i++ {
		s := m.Struct(queue[i])
		fmt.Fprintf(&b, "struct %s\n", s.Name)
		writeFields(&b, s.Fields)
		collect(s.Fields)
	}
	return b.String()
}

// Struct returns the structure of that name or nil.
func (m *Message) Struct(name string) *Struct {
	for i := range m.Structs {
		if m.Structs[i].Name == name {
			return &m.Structs[i]
		}
	}
	return nil
}

func writeFields(b *strings.Builder, fields []Field) {
	for _, f := range fields {
		array := ""
		if f.Array {
			array = "[]"
		}
		fmt.Fprintf(b, "  %s %s%s %s null %s tag %d = %q ignorable %t\n",
			f.Name, array, f.Type, f.Versions, f.Nullable, f.Tag, normalDefault(f.Default), f.Ignorable)
	}
}

// normalDefault maps the spellings of a zero default to the empty string.
func normalDefault(s string) string {
	if s == "0" || s == "false" {
		return ""
	}
	return s
}
