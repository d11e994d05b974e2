package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// recordLine is a record in JSON Lines, the form that consume -o jsonl writes and produce -f jsonl
// reads. Keys, values and headers are text when they are valid UTF-8, else base64 with an encoding
// field beside them; null is null, empty is "". Numbers are exact.
type recordLine struct {
	Topic         string // written only
	Partition     *int32 // nil: the partitioner's choice
	Offset        int64  // written only
	Timestamp     *int64 // ms since 1970; nil: now
	TimestampType string // written only
	Key, Value    []byte // nil is null
	Headers       []headerLine
}

type headerLine struct {
	Key   string
	Value []byte // nil is null
}

const base64Name = "base64"

// appendJSON appends the line without its end.
func (r *recordLine) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"topic":`...)
	dst = appendString(dst, []byte(r.Topic))
	if r.Partition != nil {
		dst = append(dst, `,"partition":`...)
		dst = strconv.AppendInt(dst, int64(*r.Partition), 10)
	}
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, r.Offset, 10)
	if r.Timestamp != nil {
		dst = append(dst, `,"timestamp":`...)
		dst = strconv.AppendInt(dst, *r.Timestamp, 10)
	}
	if r.TimestampType != "" {
		dst = append(dst, `,"timestampType":`...)
		dst = appendString(dst, []byte(r.TimestampType))
	}
	dst = append(dst, ',')
	dst = appendField(dst, "key", r.Key)
	dst = append(dst, ',')
	dst = appendField(dst, "value", r.Value)
	if len(r.Headers) > 0 {
		dst = append(dst, `,"headers":`...)
		dst = appendHeaders(dst, r.Headers)
	}
	return append(dst, '}')
}

func appendHeaders(dst []byte, headers []headerLine) []byte {
	dst = append(dst, '[')
	for i, h := range headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = appendField(dst, "key", []byte(h.Key))
		dst = append(dst, ',')
		dst = appendField(dst, "value", h.Value)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendField appends "name":VALUE, and "nameEncoding":"base64" when the bytes are no text.
func appendField(dst []byte, name string, value []byte) []byte {
	dst = append(append(append(dst, '"'), name...), `":`...)
	switch {
	case value == nil:
		return append(dst, "null"...)
	case utf8.Valid(value):
		return appendString(dst, value)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	dst = append(append(append(dst, `","`...), name...), `Encoding":"`...)
	return append(append(dst, base64Name...), '"')
}

// appendString appends valid UTF-8 as a JSON string; only what JSON demands is escaped.
func appendString(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

// parseRecordLine reads one line. What it accepts is exact: unknown and repeated names, unpaired
// surrogates, fractions and anything that would change on the way are errors.
func parseRecordLine(line []byte) (recordLine, error) {
	var r recordLine
	fields, err := parseObject(line, "topic", "partition", "offset", "timestamp", "timestampType", "key", "keyEncoding", "value", "valueEncoding", "headers")
	if err != nil {
		return r, err
	}
	if _, ok := fields["value"]; !ok {
		return r, errors.New(`it has no "value" (write "value":null for a null)`)
	}
	if r.Key, err = fields.bytes("key"); err != nil {
		return r, err
	}
	if r.Value, err = fields.bytes("value"); err != nil {
		return r, err
	}
	partition, err := fields.integer("partition", 0, math.MaxInt32)
	if err != nil {
		return r, err
	}
	if partition != nil {
		p := int32(*partition)
		r.Partition = &p
	}
	if r.Timestamp, err = fields.integer("timestamp", -1, math.MaxInt64); err != nil {
		return r, err
	}
	if _, err = fields.integer("offset", 0, math.MaxInt64); err != nil {
		return r, err
	}
	r.Headers, err = fields.headers()
	return r, err
}

// objectFields are the raw values of a JSON object.
type objectFields map[string]json.RawMessage

// parseObject splits a JSON object whose names must be among those known, each at most once.
func parseObject(text []byte, known ...string) (objectFields, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8 text")
	}
	if err := checkSurrogates(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	open, err := d.Token()
	if err != nil {
		return nil, jsonError(err)
	}
	if open != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	fields := objectFields{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, jsonError(err)
		}
		name, _ := token.(string) // the decoder accepts nothing else as a name
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		if !contains(known, name) {
			return nil, fmt.Errorf("%q is not a field of a record", name)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, jsonError(err)
		}
		fields[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return fields, nil
}

func contains(list []string, item string) bool {
	for _, s := range list {
		if s == item {
			return true
		}
	}
	return false
}

func jsonError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not valid JSON: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is not valid JSON: it ends too early")
	}
	return err
}

// checkSurrogates refuses \u escapes of half a character, which a JSON reader would replace.
func checkSurrogates(text []byte) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(text, i)
		if !ok {
			continue
		}
		i += 4
		if unit < 0xd800 || unit > 0xdfff {
			continue
		}
		second, ok := uint64(0), false
		if i+1 < len(text) && text[i+1] == '\\' {
			second, ok = escapedUnit(text, i+2)
		}
		if unit > 0xdbff || !ok || second < 0xdc00 || second > 0xdfff {
			return fmt.Errorf(`\u%04x is half a character`, unit)
		}
		i += 6
	}
	return nil
}

// escapedUnit reads uXXXX at i.
func escapedUnit(text []byte, i int) (uint64, bool) {
	if i+5 > len(text) || text[i] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
	return unit, err == nil
}

// bytes reads a text field with its encoding. A missing field is null.
func (f objectFields) bytes(name string) ([]byte, error) {
	raw, ok := f[name]
	encoding, encoded := f[name+"Encoding"]
	if !ok || string(raw) == "null" {
		if encoded {
			return nil, fmt.Errorf("%q belongs to a null", name+"Encoding")
		}
		return nil, nil
	}
	var text string
	if raw[0] != '"' {
		return nil, fmt.Errorf("%q must be a text or null; put other JSON into quotes", name)
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, jsonError(err)
	}
	if !encoded {
		return []byte(text), nil
	}
	if string(encoding) != `"`+base64Name+`"` {
		return nil, fmt.Errorf("%q is %s: only %q is known", name+"Encoding", encoding, base64Name)
	}
	value, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not base64: %w", name, err)
	}
	return value, nil
}

// integer reads a whole number; nil when the field is missing or null.
func (f objectFields) integer(name string, low, high int64) (*int64, error) {
	raw, ok := f[name]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < low || n > high {
		return nil, fmt.Errorf("%q must be a whole number from %d to %d, not %.40s", name, low, high, raw)
	}
	return &n, nil
}

// headers reads the list of headers; order and repeated names are kept.
func (f objectFields) headers() ([]headerLine, error) {
	raw, ok := f["headers"]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	var items []json.RawMessage
	if raw[0] != '[' {
		return nil, errors.New(`"headers" must be a list of {"key":...,"value":...}`)
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, jsonError(err)
	}
	out := make([]headerLine, 0, len(items))
	for i, item := range items {
		h, err := parseObject(item, "key", "keyEncoding", "value", "valueEncoding")
		if err != nil {
			return nil, fmt.Errorf("header %d: %w", i+1, err)
		}
		key, err := h.bytes("key")
		if err == nil && key == nil {
			err = errors.New(`it has no "key"`)
		}
		if err != nil {
			return nil, fmt.Errorf("header %d: %w", i+1, err)
		}
		value, err := h.bytes("value")
		if err != nil {
			return nil, fmt.Errorf("header %d: %w", i+1, err)
		}
		out = append(out, headerLine{Key: string(key), Value: value})
	}
	return out, nil
}
