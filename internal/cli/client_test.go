package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTopics(t *testing.T) {
	b := startBroker(t)
	if out := klamm(t, "", "topic", "list", "-b", b, "-o", "json"); out != "[]\n" {
		t.Errorf("no topics: %q", out)
	}
	klamm(t, "", "topic", "create", "zebra", "ant.1", "-p", "3", "--topic-config", "retention.ms=9007199254740993", "-b", b)
	refused(t, exitFailed, "topic ant.1: a topic of this name exists already", "", "topic", "create", "ant.1", "-b", b)
	klamm(t, "", "topic", "create", "ant.1", "--if-not-exists", "-b", b)
	refused(t, exitFailed, "not a legal topic name", "", "topic", "create", "a/b", "-b", b)
	refused(t, exitFailed, "retention.ms", "", "topic", "create", "x", "--topic-config", "retention.ms=soon", "-b", b)
	refused(t, exitFailed, "replication factor", "", "topic", "create", "x", "-r", "3", "-b", b)
	klamm(t, "", "topic", "create", "dry", "--validate-only", "-b", b)
	if out := klamm(t, "", "topic", "list", "-b", b); out != "TOPIC  PARTITIONS  REPLICAS\nant.1  3           1\nzebra  3           1\n" {
		t.Errorf("table:\n%s", out)
	}
	if out := klamm(t, "", "topic", "list", "-b", b, "-o", "plain"); out != "ant.1\nzebra\n" {
		t.Errorf("plain: %q", out)
	}
	klamm(t, "", "topic", "alter", "zebra", "-p", "5", "--topic-config", "cleanup.policy=compact", "--delete-config", "retention.ms", "-b", b)
	klamm(t, "", "topic", "alter", "zebra", "--append-config", "cleanup.policy=delete", "-b", b)
	refused(t, exitFailed, "topic zebra", "", "topic", "alter", "zebra", "-p", "2", "-b", b)
	refused(t, exitFailed, "bogus", "", "topic", "alter", "zebra", "--topic-config", "bogus=1", "-b", b)

	var described []topicDescription
	if err := json.Unmarshal([]byte(klamm(t, "", "topic", "describe", "zebra", "ant.1", "-b", b, "-o", "json")), &described); err != nil {
		t.Fatal(err)
	}
	if len(described) != 2 || len(described[0].Partitions) != 5 || *described[0].Partitions[4].End != 0 || len(described[0].ID) != 22 {
		t.Errorf("described: %+v", described)
	}
	policy, retention := "compact,delete", "9007199254740993"
	if diff := cmp.Diff([]configValue{{"cleanup.policy", &policy, "DYNAMIC_TOPIC_CONFIG"}}, described[0].Configs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]configValue{{"retention.ms", &retention, "DYNAMIC_TOPIC_CONFIG"}}, described[1].Configs); diff != "" {
		t.Error(diff)
	}
	refused(t, exitFailed, "topic nope: there is no such topic", "", "topic", "describe", "ant.1", "nope", "-b", b)
	klamm(t, "", "topic", "delete", "zebra", "-b", b)
	refused(t, exitFailed, "topic zebra: there is no such topic", "", "topic", "delete", "zebra", "-b", b)
	klamm(t, "", "topic", "delete", "zebra", "--if-exists", "-b", b)
}

func TestProduceAndConsume(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	refused(t, exitFailed, "there is no topic nope; create it with: klamm topic create nope", "x\n", "produce", "nope", "-b", b)
	refused(t, exitFailed, "there is no topic nope", "", "consume", "nope", "-b", b)

	produce := func(in string, args ...string) {
		t.Helper()
		klamm(t, in, append([]string{"produce", "t", "-b", b}, args...)...)
	}
	produce("plain\n\nno line end")
	produce("k:v:w\n:\n~:~\n", "-K", ":", "--null", "~", "-H", "a=1", "-H", "b=", "-H", "c")
	produce("", "-k", "gone", "--tombstone")
	for _, codec := range []string{"gzip", "snappy", "lz4", "zstd"} {
		produce(codec+"\n", "-k", "codec", "-z", codec, "--timestamp", "1700000000000")
	}
	produce("one\n", "--acks", "1")
	refused(t, exitFailed, `klamm: wrote 1 record to topic t: line 2 of the input: it has no key separator "="`, "a=b\nc\n", "produce", "t", "-K", "=", "-b", b)
	refused(t, exitFailed, `line 1 of the input: "vlaue" is not a field`, `{"vlaue":1}`, "produce", "t", "-f", "jsonl", "-b", b)

	want := strings.Join([]string{
		`"key":null,"value":"plain"`, `"key":null,"value":""`, `"key":null,"value":"no line end"`,
		`"key":"k","value":"v:w","headers":[{"key":"a","value":"1"},{"key":"b","value":""},{"key":"c","value":null}]`,
		`"key":"","value":"","headers":[{"key":"a","value":"1"},{"key":"b","value":""},{"key":"c","value":null}]`,
		`"key":null,"value":null,"headers":[{"key":"a","value":"1"},{"key":"b","value":""},{"key":"c","value":null}]`,
		`"key":"gone","value":null`,
		`"key":"codec","value":"gzip"`, `"key":"codec","value":"snappy"`, `"key":"codec","value":"lz4"`, `"key":"codec","value":"zstd"`,
		`"key":null,"value":"one"`, `"key":"a","value":"b"`,
	}, "\n")
	var got []string
	for line := range strings.Lines(klamm(t, "", "consume", "t", "--exit", "-o", "jsonl", "-b", b)) {
		_, fields, _ := strings.Cut(strings.TrimSuffix(line, "}\n"), `"timestampType":"CreateTime",`)
		got = append(got, fields)
	}
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestConsumeRanges(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "2", "-b", b)
	for i := range 6 {
		klamm(t, fmt.Sprintf("v%d\n", i), "produce", "t", "-p", fmt.Sprint(i%2), "--timestamp", fmt.Sprint(1700000000000+i*1000), "-b", b)
	}
	for _, c := range []struct{ args, want string }{
		{"--exit", "v0 v1 v2 v3 v4 v5"},
		{"--exit -n 2", "v0 v1"},
		{"-n 3 -p 0", "v0 v2 v4"},
		{"--exit -p 1", "v1 v3 v5"},
		{"--exit --from 2", "v4 v5"},
		{"--from -3", "v3 v4 v5"},
		{"--from -3 -n 2", "v4 v5"},
		{"--from -100", "v0 v1 v2 v3 v4 v5"},
		{"--exit --from @1700000002001", "v3 v4 v5"},
		{"--exit --from 2023-11-14T22:13:24Z", "v4 v5"},
		{"--exit --from end", ""},
		{"--exit --from 99", ""},
	} {
		args := append([]string{"consume", "t", "-b", b}, strings.Fields(c.args)...)
		if got := strings.Join(strings.Fields(klamm(t, "", args...)), " "); got != c.want {
			t.Errorf("consume %s: %q, want %q", c.args, got, c.want)
		}
	}
	refused(t, exitFailed, "partition 7", "", "consume", "t", "--exit", "-p", "7", "-b", b)
	for format, want := range map[string]string{
		"plain": "v0\n", "raw": "v0", "key": "NULL\tv0\n",
		"json":  "[\n{\"topic\":\"t\",\"partition\":0,\"offset\":0,\"timestamp\":1700000000000,\"timestampType\":\"CreateTime\",\"key\":null,\"value\":\"v0\"}\n]\n",
		"table": "PARTITION  OFFSET        TIME                      KEY                   VALUE\n0          0             2023-11-14T22:13:20.000Z  NULL                  v0\n",
	} {
		if got := klamm(t, "", "consume", "t", "--exit", "-n", "1", "-o", format, "-b", b); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	if got := klamm(t, "", "consume", "t", "--exit", "--from", "end", "-o", "json", "-b", b); got != "[\n]\n" {
		t.Errorf("an empty JSON array: %q", got)
	}
}

func TestConsumeFollows(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	klamm(t, "old\n", "produce", "t", "-b", b)
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	c := command{ctx: ctx}
	code := make(chan int)
	go func() { code <- c.run(t, "consume", "t", "--from", "beginning", "-b", b) }()
	waitFor(t, "the old record", func() bool { return c.out.String() == "old\n" })
	klamm(t, "new\n", "produce", "t", "-b", b)
	waitFor(t, "the new record", func() bool { return c.out.String() == "old\nnew\n" })
	interrupt()
	if got := <-code; got != exitInterrupted || c.err.String() != "" {
		t.Errorf("interrupted: exit code %d, %q", got, &c.err)
	}
}

// TestRoundTripIsExact sends what one topic holds to another and compares every byte.
func TestRoundTripIsExact(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "one", "two", "-p", "3", "-b", b)
	values := [][]byte{nil, {}, []byte("null"), {0, 1}, {0xff, 0xfe, 0, 'b'}, []byte("é\u2028😀\x7f\"\\"), []byte(`{"n":23958446825181076828}`), []byte("\ufffd"), []byte(strings.Repeat("x", 5000))}
	var in strings.Builder
	for i := range 200 {
		partition, timestamp := int32(i%3), int64(1700000000000+i*7919)
		l := recordLine{Partition: &partition, Timestamp: &timestamp, Key: values[i%len(values)], Value: values[(i/3)%len(values)]}
		for h := range i % 4 {
			l.Headers = append(l.Headers, headerLine{Key: []string{"h", "", "h", "\xff"}[h], Value: values[(i+h)%len(values)]})
		}
		in.Write(append(l.appendJSON(nil), '\n'))
	}
	klamm(t, in.String(), "produce", "one", "-f", "jsonl", "-b", b)
	first := klamm(t, "", "consume", "one", "--exit", "-o", "jsonl", "-b", b)
	klamm(t, first, "produce", "two", "-f", "jsonl", "-b", b)
	second := klamm(t, "", "consume", "two", "--exit", "-o", "jsonl", "-b", b)
	if got := strings.ReplaceAll(second, `"topic":"two"`, `"topic":"one"`); got != first || strings.Count(first, "\n") != 200 {
		t.Errorf("%d lines became %d different ones", strings.Count(first, "\n"), strings.Count(second, "\n"))
	}
}

func TestProduceReportsOffsets(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	out := klamm(t, "a\nb\n", "produce", "t", "-o", "jsonl", "--timestamp", "5", "-b", b)
	if want := `{"topic":"t","partition":0,"offset":0,"timestamp":5}` + "\n" + `{"topic":"t","partition":0,"offset":1,"timestamp":5}` + "\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	refused(t, exitFailed, "klamm: wrote 0 of 1 record to topic t: partition 9 does not exist: the topic has 1, counted from 0\n", "x\n", "produce", "t", "-p", "9", "-b", b)
	klamm(t, "", "topic", "alter", "t", "--topic-config", "max.message.bytes=100", "-b", b)
	refused(t, exitFailed, "larger than the topic allows", strings.Repeat("x", 500)+"\n", "produce", "t", "-b", b)
}

func TestProduceCompressesNothingUnasked(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	text := strings.Repeat("compressible ", 500) + "\n"
	klamm(t, text, "produce", "t", "-b", b)
	klamm(t, text, "produce", "t", "-b", b, "-z", "zstd")
	klamm(t, text, "produce", "t", "-b", b, "-X", "compression.type=gzip")
	cl, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var codecs []uint8
	for len(codecs) < 3 && ctx.Err() == nil {
		for _, r := range cl.PollFetches(ctx).Records() {
			codecs = append(codecs, r.Attrs.CompressionType())
		}
	}
	if diff := cmp.Diff([]uint8{0, 4, 1}, codecs); diff != "" {
		t.Error(diff)
	}
}

func TestProduceInterrupted(t *testing.T) {
	b := startBroker(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	c := command{ctx: ctx, in: in}
	code := make(chan int)
	go func() { code <- c.run(t, "produce", "t", "-o", "jsonl", "-b", b) }()
	if _, err := feed.WriteString("first\n"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first record", func() bool { return strings.Contains(c.out.String(), `"offset":0`) })
	interrupt()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d: %s", got, &c.err)
	}
	feed.Close() // lets the reader of the input end
}

func TestGroups(t *testing.T) {
	b := startBroker(t)
	if out := klamm(t, "", "group", "list", "-b", b, "-o", "json"); out != "[]\n" {
		t.Errorf("no groups: %q", out)
	}
	refused(t, exitFailed, "group nope: there is no such group", "", "group", "describe", "nope", "-b", b)
	klamm(t, "", "topic", "create", "t", "-p", "2", "-b", b)
	klamm(t, "a\nb\nc\n", "produce", "t", "-p", "0", "-b", b)
	cl, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.ConsumerGroup("g 1"), kgo.ConsumeTopics("t"), kgo.ClientID("reader"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var records []*kgo.Record
	for len(records) < 3 {
		records = append(records, cl.PollFetches(ctx).Records()...)
		if ctx.Err() != nil {
			t.Fatal("no records")
		}
	}
	if err := cl.CommitRecords(ctx, records[:2]...); err != nil {
		t.Fatal(err)
	}
	if out := klamm(t, "", "group", "list", "-b", b, "-o", "plain"); out != "g 1\n" {
		t.Errorf("list: %q", out)
	}
	var described []groupDescription
	if err := json.Unmarshal([]byte(klamm(t, "", "group", "describe", "g 1", "-b", b, "-o", "json")), &described); err != nil {
		t.Fatal(err)
	}
	g := described[0]
	if g.State != "Stable" || len(g.Members) != 1 || g.Members[0].Client != "reader" || g.TotalLag != 1 || len(g.Offsets) != 2 {
		t.Errorf("%+v", g)
	}
	if p := g.Offsets[0]; *p.Committed != 2 || *p.End != 3 || *p.Lag != 1 || *p.Member != g.Members[0].ID {
		t.Errorf("partition 0: %+v", p)
	}
	if p := g.Offsets[1]; p.Committed != nil || p.Lag != nil || *p.End != 0 {
		t.Errorf("partition 1 has no offset: %+v", p)
	}
	if out := klamm(t, "", "group", "describe", "g 1", "-b", b); !strings.Contains(out, "group g 1  state Stable") || !strings.Contains(out, "t[0,1]") {
		t.Errorf("table:\n%s", out)
	}
	cl.Close()
}

func TestCluster(t *testing.T) {
	b := startBroker(t, "node.id=7", "broker.rack=r1")
	var d clusterDescription
	if err := json.Unmarshal([]byte(klamm(t, "", "cluster", "describe", "-b", b, "-o", "json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.ClusterID) != 22 || d.Controller != 7 || len(d.Brokers) != 1 || d.Brokers[0].ID != 7 || *d.Brokers[0].Rack != "r1" {
		t.Errorf("%+v", d)
	}
	if out := klamm(t, "", "cluster", "describe", "-b", b); !strings.Contains(out, "cluster "+d.ClusterID) {
		t.Errorf("table:\n%s", out)
	}
}

func TestCommandConfig(t *testing.T) {
	b := startBroker(t)
	file := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(file, []byte("bootstrap.servers="+b+"\nkey.serializer=some.Class\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command{}
	if code := c.run(t, "topic", "list", "--command-config", file); code != exitDone || !strings.Contains(c.err.String(), "key.serializer has no effect here") {
		t.Errorf("code %d: %s", code, &c.err)
	}
	klamm(t, "", "topic", "list", "--command-config", file, "-b", b, "-X", "client.id=x", "-X", "request.timeout.ms=5000")
	refused(t, exitFailed, "the file of --command-config cannot be read", "", "topic", "list", "--command-config", file+"x")
}
