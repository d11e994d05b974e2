package kafkarecord_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/kafkarecord/schema"
)

var update = flag.Bool("update", false, "rewrite testdata/schemas.digest from the jars of KAFKA_JARS")

const digestFile = "testdata/schemas.digest"

// TestSchemasMatchKafka compares our schema text with the definitions inside Kafka's jars when
// KAFKA_JARS names their directory, and else with a digest taken from these jars.
func TestSchemasMatchKafka(t *testing.T) {
	messages, err := schema.All()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{}
	for _, m := range messages {
		ours[m.Name] = m.Canonical()
	}
	dir := os.Getenv("KAFKA_JARS")
	if dir == "" {
		compareDigests(t, ours)
		return
	}
	theirs := readJars(t, dir)
	if *update {
		writeDigests(t, ours, theirs)
	}
	for name, text := range ours {
		m, ok := theirs[name]
		if !ok {
			t.Errorf("%s is in our schema but not in the jars of %s", name, dir)
			continue
		}
		if diff := cmp.Diff(m.Canonical(), text); diff != "" {
			t.Errorf("%s differs (-Kafka +ours):\n%s", name, diff)
		}
	}
	for name, m := range theirs {
		if _, ok := ours[name]; !ok && (m.Kind == schema.Key || m.Kind == schema.Value || m.Kind == schema.Metadata) && !strings.HasPrefix(name, "Remote") {
			// Remote*: the topic of tiered storage, which Klamm does not have
			t.Errorf("%s (%s) is in the jars of %s but not in our schema", name, m.Kind, dir)
		}
	}
	compareDigests(t, ours)
}

func digest(canonical string) string {
	sum := sha256.Sum256([]byte(canonical))
	return fmt.Sprintf("%x", sum[:8])
}

func compareDigests(t *testing.T, ours map[string]string) {
	t.Helper()
	text, err := os.ReadFile(digestFile)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = sum
	}
	got := map[string]string{}
	for name, canonical := range ours {
		got[name] = digest(canonical)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas differ from the digest of Kafka's (-Kafka +ours); set KAFKA_JARS to see the fields:\n%s", diff)
	}
}

func writeDigests(t *testing.T, ours map[string]string, theirs map[string]*schema.Message) {
	t.Helper()
	var lines []string
	for name := range ours {
		if m := theirs[name]; m != nil {
			lines = append(lines, name+" "+digest(m.Canonical())+"\n")
		}
	}
	slices.Sort(lines)
	if err := os.WriteFile(digestFile, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readJars returns every record definition of Kafka's jars in a directory, by name.
func readJars(t *testing.T, dir string) map[string]*schema.Message {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(dir, "kafka-*.jar"))
	if err != nil || len(jars) == 0 {
		t.Fatalf("KAFKA_JARS=%s holds no kafka-*.jar (%v)", dir, err)
	}
	found := map[string]*schema.Message{}
	for _, jar := range jars {
		r, err := zip.OpenReader(jar)
		if err != nil {
			t.Fatalf("%s: %v", jar, err)
		}
		for _, f := range r.File {
			if strings.HasSuffix(f.Name, ".json") && !strings.HasSuffix(f.Name, "Request.json") && !strings.HasSuffix(f.Name, "Response.json") {
				if m := readDefinition(t, f); m != nil {
					found[m.Name] = m
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func readDefinition(t *testing.T, f *zip.File) *schema.Message {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var d definition
	if err := json.Unmarshal(stripComments(text), &d); err != nil || d.Name == "" {
		return nil // some other JSON file
	}
	m, err := d.message()
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return m
}

// stripComments blanks // comments outside of strings.
func stripComments(text []byte) []byte {
	var out bytes.Buffer
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			out.WriteByte(c)
			i++
			out.WriteByte(text[i])
			continue
		case c == '"':
			inString = !inString
		case !inString && c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			out.WriteByte('\n')
			continue
		}
		out.WriteByte(text[i])
	}
	return out.Bytes()
}

// definition is the form of Kafka's message definitions.
type definition struct {
	APIKey           *int             `json:"apiKey"`
	Type             string           `json:"type"`
	Name             string           `json:"name"`
	ValidVersions    string           `json:"validVersions"`
	FlexibleVersions string           `json:"flexibleVersions"`
	Fields           []fieldSpec      `json:"fields"`
	CommonStructs    []structureTypes `json:"commonStructs"`
}

type structureTypes struct {
	Name   string      `json:"name"`
	Fields []fieldSpec `json:"fields"`
}

type fieldSpec struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         string          `json:"versions"`
	NullableVersions string          `json:"nullableVersions"`
	TaggedVersions   string          `json:"taggedVersions"`
	Tag              *int            `json:"tag"`
	Default          json.RawMessage `json:"default"`
	Ignorable        bool            `json:"ignorable"`
	Fields           []fieldSpec     `json:"fields"`
}

func (d definition) message() (*schema.Message, error) {
	kinds := map[string]schema.Kind{"metadata": schema.Metadata, "coordinator-key": schema.Key, "coordinator-value": schema.Value, "data": schema.Data}
	m := converter{&schema.Message{Kind: kinds[d.Type], Name: d.Name, Key: -1}}
	if d.APIKey != nil {
		m.Key = *d.APIKey
	}
	var err error
	if m.Versions, err = schema.ParseRange(d.ValidVersions); err != nil {
		return nil, err
	}
	if m.Flexible, err = schema.ParseRange(d.FlexibleVersions); err != nil {
		return nil, err
	}
	m.Flexible = m.Flexible.Within(m.Versions)
	if m.Fields, err = m.convert(d.Fields); err != nil {
		return nil, err
	}
	for _, s := range d.CommonStructs {
		if err := m.add(s.Name, s.Fields); err != nil {
			return nil, err
		}
	}
	return m.Message, nil
}

// converter collects the nested structures of a definition while its fields are converted.
type converter struct{ *schema.Message }

func (m converter) add(name string, fields []fieldSpec) error {
	i := len(m.Structs)
	m.Structs = append(m.Structs, schema.Struct{Name: name})
	converted, err := m.convert(fields)
	m.Structs[i].Fields = converted
	return err
}

func (m converter) convert(specs []fieldSpec) (fields []schema.Field, err error) {
	for _, s := range specs {
		f := schema.Field{Name: strings.ToUpper(s.Name[:1]) + s.Name[1:], Tag: -1, Nullable: schema.None, Ignorable: s.Ignorable}
		f.Type, f.Array = strings.CutPrefix(strings.TrimSpace(s.Type), "[]")
		if s.Versions == "" {
			s.Versions = s.TaggedVersions
		}
		if f.Versions, err = schema.ParseRange(s.Versions); err != nil {
			return nil, err
		}
		f.Versions = f.Versions.Within(m.Versions)
		if s.NullableVersions != "" {
			if f.Nullable, err = schema.ParseRange(s.NullableVersions); err != nil {
				return nil, err
			}
			f.Nullable = f.Nullable.Within(m.Versions)
		}
		if s.Tag != nil {
			f.Tag = *s.Tag
		}
		if text := string(s.Default); text != "null" {
			f.Default = strings.Trim(text, `"`)
		}
		if len(s.Fields) > 0 {
			if err := m.add(f.Type, s.Fields); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}
