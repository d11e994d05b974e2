package serde

import "fmt"

// maxIndentDepth stops the indentation from growing, not the nesting: ten thousand levels would
// otherwise turn a small value into hundreds of megabytes of spaces.
const maxIndentDepth = 60

// SyntaxError says where bytes stop being JSON.
type SyntaxError struct {
	At   int64 // byte, counted from 0
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.At, e.What) }

// CheckJSON tells whether data is one JSON value (RFC 8259) of any depth; else a *SyntaxError.
func CheckJSON(data []byte) error { return indentJSON(data, &Window{}) }

// indentJSON re-indents the raw bytes: strings, numbers and duplicate keys stay exactly as written.
// It neither recurses nor holds more than one byte per level.
func indentJSON(data []byte, out *Window) error {
	s := jsonState{data: data, out: out, want: wantValue}
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			s.pos++
			continue
		}
		if err := s.token(c); err != nil {
			return err
		}
	}
	if s.want != wantNothing {
		return s.fail("the value ends too early")
	}
	return nil
}

type want uint8

const (
	wantValue want = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	wantCommaOrEnd
	wantNothing
)

type jsonState struct {
	data  []byte
	pos   int
	want  want
	stack []byte // the open brackets
	out   *Window
}

func (s *jsonState) fail(what string) error { return &SyntaxError{At: int64(s.pos), What: what} }

func (s *jsonState) token(c byte) error {
	switch s.want {
	case wantNothing:
		return s.fail("more follows the value")
	case wantColon:
		if c != ':' {
			return s.fail("a colon is missing after the key")
		}
		s.pos++
		s.out.writeString(": ")
		s.want = wantValue
		return nil
	case wantCommaOrEnd:
		return s.commaOrEnd(c)
	case wantKeyOrEnd, wantValueOrEnd:
		if c == closing(s.stack[len(s.stack)-1]) {
			s.pos++
			s.out.writeByte(c)
			s.pop()
			return nil
		}
		s.newLine()
		if s.want == wantValueOrEnd {
			return s.value(c)
		}
		return s.key(c)
	case wantKey:
		return s.key(c)
	}
	return s.value(c)
}

func closing(open byte) byte { return open + 2 } // '{' + 2 is '}', '[' + 2 is ']'

func (s *jsonState) newLine() {
	s.out.writeByte('\n')
	for range min(len(s.stack), maxIndentDepth) {
		s.out.writeString("  ")
	}
}

func (s *jsonState) pop() {
	s.stack = s.stack[:len(s.stack)-1]
	s.afterValue()
}

func (s *jsonState) afterValue() {
	s.want = wantCommaOrEnd
	if len(s.stack) == 0 {
		s.want = wantNothing
	}
}

func (s *jsonState) commaOrEnd(c byte) error {
	open := s.stack[len(s.stack)-1]
	switch c {
	case ',':
		s.pos++
		s.out.writeByte(',')
		s.newLine()
		s.want = wantValue
		if open == '{' {
			s.want = wantKey
		}
		return nil
	case closing(open):
		s.pos++
		s.stack = s.stack[:len(s.stack)-1]
		s.newLine()
		s.out.writeByte(c)
		s.afterValue()
		return nil
	}
	return s.fail("a comma or the closing bracket is missing")
}

func (s *jsonState) key(c byte) error {
	if c != '"' {
		return s.fail("a key in double quotes is missing")
	}
	if err := s.str(); err != nil {
		return err
	}
	s.want = wantColon
	return nil
}

func (s *jsonState) value(c byte) error {
	switch {
	case c == '{' || c == '[':
		s.pos++
		s.out.writeByte(c)
		s.stack = append(s.stack, c)
		s.want = wantValueOrEnd
		if c == '{' {
			s.want = wantKeyOrEnd
		}
		return nil
	case c == '"':
		if err := s.str(); err != nil {
			return err
		}
	case c == '-' || (c >= '0' && c <= '9'):
		if err := s.number(); err != nil {
			return err
		}
	default:
		if err := s.literal(); err != nil {
			return err
		}
	}
	s.afterValue()
	return nil
}

func (s *jsonState) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if end := s.pos + len(word); end <= len(s.data) && string(s.data[s.pos:end]) == word {
			s.out.writeString(word)
			s.pos = end
			return nil
		}
	}
	return s.fail("this is no value")
}

// str copies a string, escapes as they are.
func (s *jsonState) str() error {
	start := s.pos
	for i := s.pos + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			s.out.write(s.data[start:s.pos])
			return nil
		case c < 0x20:
			s.pos = i
			return s.fail("a control character is in a string")
		case c == '\\':
			n, ok := escapeLength(s.data[i:])
			if !ok {
				s.pos = i
				return s.fail("this escape does not exist")
			}
			i += n - 1
		}
	}
	s.pos = len(s.data)
	return s.fail("a string does not end")
}

// escapeLength is the length of the escape at the front of data.
func escapeLength(data []byte) (int, bool) {
	if len(data) < 2 {
		return 0, false
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
		if len(data) < 6 {
			return 0, false
		}
		for _, c := range data[2:6] {
			if !isHex(c) {
				return 0, false
			}
		}
		return 6, true
	}
	return 0, false
}

func isHex(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}

func (s *jsonState) number() error {
	start, i := s.pos, s.pos
	digits := func() bool {
		from := i
		for i < len(s.data) && s.data[i] >= '0' && s.data[i] <= '9' {
			i++
		}
		return i > from
	}
	at := func(c byte) bool { return i < len(s.data) && s.data[i] == c }
	if at('-') {
		i++
	}
	zero := at('0')
	from := i
	if !digits() || (zero && i > from+1) {
		return s.fail("this is no number")
	}
	if at('.') {
		i++
		if !digits() {
			return s.fail("this is no number")
		}
	}
	if at('e') || at('E') {
		i++
		if at('+') || at('-') {
			i++
		}
		if !digits() {
			return s.fail("this is no number")
		}
	}
	s.pos = i
	s.out.write(s.data[start:i])
	return nil
}
