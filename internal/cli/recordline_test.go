package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawValue(t *rapid.T, label string) []byte {
	switch rapid.IntRange(0, 4).Draw(t, label+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, label)...)
	}
	return []byte(rapid.String().Draw(t, label))
}

func drawLine(t *rapid.T) recordLine {
	partition, timestamp := rapid.Int32Range(0, math.MaxInt32).Draw(t, "partition"), rapid.Int64Min(-1).Draw(t, "timestamp")
	l := recordLine{
		Topic: "topic", Partition: &partition, Offset: rapid.Int64Min(0).Draw(t, "offset"), Timestamp: &timestamp, TimestampType: "CreateTime",
		Key: drawValue(t, "key"), Value: drawValue(t, "value"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		key := drawValue(t, "header key")
		l.Headers = append(l.Headers, headerLine{Key: string(key), Value: drawValue(t, "header value")})
	}
	return l
}

func TestRecordLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawLine(t)
		text := want.appendJSON(nil)
		if !json.Valid(text) || bytes.IndexByte(text, '\n') >= 0 {
			t.Fatalf("not one line of JSON: %q", text)
		}
		got, err := parseRecordLine(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got.Topic, got.Offset, got.TimestampType = want.Topic, want.Offset, want.TimestampType // written only
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %+v, was %+v", text, got, want)
		}
	})
}

func TestRecordLineForms(t *testing.T) {
	for _, c := range []struct {
		line       string
		key, value []byte
	}{
		{`{"key":null,"value":""}`, nil, []byte{}},
		{`{"value":null}`, nil, nil},
		{`{"value":"null","key":""}`, []byte{}, []byte("null")},
		{` { "value" : "a" , "headers" : null , "partition" : null } `, nil, []byte("a")},
		{`{"value":"//4AYg==","valueEncoding":"base64"}`, nil, []byte{0xff, 0xfe, 0, 'b'}},
		{`{"value":"\ud83d\ude00\\u"}`, nil, []byte("😀\\u")},
		{`{"value":"{\"n\":23958446825181076828}"}`, nil, []byte(`{"n":23958446825181076828}`)},
		{"{\"value\":\"\u2028\ufffd\"}", nil, []byte("\u2028\ufffd")},
	} {
		got, err := parseRecordLine([]byte(c.line))
		if err != nil || !reflect.DeepEqual(got.Key, c.key) || !reflect.DeepEqual(got.Value, c.value) {
			t.Errorf("%s: key %q value %q, %v", c.line, got.Key, got.Value, err)
		}
	}
}

func TestRecordLineRefuses(t *testing.T) {
	for _, c := range []struct{ line, words string }{
		{``, "ends too early"},
		{`[]`, "not a JSON object"},
		{`"x"`, "not a JSON object"},
		{`{`, "ends too early"},
		{`{"value":"a"`, "ends too early"},
		{`{"value":"a"} x`, "something follows"},
		{`{"value":"a"}{}`, "something follows"},
		{`{"key":"a"}`, `no "value"`},
		{`{"Value":"a"}`, `"Value" is not a field`},
		{`{"value":"a","vlaue":"b"}`, `"vlaue" is not a field`},
		{`{"value":"a","value":"b"}`, `"value" is there twice`},
		{`{"value":1}`, "must be a text or null"},
		{`{"value":{"a":1}}`, "put other JSON into quotes"},
		{`{"value":"a","partition":1.0}`, "whole number"},
		{`{"value":"a","partition":-1}`, "whole number"},
		{`{"value":"a","partition":"1"}`, "whole number"},
		{`{"value":"a","timestamp":1e3}`, "whole number"},
		{`{"value":"a","timestamp":9223372036854775808}`, "whole number"},
		{`{"value":"a","offset":-5}`, "whole number"},
		{`{"value":"a","valueEncoding":"hex"}`, `only "base64" is known`},
		{`{"value":"a*","valueEncoding":"base64"}`, "not base64"},
		{`{"value":"YR==","valueEncoding":"base64"}`, "not base64"},
		{`{"value":null,"valueEncoding":"base64"}`, "belongs to a null"},
		{`{"value":"\ud83d"}`, "half a character"},
		{`{"value":"\ude00\ud83d"}`, "half a character"},
		{`{"value":"\ud83d\u0041"}`, "half a character"},
		{"{\"value\":\"\xff\"}", "not UTF-8"},
		{`{"value":"a","headers":{}}`, "must be a list"},
		{`{"value":"a","headers":[1]}`, "header 1: it is not a JSON object"},
		{`{"value":"a","headers":[{"key":"k","value":"v"},{"value":"v"}]}`, `header 2: it has no "key"`},
		{`{"value":"a","headers":[{"key":null}]}`, `no "key"`},
		{`{"value":"a","headers":[{"key":"k","v":1}]}`, `"v" is not a field`},
	} {
		if got, err := parseRecordLine([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %+v, %v, want %q", c.line, got, err, c.words)
		}
	}
}

// FuzzJSONLines: what the reader accepts is written and read again unchanged.
func FuzzJSONLines(f *testing.F) {
	f.Add([]byte(`{"topic":"t","partition":0,"offset":1,"timestamp":1796068079629,"timestampType":"CreateTime","key":"a","value":null,"headers":[{"key":"h","value":"//4=","valueEncoding":"base64"}]}`))
	f.Add([]byte(`{"value":"\ud83d\ude00\\u0041\"","key":"AA==","keyEncoding":"base64"}`))
	f.Add([]byte(`{"value":"a","value":"b"}`))
	f.Add([]byte(`{"value":{"deep":[[[[1]]]]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		first, err := parseRecordLine(line)
		if err != nil {
			return
		}
		again, err := parseRecordLine(first.appendJSON(nil))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if len(first.Headers) == 0 {
			first.Headers = nil // an empty list is written as no list
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("%q became %+v, was %+v", line, again, first)
		}
	})
}
