package main

import (
	"fmt"

	"klamm/internal/kafkarecord/schema"
)

// primitive says how a type of the schema looks in Go and how few bytes it takes.
type primitive struct {
	goType string
	method string // of encoder and decoder
	size   int    // fewest bytes of one value, in any version
}

func primitiveOf(name string) (primitive, bool) {
	p, ok := map[string]primitive{
		"bool": {"bool", "bool", 1}, "int8": {"int8", "int8", 1}, "int16": {"int16", "int16", 2},
		"int32": {"int32", "int32", 4}, "int64": {"int64", "int64", 8}, "uint16": {"uint16", "uint16", 2},
		"uint32": {"uint32", "uint32", 4}, "float64": {"float64", "float64", 8},
		"string": {"string", "string", 1}, "bytes": {"[]byte", "bytes", 1}, "uuid": {"UUID", "uuid", 16},
	}[name]
	return p, ok
}

func nullable(f schema.Field) bool { return f.Nullable.Low <= f.Nullable.High }

func (s structure) nestedName(f schema.Field) string { return s.m.Name + f.Type }

func (s structure) goType(f schema.Field) string {
	p, ok := primitiveOf(f.Type)
	switch {
	case ok && f.Array:
		return "[]" + p.goType
	case ok && f.Type == "string" && nullable(f):
		return "*string"
	case ok:
		return p.goType
	case f.Array:
		return "[]" + s.nestedName(f)
	case nullable(f):
		return "*" + s.nestedName(f)
	}
	return s.nestedName(f)
}

// defaultValue is the Go expression of a default that is not Go's zero value, else "".
func (s structure) defaultValue(f schema.Field) string {
	_, ok := primitiveOf(f.Type)
	switch {
	case f.Default == "null":
		return ""
	case f.Default != "" && f.Type == "string":
		return fmt.Sprintf("%q", f.Default)
	case f.Default != "":
		return f.Default
	case nullable(f) && (f.Array || f.Type == "bytes"):
		return s.goType(f) + "{}"
	case nullable(f) && f.Type == "string":
		return "new(string)"
	case nullable(f):
		return fmt.Sprintf("func() *%s { v := New%s(); return &v }()", s.nestedName(f), s.nestedName(f))
	case !ok && !f.Array:
		return fmt.Sprintf("New%s()", s.nestedName(f))
	}
	return ""
}

// nonDefault is the Go condition for "the field differs from its default".
func (s structure) nonDefault(f schema.Field) string {
	x := "r." + goName(f.Name)
	isNull := nullable(f) && f.Default == "null"
	_, ok := primitiveOf(f.Type)
	switch {
	case isNull:
		return x + " != nil"
	case nullable(f) && (f.Array || f.Type == "bytes"):
		return fmt.Sprintf("%s == nil || len(%s) > 0", x, x)
	case nullable(f) && f.Type == "string":
		return fmt.Sprintf("%s == nil || *%s != \"\"", x, x)
	case nullable(f):
		return fmt.Sprintf("%s == nil || !reflect.DeepEqual(*%s, New%s())", x, x, s.nestedName(f))
	case f.Array || f.Type == "bytes":
		return fmt.Sprintf("len(%s) > 0", x)
	case f.Type == "uuid":
		return x + " != (UUID{})"
	case f.Type == "string":
		return fmt.Sprintf("%s != %q", x, f.Default)
	case f.Type == "bool" && f.Default == "true":
		return "!" + x
	case f.Type == "bool":
		return x
	case !ok:
		return fmt.Sprintf("!reflect.DeepEqual(%s, New%s())", x, s.nestedName(f))
	case f.Default == "":
		return x + " != 0"
	}
	return fmt.Sprintf("%s != %s", x, f.Default)
}

// read is the statement that decodes a field.
func (s structure) read(f schema.Field) string {
	x := "r." + goName(f.Name)
	p, ok := primitiveOf(f.Type)
	switch {
	case f.Array && ok:
		return fmt.Sprintf("%s = decodeList(d, %d, %t, (*decoder).%s)\n", x, p.size, nullable(f), p.method)
	case f.Array:
		n := s.nestedName(f)
		return fmt.Sprintf("%s = decodeList(d, %d, %t, func(d *decoder) (v %s) { v.decode(d, version); return v })\n", x, s.minSize(f.Type), nullable(f), n)
	case ok && nullable(f):
		return fmt.Sprintf("%s = d.nullable%s()\n", x, exported(p.method))
	case ok:
		return fmt.Sprintf("%s = d.%s()\n", x, p.method)
	case nullable(f):
		return fmt.Sprintf("%s = nil\nif d.present(%t) {\n%s = new(%s)\n%s.decode(d, version)\n}\n", x, f.Tag >= 0, x, s.nestedName(f), x)
	}
	return fmt.Sprintf("%s.decode(d, version)\n", x)
}

// put is the statement that encodes a field.
func (s structure) put(f schema.Field) string {
	x := "r." + goName(f.Name)
	p, ok := primitiveOf(f.Type)
	switch {
	case f.Array && ok:
		return fmt.Sprintf("encodeList(e, %s, %t, (*encoder).%s)\n", x, nullable(f), p.method)
	case f.Array:
		return fmt.Sprintf("encodeList(e, %s, %t, func(e *encoder, v %s) { v.encode(e, version) })\n", x, nullable(f), s.nestedName(f))
	case ok && nullable(f):
		return fmt.Sprintf("e.nullable%s(%s)\n", exported(p.method), x)
	case ok:
		return fmt.Sprintf("e.%s(%s)\n", p.method, x)
	case nullable(f):
		return fmt.Sprintf("if e.present(%s != nil, %t) {\n%s.encode(e, version)\n}\n", x, f.Tag >= 0, x)
	}
	return fmt.Sprintf("%s.encode(e, version)\n", x)
}

// fieldValue is the Go expression of a field's value for printing.
func (s structure) fieldValue(f schema.Field) string {
	x := "r." + goName(f.Name)
	_, ok := primitiveOf(f.Type)
	switch {
	case f.Array && !ok && nullable(f):
		return fmt.Sprintf("func() any { if %s == nil { return nil }; return structures(%s) }()", x, x)
	case f.Array && !ok:
		return fmt.Sprintf("structures(%s)", x)
	case nullable(f) && (f.Array || f.Type == "bytes"):
		return fmt.Sprintf("optionalList(%s)", x)
	case nullable(f) && ok:
		return fmt.Sprintf("optional(%s)", x)
	case ok:
		return x
	case nullable(f):
		return fmt.Sprintf("func() any { if %s == nil { return nil }; return %s }()", x, x)
	}
	return "&" + x
}

// minSize is the fewest bytes a structure takes in any version; at least 1.
func (s structure) minSize(name string) int {
	size := 0
	for _, f := range s.m.Struct(name).Fields {
		p, ok := primitiveOf(f.Type)
		switch {
		case f.Tag >= 0 || f.Versions != s.m.Versions:
		case f.Array || nullable(f):
			size++
		case ok:
			size += p.size
		default:
			size += s.minSize(f.Type)
		}
	}
	if s.m.Flexible == s.m.Versions {
		size++
	}
	return max(size, 1)
}

func exported(method string) string { return string(method[0]-32) + method[1:] }
