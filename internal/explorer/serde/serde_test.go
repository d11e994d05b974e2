package serde

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
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
