package storage

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"klamm/internal/vfs"
)

// TestLargeBatches: a batch larger than the recovery's buffer is checked too.
func TestLargeBatches(t *testing.T) {
	for _, spoil := range []bool{false, true} {
		w := newWorld(t, vfs.NewMem())
		w.open()
		w.append(batchSpec{size: 100})
		w.append(batchSpec{size: 3 << 20})
		w.append(batchSpec{size: 100})
		if !spoil {
			w.append(batchSpec{size: 2 << 20})
		}
		w.sync()
		w.killProcess()
		if spoil {
			w.corrupt(fileStem(0)+logSuffix, 2<<20, []byte{0xff})
			w.setBootID("a machine that was restarted")
		}
		want := map[bool]int64{false: 4, true: 1}[spoil]
		if l := w.open(); l.EndOffset() != want || len(readAll(t, l)) != int(want) {
			t.Fatalf("spoiled %v: the log ends at %d", spoil, l.EndOffset())
		}
	}
}

// TestCutThroughSegments: a power cut leaves a hole in a segment that was full but not sealed yet, and
// whole batches in the segments after it. Nothing of that was synced.
func TestCutThroughSegments(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.setBootID("first")
	w.cfg.SegmentBytes = 1000
	o := w.options()
	o.Background = func(func()) {} // sealing does not get its turn
	m, err := OpenLogManager(o)
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	if w.l, err = m.GetOrCreate("t", testTopicID, 0, w.cfg); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		w.append(batchSpec{size: 300, pid: 1, seq: int32(i)})
	}
	w.killProcess()
	w.corrupt(fileStem(2)+logSuffix, 372, make([]byte, 372))
	w.setBootID("second")
	l := w.open()
	if l.EndOffset() != 3 || len(readAll(t, l)) != 3 || l.SegmentCount() != 2 {
		t.Fatalf("the log ends at %d in %d segments", l.EndOffset(), l.SegmentCount())
	}
	files := w.files()
	for name, size := range map[string]int64{fileStem(2) + ".log-372.cut": 372, fileStem(4) + ".log.cut": 744, fileStem(6) + ".log.cut": 744} {
		if files[name] != size {
			t.Errorf("%s has %d bytes, want %d", name, files[name], size)
		}
	}
	for _, word := range []string{"cut off", "kept", "372.cut"} {
		if !strings.Contains(w.logs.String(), word) {
			t.Errorf("the log does not say %q: %s", word, w.logs.String())
		}
	}
	for i := 3; i < 12; i++ {
		if info := w.append(batchSpec{size: 300, pid: 1, seq: int32(i)}); info.FirstOffset != int64(i) {
			t.Fatalf("append %d: %+v", i, info)
		}
	}
	w.closeClean()
	if l := w.open(); l.EndOffset() != 12 || len(readAll(t, l)) != 12 {
		t.Fatalf("after a restart the log ends at %d", l.EndOffset())
	}
}

// TestLeftovers: files that an interrupted deletion, compaction or checkpoint left.
func TestLeftovers(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes = 1000
	w.open()
	for range 6 {
		w.append(batchSpec{size: 300})
	}
	w.closeClean()
	dir := filepath.Join(w.dir, "t-0")
	write := func(name string) {
		if err := writeSynced(w.fs, filepath.Join(dir, name), []byte("anything")); err != nil {
			t.Fatal(err)
		}
	}
	gone := []string{
		fileStem(0) + ".log.cleaned", fileStem(7) + ".index.cleaned", fileStem(9) + ".log.deleted", fileStem(9) + ".snapshot.deleted",
		"leader-epoch-checkpoint.tmp", fileStem(99) + indexSuffix, fileStem(99) + timeIndexSuffix, fileStem(99) + txnIndexSuffix,
	}
	for _, name := range gone {
		write(name)
	}
	kept := []string{"notes.txt", "0.log", fileStem(3) + ".log.bak"}
	for _, name := range kept {
		write(name)
	}
	// A compaction had finished its segment but not put it in place.
	if err := w.fs.Rename(filepath.Join(dir, fileStem(2)+logSuffix), filepath.Join(dir, fileStem(2)+".log.swap")); err != nil {
		t.Fatal(err)
	}
	l := w.open()
	if l.EndOffset() != 6 || len(readAll(t, l)) != 6 {
		t.Fatalf("the log ends at %d", l.EndOffset())
	}
	files := w.files()
	for _, name := range gone {
		if _, there := files[name]; there {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range kept {
		if files[name] != 8 {
			t.Errorf("%s was touched", name)
		}
	}
}

// TestWrongIndexEntry: an index that looks right and is not must not lead a reader astray.
func TestWrongIndexEntry(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.IndexIntervalBytes = 0
	w.open()
	for range 10 {
		w.append(batchSpec{size: 300})
	}
	w.closeClean()
	entry := binary.BigEndian.AppendUint32(nil, 4)
	entry = binary.BigEndian.AppendUint32(entry, 4*372+1)
	w.corrupt(fileStem(0)+indexSuffix, 3*offsetEntrySize, entry)
	l := w.open()
	for offset := range int64(10) {
		if s, err := l.Read(offset, 1, 10, true); err != nil || s.FirstOffset != offset {
			t.Fatalf("read %d: %+v %v", offset, s, err)
		}
	}
	if _, position := l.active().offsets.Entry(3); position != 4*372 {
		t.Fatalf("the index was not made again: entry 3 is at %d", position)
	}
}

func TestDamageFoundByReading(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	for range 3 {
		w.append(batchSpec{size: 300})
	}
	w.corrupt(fileStem(0)+logSuffix, 372+16, []byte{9})
	s, err := l.Read(0, 10000, 3, true)
	if err != nil || len(s.Bytes) != 372 {
		t.Fatalf("the good batch first: %d bytes, %v", len(s.Bytes), err)
	}
	var bad *CorruptionError
	if _, err := l.Read(1, 10000, 3, true); !errors.As(err, &bad) || bad.Position != 372 || bad.Segment != fileStem(0)+logSuffix {
		t.Fatalf("read of the damaged batch: %v", err)
	}
	if w.m.Offline() != nil {
		t.Fatal("one damaged batch took the directory offline")
	}
}

// TestRetentionWithoutTimes: records without a time are as old as their file.
func TestRetentionWithoutTimes(t *testing.T) {
	w := newWorld(t, vfs.OS())
	w.dir = t.TempDir()
	l := w.open()
	w.append(batchSpec{ts: -1})
	w.sync()
	w.cfg.RetentionMs = 1000
	l.UpdateConfig(w.cfg)
	if n, err := l.DeleteOldSegments(time.Now(), 1); n != 0 || err != nil {
		t.Fatalf("%d deleted at once: %v", n, err)
	}
	if n, err := l.DeleteOldSegments(time.Now().Add(time.Minute), 1); n != 1 || err != nil {
		t.Fatalf("%d deleted a minute later: %v", n, err)
	}
	w.closeClean()
}

func TestJitterSpreadsRolls(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	m := w.openManager()
	cfg := testConfig()
	cfg.SegmentMs, cfg.SegmentJitterMs = 10_000, 1000
	seen := map[int64]bool{}
	for p := range int32(20) {
		l, err := m.GetOrCreate("t", testTopicID, p, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if l.rollJitter < 0 || l.rollJitter >= 1000 {
			t.Fatalf("jitter %d", l.rollJitter)
		}
		seen[l.rollJitter] = true
	}
	if len(seen) < 10 {
		t.Fatalf("only %d different", len(seen))
	}
	cfg.SegmentMs, cfg.SegmentJitterMs = math.MaxInt64, 0
	if l, err := m.GetOrCreate("u", testTopicID, 0, cfg); err != nil || l.rollJitter != 0 {
		t.Fatalf("%v", err)
	}
	m.Close(false, -1)
}

// TestTornPartitionMetadata: the file of a partition that never had a record may be lost or torn by a
// crash; with records in the directory it is damage.
func TestTornPartitionMetadata(t *testing.T) {
	for _, records := range []bool{false, true} {
		for _, content := range []string{"", "version: 0\ntopic_id: sho"} {
			w := newWorld(t, vfs.NewMem())
			w.open()
			if records {
				w.append(batchSpec{})
			}
			w.closeClean()
			if err := writeSynced(w.fs, filepath.Join(w.dir, "t-0", partitionMetadataFile), []byte(content)); err != nil {
				t.Fatal(err)
			}
			_, err := w.openErr()
			if bad := (*CorruptionError)(nil); records && (!errors.As(err, &bad) || bad.Segment != partitionMetadataFile) {
				t.Errorf("with records: %v", err)
			}
			if !records && err != nil {
				t.Errorf("without records: %v", err)
			}
		}
	}
}
