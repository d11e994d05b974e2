package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"klamm/internal/explorer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an explorer over HTTP with one cluster, "local".
type fixture struct {
	t       *testing.T
	url     string
	ex      *explorer.Explorer
	fake    *kfake.Cluster // nil when KLAMM_TEST_KAFKA names a real cluster
	address string
	cluster string // whose messages scan and stream read
	schemas *apiMux
}

// newFixture starts a fake cluster, or uses the one KLAMM_TEST_KAFKA names, and the explorer on it.
func newFixture(t *testing.T, opts ...kfake.Opt) *fixture {
	t.Helper()
	f := &fixture{t: t, address: os.Getenv("KLAMM_TEST_KAFKA")}
	if f.address == "" {
		fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fake.Close)
		f.fake, f.address = fake, fake.ListenAddrs()[0]
	}
	f.serve(explorer.Options{Embedded: &explorer.Embedded{Name: "local", Address: f.address}, Version: "test"})
	return f
}

func (f *fixture) serve(o explorer.Options) {
	f.t.Helper()
	ex, err := explorer.New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(ex.Close)
	h, err := New(Options{Explorer: ex, Version: "test"})
	if err != nil {
		f.t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	f.t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	f.ex, f.url, f.cluster = ex, srv.URL, "local"
	if f.schemas, err = newAPI(Options{Version: "test"}); err != nil {
		f.t.Fatal(err)
	}
}

// name makes topic and group names that are new on a real cluster too.
func (f *fixture) name(base string) string {
	if f.fake != nil {
		return base
	}
	return base + "-" + time.Now().UTC().Format("150405.000000000")
}

// do calls the API; a body other than nil is sent as JSON. The answer is checked against the schema
// of operation and decoded into out.
func (f *fixture) do(operation, method, path string, body, out any) int {
	f.t.Helper()
	status, raw := f.raw(method, path, body)
	if status >= 400 {
		var p explorer.Problem
		decode(f.t, raw, &p)
		if p.Code == "" || p.Title == "" {
			f.t.Fatalf("%s %s: an error without code or title: %s", method, path, raw)
		}
		if q, ok := out.(*explorer.Problem); ok {
			*q = p
			return status
		}
		f.t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	f.checkSchema(operation, raw)
	if out != nil {
		decode(f.t, raw, out)
	}
	return status
}

func (f *fixture) raw(method, path string, body any) (int, []byte) {
	f.t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			f.t.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, f.url+"/api/v1"+path, r)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, raw
}

func decode(t *testing.T, raw []byte, out any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
}

// checkSchema fails when an answer is not what the API description says.
func (f *fixture) checkSchema(operation string, raw []byte) {
	f.t.Helper()
	for _, item := range f.schemas.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil || op.OperationID != operation {
				continue
			}
			for status, resp := range op.Responses {
				if status != "default" && resp.Content["application/json"] != nil {
					f.validate(operation, resp.Content["application/json"].Schema, raw)
				}
			}
			return
		}
	}
	f.t.Fatalf("there is no operation %s", operation)
}

func (f *fixture) validate(what string, schema *huma.Schema, raw []byte) {
	f.t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	var res huma.ValidateResult
	huma.Validate(f.schemas.OpenAPI().Components.Schemas, schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, v, &res)
	for _, e := range res.Errors {
		f.t.Errorf("%s does not keep to its schema: %v in %.300s", what, e, raw)
	}
}

// client is a franz-go client to prepare data with.
func (f *fixture) client(opts ...kgo.Opt) *kgo.Client {
	f.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(f.address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(10 * time.Millisecond)}, opts...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(cl.Close)
	return cl
}

func (f *fixture) admin() *kadm.Client { return kadm.NewClient(f.client()) }

// topic makes a topic through the API.
func (f *fixture) topic(base string, partitions int32, configs map[string]string) string {
	f.t.Helper()
	name := f.name(base)
	var got explorer.TopicCreated
	f.do("createTopic", http.MethodPost, "/clusters/local/topics", explorer.TopicCreate{Name: name, Partitions: partitions, Replication: 1, Configs: configs}, &got)
	return name
}

// produce writes records and fails the test when one is refused.
func (f *fixture) produce(cl *kgo.Client, records ...*kgo.Record) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		f.t.Fatal(err)
	}
}

// events are what a stream sent.
type events struct {
	rows     []explorer.RecordRow
	problems []explorer.ScanProblem
	progress []explorer.Progress
	done     *explorer.Done
}

// scan reads a messages stream to its end.
func (f *fixture) scan(topic, query string) events {
	f.t.Helper()
	var got events
	f.stream(topic, query, func(e events) bool { got = e; return true })
	if got.done == nil {
		f.t.Fatalf("the stream %s ended without done", query)
	}
	return got
}

// stream reads a messages stream; after each event, more says whether to go on.
func (f *fixture) stream(topic, query string, more func(events) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/api/v1/clusters/"+f.cluster+"/topics/"+url.PathEscape(topic)+"/messages?"+query, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(resp.Body)
		f.t.Fatalf("%s: %d %s", query, resp.StatusCode, raw)
	}
	var e events
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	event := ""
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
			continue
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		f.event(&e, event, []byte(data))
		if e.done != nil || !more(e) {
			if e.done != nil {
				more(e)
			}
			return
		}
	}
}

func (f *fixture) event(e *events, event string, data []byte) {
	f.t.Helper()
	schemas := f.schemas.OpenAPI().Components.Schemas.Map()
	switch event {
	case "messages":
		var b explorer.RecordBatch
		f.validate(event, schemas["RecordBatch"], data)
		decode(f.t, data, &b)
		e.rows = append(e.rows, b.Records...)
	case "problem":
		var p explorer.ScanProblem
		f.validate(event, schemas["ScanProblem"], data)
		decode(f.t, data, &p)
		e.problems = append(e.problems, p)
	case "progress":
		var p explorer.Progress
		f.validate(event, schemas["Progress"], data)
		decode(f.t, data, &p)
		e.progress = append(e.progress, p)
	case "done":
		f.validate(event, schemas["Done"], data)
		e.done = &explorer.Done{}
		decode(f.t, data, e.done)
	default:
		f.t.Fatalf("unknown event %q", event)
	}
}

func offsets(rows []explorer.RecordRow) []int64 {
	out := []int64{}
	for _, r := range rows {
		out = append(out, r.Offset)
	}
	return out
}

func record(topic string, partition int32, key, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(value)}
}
