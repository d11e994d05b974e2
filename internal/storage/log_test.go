package storage

import (
	"errors"
	"testing"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

func TestAppendReadSync(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	for i := range 10 {
		info := w.append(batchSpec{n: 3, size: 100})
		if want := int64(i * 3); info.FirstOffset != want || info.LastOffset != want+2 {
			t.Fatalf("append %d: %+v", i, info)
		}
	}
	if l.SyncedOffset() != 0 {
		t.Fatalf("synced %d before Sync", l.SyncedOffset())
	}
	if to := w.sync(); to != 30 || l.SyncedOffset() != 30 {
		t.Fatalf("synced to %d, %d", to, l.SyncedOffset())
	}
	// The batch that contains the offset, whole.
	s, err := l.Read(7, 1, 30, true)
	if err != nil || s.FirstOffset != 6 {
		t.Fatalf("read: %+v %v", s, err)
	}
	if b := record.Batch(s.Bytes); int(batchSize(b)) != len(s.Bytes) {
		t.Fatalf("minOne returned %d bytes", len(s.Bytes))
	}
	if s, err := l.Read(7, 1, 30, false); err != nil || len(s.Bytes) != 0 {
		t.Fatalf("a batch beyond maxBytes without minOne: %+v %v", s, err)
	}
	// Bounded by upTo, which lies inside of a batch.
	if s, err := l.Read(0, 1<<20, 8, true); err != nil || record.Batch(s.Bytes).BaseOffset() != 0 || len(s.Bytes) != 2*int(batchSize(record.Batch(s.Bytes))) {
		t.Fatalf("upTo: %d bytes %v", len(s.Bytes), err)
	}
	if s, err := l.Read(30, 1000, 30, true); err != nil || len(s.Bytes) != 0 {
		t.Fatalf("at the end: %+v %v", s, err)
	}
	var out *OffsetOutOfRange
	if _, err := l.Read(31, 1000, 30, true); !errors.As(err, &out) || out.End != 30 {
		t.Fatalf("beyond the end: %v", err)
	}
	if got := len(readAll(t, l)); got != 10 {
		t.Fatalf("%d batches", got)
	}
}

func TestCleanRestart(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 2000, 300
	w.open()
	for i := range 40 {
		w.append(batchSpec{n: 2, size: 50, pid: 9, seq: int32(2 * i)})
	}
	before := readAll(t, w.l)
	w.closeClean()
	w.fs = memOf(w.fs).Crash(nil) // a clean shutdown leaves nothing to lose
	l := w.open()
	if clean, epoch := w.m.CleanShutdown(); !clean || epoch != 7 {
		t.Fatalf("clean %v, epoch %d", clean, epoch)
	}
	if l.EndOffset() != 80 || l.SyncedOffset() != 80 || l.SegmentCount() < 3 {
		t.Fatalf("end %d, synced %d, %d segments", l.EndOffset(), l.SyncedOffset(), l.SegmentCount())
	}
	after := readAll(t, l)
	if len(after) != len(before) {
		t.Fatalf("%d batches, had %d", len(after), len(before))
	}
	if info := w.append(batchSpec{n: 2, size: 50, pid: 9, seq: 80}); info.FirstOffset != 80 {
		t.Fatalf("append after restart: %+v", info)
	}
	// A retry of a batch older than the one the snapshot holds.
	if info := w.append(batchSpec{n: 2, size: 50, pid: 9, seq: 74}); !info.Duplicate || info.FirstOffset != 74 {
		t.Fatalf("retry after restart: %+v", info)
	}
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 2000, 300
	w.open()
	for range 20 {
		w.append(batchSpec{n: 2, size: 50})
	}
	w.sync()
	w.append(batchSpec{n: 2, size: 50})
	l := w.crash(nil)
	if l.EndOffset() != 40 {
		t.Fatalf("end %d", l.EndOffset())
	}
	if len(readAll(t, l)) != 20 {
		t.Fatal("batches lost")
	}
}
