package serde

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func pretty(t *testing.T, in string) string {
	t.Helper()
	s, ok := PrettySlice([]byte(in), Detect([]byte(in)), 0, 1<<30)
	if !ok {
		t.Fatalf("%q is not taken as JSON", in)
	}
	return string(s.Data)
}

func TestPrettyKeepsWhatIsWritten(t *testing.T) {
	cases := map[string]string{
		`{"n":23958446825181076828,"t":73314510714175488}`:         "{\n  \"n\": 23958446825181076828,\n  \"t\": 73314510714175488\n}",
		`{"assetId":-7210194211959421178,"id":202201180000000014}`: "{\n  \"assetId\": -7210194211959421178,\n  \"id\": 202201180000000014\n}",
		`{"a":1,"a":2}`:                   "{\n  \"a\": 1,\n  \"a\": 2\n}",
		`[1.10,1e400,-0,9E-10]`:           "[\n  1.10,\n  1e400,\n  -0,\n  9E-10\n]",
		`{"e":{},"l":[ ],"s":"\u00e9\/"}`: "{\n  \"e\": {},\n  \"l\": [],\n  \"s\": \"\\u00e9\\/\"\n}",
		`"just text"`:                     `"just text"`,
	}
	for in, want := range cases {
		if diff := cmp.Diff(want, pretty(t, in)); diff != "" {
			t.Errorf("%s:\n%s", in, diff)
		}
	}
}

func TestKinds(t *testing.T) {
	cases := []struct {
		name   string
		in     []byte
		kind   Kind
		format string
		text   string
	}{
		{"null", nil, Null, "null", ""},
		{"empty", []byte{}, Empty, "empty", ""},
		{"the word null", []byte("null"), Text, "text (UTF-8)", "null"},
		{"a number", []byte("12"), Text, "text (UTF-8)", "12"},
		{"NaN is not JSON", []byte(`{"x":NaN}`), Text, "text (UTF-8)", `{"x":NaN}`},
		{"long", []byte{0, 0, 0, 0, 0, 0, 1, 0x2c}, Integer, "int64", "300"},
		{"negative int", []byte{0xff, 0xff, 0xff, 0xfe}, Integer, "int32", "-2"},
		{"eight letters", []byte("abcdefgh"), Text, "text (UTF-8)", "abcdefgh"},
		{"latin-1", []byte("caf\xe9 au lait"), Text, "text (Latin-1)", "café au lait"},
		{"binary", []byte{0xff, 0xfe, 0x00, 0x62, 0x01}, Binary, "hex", "ff fe 00 62 01"},
		{"markup", []byte(`<SCRIPT>alert("XSS")</SCRIPT>`), Text, "text (UTF-8)", `<SCRIPT>alert("XSS")</SCRIPT>`},
		{"cyrillic", []byte("Привет"), Text, "text (UTF-8)", "Привет"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := Look(c.in, 200)
			if p.Kind != c.kind || p.Format != c.format || p.Text != c.text {
				t.Fatalf("got %s, %s, %q", p.Kind, p.Format, p.Text)
			}
			if p.Reason == "" {
				t.Error("there is no reason")
			}
		})
	}
}

// TestEightBytes: an int64, a double or a short text; what is not clear stays bytes, and says why.
func TestEightBytes(t *testing.T) {
	long := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	double := func(f float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, c := range []struct {
		name   string
		in     []byte
		format string
		text   string
		reason string
	}{
		{"accented word", []byte("cao\xe9 bla"), "text (Latin-1)", "caoé bla", "as int64 it would be 7161127929557183585"},
		{"two accents", []byte("\xc9l\xe8ve 12"), "text (Latin-1)", "Élève 12", "as int64 it would be -"},
		{"umlaut", []byte("M\xfcller-1"), "text (Latin-1)", "Müller-1", "byte 1 (0xfc) is not UTF-8"},
		{"UTF-8", []byte("caf\u00e9 ab"), "text (UTF-8)", "café ab", "valid UTF-8"},
		{"small", long(300), "int64", "300", "LongSerializer"},
		{"zero", long(0), "int64", "0", "LongSerializer"},
		{"negative", long(-2), "int64", "-2", "LongSerializer"},
		{"seconds", long(1_790_000_000), "int64", "1790000000", "LongSerializer"},
		{"milliseconds", long(1_790_000_000_123), "int64", "1790000000123", "LongSerializer"},
		{"microseconds", long(1_790_000_000_123_456), "int64", "1790000000123456", "LongSerializer"},
		{"nanoseconds", long(1_790_000_000_123_456_789), "int64", "1790000000123456789", "LongSerializer"},
		{"snowflake id", long(1_541_815_603_606_036_480), "int64", "1541815603606036480", "LongSerializer"},
		{"largest", long(math.MaxInt64), "int64", "9223372036854775807", "LongSerializer"},
		{"hash", long(-8_446_744_073_709_551_557), "int64", "-8446744073709551557", "LongSerializer"},
		{"hash of letters and signs", []byte("c}f\xe9\xd7abc"), "int64", "7168999336370594403", "LongSerializer"},
		{"round double", double(1.5), "hex", "3f f8 00 00 00 00 00 00", "the number 1.5,"},
		{"price", double(-41.99), "hex", "c0 44 fe b8 51 eb 85 1f", "the number -41.99,"},
		{"double of many digits", double(math.Pi), "hex", "40 09 21 fb 54 44 2d 18", "or the integer 4614256656552045848"},
		{"no everyday double", double(1e300), "int64", "9094988921128908188", "LongSerializer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Look(c.in, 200)
			if p.Format != c.format || p.Text != c.text || !strings.Contains(p.Reason, c.reason) {
				t.Errorf("got %s, %q, %q", p.Format, p.Text, p.Reason)
			}
		})
	}
}

func TestUUIDs(t *testing.T) {
	const written = "6ba7b810-9dad-11d1-80b4-00c04fd430c8" // as Kafka's UUIDSerializer writes it
	if p := Look([]byte(written), 200); p.Format != "text (UTF-8)" || p.Text != written {
		t.Errorf("text: %s, %q", p.Format, p.Text)
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(written, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	if p := Look(raw, 200); p.Format != "hex" || p.Text != "6b a7 b8 10 9d ad 11 d1 80 b4 00 c0 4f d4 30 c8" {
		t.Errorf("bytes: %s, %q", p.Format, p.Text)
	}
}

func TestRegistryRecordSaysSo(t *testing.T) {
	g := Detect([]byte{0, 0, 0, 1, 0x2c, 0xff, 0xfe})
	if g.Kind != Binary || !strings.Contains(g.Reason, "schema id 300") {
		t.Fatalf("got %+v", g)
	}
}

func TestPreviewIsCutAtACharacter(t *testing.T) {
	p := Look([]byte(strings.Repeat("я", 500)), 101)
	if !p.Truncated || !utf8.ValidString(p.Text) || p.Text != strings.Repeat("я", 50) {
		t.Fatalf("got %d bytes, truncated %v", len(p.Text), p.Truncated)
	}
}

func TestDeepNestingIsIndentedInBoundedSpace(t *testing.T) {
	in := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	s, ok := PrettySlice([]byte(in), Detect([]byte(in)), 0, 1000)
	if !ok || len(s.Data) != 1000 || s.Total > 40000*130 {
		t.Fatalf("ok %v, %d bytes of %d", ok, len(s.Data), s.Total)
	}
}

func TestSlicesJoinToTheWhole(t *testing.T) {
	in := []byte(`{"text":"` + strings.Repeat("Привет ✓ ", 300) + `","n":[1,2,3]}`)
	g := Detect(in)
	whole, _ := PrettySlice(in, g, 0, 1<<20)
	var joined []byte
	for from := int64(0); ; {
		s, ok := PrettySlice(in, g, from, 17)
		if !ok || !utf8.Valid(s.Data) {
			t.Fatalf("slice at %d is not text", from)
		}
		joined = append(joined, s.Data...)
		next, more := s.Next()
		if !more {
			break
		}
		if next <= from {
			t.Fatalf("no progress at %d", from)
		}
		from = next
	}
	if !bytes.Equal(joined, whole.Data) {
		t.Fatal("the slices differ from the whole")
	}
}

func TestHexSlice(t *testing.T) {
	text, s := HexSlice([]byte("hello"), 1, 3)
	next, more := s.Next()
	if text != hex.EncodeToString([]byte("ell")) || next != 4 || !more || s.Total != 5 {
		t.Fatalf("got %s %+v", text, s)
	}
	if text, s = HexSlice([]byte("x"), 10, 3); text != "" || s.From != 1 {
		t.Fatalf("past the end: %q %+v", text, s)
	}
}

// What is taken as JSON must be what encoding/json takes (up to its depth limit), and re-indenting
// must change white space only.
func FuzzIndent(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"a":2}`, `[1,-0,1e5,"\u00e9"]`, `{"x":NaN}`, `[`, `"a`, `{"a" 1}`, ` [ 1 , 2 ] `, `01`, `1.`, "[\"\x01\"]", `tru`, `nulll`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 9000 {
			return // deeper than encoding/json can compare
		}
		w := &Window{Length: 1 << 30}
		err := indentJSON(in, w)
		if (err == nil) != json.Valid(in) {
			t.Fatalf("%q: ours says %v, encoding/json says %v", in, err, json.Valid(in))
		}
		if err != nil {
			return
		}
		var a, b bytes.Buffer
		if json.Compact(&a, in) != nil || json.Compact(&b, w.data) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("%q became %q", in, w.data)
		}
	})
}

func FuzzLook(f *testing.F) {
	f.Add([]byte("text"), 10)
	f.Add([]byte{0, 0, 0, 1, 0x2c, 0xff}, 3)
	f.Add([]byte("caf\xe9"), 2)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + (limit&0x7fffffff)%5000
		p := Look(in, limit)
		if !utf8.ValidString(p.Text) {
			t.Fatalf("%q gives a text that is not UTF-8: %q", in, p.Text)
		}
		if len(p.Text) > 2*limit+30 {
			t.Fatalf("limit %d, but %d bytes", limit, len(p.Text))
		}
		if p.Kind == Text && !p.latin1 && !p.Truncated && p.Text != string(in) {
			t.Fatalf("%q became %q", in, p.Text)
		}
		g := Detect(in)
		for _, from := range []int64{0, 1, int64(len(in)), 1 << 40} {
			if s, ok := TextSlice(in, g, from, int64(limit)); ok && !utf8.Valid(s.Data) {
				t.Fatalf("a slice of %q is not UTF-8: %q", in, s.Data)
			}
			PrettySlice(in, g, from, int64(limit))
			HexSlice(in, from, int64(limit))
		}
	})
}
