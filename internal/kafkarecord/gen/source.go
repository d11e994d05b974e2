package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"klamm/internal/kafkarecord/schema"
)

// structure is one Go struct to write: a message or one of its nested structures.
type structure struct {
	goName string
	what   string // doc comment without the name
	fields []schema.Field
	m      *schema.Message
}

func source(w *bytes.Buffer, messages []*schema.Message) error {
	var body bytes.Buffer
	for _, m := range messages {
		if m.Doc == "" {
			return fmt.Errorf("message %s has no doc comment", m.Name)
		}
		top := structure{m.Name, m.Doc, m.Fields, m}
		top.write(&body)
		message(&body, m)
		for _, s := range m.Structs {
			nested := structure{m.Name + s.Name, fmt.Sprintf("Part of %s.", m.Name), s.Fields, m}
			nested.write(&body)
		}
	}
	if bytes.Contains(body.Bytes(), []byte("reflect.")) {
		w.WriteString("import \"reflect\"\n\n")
	}
	_, err := body.WriteTo(w)
	return err
}

// message writes the exported methods of a message.
func message(w *bytes.Buffer, m *schema.Message) {
	kind := "Kind" + strings.ToUpper(string(m.Kind[:1])) + string(m.Kind[1:])
	flexible := "false"
	if m.Flexible.Low <= m.Flexible.High {
		flexible = fmt.Sprintf("version >= %d", m.Flexible.Low)
	}
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("// Schema implements Message.\nfunc (r *%s) Schema() Schema {", m.Name)
	p("return Schema{%q, %s, %d, %d, %d}\n}\n", m.Name, kind, m.Key, m.Versions.Low, m.Versions.High)
	p("// AppendTo implements Message.\nfunc (r *%s) AppendTo(dst []byte, version int16) ([]byte, error) {", m.Name)
	p("return appendMessage(r, %s, dst, version, r.encode)\n}\n", flexible)
	p("// ReadFrom implements Message.\nfunc (r *%s) ReadFrom(src []byte, version int16) error {", m.Name)
	p("return readMessage(r, %s, src, version, r.decode)\n}\n", flexible)
	if m.Kind == schema.Metadata {
		p("func (r *%s) metadataRecord() {}\n", m.Name)
	}
}

func (s structure) write(w *bytes.Buffer) {
	s.writeType(w)
	s.writeNew(w)
	s.writeDecode(w)
	s.writeEncode(w)
	s.writeFields(w)
}

func (s structure) flexible() bool { return s.m.Flexible.Low <= s.m.Flexible.High }

func (s structure) writeType(w *bytes.Buffer) {
	fmt.Fprintf(w, "// %s: %s\ntype %s struct {\n", s.goName, s.what, s.goName)
	for _, f := range s.fields {
		note := ""
		if f.Versions != s.m.Versions {
			note = " // versions " + strings.TrimSuffix(f.Versions.String(), fmt.Sprintf("-%d", s.m.Versions.High))
			if f.Versions.High == s.m.Versions.High {
				note += "+"
			}
		}
		fmt.Fprintf(w, "%s %s%s\n", goName(f.Name), s.goType(f), note)
	}
	if s.flexible() {
		w.WriteString("UnknownTags []Tag // tagged fields this build does not know\n")
	}
	w.WriteString("}\n\n")
}

func (s structure) writeNew(w *bytes.Buffer) {
	result, amp := s.goName, ""
	if s.goName == s.m.Name {
		result, amp = "*"+s.goName, "&"
	}
	fmt.Fprintf(w, "// New%s returns one whose fields have Kafka's defaults.\nfunc New%s() %s {\nreturn %s%s{\n", s.goName, s.goName, result, amp, s.goName)
	for _, f := range s.fields {
		if d := s.defaultValue(f); d != "" {
			fmt.Fprintf(w, "%s: %s,\n", goName(f.Name), d)
		}
	}
	w.WriteString("}\n}\n\n")
}

func (s structure) writeDecode(w *bytes.Buffer) {
	star := ""
	if s.goName == s.m.Name {
		star = "*"
	}
	fmt.Fprintf(w, "func (r *%s) decode(d *decoder, version int16) {\n*r = %sNew%s()\n", s.goName, star, s.goName)
	for _, f := range s.fields {
		if f.Tag >= 0 {
			continue
		}
		s.guard(w, f, s.read(f), "")
	}
	if s.flexible() {
		s.flexibleGuard(w, s.readTags())
	}
	w.WriteString("}\n\n")
}

func (s structure) readTags() string {
	var w strings.Builder
	tagged := false
	for _, f := range s.fields {
		if f.Tag < 0 {
			continue
		}
		if !tagged {
			w.WriteString("r.UnknownTags = d.tags(func(d *decoder, tag uint32) bool {\nswitch ")
			w.WriteString("{\n")
			tagged = true
		}
		fmt.Fprintf(&w, "case tag == %d%s:\n%s", f.Tag, s.condition(f.Versions, " && "), s.read(f))
	}
	if !tagged {
		return "r.UnknownTags = d.tags(func(*decoder, uint32) bool { return false })\n"
	}
	w.WriteString("default:\nreturn false\n}\nreturn true\n})\n")
	return w.String()
}

func (s structure) writeEncode(w *bytes.Buffer) {
	fmt.Fprintf(w, "func (r *%s) encode(e *encoder, version int16) {\n", s.goName)
	for _, f := range s.fields {
		if f.Tag >= 0 {
			continue
		}
		s.guard(w, f, s.put(f), s.refusal(f))
	}
	for _, f := range s.fields {
		if f.Tag < 0 {
			continue
		}
		put := fmt.Sprintf("if %s {\ne.tag(%d, func(e *encoder) {\n%s})\n}\n", s.nonDefault(f), f.Tag, s.put(f))
		s.guard(w, f, put, s.refusal(f))
	}
	if s.flexible() {
		s.flexibleGuard(w, "e.endTags(r.UnknownTags)\n")
	}
	w.WriteString("}\n\n")
}

// refusal is the statement for a version that lacks a field which may not be dropped.
func (s structure) refusal(f schema.Field) string {
	if f.Ignorable {
		return ""
	}
	return fmt.Sprintf("if %s {\ne.fail(%q)\n}\n", s.nonDefault(f), f.Name+" is set, which this version lacks")
}

func (s structure) writeFields(w *bytes.Buffer) {
	fmt.Fprintf(w, "// Fields lists the fields that exist in the version.\nfunc (r *%s) Fields(version int16) []Field {\nvar f []Field\n", s.goName)
	for _, f := range s.fields {
		add := fmt.Sprintf("f = append(f, Field{%q, %s})\n", lowerFirst(f.Name), s.fieldValue(f))
		if f.Tag >= 0 {
			add = fmt.Sprintf("if %s {\n%s}\n", s.nonDefault(f), add)
		}
		s.guard(w, f, add, "")
	}
	w.WriteString("return f\n}\n\n")
}

// guard writes the statement under the field's version condition.
func (s structure) guard(w *bytes.Buffer, f schema.Field, then, otherwise string) {
	c := s.condition(f.Versions, "")
	if c == "" {
		w.WriteString(then)
		return
	}
	fmt.Fprintf(w, "if %s {\n%s}", c, then)
	if otherwise != "" {
		fmt.Fprintf(w, " else %s", otherwise)
		return
	}
	w.WriteString("\n")
}

func (s structure) flexibleGuard(w *bytes.Buffer, then string) {
	if s.m.Flexible.Low <= s.m.Versions.Low {
		w.WriteString(then)
		return
	}
	fmt.Fprintf(w, "if version >= %d {\n%s}\n", s.m.Flexible.Low, then)
}

// condition is the Go expression for "version is in r", empty when it always is.
func (s structure) condition(r schema.Range, prefix string) string {
	var parts []string
	switch {
	case r.Low == r.High && r.High < s.m.Versions.High:
		parts = append(parts, fmt.Sprintf("version == %d", r.Low))
	default:
		if r.Low > s.m.Versions.Low {
			parts = append(parts, fmt.Sprintf("version >= %d", r.Low))
		}
		if r.High < s.m.Versions.High {
			parts = append(parts, fmt.Sprintf("version <= %d", r.High))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return prefix + strings.Join(parts, " && ")
}

func lowerFirst(s string) string { return string(unicode.ToLower(rune(s[0]))) + s[1:] }

// goName writes Kafka's field name with Go's initialisms.
func goName(name string) string {
	var words []string
	start := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || unicode.IsUpper(rune(name[i])) {
			words = append(words, name[start:i])
			start = i
		}
	}
	initialisms := map[string]string{"Id": "ID", "Ids": "IDs", "Isr": "ISR", "Elr": "ELR", "Crc": "CRC"}
	for i, word := range words {
		if up, ok := initialisms[word]; ok {
			words[i] = up
		}
	}
	return strings.Join(words, "")
}
