package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/internal/explorer"
)

func recordsPath(topic string) string {
	return "/clusters/local/topics/" + url.PathEscape(topic) + "/records"
}

func (f *fixture) send(topic string, q explorer.SendRequest) explorer.SendResult {
	f.t.Helper()
	var out explorer.SendResult
	f.do("sendRecord", http.MethodPost, recordsPath(topic), q, &out)
	return out
}

func (f *fixture) record(topic string, partition int32, offset int64) explorer.RecordDetail {
	f.t.Helper()
	var out explorer.RecordDetail
	f.do("getRecord", http.MethodGet, fmt.Sprintf("%s/%d/%d", recordsPath(topic), partition, offset), nil, &out)
	return out
}

func text(data string) explorer.Payload { return explorer.Payload{Kind: "text", Data: data} }

func TestEveryDigitSurvives(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("digits", 1, nil)
	const value = `{"n":23958446825181076828,"t":73314510714175488,"assetId":-7210194211959421178,"d":1.10,"e":1e400,"z":-0,"a":1,"a":2}`
	sent := f.send(topic, explorer.SendRequest{Key: explorer.Payload{Kind: "json", Data: value}, Value: explorer.Payload{Kind: "json", Data: value}})
	if sent.Offset == nil || *sent.Offset != 0 || sent.Partition == nil || *sent.Partition != 0 {
		t.Fatalf("sent to %+v", sent)
	}
	got := f.scan(topic, "range=newest")
	if len(got.rows) != 1 || got.rows[0].Value.Text != value || got.rows[0].Key.Text != value || got.rows[0].Value.Kind != "json" {
		t.Fatalf("got %+v", got.rows)
	}
	d := f.record(topic, 0, 0)
	want := "{\n  \"n\": 23958446825181076828,\n  \"t\": 73314510714175488,\n  \"assetId\": -7210194211959421178,\n  \"d\": 1.10,\n  \"e\": 1e400,\n  \"z\": -0,\n  \"a\": 1,\n  \"a\": 2\n}"
	if diff := cmp.Diff(want, d.Value.Pretty.Data); diff != "" {
		t.Errorf("pretty value:\n%s", diff)
	}
	if d.Value.Text.Data != value || d.Key.Text.Data != value {
		t.Error("the text is not the value")
	}
	status, raw := f.raw(http.MethodGet, recordsPath(topic)+"/0/0/bytes?part=value", nil)
	if status != http.StatusOK || string(raw) != value {
		t.Errorf("downloaded %d %q", status, raw)
	}
}

func TestNullEmptyAndTheWordNullDiffer(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("nulls", 1, nil)
	null := explorer.Payload{Kind: "null"}
	f.send(topic, explorer.SendRequest{Key: null, Value: null, Headers: []explorer.HeaderPayload{
		{Key: "h", Value: text("a")}, {Key: "h", Value: text("b")}, {Key: "n", Value: null}, {Key: "e", Value: text("")}, {Key: "", Value: text("x")},
	}})
	f.send(topic, explorer.SendRequest{Key: text(""), Value: text("")})
	f.send(topic, explorer.SendRequest{Key: text("null"), Value: explorer.Payload{Kind: "json", Data: "null"}})
	rows := f.scan(topic, "range=oldest").rows
	var kinds []string
	for _, r := range rows {
		kinds = append(kinds, r.Key.Kind+" "+r.Value.Kind+" "+r.Value.Text)
	}
	if diff := cmp.Diff([]string{"null null ", "empty empty ", "text text null"}, kinds); diff != "" {
		t.Fatal(diff)
	}
	d := f.record(topic, 0, 0)
	var headers []string
	for _, h := range d.Headers {
		s := h.Key + "=" + h.Value.Kind
		if h.Value.Text != nil {
			s += " " + h.Value.Text.Data
		}
		headers = append(headers, s)
	}
	if diff := cmp.Diff([]string{"h=text a", "h=text b", "n=null", "e=empty", "=text x"}, headers); diff != "" {
		t.Error(diff)
	}
	if rows[0].Headers != 5 || d.HeaderCount != 5 {
		t.Errorf("counted %d and %d headers", rows[0].Headers, d.HeaderCount)
	}
	var p explorer.Problem
	f.do("", http.MethodGet, recordsPath(topic)+"/0/0/bytes?part=value", nil, &p)
	if p.Code != "NULL_PART" {
		t.Errorf("a null value downloads as %+v", p)
	}
	status, raw := f.raw(http.MethodGet, recordsPath(topic)+"/0/1/bytes?part=value", nil)
	if status != http.StatusOK || len(raw) != 0 {
		t.Errorf("an empty value downloads as %d %q", status, raw)
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("bytes", 1, nil)
	hex := func(data string) explorer.Payload { return explorer.Payload{Kind: "hex", Data: data} }
	f.send(topic, explorer.SendRequest{Key: hex("00000000 0000012c"), Value: hex("fffe006201")})
	f.send(topic, explorer.SendRequest{Key: text("latin"), Value: hex("636166e9206175206c616974")})
	f.send(topic, explorer.SendRequest{Key: text("markup"), Value: text(`<SCRIPT>alert("XSS")</SCRIPT>`)})
	rows := f.scan(topic, "range=oldest").rows
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	if k := rows[0].Key; k.Kind != "integer" || k.Text != "300" || k.Format != "int64" {
		t.Errorf("key %+v", k)
	}
	if v := rows[0].Value; v.Kind != "binary" || v.Text != "ff fe 00 62 01" {
		t.Errorf("value %+v", v)
	}
	if v := rows[1].Value; v.Kind != "text" || v.Text != "café au lait" || !strings.Contains(v.Reason, "Latin-1") {
		t.Errorf("latin %+v", v)
	}
	if v := rows[2].Value; v.Text != `<SCRIPT>alert("XSS")</SCRIPT>` {
		t.Errorf("markup %+v", v)
	}
	d := f.record(topic, 0, 0)
	if d.Value.Hex.Data != "fffe006201" || d.Value.Text != nil || len(d.Value.Report) == 0 {
		t.Errorf("detail %+v", d.Value)
	}
}

func TestLargeValueComesInSlices(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("large", 1, map[string]string{"max.message.bytes": "5000000"})
	value := `{"text":"` + strings.Repeat("Привет ", 100_000) + `"}`
	f.send(topic, explorer.SendRequest{Key: explorer.Payload{Kind: "null"}, Value: text(value), Compression: "zstd"})
	rows := f.scan(topic, "range=newest&previewBytes=64").rows
	if p := rows[0].Value; !p.Truncated || len(p.Text) > 64 || p.Bytes != int64(len(value)) {
		t.Fatalf("preview %+v", p)
	}
	d := f.record(topic, 0, 0)
	if d.Value.Text.Next == nil || d.Value.Text.Total != int64(len(value)) || d.Batch.Compression != "zstd" {
		t.Fatalf("detail of %d bytes, next %v, batch %+v", d.Value.Text.Total, d.Value.Text.Next, d.Batch)
	}
	joined := d.Value.Text.Data
	for next := d.Value.Text.Next; next != nil; {
		var s explorer.Slice
		f.do("getRecordSlice", http.MethodGet, fmt.Sprintf("%s/0/0/slice?view=text&from=%d&length=1000000", recordsPath(topic), *next), nil, &s)
		joined += s.Data
		next = s.Next
	}
	if joined != value {
		t.Fatal("the slices differ from the value")
	}
}

func TestSendSaysThePartition(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("partitions", 12, nil)
	keyed := f.client(kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	for i := range 20 {
		key := fmt.Sprintf("key-%d", i)
		plan := f.send(topic, explorer.SendRequest{Key: text(key), Value: text("v"), ValidateOnly: true})
		if plan.Offset != nil || plan.Partition == nil {
			t.Fatalf("plan %+v", plan)
		}
		r := &kgo.Record{Topic: topic, Key: []byte(key)}
		f.produce(keyed, r)
		if r.Partition != *plan.Partition {
			t.Errorf("%s: we say %d, franz-go's murmur2 says %d", key, *plan.Partition, r.Partition)
		}
	}
	null := f.send(topic, explorer.SendRequest{Key: explorer.Payload{Kind: "null"}, Value: text("v"), ValidateOnly: true})
	if null.Partition != nil || !strings.Contains(null.Partitioner, "any") {
		t.Errorf("null key: %+v", null)
	}
	seven, stamp := int32(7), int64(1234567890123)
	sent := f.send(topic, explorer.SendRequest{Key: text("k"), Value: text("v"), Partition: &seven, Timestamp: &stamp})
	if *sent.Partition != 7 || *sent.Timestamp != stamp {
		t.Errorf("sent %+v", sent)
	}
	if d := f.record(topic, 7, *sent.Offset); d.Timestamp != stamp || d.TimestampType != "CreateTime" {
		t.Errorf("timestamp %d %s", d.Timestamp, d.TimestampType)
	}
}

func TestSendRefusesWhatItCannotSend(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("refused", 1, nil)
	partition := int32(5)
	cases := map[string]struct {
		q      explorer.SendRequest
		status int
		code   string
	}{
		"no json":     {explorer.SendRequest{Key: text("k"), Value: explorer.Payload{Kind: "json", Data: `{"a":}`}}, 400, "INVALID_PAYLOAD"},
		"no hex":      {explorer.SendRequest{Key: text("k"), Value: explorer.Payload{Kind: "hex", Data: "0g"}}, 400, "INVALID_PAYLOAD"},
		"no base64":   {explorer.SendRequest{Key: text("k"), Value: explorer.Payload{Kind: "base64", Data: "!"}}, 400, "INVALID_PAYLOAD"},
		"no kind":     {explorer.SendRequest{Key: explorer.Payload{Kind: "yaml"}, Value: text("v")}, 422, "INVALID_REQUEST"},
		"no such one": {explorer.SendRequest{Key: text("k"), Value: text("v"), Partition: &partition}, 400, "INVALID_REQUEST"},
		"too large":   {explorer.SendRequest{Key: text("k"), Value: text(strings.Repeat("x", 2_000_000))}, 400, "MESSAGE_TOO_LARGE"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var p explorer.Problem
			if status := f.do("sendRecord", http.MethodPost, recordsPath(topic), c.q, &p); status != c.status || p.Code != c.code {
				t.Fatalf("%d %+v", status, p)
			}
		})
	}
	var p explorer.Problem
	if status := f.do("sendRecord", http.MethodPost, recordsPath("no-such-topic"), explorer.SendRequest{Key: text("k"), Value: text("v")}, &p); status != 404 {
		t.Errorf("unknown topic: %d %+v", status, p)
	}
}

func TestWhyThereIsNoRecord(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("missing", 1, nil)
	f.send(topic, explorer.SendRequest{Key: text("k"), Value: text("v")})
	for _, at := range []string{"/0/7", "/0/9223372036854775807"} {
		var p explorer.Problem
		if status := f.do("getRecord", http.MethodGet, recordsPath(topic)+at, nil, &p); status != 404 || p.Code != "NO_SUCH_RECORD" {
			t.Errorf("%s: %d %+v", at, status, p)
		}
	}
	var p explorer.Problem
	if status := f.do("getRecord", http.MethodGet, recordsPath(topic)+"/3/0", nil, &p); status != 404 || p.Code != "UNKNOWN_TOPIC_OR_PARTITION" {
		t.Errorf("no partition: %d %+v", status, p)
	}
}

func TestRecordTimeIsExact(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("time", 1, map[string]string{"message.timestamp.after.max.ms": "9223372036854775807"})
	late := int64(253402300799999) // the year 9999, past what nanoseconds in 64 bits hold
	f.send(topic, explorer.SendRequest{Key: text("k"), Value: text("v"), Timestamp: &late})
	if rows := f.scan(topic, "range=oldest").rows; rows[0].Timestamp != 253402300799999 {
		t.Fatalf("got %d", rows[0].Timestamp)
	}
}
