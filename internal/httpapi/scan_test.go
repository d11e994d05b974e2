package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/internal/explorer"
)

// transact writes records in one transaction and ends it.
func (f *fixture) transact(cl *kgo.Client, commit kgo.TransactionEndTry, records ...*kgo.Record) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := cl.BeginTransaction(); err != nil {
		f.t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		f.t.Fatal(err)
	}
	if err := cl.EndTransaction(ctx, commit); err != nil {
		f.t.Fatal(err)
	}
}

func TestNewestInTransactions(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("transactions", 1, nil)
	cl := f.client(kgo.TransactionalID(f.name("tx")))
	for i := range 10 {
		f.transact(cl, kgo.TryCommit, record(topic, 0, "k", fmt.Sprint(i)))
	}
	got := f.scan(topic, "range=newest&limit=5")
	if diff := cmp.Diff([]int64{18, 16, 14, 12, 10}, offsets(got.rows)); diff != "" {
		t.Fatalf("the last 5:\n%s", diff)
	}
	if got.done.Progress.Markers == 0 {
		t.Error("the markers are not counted")
	}
	var aborted []*kgo.Record
	for i := range 50 {
		aborted = append(aborted, record(topic, 0, "k", fmt.Sprint("aborted ", i)))
	}
	f.transact(cl, kgo.TryAbort, aborted...)
	got = f.scan(topic, "range=newest&limit=10")
	if diff := cmp.Diff([]int64{18, 16, 14, 12, 10, 8, 6, 4, 2, 0}, offsets(got.rows)); diff != "" {
		t.Fatalf("the newest 10 visible:\n%s", diff)
	}
	if got.done.Progress.Aborted != 50 {
		t.Errorf("%d aborted records counted, not 50", got.done.Progress.Aborted)
	}
	all := f.scan(topic, "range=newest&limit=10&isolation=read_uncommitted")
	if all.rows[0].Value.Text != "aborted 49" || len(all.rows) != 10 {
		t.Errorf("uncommitted: %d rows, first %+v", len(all.rows), all.rows[0].Value)
	}
}

func TestOpenTransactionIsSaid(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("open", 1, nil)
	f.produce(f.client(), record(topic, 0, "k", "visible"))
	cl := f.client(kgo.TransactionalID(f.name("tx-open")))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	f.produce(cl, record(topic, 0, "k", "open"))
	got := f.scan(topic, "range=oldest")
	if diff := cmp.Diff([]int64{0}, offsets(got.rows)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(got.done.Text, "open transaction") {
		t.Errorf("done says %q", got.done.Text)
	}
	if err := cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

// stamped spreads records over partitions with times that interleave.
func (f *fixture) stamped(topic string, partitions, each int) {
	f.t.Helper()
	cl := f.client()
	for p := range partitions {
		var rs []*kgo.Record
		for i := range each {
			r := record(topic, int32(p), "k", fmt.Sprintf("%d/%d", p, i))
			r.Timestamp = time.UnixMilli(int64(1_700_000_000_000 + i*partitions + p))
			rs = append(rs, r)
		}
		f.produce(cl, rs...)
	}
}

func TestPartitionsMergeByTime(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("merge", 4, nil)
	f.stamped(topic, 3, 500) // partition 3 stays empty
	for _, c := range []struct {
		query string
		first int64
		step  int64
	}{{"range=newest&limit=1000", 1499, -1}, {"range=oldest&limit=1000", 0, 1}} {
		got := f.scan(topic, c.query)
		if len(got.rows) != 1000 || got.done.Reason != "limit" {
			t.Fatalf("%s: %d rows, %+v", c.query, len(got.rows), got.done)
		}
		for i, r := range got.rows {
			if want := 1_700_000_000_000 + c.first + int64(i)*c.step; r.Timestamp != want {
				t.Fatalf("%s: row %d has time %d, not %d", c.query, i, r.Timestamp, want)
			}
		}
		rest := f.scan(topic, c.query+"&cursor="+url.QueryEscape(got.done.Cursor))
		if len(rest.rows) != 500 || rest.done.Reason != "end" || rest.done.Cursor != "" {
			t.Fatalf("%s continued: %d rows, %+v", c.query, len(rest.rows), rest.done)
		}
		if want := 1_700_000_000_000 + c.first + 1000*c.step; rest.rows[0].Timestamp != want {
			t.Errorf("%s goes on at %d, not %d", c.query, rest.rows[0].Timestamp, want)
		}
	}
}

func TestPartitionsCanBeChosen(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("choose", 3, nil)
	f.stamped(topic, 3, 5)
	got := f.scan(topic, "range=oldest&partition=2,0")
	for _, r := range got.rows {
		if r.Partition == 1 {
			t.Fatal("partition 1 was not asked for")
		}
	}
	if len(got.rows) != 10 || got.done.Progress.Partitions != 2 {
		t.Fatalf("%d rows of %d partitions", len(got.rows), got.done.Progress.Partitions)
	}
	none := f.scan(topic, "partition=9")
	if none.done.Reason != "failed" || len(none.problems) != 1 || !strings.Contains(none.problems[0].Problem.Title, "no partition 9") {
		t.Errorf("partition 9: %+v %+v", none.done, none.problems)
	}
}

func TestSeekSaysWhyNothingComes(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("seek", 2, nil)
	empty := f.scan(topic, "range=newest")
	if empty.done.Reason != "empty" || len(empty.rows) != 0 {
		t.Errorf("empty topic: %+v", empty.done)
	}
	f.stamped(topic, 2, 10)
	cases := []struct {
		query  string
		rows   int
		reason string
	}{
		{"range=offset&offset=10", 0, "pastEnd"},
		{"range=offset&offset=9223372036854775807", 0, "pastEnd"},
		{"range=offset&offset=10&partition=1", 0, "pastEnd"},
		{"range=offset&offset=7", 6, "end"},
		{"range=time&timestamp=1800000000000", 0, "noLaterRecords"},
		{"range=time&timestamp=1800000000000&partition=1", 0, "noLaterRecords"},
		{"range=time&timestamp=1700000000010", 10, "end"},
		{"range=time&timestamp=-5", 20, "end"},
		{"range=newest&limit=20", 20, "end"},
	}
	for _, c := range cases {
		got := f.scan(topic, c.query)
		if len(got.rows) != c.rows || got.done.Reason != c.reason || got.done.Text == "" || len(got.problems) > 0 {
			t.Errorf("%s: %d rows, %+v, problems %+v", c.query, len(got.rows), got.done, got.problems)
		}
	}
	for _, query := range []string{"range=offset", "range=offset&offset=x", "range=time", "cursor=zzz", "range=sideways", "limit=0", "limit=99999999"} {
		status, raw := f.raw(http.MethodGet, "/clusters/local/topics/"+topic+"/messages?"+query, nil)
		if status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", query, status, raw)
		}
	}
}

func TestUnknownTopicIsSaidInTheStream(t *testing.T) {
	f := newFixture(t)
	got := f.scan("no-such-topic", "range=newest")
	if got.done.Reason != "failed" || len(got.problems) != 1 || got.problems[0].Problem.Code != "UNKNOWN_TOPIC_OR_PARTITION" {
		t.Fatalf("%+v %+v", got.done, got.problems)
	}
}

func TestCompressedBatchesRead(t *testing.T) {
	f := newFixture(t)
	for name, codec := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(), "none": kgo.NoCompression(),
	} {
		topic := f.topic("codec-"+name, 1, nil)
		cl := f.client(kgo.ProducerBatchCompression(codec))
		var rs []*kgo.Record
		for i := range 200 {
			rs = append(rs, record(topic, 0, "k", strings.Repeat("x", 50)+fmt.Sprint(i)))
		}
		f.produce(cl, rs...)
		got := f.scan(topic, "range=newest&limit=200")
		if len(got.rows) != 200 || got.rows[0].Offset != 199 || got.rows[0].Compression != name {
			t.Errorf("%s: %d rows, first %+v", name, len(got.rows), got.rows[0])
		}
	}
}

func TestLiveTail(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("live", 2, nil)
	cl := f.client()
	f.produce(cl, record(topic, 0, "k", "before"))
	produced := false
	f.stream(topic, "range=live", func(e events) bool {
		if len(e.progress) > 0 && !produced {
			produced = true
			for i := range 100 {
				f.produce(cl, record(topic, int32(i%2), "k", fmt.Sprint(i)))
			}
		}
		if len(e.rows) < 100 {
			return true
		}
		seen := map[string]bool{}
		for _, r := range e.rows {
			seen[r.Value.Text] = true
		}
		if seen["before"] || len(seen) != 100 {
			t.Errorf("%d different rows, with the one from before: %v", len(seen), seen["before"])
		}
		return false
	})
	var cursor string
	f.stream(topic, "range=live", func(e events) bool {
		if len(e.progress) > 0 {
			cursor = e.progress[0].Cursor
		}
		return cursor == ""
	})
	f.produce(cl, record(topic, 1, "k", "while away"))
	f.stream(topic, "range=live&cursor="+url.QueryEscape(cursor), func(e events) bool {
		if len(e.rows) > 0 && e.rows[0].Value.Text != "while away" {
			t.Errorf("got %+v", e.rows[0])
		}
		return len(e.rows) == 0
	})
}

func TestClusterGoesDownMidway(t *testing.T) {
	f := fakeOnly(t)
	topic := f.topic("down", 1, nil)
	f.produce(f.client(), record(topic, 0, "k", "v"))
	closed := false
	f.stream(topic, "range=live", func(e events) bool {
		if len(e.progress) > 0 && !closed {
			closed = true
			f.fake.Close()
		}
		return len(e.problems) == 0
	})
	var p explorer.Problem
	if status := f.do("", http.MethodGet, "/clusters/local/topics", nil, &p); status != http.StatusBadGateway || p.Code != "CONNECTION_REFUSED" {
		t.Errorf("the topic list says %d %+v", status, p)
	}
	got := f.scan(topic, "range=newest")
	if got.done.Reason != "failed" || len(got.problems) == 0 || got.problems[0].Problem.Code != "CONNECTION_REFUSED" {
		t.Errorf("%+v %+v", got.done, got.problems)
	}
	var list explorer.ClusterList
	f.do("listClusters", http.MethodGet, "/clusters", nil, &list)
	if h := list.Clusters[0].Health; h.State != "down" || h.Problem == nil {
		t.Errorf("health %+v", h)
	}
}

// A closed page must end the scan with its goroutines and connections.
func TestClosedStreamsFreeEverything(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("closed", 3, nil)
	f.scan(topic, "range=newest") // settles what the server and the client keep
	before := runtime.NumGoroutine()
	for range 5 {
		f.stream(topic, "range=live", func(events) bool { return false })
	}
	deadline := time.Now().Add(20 * time.Second)
	for runtime.NumGoroutine() > before+3 { // a kept-alive HTTP connection may come or go
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}
