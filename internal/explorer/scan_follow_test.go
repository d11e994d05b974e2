package explorer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"klamm/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a Sink that keeps everything.
type collector struct {
	rows     []RecordRow
	problems []ScanProblem
	progress []Progress
	done     *Done
	onRows   func(total int) error
}

func (c *collector) Progress(p Progress) error { c.progress = append(c.progress, p); return nil }
func (c *collector) Problem(p ScanProblem) error {
	c.problems = append(c.problems, p)
	return nil
}
func (c *collector) Done(d Done) error { c.done = &d; return nil }
func (c *collector) Records(rows []RecordRow) error {
	c.rows = append(c.rows, rows...)
	if c.onRows != nil {
		return c.onRows(len(c.rows))
	}
	return nil
}

// cluster starts a fake cluster with one topic and n records on partition 0.
func cluster(t *testing.T, n int) (*Connection, *kgo.Client) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	conn, err := Connect(ClusterSettings{Name: "x", Bootstrap: fake.ListenAddrs()}, ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	produce(t, cl, 0, n)
	return conn, cl
}

func produce(t *testing.T, cl *kgo.Client, from, to int) {
	t.Helper()
	if err := produceAll(cl, from, to); err != nil {
		t.Fatal(err)
	}
}

func produceAll(cl *kgo.Client, from, to int) error {
	var rs []*kgo.Record
	for i := from; i < to; i++ {
		rs = append(rs, &kgo.Record{Key: []byte{}, Value: fmt.Append(nil, i), Headers: []kgo.RecordHeader{{Key: "n"}, {Key: "e", Value: []byte{}}}})
	}
	return cl.ProduceSync(context.Background(), rs...).FirstErr()
}

func timed(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// What a consume command needs: all records with their bytes, then what arrives.
func TestFollowGivesRawRecordsWithoutEnd(t *testing.T) {
	conn, cl := cluster(t, 3000)
	ctx, cancel := context.WithCancel(timed(t))
	defer cancel()
	c := &collector{}
	c.onRows = func(total int) error {
		switch total {
		case 3000:
			produce(t, cl, 3000, 3010)
		case 3010:
			cancel()
		}
		return nil
	}
	err := conn.Scan(ctx, ScanRequest{Topic: "t", Range: RangeOldest, Follow: true, Raw: true, Lossless: true}, c)
	if !errors.Is(err, context.Canceled) || len(c.rows) != 3010 {
		t.Fatalf("%v with %d rows", err, len(c.rows))
	}
	for i, r := range c.rows {
		if r.Offset != int64(i) || string(r.Raw.Value) != fmt.Sprint(i) {
			t.Fatalf("row %d is offset %d, %q", i, r.Offset, r.Raw.Value)
		}
	}
	raw := c.rows[0].Raw
	if raw.Key == nil || len(raw.Key) != 0 {
		t.Error("an empty key became null")
	}
	if diff := cmp.Diff([]record.Header{{Key: "n"}, {Key: "e", Value: []byte{}}}, raw.Headers); diff != "" {
		t.Error(diff)
	}
}

func TestScanWithoutLimitReadsAll(t *testing.T) {
	conn, _ := cluster(t, 12_345)
	for _, r := range []Range{RangeOldest, RangeNewest} {
		c := &collector{}
		if err := conn.Scan(timed(t), ScanRequest{Topic: "t", Range: r}, c); err != nil {
			t.Fatal(err)
		}
		if len(c.rows) != 12_345 || c.done.Reason != "end" || c.done.Progress.Scanned < 12_345 {
			t.Errorf("%s: %d rows, %+v", r, len(c.rows), c.done)
		}
		sorted := slices.IsSortedFunc(c.rows, func(a, b RecordRow) int {
			if r == RangeNewest {
				a, b = b, a
			}
			return int(a.Offset - b.Offset)
		})
		if !sorted {
			t.Errorf("%s is out of order", r)
		}
	}
}

func TestScanStopsAtItsBudget(t *testing.T) {
	conn, _ := cluster(t, 20_000)
	c := &collector{}
	if err := conn.Scan(timed(t), ScanRequest{Topic: "t", Range: RangeOldest, MaxBytes: 1000}, c); err != nil {
		t.Fatal(err)
	}
	if c.done.Reason != "byteLimit" || c.done.Cursor == "" || len(c.rows) == 0 || len(c.rows) == 20_000 {
		t.Fatalf("%d rows, %+v", len(c.rows), c.done)
	}
	next, err := ParseCursor(c.done.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	rest := &collector{}
	if err := conn.Scan(timed(t), ScanRequest{Topic: "t", Range: RangeOldest, Cursor: next}, rest); err != nil {
		t.Fatal(err)
	}
	if len(c.rows)+len(rest.rows) != 20_000 || rest.rows[0].Offset != int64(len(c.rows)) {
		t.Errorf("%d and then %d rows from %d", len(c.rows), len(rest.rows), rest.rows[0].Offset)
	}
}

// A page that cannot keep up loses the oldest rows of a tail, and is told how many; a command that
// asks for all of them loses none.
func TestSlowTailSaysWhatItDropped(t *testing.T) {
	for _, lossless := range []bool{false, true} {
		s := &scan{q: ScanRequest{Range: RangeLive, Follow: true, Lossless: lossless}}
		r := &reader{high: math.MaxInt64, scan: &s.counts}
		for i := range int64(maxLiveBacklog + 500) {
			r.rows = append(r.rows, RecordRow{Offset: i})
		}
		s.readers = []*reader{r}
		if reason := s.drain(); reason != "" {
			t.Fatalf("it ends: %s", reason)
		}
		want := Progress{Found: maxLiveBacklog, Dropped: 500}
		if lossless {
			want = Progress{Found: maxLiveBacklog + 500}
		}
		if got := s.counts.Progress; got.Found != want.Found || got.Dropped != want.Dropped || s.out[len(s.out)-1].Offset != maxLiveBacklog+499 {
			t.Errorf("lossless %v: %+v, %d rows", lossless, got, len(s.out))
		}
	}
}

func TestFailingSinkEndsTheScan(t *testing.T) {
	conn, _ := cluster(t, 100)
	broken := errors.New("broken pipe")
	c := &collector{onRows: func(int) error { return broken }}
	if err := conn.Scan(timed(t), ScanRequest{Topic: "t", Range: RangeOldest}, c); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}
