package explorer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"klamm/internal/record"
)

// modelLog is a partition made for a test: batches with gaps, markers and aborted transactions.
type modelLog struct {
	batches []record.Batch
	aborted []abortedTxn
	visible []int64 // offsets a read-committed reader sees
	markers int64
	hidden  int64 // aborted records
	end     int64
}

// abortedTxn spans from its first offset to its marker, as in a broker's transaction index.
type abortedTxn struct{ producer, first, marker int64 }

// drawLog makes a random log that starts at offset start.
func drawLog(t *rapid.T, start int64) *modelLog {
	l := &modelLog{end: start}
	open := map[int64]int64{} // producer -> first offset of its open transaction
	pending := map[int64][]int64{}
	for range rapid.IntRange(0, 25).Draw(t, "batches") {
		l.end += rapid.Int64Range(0, 3).Draw(t, "gap")
		producer := rapid.Int64Range(1, 2).Draw(t, "producer")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0, 1: // plain records, perhaps with holes inside the batch
			b, offsets := l.data(t, record.Plain())
			l.batches, l.visible = append(l.batches, b), append(l.visible, offsets...)
		case 2: // records of a transaction
			o := record.Plain()
			o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = producer, 0, 0, true
			if _, ok := open[producer]; !ok {
				open[producer] = l.end
			}
			b, offsets := l.data(t, o)
			l.batches, pending[producer] = append(l.batches, b), append(pending[producer], offsets...)
		case 3:
			first, ok := open[producer]
			if !ok {
				continue
			}
			commit := rapid.Bool().Draw(t, "commit")
			l.mark(t, producer, commit)
			if commit {
				l.visible = append(l.visible, pending[producer]...)
			} else {
				l.hidden += int64(len(pending[producer]))
				l.aborted = append(l.aborted, abortedTxn{producer, first, l.end - 1})
			}
			delete(open, producer)
			delete(pending, producer)
		}
	}
	for producer := int64(1); producer <= 2; producer++ { // a scan ends at the last stable offset, so nothing stays open
		if _, ok := open[producer]; ok {
			l.mark(t, producer, true)
			l.visible = append(l.visible, pending[producer]...)
		}
	}
	slices.Sort(l.visible)
	return l
}

func (l *modelLog) data(t *rapid.T, o record.BatchOptions) (record.Batch, []int64) {
	o.BaseOffset = l.end
	b := record.NewBuilder(o)
	var offsets []int64
	at := l.end
	for range rapid.IntRange(1, 6).Draw(t, "records") {
		b.AppendAt(at, at*10, []byte("k"), fmt.Appendf(nil, "%d", at), nil)
		offsets = append(offsets, at)
		at += rapid.Int64Range(1, 3).Draw(t, "step")
	}
	l.end = offsets[len(offsets)-1] + 1
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch, offsets
}

func (l *modelLog) mark(t *rapid.T, producer int64, commit bool) {
	o := record.Plain()
	o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = l.end, producer, 0, true, true
	kind := record.ControlAbort
	if commit {
		kind = record.ControlCommit
	}
	b := record.NewBuilder(o)
	b.AppendAt(l.end, 0, record.ControlKey(kind), record.EndTxnMarker(0), nil)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	l.batches = append(l.batches, batch)
	l.markers++
	l.end++
}

// fetch answers as a broker: whole batches from the one that holds pos, at least one, within bytes;
// the last may be cut.
func (l *modelLog) fetch(pos int64, bytes int32) *kmsg.FetchResponseTopicPartition {
	p := &kmsg.FetchResponseTopicPartition{HighWatermark: l.end}
	for _, a := range l.aborted {
		if a.marker >= pos {
			p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.producer, FirstOffset: a.first})
		}
	}
	for _, b := range l.batches {
		if b.LastOffset() < pos {
			continue
		}
		if len(p.RecordBatches) > 0 && len(p.RecordBatches)+len(b) > int(bytes) {
			p.RecordBatches = append(p.RecordBatches, b[:len(b)/2]...)
			break
		}
		p.RecordBatches = append(p.RecordBatches, b...)
	}
	return p
}

// Whatever lies in a log, reading it forward or backward in any portions shows exactly the visible
// records, and accounts for every offset.
func TestReaderShowsExactlyWhatIsVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 1000).Draw(t, "start")
		l := drawLog(t, start)
		counts := &scanCounts{}
		r := &reader{
			backward: rapid.Bool().Draw(t, "backward"), low: start, high: l.end, chunk: rapid.IntRange(1, 20).Draw(t, "chunk"),
			maxBytes: int32(rapid.IntRange(1, 2000).Draw(t, "bytes")), scan: counts, take: rowTaker(ScanRequest{}),
		}
		var d record.Decompressor
		var got []int64
		for fetches := 0; !r.exhausted(); fetches++ {
			if fetches > 5000 {
				t.Fatalf("no end: at %d of %d..%d", r.pos, r.low, r.high)
			}
			r.refill(&d)
			if r.wants() {
				r.answer(&d, l.fetch(r.pos, r.maxBytes), true)
			}
			if len(r.rows) > 0 {
				n := rapid.IntRange(1, len(r.rows)).Draw(t, "taken")
				for range n {
					got = append(got, r.pop().Offset)
				}
			}
			left := r.left()
			if r.backward && len(got) > 0 && left.High > got[len(got)-1] {
				t.Fatalf("the cursor would show %d again: %+v", got[len(got)-1], left)
			}
			if !r.backward && len(got) > 0 && left.Low <= got[len(got)-1] && left.Low < left.High {
				t.Fatalf("the cursor would show %d again: %+v", got[len(got)-1], left)
			}
		}
		want := slices.Clone(l.visible)
		if r.backward {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("backward %v:\n%s", r.backward, diff)
		}
		if !r.backward && counts.Scanned+counts.Gaps+counts.Markers+counts.Aborted != l.end-start {
			t.Fatalf("%d offsets, but %+v", l.end-start, counts.Progress)
		}
	})
}

func plainBatch(t *testing.T, base int64, values ...string) record.Batch {
	t.Helper()
	o := record.Plain()
	o.BaseOffset = base
	b := record.NewBuilder(o)
	for i, v := range values {
		b.AppendAt(base+int64(i), 0, nil, []byte(v), nil)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func forward(low, high int64) *reader {
	return &reader{low: low, high: high, chunk: 100, maxBytes: minPartitionBytes, scan: &scanCounts{}, take: rowTaker(ScanRequest{})}
}

func TestDamagedBatchIsNamedAndPassed(t *testing.T) {
	bad := plainBatch(t, 3, "d", "e")
	bad[len(bad)-1] ^= 0xff
	r := forward(0, 6)
	r.wants()
	var d record.Decompressor
	var all []byte
	for _, b := range []record.Batch{plainBatch(t, 0, "a", "b", "c"), bad, plainBatch(t, 5, "f")} {
		all = append(all, b...)
	}
	r.answer(&d, &kmsg.FetchResponseTopicPartition{RecordBatches: all, HighWatermark: 6}, true)
	var got []string
	for len(r.rows) > 0 {
		got = append(got, r.pop().Value.Text)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "f"}, got); diff != "" {
		t.Error(diff)
	}
	if !r.exhausted() || r.scan.Undecodable != 1 || len(r.scan.problems) != 1 || !strings.Contains(r.scan.problems[0].Problem.Title, "3 to 4") {
		t.Errorf("%+v", r.scan)
	}
}

func TestOldFormatIsSaid(t *testing.T) {
	old := plainBatch(t, 0, "a")
	old[16] = 1 // magic
	r := forward(0, 1)
	r.wants()
	var d record.Decompressor
	r.answer(&d, &kmsg.FetchResponseTopicPartition{RecordBatches: old, HighWatermark: 1}, true)
	if r.failed == nil || !strings.Contains(r.failed.Title, "older than Kafka 0.11") {
		t.Fatalf("%+v", r.failed)
	}
}

// Where offsets are left but the broker has nothing for them, a scan ends instead of asking for ever.
func TestNothingWhereSomethingShouldBe(t *testing.T) {
	r := forward(10, 20)
	var d record.Decompressor
	for range 10 {
		if !r.wants() {
			break
		}
		r.answer(&d, &kmsg.FetchResponseTopicPartition{HighWatermark: 20}, true)
	}
	if !r.exhausted() || r.scan.Gaps != 10 {
		t.Fatalf("still wants more; %+v", r.scan.Progress)
	}
	tail := forward(10, math.MaxInt64)
	for range 10 {
		if !tail.wants() {
			t.Fatal("a tail gave up")
		}
		tail.answer(&d, &kmsg.FetchResponseTopicPartition{HighWatermark: 10}, true)
	}
}

func TestRetentionOvertakesAScan(t *testing.T) {
	for _, backward := range []bool{false, true} {
		r := forward(0, 100)
		r.backward, r.chunk = backward, 200
		r.wants()
		if !r.moveStart(40) || r.pos != 40 {
			t.Errorf("backward %v: at %d", backward, r.pos)
		}
		if !r.moveStart(500) || !r.exhausted() {
			t.Errorf("backward %v: not at its end: %+v", backward, r)
		}
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Cursor{Partitions: map[int32]OffsetSpan{}}
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			low := rapid.Int64Range(0, math.MaxInt64).Draw(t, "low")
			c.Partitions[rapid.Int32Range(0, math.MaxInt32).Draw(t, "partition")] = OffsetSpan{Low: low, High: rapid.Int64Range(low, math.MaxInt64).Draw(t, "high")}
		}
		got, err := ParseCursor(c.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add("0.1.2-3.4.5")
	f.Add("--..")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseCursor(text); err == nil {
			if _, err := ParseCursor(c.String()); err != nil {
				t.Fatalf("%q reads, but what it writes does not: %v", text, err)
			}
		}
	})
}
