package storage

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// seedFiles adds the real node's files with these suffixes.
func seedFiles(f *testing.F, add func(data []byte), suffixes ...string) {
	f.Helper()
	err := filepath.Walk(filepath.Join("testdata", "node"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(path, suffix) {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				add(data)
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// isFormat fails unless err is what a reader of a small file may return.
func isFormat(t *testing.T, err error) {
	t.Helper()
	var bad *FormatError
	var newer *NewerVersionError
	if !errors.As(err, &bad) && !errors.As(err, &newer) {
		t.Fatalf("%T %v", err, err)
	}
}

func FuzzOffsetIndex(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data, int64(150)) }, indexSuffix)
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		x, err := ParseOffsetIndex("x", 100, data, 1<<20)
		if err != nil {
			isFormat(t, err)
			return
		}
		if offset, position, ok := x.Lookup(at); ok && (offset > at || position < 0 || position >= 1<<20) {
			t.Fatalf("lookup of %d found %d at %d", at, offset, position)
		}
		n := x.Len()
		if !bytes.HasPrefix(data, x.entries) {
			t.Fatal("entries were changed")
		}
		x.Append(100+math.MaxInt32, 1<<20-1)
		if _, err := ParseOffsetIndex("x", 100, x.entries, 1<<20); err != nil && n > 0 {
			if _, last := x.Entry(n - 1); last < 1<<20-1 {
				t.Fatalf("written and not read: %v", err)
			}
		}
	})
}

func FuzzTimeIndex(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data, int64(1796065848412)) }, timeIndexSuffix)
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		x, err := ParseTimeIndex("x", 100, data)
		if err != nil {
			isFormat(t, err)
			return
		}
		if ts, offset := x.Lookup(at); ts > at && ts != noTimestamp || offset < 100 {
			t.Fatalf("lookup of %d found %d at offset %d", at, ts, offset)
		}
		_, last := x.Last()
		x.MaybeAppend(at, last)
		if _, err := ParseTimeIndex("x", 100, x.entries); err != nil {
			t.Fatalf("written and not read: %v", err)
		}
	})
}

func FuzzTxnIndex(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, txnIndexSuffix)
	f.Fuzz(func(t *testing.T, data []byte) {
		txns, err := ParseTxnIndex("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		var again []byte
		for _, txn := range txns {
			again = AppendAbortedTxn(again, txn)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("written again as %x", again)
		}
	})
}

func FuzzProducerSnapshot(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, snapshotSuffix)
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseProducerSnapshot("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		m := newProducerStateManager()
		m.load(entries)
		m.update(makeBatch(t, batchSpec{pid: 1}))
		m.firstOpenOffset()
		if _, err := ParseProducerSnapshot("y", m.snapshot()); err != nil {
			t.Fatalf("written and not read: %v", err)
		}
	})
}

func FuzzOffsetCheckpoint(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, "-checkpoint")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseOffsetCheckpoint("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		again, err := ParseOffsetCheckpoint("y", c.AppendTo(nil))
		if err != nil || len(again) != len(c) {
			t.Fatalf("written again: %v", err)
		}
	})
}

func FuzzLeaderEpochs(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data, int32(1)) }, leaderEpochFile)
	f.Fuzz(func(t *testing.T, data []byte, asked int32) {
		entries, err := ParseLeaderEpochs("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		c := epochs(entries...)
		if epoch, end := c.EndOffsetFor(asked, math.MaxInt64); epoch > asked && epoch != UndefinedEpoch || end < -1 {
			t.Fatalf("epoch %d ends at %d in %d", asked, end, epoch)
		}
		c.Assign(asked, 10)
		if _, err := ParseLeaderEpochs("y", AppendLeaderEpochs(nil, c.Entries())); err != nil {
			t.Fatalf("written and not read: %v", err)
		}
	})
}

func FuzzPartitionMetadata(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, partitionMetadataFile)
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := ParsePartitionMetadata("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		if again, err := ParsePartitionMetadata("y", AppendPartitionMetadata(nil, id)); err != nil || again != id {
			t.Fatalf("written again: %v", err)
		}
	})
}

func FuzzMetaProperties(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, metaPropertiesFile)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseMetaProperties("x", data)
		if err != nil {
			isFormat(t, err)
			return
		}
		again, err := ParseMetaProperties("y", p.AppendTo(nil))
		if err != nil || again.NodeID != p.NodeID || again.DirectoryID != p.DirectoryID || again.ClusterID != p.ClusterID {
			t.Fatalf("%+v written again as %+v: %v", p, again, err)
		}
	})
}

func FuzzCleanShutdown(f *testing.F) {
	seedFiles(f, func(data []byte) { f.Add(data) }, cleanShutdownFile)
	f.Fuzz(func(t *testing.T, data []byte) {
		epoch := ParseCleanShutdown(data)
		if epoch < -1 || ParseCleanShutdown(AppendCleanShutdown(nil, epoch)) != epoch {
			t.Fatalf("epoch %d", epoch)
		}
	})
}

// FuzzSegmentRecovery puts any bytes where the last segment is and starts after a crash: the log is
// opened with whole, checked batches only, or the damage is reported; then it can be used.
func FuzzSegmentRecovery(f *testing.F) {
	seedFiles(f, func(data []byte) {
		for _, at := range []uint16{0, 100, 60000} {
			f.Add(data, data, at, false)
			f.Add(data, []byte(nil), at, true)
		}
	}, "00000000000000000000.log")
	f.Fuzz(func(t *testing.T, data, index []byte, spoil uint16, clean bool) {
		if len(data) > 1<<20 || len(index) > 1<<20 {
			t.Skip("segments of more than 1 MiB only make the search slow")
		}
		data = bytes.Clone(data)
		if int(spoil) < len(data) {
			data[spoil] ^= 0x40
		}
		w := newWorld(t, vfs.NewMem())
		dir := filepath.Join(w.dir, "t-0")
		if err := mkdirSynced(w.fs, dir); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{
			partitionMetadataFile: AppendPartitionMetadata(nil, testTopicID), fileStem(0) + logSuffix: data,
			fileStem(0) + indexSuffix: index, fileStem(0) + timeIndexSuffix: index, fileStem(0) + txnIndexSuffix: index,
			fileStem(1) + snapshotSuffix: index, leaderEpochFile: index,
		}
		if clean {
			files["../"+cleanShutdownFile] = nil
		}
		for name, content := range files {
			if err := writeSynced(w.fs, filepath.Join(dir, name), content); err != nil {
				t.Fatal(err)
			}
		}
		w.openManager()
		defer w.m.Close(false, -1)
		l, err := w.m.GetOrCreate("t", testTopicID, 0, w.cfg)
		if err != nil {
			if bad := (*CorruptionError)(nil); !errors.As(err, &bad) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		useRecovered(t, w, l, clean)
	})
}

// useRecovered reads all of a recovered log and appends to it. After a crash every batch was checked;
// after a clean shutdown damage may show up when it is read.
func useRecovered(t *testing.T, w *world, l *Log, clean bool) {
	t.Helper()
	for at := l.StartOffset(); at < l.EndOffset(); {
		s, err := l.Read(at, 1<<20, math.MaxInt64, true)
		if err != nil || len(s.Bytes) == 0 {
			if clean {
				return
			}
			t.Fatalf("read %d of [%d,%d): %d bytes, %v", at, l.StartOffset(), l.EndOffset(), len(s.Bytes), err)
		}
		for rest := s.Bytes; len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err != nil || !clean && b.VerifyCRC() != nil {
				t.Fatalf("read %d: %v", at, err)
			}
			at = b.LastOffset() + 1
		}
	}
	for _, ts := range []int64{0, 1796065848412, math.MaxInt64} {
		l.OffsetForTimestamp(ts) // any answer or error; no panic
	}
	if _, _, err := l.MaxTimestamp(); err != nil && !clean {
		if bad := (*CorruptionError)(nil); !errors.As(err, &bad) { // a right checksum over impossible records
			t.Fatalf("max timestamp: %v", err)
		}
	}
	if l.EndOffset() < math.MaxInt64-1 {
		if _, err := l.AppendAsLeader(makeBatch(t, batchSpec{}), 5, w.now); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	if _, err := l.Sync(); err != nil {
		t.Fatalf("sync: %v", err)
	}
}
