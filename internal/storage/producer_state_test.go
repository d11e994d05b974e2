package storage

import (
	"errors"
	"math"
	"slices"
	"testing"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

func TestIdempotentProducer(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	send := func(pid int64, epoch int16, seq int32, n int) (AppendInfo, error) {
		return l.AppendAsLeader(makeBatch(t, batchSpec{n: n, size: 10, pid: pid, epoch: epoch, seq: seq}), 0, w.now)
	}
	accepted := func(pid int64, epoch int16, seq int32, n int) {
		t.Helper()
		end := l.EndOffset()
		if info, err := send(pid, epoch, seq, n); err != nil || info.Duplicate || info.FirstOffset != end {
			t.Fatalf("sequence %d: %+v %v", seq, info, err)
		}
	}
	duplicate := func(pid int64, epoch int16, seq int32, n int, first int64) {
		t.Helper()
		end := l.EndOffset()
		info, err := send(pid, epoch, seq, n)
		if err != nil || !info.Duplicate || info.FirstOffset != first || info.LastOffset != first+int64(n)-1 || l.EndOffset() != end {
			t.Fatalf("retry of sequence %d: %+v %v", seq, info, err)
		}
	}
	refused := func(pid int64, epoch int16, seq int32, n int, code int16) {
		t.Helper()
		_, err := send(pid, epoch, seq, n)
		var kafka interface{ KafkaCode() int16 }
		if !errors.As(err, &kafka) || kafka.KafkaCode() != code {
			t.Fatalf("sequence %d: %v, want code %d", seq, err, code)
		}
	}
	// An unknown producer may begin anywhere.
	accepted(1, 0, 100, 2)
	for i := range int32(6) {
		accepted(1, 0, 102+2*i, 2)
	}
	duplicate(1, 0, 112, 2, 12)
	duplicate(1, 0, 104, 2, 4)                         // the oldest of five
	refused(1, 0, 102, 2, codeOutOfOrderSequence)      // older than the window
	refused(1, 0, 112, 1, codeOutOfOrderSequence)      // same start, other length
	refused(1, 0, 115, 1, codeOutOfOrderSequence)      // a gap
	refused(1, 1, 114, 1, codeOutOfOrderSequence)      // a new epoch begins at 0
	accepted(1, 1, 0, 3)                               //
	refused(1, 0, 114, 1, codeInvalidProducerEpoch)    // fenced
	refused(1, 0, 112, 2, codeInvalidProducerEpoch)    // a retry of the old epoch too
	duplicate(1, 1, 0, 3, 14)                          //
	refused(1, 1, 0, 2, codeOutOfOrderSequence)        //
	accepted(1, 1, 3, 1)                               //
	accepted(2, 5, math.MaxInt32-1, 2)                 // to the last sequence
	accepted(2, 5, 0, 2)                               // and on from 0
	duplicate(2, 5, math.MaxInt32-1, 2, 18)            //
	accepted(3, 0, math.MaxInt32, 3)                   // wraps within a batch: 2^31-1, 0, 1
	accepted(3, 0, 2, 1)                               //
	duplicate(3, 0, math.MaxInt32, 3, l.EndOffset()-4) //
	if l.producers.Len() != 3 {
		t.Fatalf("%d producers", l.producers.Len())
	}
}

// TestWindowAfterRestart: a snapshot holds only the last batch of a producer, but a retry of an older
// one in flight must be recognised all the same.
func TestWindowAfterRestart(t *testing.T) {
	for _, segmentBytes := range []int{1 << 20, 1000} {
		w := newWorld(t, vfs.NewMem())
		w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = segmentBytes, 0
		w.open()
		for i := range int32(8) {
			w.append(batchSpec{n: 1, size: 100, pid: 1, seq: i})
			w.append(batchSpec{n: 1, size: 100, pid: 2, seq: i})
		}
		w.closeClean()
		w.open()
		for i := int32(7); i >= 3; i-- {
			if info := w.append(batchSpec{n: 1, size: 100, pid: 1, seq: i}); !info.Duplicate || info.FirstOffset != int64(2*i) {
				t.Fatalf("segments of %d: retry of %d: %+v", segmentBytes, i, info)
			}
		}
		_, err := w.l.AppendAsLeader(makeBatch(t, batchSpec{n: 1, size: 100, pid: 1, seq: 2}), 0, w.now)
		if old := (*OutOfOrderSequence)(nil); !errors.As(err, &old) {
			t.Fatalf("segments of %d: older than the window: %v", segmentBytes, err)
		}
		if info := w.append(batchSpec{n: 1, size: 100, pid: 1, seq: 8}); info.FirstOffset != 16 {
			t.Fatalf("next: %+v", info)
		}
	}
}

// TestWindowIsSoughtWithinBounds: a long log is not read to its start for one retry.
func TestWindowIsSoughtWithinBounds(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 2000, 0
	w.open()
	for i := range int32(20) {
		w.append(batchSpec{size: 300, pid: 1, seq: i})
	}
	w.closeClean()
	w.open()
	for budget, want := range map[int64][]int64{0: nil, 400: {18}, 1500: {15, 16, 17, 18}, 4000: {14, 15, 16, 17, 18}} {
		found, err := w.l.olderBatches(1, 0, budget)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, b := range found {
			got = append(got, b.lastOffset)
		}
		if len(got) > len(want) || len(want) > 1 && !slices.Equal(got, want[len(want)-len(got):]) || len(got) < len(want)-2 {
			t.Errorf("%d bytes: %v, want about %v", budget, got, want)
		}
	}
}

func TestFailedWriteForgetsProducer(t *testing.T) {
	m := newProducerStateManager()
	first := makeBatch(t, batchSpec{pid: 1, seq: 0, transactional: true})
	m.undo(1, producerEntry{}, false) // of a producer that is not there
	before, existed := m.get(1)
	m.update(first)
	m.undo(1, before, existed)
	if m.Len() != 0 || m.firstOpenOffset() != -1 {
		t.Fatal("the producer is remembered")
	}
	m.update(first)
	before, existed = m.get(1)
	m.update(makeBatch(t, batchSpec{pid: 1, seq: 1}))
	m.undo(1, before, existed)
	if e, _ := m.get(1); e.lastSequence() != 0 || m.firstOpenOffset() != 0 {
		t.Fatalf("%+v", e)
	}
}

func TestProducerExpiry(t *testing.T) {
	m := newProducerStateManager()
	m.update(makeBatch(t, batchSpec{pid: 1, ts: 1000}))
	m.update(makeBatch(t, batchSpec{pid: 2, ts: 5000}))
	m.update(makeBatch(t, batchSpec{pid: 3, ts: 1000, transactional: true}))
	m.expire(5000, 4000)
	if _, there := m.get(1); there || m.Len() != 2 {
		t.Fatalf("%d producers left", m.Len())
	}
}

// endTxn is a transaction marker.
func endTxn(t *testing.T, pid int64, commit bool) record.Batch {
	t.Helper()
	o := record.Plain()
	o.ProducerID, o.ProducerEpoch, o.Control, o.Transactional = pid, 0, true, true
	kind := record.ControlAbort
	if commit {
		kind = record.ControlCommit
	}
	b := record.NewBuilder(o)
	b.Append(1_700_000_000_000, record.ControlKey(kind), record.EndTxnMarker(7), nil)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestOpenTransactionHoldsStableOffset(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	w.append(batchSpec{})
	w.append(batchSpec{pid: 1, transactional: true})
	w.append(batchSpec{pid: 2, transactional: true})
	w.append(batchSpec{})
	if l.LastStableOffset() != 1 {
		t.Fatalf("stable %d with two open transactions", l.LastStableOffset())
	}
	if _, err := l.AppendAsLeader(endTxn(t, 1, false), 0, w.now); err != nil {
		t.Fatal(err)
	}
	if l.LastStableOffset() != 2 {
		t.Fatalf("stable %d with one open transaction", l.LastStableOffset())
	}
	w.closeClean()
	l = w.open()
	if l.LastStableOffset() != 2 {
		t.Fatalf("stable %d after a restart", l.LastStableOffset())
	}
	if _, err := l.AppendAsLeader(endTxn(t, 2, true), 0, w.now); err != nil {
		t.Fatal(err)
	}
	if l.LastStableOffset() != l.EndOffset() {
		t.Fatalf("stable %d of %d", l.LastStableOffset(), l.EndOffset())
	}
	want := []AbortedTxn{{ProducerID: 1, FirstOffset: 1, LastOffset: 4, LastStableOffset: 2}}
	if got := l.active().aborted; !slices.Equal(got, want) {
		t.Fatalf("aborted %+v", got)
	}
}

func TestProducerSnapshotFormat(t *testing.T) {
	want := []ProducerSnapshotEntry{{1, 2, 3, 4, 5, 6, 7, 8}, {9, -1, -1, -1, 0, -1, -1, -1}}
	data := AppendProducerSnapshot([]byte{}, slices.Clone(want))
	got, err := ParseProducerSnapshot("x", data)
	if err != nil || !slices.Equal(got, want) || len(data) != 10+2*46 {
		t.Fatalf("%+v %v", got, err)
	}
	for i := range data {
		spoiled := slices.Clone(data)
		spoiled[i] ^= 1
		if _, err := ParseProducerSnapshot("x", spoiled); err == nil {
			t.Errorf("a flipped bit in byte %d is not noticed", i)
		}
	}
	for n := range data {
		if _, err := ParseProducerSnapshot("x", data[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(data))
		}
	}
}
