package kafkarecord

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The golden files hold records of a real Kafka 4.4 node beside the JSON that Kafka's own dump tool
// printed for them: metadata.tsv is value, JSON; the others are key, value, key JSON, value JSON.
// Bytes are hexadecimal; "-" is null.

func goldenLines(t testing.TB, name string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != columns {
			t.Fatalf("%s has a line of %d columns, want %d: %s", name, len(cells), columns, line)
		}
		lines = append(lines, cells)
	}
	return lines
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// canonicalJSON decodes JSON with exact numbers.
func canonicalJSON(t *testing.T, s []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return normalNumbers(v)
}

// normalNumbers gives 1048576.0 and 1048576 one form; integers stay exact.
func normalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normalNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normalNumbers(v[i])
		}
	case json.Number:
		if _, err := v.Int64(); err != nil {
			if f, err := v.Float64(); err == nil {
				return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	}
	return v
}

func TestMetadataRecordsOfKafka(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range goldenLines(t, "metadata.tsv", 2) {
		value := unhex(t, line[0])
		r, version, err := DecodeMetadata(value)
		if err != nil {
			t.Errorf("%s: %v", line[1], err)
			continue
		}
		seen[r.Schema().Name] = true
		if diff := cmp.Diff(canonicalJSON(t, []byte(line[1])), canonicalJSON(t, AppendJSON(nil, r, version))); diff != "" {
			t.Errorf("%s (-Kafka +ours):\n%s", r.Schema().Name, diff)
		}
		again, err := EncodeMetadata(r, version)
		if err != nil || !bytes.Equal(again, value) {
			t.Errorf("%s is written as %x (%v), Kafka wrote %x", r.Schema().Name, again, err, value)
		}
	}
	if len(seen) < 17 {
		t.Errorf("the golden file has only %d record types", len(seen))
	}
}

func TestCoordinatorRecordsOfKafka(t *testing.T) {
	for name, decode := range map[string]func(key, value []byte) (CoordinatorRecord, error){
		"group.tsv": DecodeGroup, "transaction.tsv": DecodeTransaction, "share.tsv": DecodeShare,
	} {
		for _, line := range goldenLines(t, name, 4) {
			checkCoordinatorRecord(t, decode, line)
		}
	}
}

func checkCoordinatorRecord(t *testing.T, decode func(key, value []byte) (CoordinatorRecord, error), line []string) {
	t.Helper()
	key, value := unhex(t, line[0]), unhex(t, line[1])
	r, err := decode(key, value)
	if err != nil {
		t.Errorf("%s: %v", line[2], err)
		return
	}
	keyJSON := canonicalJSON(t, AppendJSON(nil, r.Key, 0)).(map[string]any)
	delete(keyJSON, "version") // Kafka's tool prints a key's type, a value's version
	if diff := cmp.Diff(canonicalJSON(t, []byte(line[2])), any(keyJSON)); diff != "" {
		t.Errorf("key (-Kafka +ours):\n%s", diff)
	}
	if again, err := EncodeKey(r.Key); err != nil || !bytes.Equal(again, key) {
		t.Errorf("key is written as %x (%v), Kafka wrote %x", again, err, key)
	}
	if line[3] == "-" {
		if r.Value != nil {
			t.Errorf("the tombstone of %s has a value", line[2])
		}
		return
	}
	valueJSON := canonicalJSON(t, AppendJSON(nil, r.Value, r.ValueVersion)).(map[string]any)
	delete(valueJSON, "type")
	decoded := cmp.FilterPath(func(p cmp.Path) bool {
		// Kafka's tool decodes these further; their bytes are compared below.
		last := p.Last().String()
		return last == `["assignment"]` || last == `["subscription"]` || last == `["transactionStatus"]`
	}, cmp.Ignore())
	if diff := cmp.Diff(canonicalJSON(t, []byte(line[3])), any(valueJSON), decoded); diff != "" {
		t.Errorf("value of %s (-Kafka +ours):\n%s", line[2], diff)
	}
	if again, err := EncodeValue(r.Value, r.ValueVersion); err != nil || !bytes.Equal(again, value) {
		t.Errorf("value of %s is written as %x (%v), Kafka wrote %x", line[2], again, err, value)
	}
}
