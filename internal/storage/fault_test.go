package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// fault fails calls of a world's file system.
type fault struct {
	inject func(vfs.Op) error
}

func (f *fault) wrap(fsys vfs.FS) vfs.FS {
	return vfs.Fault{FS: fsys, Inject: func(op vfs.Op) error {
		if f.inject == nil {
			return nil
		}
		return f.inject(op)
	}}
}

func failWith(err error, kind vfs.Kind, suffix string) func(vfs.Op) error {
	return func(op vfs.Op) error {
		if op.Kind == kind && strings.HasSuffix(op.Name, suffix) {
			return err
		}
		return nil
	}
}

func TestFullDisk(t *testing.T) {
	f := &fault{}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	w.cfg.IndexIntervalBytes = 0
	l := w.open()
	w.append(batchSpec{size: 500, pid: 1, seq: 0})
	w.append(batchSpec{size: 500, pid: 1, seq: 1})
	size, entries := l.Size(), l.active().offsets.Len()

	f.inject = func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			return &vfs.ShortWrite{N: 100, Err: syscall.ENOSPC}
		}
		return nil
	}
	for range 3 {
		_, err := l.AppendAsLeader(makeBatch(t, batchSpec{size: 500, pid: 1, seq: 2}), 0, w.now)
		if full := (*NoSpaceError)(nil); !errors.As(err, &full) || full.KafkaCode() != codeKafkaStorage {
			t.Fatalf("append on a full disk: %v", err)
		}
	}
	if got := w.files()[fileStem(0)+logSuffix]; got != size || l.Size() != size || l.active().offsets.Len() != entries || l.EndOffset() != 2 {
		t.Fatalf("not cut back: file %d, log %d of %d bytes, %d of %d index entries, end %d", got, l.Size(), size, l.active().offsets.Len(), entries, l.EndOffset())
	}
	if len(readAll(t, l)) != 2 {
		t.Fatal("reads must go on")
	}
	if _, err := l.Sync(); err != nil || w.m.Offline() != nil {
		t.Fatalf("a full disk is no reason to go offline: %v %v", err, w.m.Offline())
	}

	f.inject = nil
	if info := w.append(batchSpec{size: 500, pid: 1, seq: 2}); info.FirstOffset != 2 || info.Duplicate {
		t.Fatalf("append once there is room: %+v", info)
	}
	w.sync()
	w.fs = f.wrap(memOf(w.fs))
	if l := w.crash(nil); l.EndOffset() != 3 {
		t.Fatalf("after a crash the log ends at %d", l.EndOffset())
	}
}

// TestRetentionFreesFullDisk: nothing can be written, not even an index or a new file, and old
// segments go all the same.
func TestRetentionFreesFullDisk(t *testing.T) {
	f := &fault{}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	w.cfg.SegmentBytes = 1000
	l := w.open()
	f.inject = failWith(syscall.ENOSPC, vfs.OpWrite, indexSuffix)
	for i := range 10 {
		w.append(batchSpec{size: 300, pid: 1, seq: int32(i)})
	}
	w.sync()
	f.inject = func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite || op.Kind == vfs.OpOpen && op.Flag&os.O_CREATE != 0 {
			return syscall.ENOSPC
		}
		return nil
	}
	w.cfg.RetentionBytes = 0
	l.UpdateConfig(w.cfg)
	if n, err := l.DeleteOldSegments(w.now, 10); err != nil || n != 4 || l.StartOffset() != 8 {
		t.Fatalf("%d deleted, the log starts at %d: %v", n, l.StartOffset(), err)
	}
	f.inject = nil
	if n, err := l.DeleteOldSegments(w.now, 10); err != nil || n != 1 || l.StartOffset() != 10 {
		t.Fatalf("%d deleted, the log starts at %d: %v", n, l.StartOffset(), err)
	}
	w.closeClean()
	w.open()
	if info := w.append(batchSpec{size: 300, pid: 1, seq: 9}); !info.Duplicate {
		t.Fatalf("retry: %+v", info)
	}
}

// TestFullDiskElsewhere fills the disk while other files than segments are written.
func TestFullDiskElsewhere(t *testing.T) {
	for _, c := range []struct {
		kind   vfs.Kind
		suffix string
	}{
		{vfs.OpWrite, indexSuffix},
		{vfs.OpOpen, timeIndexSuffix},
		{vfs.OpWrite, snapshotSuffix},
		{vfs.OpWrite, leaderEpochFile + ".tmp"},
		{vfs.OpWrite, recoveryPointFile + ".tmp"},
		{vfs.OpOpen, fileStem(7) + logSuffix},
	} {
		t.Run(fmt.Sprint(c.kind, " ", c.suffix), func(t *testing.T) {
			f := &fault{inject: failWith(syscall.ENOSPC, c.kind, c.suffix)}
			w := newWorld(t, f.wrap(vfs.NewMem()))
			w.cfg.SegmentBytes = 2000
			l := w.open()
			refused := 0
			for range 20 {
				_, err := l.AppendAsLeader(makeBatch(t, batchSpec{size: 200}), 0, w.now)
				if full := (*NoSpaceError)(nil); errors.As(err, &full) {
					refused++
				} else if err != nil {
					t.Fatal(err)
				}
			}
			w.sync()
			w.timers.fire()
			if w.m.Offline() != nil {
				t.Fatalf("offline: %v", w.m.Offline())
			}
			f.inject = nil
			end := l.EndOffset()
			if (refused > 0) != (c.suffix == fileStem(7)+logSuffix) {
				t.Errorf("%d appends refused", refused)
			}
			w.append(batchSpec{size: 200})
			w.closeClean()
			if l := w.open(); l.EndOffset() != end+1 || len(readAll(t, l)) != int(end)+1 {
				t.Fatalf("the log ends at %d, had %d", l.EndOffset(), end+1)
			}
			for _, s := range (*w.l.segments.Load())[:w.l.SegmentCount()-1] {
				if _, _, _, err := s.readIndexFiles(); err != nil {
					t.Errorf("index files were not written later: %v", err)
				}
			}
		})
	}
}

// TestBrokenDisk lets the n-th call of a kind fail, for every n, and checks that the directory goes
// offline (or the call was harmless), says so once, does nothing more to the disk, and that what was
// synced is there after a restart.
func TestBrokenDisk(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRename, vfs.OpOpen} {
		t.Run(string(kind), func(t *testing.T) {
			n := 1
			for breakNth(t, kind, n) {
				n++
			}
			if n < 5 {
				t.Fatalf("only %d calls", n)
			}
		})
	}
}

// breakNth runs a workload in which the n-th call of kind fails; false when there is no such call.
func breakNth(t *testing.T, kind vfs.Kind, n int) bool {
	t.Helper()
	f := &fault{}
	var offline atomic.Int32
	mem := vfs.NewMem()
	w := newWorld(t, f.wrap(mem))
	w.cfg.SegmentBytes, w.cfg.RetentionBytes = 2000, 5000
	o := w.options()
	called := make(chan struct{})
	o.OnOffline = func(*OfflineError) {
		if offline.Add(1) == 1 {
			close(called)
		}
	}
	m, err := OpenLogManager(o)
	if err != nil {
		t.Fatal(err)
	}
	seen, broken, after := 0, "", 0
	f.inject = func(op vfs.Op) error {
		if broken != "" && (op.Kind == vfs.OpSync || op.Kind == vfs.OpWrite || op.Kind == vfs.OpRename) && m.Offline() != nil {
			after++
		}
		if op.Kind != kind || op.Flag == 0 && kind == vfs.OpOpen || strings.HasSuffix(op.Name, ".lock") {
			return nil
		}
		if seen++; seen == n {
			broken = op.Name
			return syscall.EIO
		}
		return nil
	}
	w.m = m
	synced := int64(0)
	workErr := runWorkload(w, &synced)
	if broken == "" {
		if workErr != nil {
			t.Fatalf("nothing failed, but %v", workErr)
		}
		m.Close(false, -1)
		return false
	}
	if m.Offline() == nil {
		t.Fatalf("%s %d (%s) failed and the directory stayed online: %v", kind, n, broken, workErr)
	}
	<-called
	var gone *OfflineError
	if !errors.As(m.Offline(), &gone) || !errors.Is(gone, syscall.EIO) {
		t.Errorf("%s %d (%s): %v", kind, n, broken, m.Offline())
	}
	if w.l != nil {
		if _, err := w.l.AppendAsLeader(makeBatch(t, batchSpec{}), 0, w.now); !errors.As(err, &gone) {
			t.Errorf("append while offline: %v", err)
		}
		if _, err := w.l.Sync(); !errors.As(err, &gone) {
			t.Errorf("sync while offline: %v", err)
		}
		if _, err := w.l.Read(w.l.StartOffset(), 100, 1, true); !errors.As(err, &gone) {
			t.Errorf("read while offline: %v", err)
		}
	}
	if err := m.Close(true, 1); err == nil {
		t.Error("a clean close while offline")
	}
	if offline.Load() != 1 || after > 0 {
		t.Errorf("%s %d (%s): %d calls of OnOffline, %d calls to the disk afterwards", kind, n, broken, offline.Load(), after)
	}
	restart(t, mem, synced)
	return true
}

// runWorkload does a bit of everything; it stops at the first error.
func runWorkload(w *world, synced *int64) error {
	l, err := w.m.GetOrCreate("t", testTopicID, 0, w.cfg)
	if err != nil {
		return err
	}
	w.l = l
	for i := range 40 {
		if _, err := l.AppendAsLeader(makeBatch(w.t.(*testing.T), batchSpec{size: 200, pid: 1, seq: int32(i)}), 0, w.now); err != nil {
			return err
		}
		if i%5 == 4 {
			to, err := l.Sync()
			if err != nil {
				return err
			}
			*synced = to
		}
	}
	w.now = w.now.Add(time.Minute)
	w.timers.fire()
	if _, err := l.DeleteOldSegments(w.now, l.SyncedOffset()); err != nil {
		return err
	}
	if err := l.TruncateTo(l.EndOffset() - 3); err != nil {
		return err
	}
	*synced = min(*synced, l.EndOffset())
	return w.m.Offline()
}

func restart(t *testing.T, mem *vfs.Mem, synced int64) {
	t.Helper()
	w := newWorld(t, mem.Crash(nil))
	w.cfg.SegmentBytes = 2000
	l := w.open()
	if l.EndOffset() < synced-3 {
		t.Errorf("the log ends at %d, synced were %d", l.EndOffset(), synced)
	}
	readAll(t, l)
	if err := w.m.Close(true, 1); err != nil {
		t.Error(err)
	}
}

func TestFailedSyncIsNotRetried(t *testing.T) {
	f := &fault{}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	l := w.open()
	w.append(batchSpec{})
	calls := 0
	f.inject = func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, logSuffix) {
			if calls++; calls == 1 {
				return syscall.EIO
			}
		}
		return nil
	}
	for range 3 {
		_, err := l.Sync()
		if gone := (*OfflineError)(nil); !errors.As(err, &gone) {
			t.Fatalf("sync: %v", err)
		}
	}
	if calls != 1 || l.SyncedOffset() != 0 {
		t.Fatalf("%d syncs, synced offset %d", calls, l.SyncedOffset())
	}
}

// TestFullDiskAtSync: some file systems report a full disk at the sync; the data is lost then.
func TestFullDiskAtSync(t *testing.T) {
	f := &fault{inject: failWith(syscall.ENOSPC, vfs.OpSync, logSuffix)}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	l := w.open()
	w.append(batchSpec{})
	if _, err := l.Sync(); w.m.Offline() == nil {
		t.Fatalf("still online: %v", err)
	}
}

func TestUnreadableBytesHurtOneReadOnly(t *testing.T) {
	f := &fault{}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	l := w.open()
	w.append(batchSpec{})
	f.inject = failWith(syscall.EIO, vfs.OpRead, logSuffix)
	_, err := l.Read(0, 1000, 1, true)
	if bad := (*ReadError)(nil); !errors.As(err, &bad) {
		t.Fatalf("read: %v", err)
	}
	f.inject = failWith(io.ErrUnexpectedEOF, vfs.OpStat, "nothing")
	if w.m.Offline() != nil || len(readAll(t, l)) != 1 {
		t.Fatal("a read error took the directory offline")
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatal("wrong cause")
	}
}

// A retry in the same call as the batch it repeats shares the fate of that batch.
func TestRetryBesideAFailedWrite(t *testing.T) {
	f := &fault{}
	w := newWorld(t, f.wrap(vfs.NewMem()))
	l := w.open()
	w.append(batchSpec{size: 500, pid: 1, seq: 0})
	f.inject = failWith(syscall.ENOSPC, vfs.OpWrite, logSuffix)
	next := func(seq int32) record.Batch { return makeBatch(t, batchSpec{size: 500, pid: 1, seq: seq}) }
	for i, r := range l.AppendBatches([]record.Batch{next(1), next(1), next(3)}, 0, w.now) {
		if full := (*NoSpaceError)(nil); !errors.As(r.Err, &full) {
			t.Errorf("batch %d: %+v", i, r)
		}
	}
	f.inject = nil
	results := l.AppendBatches([]record.Batch{next(1), next(1), next(3)}, 0, w.now)
	if gap := (*OutOfOrderSequence)(nil); results[0].Err != nil || !results[1].Duplicate || !errors.As(results[2].Err, &gap) {
		t.Errorf("after the disk has room: %+v", results)
	}
}
