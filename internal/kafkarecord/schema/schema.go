// Package schema reads the schema text of Kafka's internal records. The text lies beside this file
// and is described in README.md. The generator and the comparison with Kafka's own definitions use
// it; nothing at run time does.
package schema

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

//go:embed *.txt
var texts embed.FS

// Kind says where a message appears.
type Kind string

// Kinds of messages.
const (
	Metadata Kind = "metadata" // framed record of __cluster_metadata-0
	Key      Kind = "key"      // record key of a coordinator topic
	Value    Kind = "value"    // record value of a coordinator topic
	Data     Kind = "data"     // anything else
)

// Range is a range of versions, both ends inclusive; empty when Low > High.
type Range struct{ Low, High int16 }

// None is the empty range.
var None = Range{0, -1}

// Contains reports whether version v lies in the range.
func (r Range) Contains(v int16) bool { return r.Low <= v && v <= r.High }

// Within clips the range to outer.
func (r Range) Within(outer Range) Range {
	c := Range{max(r.Low, outer.Low), min(r.High, outer.High)}
	if c.Low > c.High {
		return None
	}
	return c
}

func (r Range) String() string {
	if r.Low > r.High {
		return "none"
	}
	return fmt.Sprintf("%d-%d", r.Low, r.High)
}

// ParseRange reads "3", "0-4", "2+" or "none".
func ParseRange(s string) (Range, error) {
	if s == "none" {
		return None, nil
	}
	low, high, dash := strings.Cut(s, "-")
	if open, plus := strings.CutSuffix(s, "+"); plus {
		low, high, dash = open, strconv.Itoa(math.MaxInt16), true
	}
	l, err := strconv.ParseInt(low, 10, 16)
	if err != nil || !dash {
		return Range{int16(l), int16(l)}, err
	}
	h, err := strconv.ParseInt(high, 10, 16)
	return Range{int16(l), int16(h)}, err
}

// Message is one message of a schema file.
type Message struct {
	Kind     Kind
	Name     string
	File     string // schema file it came from, without extension
	Doc      string
	Key      int // api key or record type, -1 when it has none
	Versions Range
	Flexible Range
	Fields   []Field
	Structs  []Struct
}

// Struct is a structure used by the fields of a message.
type Struct struct {
	Name   string
	Fields []Field
}

// Field is one field of a message or structure.
type Field struct {
	Name      string
	Type      string // without [] and ?
	Array     bool
	Nullable  Range
	Versions  Range
	Tag       int // -1 when not tagged
	Default   string
	Ignorable bool
}

// All reads every schema file of this package, sorted by file name.
func All() ([]*Message, error) {
	names, err := fs.Glob(texts, "*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Message
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		messages, err := Parse(strings.TrimSuffix(path.Base(name), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	return all, nil
}

// Parse reads one schema file.
func Parse(file, text string) ([]*Message, error) {
	p := parser{file: file}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("%s.txt:%d: %w", file, n, err)
		}
	}
	return p.messages, lines.Err()
}

type parser struct {
	file     string
	messages []*Message
	doc      string
	fields   *[]Field // where the next field goes
}

func (p *parser) line(line string) error {
	text := strings.TrimSpace(line)
	words := strings.Fields(text)
	switch {
	case text == "":
		p.doc = ""
		return nil
	case words[0] == "#":
		p.doc = strings.TrimSpace(text[1:])
		return nil
	case line[0] != ' ':
		return p.message(words)
	case p.fields == nil:
		return fmt.Errorf("field %q before any message", words[0])
	case words[0] == "struct" && len(words) == 2:
		m := p.messages[len(p.messages)-1]
		m.Structs = append(m.Structs, Struct{Name: words[1]})
		p.fields = &m.Structs[len(m.Structs)-1].Fields
		return nil
	}
	f, err := parseField(words, p.messages[len(p.messages)-1].Versions)
	if err == nil {
		*p.fields = append(*p.fields, f)
	}
	return err
}

func (p *parser) message(words []string) (err error) {
	m := &Message{Kind: Kind(words[0]), File: p.file, Doc: p.doc, Key: -1, Flexible: None}
	if len(words) < 2 {
		return fmt.Errorf("%q needs a name", words[0])
	}
	m.Name = words[1]
	for i := 2; i+1 < len(words) && err == nil; i += 2 {
		switch words[i] {
		case "key":
			m.Key, err = strconv.Atoi(words[i+1])
		case "versions":
			m.Versions, err = ParseRange(words[i+1])
		case "flexible":
			m.Flexible, err = ParseRange(words[i+1])
		default:
			err = fmt.Errorf("unknown word %q", words[i])
		}
	}
	m.Flexible = m.Flexible.Within(m.Versions)
	p.messages = append(p.messages, m)
	p.fields = &m.Fields
	return err
}

func parseField(words []string, versions Range) (f Field, err error) {
	if len(words) < 2 {
		return f, fmt.Errorf("field %q needs a type", words[0])
	}
	f = Field{Name: words[0], Tag: -1, Versions: versions, Nullable: None}
	f.Type, f.Array = strings.CutPrefix(words[1], "[]")
	nullable := false
	f.Type, nullable = strings.CutSuffix(f.Type, "?")
	for i := 2; i < len(words) && err == nil; i++ {
		next := func() string {
			if i++; i < len(words) {
				return words[i]
			}
			return ""
		}
		switch words[i] {
		case "tag":
			f.Tag, err = strconv.Atoi(next())
		case "null":
			f.Nullable, err = ParseRange(next())
		case "=":
			f.Default = next()
		case "ignorable":
			f.Ignorable = true
		default:
			f.Versions, err = ParseRange(words[i])
		}
	}
	f.Versions = f.Versions.Within(versions)
	if nullable && f.Nullable == None {
		f.Nullable = f.Versions
	}
	f.Nullable = f.Nullable.Within(versions)
	return f, err
}
