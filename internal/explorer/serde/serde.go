// Package serde says what the bytes of a key, value or header are, and shows them: JSON, text,
// integers, hex. It never changes what it shows: JSON is re-indented from the raw bytes, so every
// digit, escape and duplicate key stays.
package serde

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Kind is what a piece of data is, first of all: whether there is any.
type Kind string

// The kinds. Null is no bytes at all, Empty zero bytes.
const (
	Null    Kind = "null"
	Empty   Kind = "empty"
	JSON    Kind = "json"
	Text    Kind = "text"
	Integer Kind = "integer"
	Binary  Kind = "binary"
)

// Tried is one line of a decode report.
type Tried struct {
	Format string
	OK     bool
	Reason string
}

// Guess is what data was taken for, and why.
type Guess struct {
	Kind   Kind
	Format string // JSON, text (UTF-8), text (Latin-1), int64, int32, hex
	Reason string
	Tried  []Tried
	latin1 bool
}

// previewWhole is the size up to which a preview checks the whole; larger data is judged by its start.
const previewWhole = 256 << 10

// Detect looks at all of data; nil is null.
func Detect(data []byte) Guess { return detect(data, len(data)) }

// detect judges by the first n bytes.
func detect(data []byte, n int) Guess {
	switch {
	case data == nil:
		return Guess{Kind: Null, Format: "null", Reason: "there are no bytes, not even an empty string"}
	case len(data) == 0:
		return Guess{Kind: Empty, Format: "empty", Reason: "zero bytes, but not null"}
	}
	var g Guess
	head, whole := data[:n], n == len(data)
	if !whole {
		head = cutRune(head)
	}
	for _, try := range []func([]byte, []byte, bool) (Guess, error){tryJSON, tryText, tryInteger, tryLatin1} {
		found, err := try(data, head, whole)
		if err == nil {
			found.Tried = append(g.Tried, Tried{Format: found.Format, OK: true, Reason: found.Reason})
			return found
		}
		g.Tried = append(g.Tried, Tried{Format: found.Format, Reason: err.Error()})
	}
	g.Kind, g.Format, g.Reason = Binary, "hex", "no text and no integer"
	if data[0] == 0 && len(data) > 5 {
		g.Reason = fmt.Sprintf("starts like a record of a schema registry (schema id %d); no registry is set", binary.BigEndian.Uint32(data[1:5]))
	}
	if isDouble(data) {
		g.Reason = fmt.Sprintf("8 bytes that are the number %s, if Kafka's DoubleSerializer wrote them, or the integer %s, if LongSerializer did", doubleText(data), integerText(data))
	}
	g.Tried = append(g.Tried, Tried{Format: "hex", OK: true, Reason: g.Reason})
	return g
}

// tryJSON takes objects, arrays and quoted strings; a bare number or word reads better as text.
func tryJSON(_, head []byte, whole bool) (Guess, error) {
	g := Guess{Kind: JSON, Format: "JSON"}
	first := firstByte(head)
	if first != '{' && first != '[' && first != '"' {
		return g, errors.New("does not start with {, [ or a quote")
	}
	if err := checkUTF8(head); err != nil {
		return g, err
	}
	if !whole {
		g.Reason = "starts like JSON (a preview does not check the whole of a large value)"
		return g, nil
	}
	if err := CheckJSON(head); err != nil {
		return g, err
	}
	g.Reason = "parses as JSON to the last byte"
	return g, nil
}

func firstByte(data []byte) byte {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func tryText(_, head []byte, whole bool) (Guess, error) {
	g := Guess{Kind: Text, Format: "text (UTF-8)", Reason: "valid UTF-8 without control characters"}
	if !whole {
		g.Reason = "starts with valid UTF-8"
	}
	if err := checkUTF8(head); err != nil {
		return g, err
	}
	return g, checkControls(head)
}

func checkUTF8(data []byte) error {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return fmt.Errorf("byte %d (0x%02x) is not UTF-8", i, data[i])
		}
		i += size
	}
	return nil
}

func checkControls(data []byte) error {
	for i, c := range data {
		if isControl(c) {
			return fmt.Errorf("byte %d (0x%02x) is a control character", i, c)
		}
	}
	return nil
}

// isControl leaves tab, line ends, form feed and escape (terminal colours) to texts.
func isControl(c byte) bool {
	return (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b) || c == 0x7f
}

func tryInteger(data, _ []byte, _ bool) (Guess, error) {
	switch len(data) {
	case 8:
		if isLatin1Word(data) {
			return Guess{Kind: Integer, Format: "int64"}, errors.New("its bytes are letters, which an integer has by chance once in a thousand")
		}
		if isDouble(data) {
			return Guess{Kind: Integer, Format: "int64"}, fmt.Errorf("it may as well be the floating-point number %s", doubleText(data))
		}
		return Guess{Kind: Integer, Format: "int64", Reason: "8 bytes that are no text, as Kafka's LongSerializer writes"}, nil
	case 4:
		return Guess{Kind: Integer, Format: "int32", Reason: "4 bytes that are no text, as Kafka's IntegerSerializer writes"}, nil
	}
	return Guess{Kind: Integer, Format: "integer"}, fmt.Errorf("%d bytes, an integer has 4 or 8", len(data))
}

// tryLatin1 takes text with stray bytes of a one-byte character set, mostly ASCII.
func tryLatin1(data, head []byte, _ bool) (Guess, error) {
	g := Guess{Kind: Text, Format: "text (Latin-1)", latin1: true}
	high := 0
	for i, c := range head {
		if isControl(c) || (c >= 0x80 && c < 0xa0) {
			return g, fmt.Errorf("byte %d (0x%02x) is a control character", i, c)
		}
		if c >= 0xa0 {
			high++
		}
	}
	if high*3 > len(head) {
		return g, errors.New("more than a third of its bytes are not ASCII")
	}
	g.Reason = "not UTF-8 (" + checkUTF8(head).Error() + "), but readable as Latin-1"
	if len(data) == 8 {
		g.Reason = "probably text: " + g.Reason + "; as int64 it would be " + integerText(data)
	}
	return g, nil
}

// Preview is a first look at data of about limit bytes of text.
type Preview struct {
	Guess
	Text      string
	Truncated bool
}

// Look gives the preview of data; nil is null. It costs little however large data is.
func Look(data []byte, limit int) Preview {
	p := Preview{Guess: detect(data, min(len(data), previewWhole))}
	switch p.Kind {
	case Null, Empty:
	case Integer:
		p.Text = integerText(data)
	case Binary:
		shown := min(len(data), max(1, limit/3))
		p.Text, p.Truncated = spacedHex(data[:shown]), shown < len(data)
	default:
		head := data
		if len(head) > limit {
			head, p.Truncated = head[:limit], true
		}
		p.Text = string(p.text(head, p.Truncated))
	}
	return p
}

// text reads bytes in the guessed character set.
func (g Guess) text(data []byte, cut bool) []byte {
	if g.latin1 {
		out := make([]byte, 0, len(data)+len(data)/4)
		for _, c := range data {
			out = utf8.AppendRune(out, rune(c))
		}
		return out
	}
	if cut {
		return cutRune(data)
	}
	return data
}

func integerText(data []byte) string {
	if len(data) == 8 {
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(data)), 10)
	}
	return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(data))), 10)
}

func spacedHex(data []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 3*len(data))
	for i, c := range data {
		if i > 0 {
			out = append(out, ' ')
		}
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// TextSlice is a window on data as text; ok is false when it is none (null, empty, binary).
func TextSlice(data []byte, g Guess, from, length int64) (s Slice, ok bool) {
	switch g.Kind {
	case Integer:
		text := []byte(integerText(data))
		data = text
	case JSON, Text:
		if g.latin1 {
			data = g.text(data, false)
		}
	default:
		return Slice{}, false
	}
	w := textWindow(from, length)
	w.write(data)
	return w.slice(), true
}

// PrettySlice is a window on re-indented JSON; ok is false when data is no JSON.
func PrettySlice(data []byte, g Guess, from, length int64) (s Slice, ok bool) {
	if g.Kind != JSON {
		return Slice{}, false
	}
	w := textWindow(from, length)
	if err := indentJSON(data, w); err != nil {
		return Slice{}, false
	}
	return w.slice(), true
}

// HexSlice is a window on the raw bytes, two digits a byte; From and Total count raw bytes.
func HexSlice(data []byte, from, length int64) (text string, s Slice) {
	from = min(from, int64(len(data)))
	end := min(int64(len(data)), from+length)
	s = Slice{Data: data[from:end], From: from, Total: int64(len(data))}
	return hex.EncodeToString(s.Data), s
}
