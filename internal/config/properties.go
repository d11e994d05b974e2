package config

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxProperties bounds the size of a properties file in bytes.
const maxProperties = 16 << 20

// PropertiesError says where a properties file is wrong.
type PropertiesError struct {
	Line   int // from 1
	Reason string
}

func (e *PropertiesError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// ParseProperties reads a file in the format of java.util.Properties: comments, line
// continuations, = or : or blank as separator, \uXXXX and the other escapes. The last of several
// equal keys wins. Bytes that are not UTF-8 are taken as Latin-1, Java's reading.
func ParseProperties(r io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxProperties+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxProperties {
		return nil, fmt.Errorf("a properties file must not be larger than %d bytes", maxProperties)
	}
	if !utf8.Valid(data) {
		data = fromLatin1(data)
	}
	out := map[string]string{}
	p := propertyLines{data: data, line: 1}
	for {
		start, line, ok := p.next()
		if !ok {
			return out, nil
		}
		rawKey, rawValue := splitProperty(line)
		key, err := unescape(rawKey)
		if err == nil {
			var value string
			if value, err = unescape(rawValue); err == nil {
				out[key] = value
			}
		}
		if err != nil {
			return nil, &PropertiesError{Line: start, Reason: err.Error()}
		}
	}
}

func fromLatin1(data []byte) []byte {
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return []byte(string(runes))
}

// propertyLines cuts a file into logical lines: continuations joined, comments and blank lines gone.
type propertyLines struct {
	data []byte
	pos  int
	line int // number of the natural line at pos
}

// next returns the number of the first natural line and the logical line. Java's reader has two
// quirks that are kept: while a continued line is still empty, a comment may follow; and a lone
// backslash that ends the file is an empty property, unless \r\n follows it.
func (p *propertyLines) next() (start int, logical []byte, ok bool) {
	for {
		if len(logical) == 0 {
			start = p.line
		}
		natural, more := p.natural()
		if !more {
			return start, logical, len(logical) > 0
		}
		natural = trimBlanks(natural)
		if len(logical) == 0 && (len(natural) == 0 || natural[0] == '#' || natural[0] == '!') {
			continue
		}
		if !endsInBackslash(natural) {
			return start, append(logical, natural...), true
		}
		logical = append(logical, natural[:len(natural)-1]...)
		if p.pos == len(p.data) && !bytes.HasSuffix(p.data, []byte("\r\n")) {
			return start, logical, true
		}
	}
}

// natural returns the next line without its end (\n, \r or \r\n).
func (p *propertyLines) natural() ([]byte, bool) {
	if p.pos >= len(p.data) {
		return nil, false
	}
	p.line++
	rest := p.data[p.pos:]
	end := bytes.IndexAny(rest, "\r\n")
	if end < 0 {
		p.pos = len(p.data)
		return rest, true
	}
	p.pos += end + 1
	if rest[end] == '\r' && end+1 < len(rest) && rest[end+1] == '\n' {
		p.pos++
	}
	return rest[:end], true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

func trimBlanks(line []byte) []byte {
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	return line
}

func endsInBackslash(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// splitProperty cuts a logical line at the first separator that is not escaped.
func splitProperty(line []byte) (key, value []byte) {
	i := 0
	for i < len(line) {
		c := line[i]
		if c == '\\' {
			i += 2
			continue
		}
		if c == '=' || c == ':' || isBlank(c) {
			break
		}
		i++
	}
	i = min(i, len(line))
	key, value = line[:i], trimBlanks(line[i:])
	if len(value) > 0 && (value[0] == '=' || value[0] == ':') {
		value = trimBlanks(value[1:])
	}
	return key, value
}

func unescape(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			if raw[i] != '\\' {
				out = append(out, raw[i])
			}
			continue
		}
		i++
		switch raw[i] {
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, used, err := unescapeUnicode(raw[i-1:])
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
			i += used - 2
		default:
			out = append(out, raw[i])
		}
	}
	return string(out), nil
}

// unescapeUnicode reads \uXXXX, or two of them when they form a surrogate pair.
func unescapeUnicode(raw []byte) (r rune, used int, err error) {
	unit, ok := utf16Unit(raw)
	if !ok {
		return 0, 0, fmt.Errorf(`\u must be followed by four hexadecimal digits; write \\u for a backslash and a u`)
	}
	if utf16.IsSurrogate(unit) {
		if second, ok := utf16Unit(raw[6:]); ok {
			if r := utf16.DecodeRune(unit, second); r != utf8.RuneError {
				return r, 12, nil
			}
		}
		return utf8.RuneError, 6, nil
	}
	return unit, 6, nil
}

func utf16Unit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
