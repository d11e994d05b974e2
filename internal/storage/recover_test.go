package storage

import (
	"bytes"
	"errors"
	"maps"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"klamm/internal/vfs"
)

// setBootID makes the machine of the world say which of its runs this is.
func (w *world) setBootID(id string) {
	w.t.Helper()
	if err := mkdirSynced(w.fs, filepath.Dir(bootIDFile)); err != nil {
		w.t.Fatal(err)
	}
	if err := writeSynced(w.fs, bootIDFile, []byte(id+"\n")); err != nil {
		w.t.Fatal(err)
	}
	if err := w.fs.SyncDir(filepath.Dir(bootIDFile)); err != nil {
		w.t.Fatal(err)
	}
}

// killProcess ends the run as kill -9 does: what was written stays written.
func (w *world) killProcess() {
	w.t.Helper()
	w.m.Close(false, -1)
	w.timers.list = nil
}

// openErr opens the log of a damaged directory.
func (w *world) openErr() (*Log, error) {
	w.t.Helper()
	w.openManager()
	l, err := w.m.GetOrCreate("t", testTopicID, 0, w.cfg)
	w.l = l
	return l, err
}

// TestDamage says for each kind of damage whether it is cut off as the torn end of the last write or
// reported. Every batch has 372 bytes; segments hold two; ten are written, two of them in the last segment.
func TestDamage(t *testing.T) {
	const size = 372
	segment := func(base int64) string { return fileStem(base) + logSuffix }
	type want struct {
		end      int64 // of the log after recovery, -1: reported as damage
		segment  string
		offset   int64
		position int64
	}
	cut := func(end int64) want { return want{end: end} }
	report := func(name string, offset, position int64) want { return want{-1, name, offset, position} }
	flip := func(name string, at int64) func(*world) {
		return func(w *world) { w.corrupt(name, at, []byte{0xff, 0xfe}) }
	}
	truncate := func(name string, to int64) func(*world) {
		return func(w *world) {
			f, err := w.fs.OpenFile(filepath.Join(w.dir, "t-0", name), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := errors.Join(f.Truncate(to), f.Sync()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name       string
		damage     func(*world)
		checkpoint bool // recovery points are written, for everything is synced
		clean      bool
		rebooted   bool // the machine, not just the process
		want       want
	}{
		{name: "none", damage: func(*world) {}, want: cut(10)},
		{name: "last batch", damage: flip(segment(8), size+100), want: cut(9)},
		{name: "last batch, known to be on disk", damage: flip(segment(8), size+100), checkpoint: true, want: report(segment(8), 9, size)},
		{name: "last batch after a clean close, header", damage: flip(segment(8), size+8), clean: true, want: report(segment(8), 9, size)},
		{name: "batch followed by a good one", damage: flip(segment(8), 100), want: report(segment(8), 8, 0)},
		{name: "batch followed by a good one, magic", damage: flip(segment(8), 16), want: report(segment(8), 8, 0)},
		{name: "batch followed by a good one, length", damage: flip(segment(8), 8), want: report(segment(8), 8, 0)},
		{name: "batch followed by a good one, after a reboot", damage: flip(segment(8), 100), rebooted: true, want: cut(8)},
		{name: "known to be on disk, after a reboot", damage: flip(segment(8), 100), rebooted: true, checkpoint: true, want: report(segment(8), 8, 0)},
		{name: "all of the last segment", damage: func(w *world) { w.corrupt(segment(8), 0, make([]byte, 2*size)) }, want: cut(8)},
		{name: "torn in the last batch", damage: truncate(segment(8), 2*size-1), want: cut(9)},
		{name: "torn in the last header", damage: truncate(segment(8), size+60), want: cut(9)},
		{name: "one byte of the last header", damage: truncate(segment(8), size+1), want: cut(9)},
		{name: "torn, known to be on disk", damage: truncate(segment(8), 2*size-1), checkpoint: true, want: report(segment(8), 9, size)},
		{name: "cut between batches, known to be on disk", damage: truncate(segment(8), size), checkpoint: true, want: report(segment(8), 9, size)},
		{name: "cut between batches after a clean close", damage: truncate(segment(8), size), clean: true, want: report(segment(8), 9, size)},
		{name: "emptied, known to be on disk", damage: truncate(segment(8), 0), checkpoint: true, want: report(segment(8), 8, 0)},
		{name: "zeros after the end", damage: truncate(segment(8), 5000), want: cut(10)},
		{name: "garbage after the end", damage: func(w *world) { w.corrupt(segment(8), 2*size, bytes.Repeat([]byte{2, 7}, 3000)) }, want: cut(10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, vfs.NewMem())
			w.setBootID("first")
			w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 2*size+10, 0
			w.open()
			for i := range 10 {
				w.append(batchSpec{size: 300, pid: 1, seq: int32(i)})
			}
			w.sync()
			if c.checkpoint {
				w.timers.fire()
			}
			if c.clean {
				w.closeClean()
			} else {
				w.killProcess()
			}
			if c.rebooted {
				w.setBootID("second")
			}
			c.damage(w)
			before := w.files()
			l, err := w.openErr()
			if c.want.end < 0 {
				if after := w.files(); !maps.Equal(before, after) {
					t.Errorf("files were %v, are %v", before, after)
				}
				checkReported(t, w, err, c.want.segment, c.want.offset, c.want.position)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.EndOffset() != c.want.end || len(readAll(t, l)) != int(c.want.end) {
				t.Fatalf("the log ends at %d, want %d", l.EndOffset(), c.want.end)
			}
			if c.rebooted != hasCut(w.files()) {
				t.Errorf("files kept: %v", w.files())
			}
			for seq := max(0, c.want.end-5); seq < c.want.end; seq++ {
				if info := w.append(batchSpec{size: 300, pid: 1, seq: int32(seq)}); !info.Duplicate || info.FirstOffset != seq {
					t.Errorf("retry of sequence %d: %+v", seq, info)
				}
			}
			if info := w.append(batchSpec{size: 300, pid: 1, seq: int32(c.want.end)}); info.FirstOffset != c.want.end {
				t.Errorf("next append: %+v", info)
			}
			w.closeClean()
		})
	}
}

func hasCut(files map[string]int64) bool {
	for name := range files {
		if strings.HasSuffix(name, cutSuffix) {
			return true
		}
	}
	return false
}

func checkReported(t *testing.T, w *world, err error, segment string, offset, position int64) {
	t.Helper()
	var bad *CorruptionError
	if !errors.As(err, &bad) {
		t.Fatalf("opened with %v", err)
	}
	if bad.Segment != segment || bad.Offset != offset || bad.Position != position || bad.Dir != filepath.Join(w.dir, "t-0") {
		t.Errorf("reported %s offset %d position %d: %v", bad.Segment, bad.Offset, bad.Position, err)
	}
	for _, word := range []string{segment, "restore", "delete"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	// The same answer again, other partitions work, and deleting is a way out.
	if _, again := w.m.GetOrCreate("t", testTopicID, 0, w.cfg); !errors.Is(again, err) {
		t.Errorf("asked again: %v", again)
	}
	other, oerr := w.m.GetOrCreate("other", testTopicID, 0, w.cfg)
	if oerr != nil {
		t.Fatal(oerr)
	}
	if _, oerr := other.AppendAsLeader(makeBatch(t, batchSpec{}), 0, w.now); oerr != nil {
		t.Errorf("another partition: %v", oerr)
	}
	if err := w.m.Close(true, 1); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := w.openErr(); err == nil {
		t.Error("the damage was forgotten")
	}
	if err := w.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	l, err := w.m.GetOrCreate("t", testTopicID, 0, w.cfg)
	if err != nil || l.EndOffset() != 0 {
		t.Fatalf("after delete: %v", err)
	}
}

// TestPowerCutThenKill: the first start after a power cut is killed before it came to the partition
// that the cut left with a hole. The second one must still know that it was a power cut.
func TestPowerCutThenKill(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.setBootID("first")
	w.open()
	for range 3 {
		w.append(batchSpec{size: 300})
	}
	w.killProcess()
	w.setBootID("second")
	w.corrupt(fileStem(0)+logSuffix, 372, make([]byte, 372))
	w.openManager()
	w.killProcess()
	if l := w.open(); l.EndOffset() != 1 || !hasCut(w.files()) {
		t.Fatalf("the log ends at %d, files %v", l.EndOffset(), w.files())
	}
	// From now on the machine is known to have kept everything.
	for range 3 {
		w.append(batchSpec{size: 300})
	}
	w.killProcess()
	w.corrupt(fileStem(0)+logSuffix, 372, make([]byte, 372))
	if _, err := w.openErr(); err == nil {
		t.Fatal("damage was cut off")
	}
}

// TestRecoverIgnoresIndexes leaves every kind of wrong index file behind.
func TestRecoverIgnoresIndexes(t *testing.T) {
	for name, content := range map[string][]byte{
		"zeros":       make([]byte, 96),
		"odd size":    {1, 2, 3},
		"empty":       nil,
		"huge offset": bytes.Repeat([]byte{0x7f}, 24),
		"plausible":   {0, 0, 0, 5, 0, 0, 0, 50, 0, 0, 0, 9, 0, 0, 0, 90, 0, 0, 0, 10, 0, 0, 0, 99},
	} {
		t.Run(name, func(t *testing.T) {
			for _, clean := range []bool{true, false} {
				w := newWorld(t, vfs.NewMem())
				w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 1200, 0
				w.open()
				for i := range 20 {
					w.append(batchSpec{size: 200, ts: 1_700_000_000_000 + int64(i)})
				}
				if clean {
					w.closeClean()
				} else {
					w.sync()
					w.killProcess()
				}
				for file := range w.files() {
					if strings.HasSuffix(file, indexSuffix) || strings.HasSuffix(file, timeIndexSuffix) {
						if err := writeSynced(w.fs, filepath.Join(w.dir, "t-0", file), content); err != nil {
							t.Fatal(err)
						}
					}
				}
				l := w.open()
				if n := len(readAll(t, l)); n != 20 {
					t.Fatalf("clean %v: %d batches", clean, n)
				}
				for i := range int64(20) {
					if s, err := l.Read(i, 1, 20, true); err != nil || s.FirstOffset != i {
						t.Fatalf("clean %v: read %d: %+v %v", clean, i, s, err)
					}
					if got, found, err := l.OffsetForTimestamp(1_700_000_000_000 + i); err != nil || !found || got.Offset != i {
						t.Fatalf("clean %v: time of %d: %+v %v %v", clean, i, got, found, err)
					}
				}
				w.killProcess()
			}
		})
	}
}

func TestRecoverWithBadSnapshots(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes = 1200
	w.open()
	for i := range 20 {
		w.append(batchSpec{size: 200, pid: 4, seq: int32(i)})
	}
	w.sync()
	w.killProcess()
	spoiled := 0
	for file := range w.files() {
		if strings.HasSuffix(file, snapshotSuffix) {
			w.corrupt(file, 20, []byte{0xff})
			spoiled++
		}
	}
	l := w.open()
	if spoiled == 0 || l.producers.Len() != 1 {
		t.Fatalf("%d snapshots, %d producers", spoiled, l.producers.Len())
	}
	if info := w.append(batchSpec{size: 200, pid: 4, seq: 17}); !info.Duplicate || info.FirstOffset != 17 {
		t.Fatalf("retry: %+v", info)
	}
	if !strings.Contains(w.logs.String(), "snapshot") {
		t.Error("nothing was said about the snapshots")
	}
}

// TestManyCrashes is a power cut at random moments with writes reordered, many times on one log.
func TestManyCrashes(t *testing.T) {
	rnd := rand.New(rand.NewSource(20))
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 3000, 200
	w.open()
	sent := int32(0)
	for range 200 {
		for range rnd.Intn(20) {
			w.append(batchSpec{size: rnd.Intn(600), pid: 1, seq: sent, seed: byte(sent)})
			if sent++; rnd.Intn(4) == 0 {
				w.sync()
			}
		}
		synced := w.l.SyncedOffset()
		l := w.crash(rnd)
		if l.EndOffset() < synced {
			t.Fatalf("the log ends at %d, synced were %d", l.EndOffset(), synced)
		}
		sent = int32(l.EndOffset())
	}
	for i, b := range readAll(t, w.l) {
		if b.BaseSequence() != int32(i) || b[len(b)-2] != 0 && b[len(b)-2] != byte(i)+1 && b.Length() > 100 {
			t.Fatalf("batch %d has sequence %d", i, b.BaseSequence())
		}
	}
}

func TestSegmentsWithAGap(t *testing.T) {
	for _, compact := range []bool{false, true} {
		w := newWorld(t, vfs.NewMem())
		w.setBootID("first")
		w.cfg.SegmentBytes = 1200
		w.open()
		for range 20 {
			w.append(batchSpec{size: 200})
		}
		w.sync()
		w.killProcess()
		if err := w.fs.Remove(filepath.Join(w.dir, recoveryPointFile)); err != nil {
			t.Fatal(err)
		}
		if err := w.fs.Remove(filepath.Join(w.dir, "t-0", fileStem(4)+logSuffix)); err != nil {
			t.Fatal(err)
		}
		w.cfg.Compact = compact // compaction leaves gaps
		l, err := w.openErr()
		if bad := (*CorruptionError)(nil); !compact && (!errors.As(err, &bad) || bad.Offset != 4) {
			t.Errorf("a missing segment gave %v", err)
		}
		if compact && (err != nil || l.EndOffset() != 20) {
			t.Errorf("a gap in a compacted log gave %v", err)
		}
	}
}
