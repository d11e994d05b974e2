package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is a batch whose single value is n.
func numbered(t testing.TB, n int64) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.Plain())
	b.Append(1_700_000_000_000+n, nil, binary.BigEndian.AppendUint64(make([]byte, 0, 100), uint64(n))[:100], nil)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func numberOf(b record.Batch) (int64, error) {
	n := int64(-1)
	var d record.Decompressor
	err := d.Walk(b, func(r record.Record) error {
		n = int64(binary.BigEndian.Uint64(r.Value))
		return nil
	})
	return n, err
}

// TestConcurrentUse appends, syncs, reads, looks up times and applies retention at once, with rolls
// in between and few open files: every read must return the records that have their offset as value.
func TestConcurrentUse(t *testing.T) {
	m, err := OpenLogManager(LogManagerOptions{FS: vfs.OS(), Dir: t.TempDir(), NodeID: 1, MaxOpenFiles: 3, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.RetentionBytes, cfg.FileDeleteDelayMs = 20_000, 500, 200_000, 1
	l, err := m.GetOrCreate("t", testTopicID, 0, cfg)
	if err != nil {
		t.Fatal(err)
	}
	const total = 5000
	var (
		wait sync.WaitGroup
		done atomic.Bool
	)
	until := func(f func() error) {
		wait.Go(func() {
			for last := false; !last; {
				last = done.Load()
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	until(func() error { _, err := l.Sync(); return err })
	until(func() error { _, err := l.DeleteOldSegments(time.Now(), l.SyncedOffset()); return err })
	for range 3 {
		at := int64(0)
		until(func() error {
			next, err := readNumbers(l, at)
			if at = next; at >= l.EndOffset() {
				at = l.StartOffset()
			}
			return err
		})
	}
	until(func() error { return lookUpTime(l) })
	for n := range int64(total) {
		if info, err := l.AppendAsLeader(numbered(t, n), 0, time.Now()); err != nil || info.FirstOffset != n {
			t.Errorf("append %d: %+v %v", n, info, err)
			break
		}
	}
	done.Store(true)
	wait.Wait()
	if l.StartOffset() == 0 {
		t.Error("retention did nothing")
	}
	if err := m.Close(true, 1); err != nil {
		t.Error(err)
	}
}

// readNumbers reads once at an offset and checks what comes.
func readNumbers(l *Log, at int64) (next int64, err error) {
	s, err := l.Read(at, 5000, math.MaxInt64, true)
	if out := (*OffsetOutOfRange)(nil); errors.As(err, &out) {
		return out.Start, nil
	}
	if err != nil {
		return at, err
	}
	defer s.Release()
	for rest := s.Bytes; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if err != nil {
			return at, err
		}
		if n, err := numberOf(b); err != nil || n != b.BaseOffset() || n < at {
			return at, fmt.Errorf("read at %d: record %d at offset %d: %v", at, n, b.BaseOffset(), err)
		}
		at, rest = b.LastOffset()+1, after
	}
	return at, nil
}

func lookUpTime(l *Log) error {
	end := l.EndOffset()
	if end == 0 {
		return nil
	}
	got, found, err := l.OffsetForTimestamp(1_700_000_000_000 + end - 1)
	if err != nil {
		return err
	}
	if found && got.Offset != end-1 || !found && l.StartOffset() < end {
		return fmt.Errorf("time of record %d found %+v, %v", end-1, got, found)
	}
	got, found, err = l.MaxTimestamp()
	if err == nil && (!found || got.Offset < end-1) {
		err = fmt.Errorf("largest time at %+v, %v; %d records were there", got, found, end)
	}
	return err
}

// TestConcurrentSync lets many callers share syncs; each must see its own record synced.
func TestConcurrentSync(t *testing.T) {
	m, err := OpenLogManager(LogManagerOptions{FS: vfs.NewMem(), Dir: testDir, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for p := range int32(4) {
		l, err := m.GetOrCreate("t", testTopicID, p, testConfig())
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			wait.Go(func() {
				for range 50 {
					info, err := l.AppendAsLeader(makeBatch(t, batchSpec{}), 0, time.Now())
					if err != nil {
						t.Error(err)
					}
					if to, err := l.Sync(); err != nil || to <= info.LastOffset {
						t.Errorf("synced to %d after offset %d: %v", to, info.LastOffset, err)
					}
				}
			})
		}
	}
	wait.Wait()
	if err := m.Close(true, 1); err != nil {
		t.Error(err)
	}
}
