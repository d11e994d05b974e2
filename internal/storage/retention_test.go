package storage

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"klamm/internal/vfs"
)

const day = 24 * time.Hour

// tenSegments writes ten segments of one record each, a day apart, the newest now; all is synced.
func tenSegments(w *world) *Log {
	w.cfg.SegmentMs = 3600_000
	w.open()
	for i := range 10 {
		w.append(batchSpec{size: 300, ts: w.now.Add(time.Duration(i-9) * day).UnixMilli()})
	}
	w.sync()
	if w.l.SegmentCount() != 10 {
		w.t.Fatalf("%d segments", w.l.SegmentCount())
	}
	return w.l
}

func TestRetention(t *testing.T) {
	const segment = 372
	for _, c := range []struct {
		name          string
		change        func(*LogConfig)
		age           time.Duration // the clock moves on
		highWatermark int64
		start         int64 // offset of the first record left
	}{
		{"by time", func(c *LogConfig) { c.RetentionMs = int64(5*day/time.Millisecond) + 1 }, 0, 10, 4},
		{"by time, all of it", func(c *LogConfig) { c.RetentionMs = 1000 }, time.Hour, 10, 10},
		{"by time, not beyond the high watermark", func(c *LogConfig) { c.RetentionMs = 1000 }, time.Hour, 6, 6},
		{"by time, high watermark within", func(c *LogConfig) { c.RetentionMs = 1000 }, time.Hour, 0, 0},
		{"for ever", func(c *LogConfig) { c.RetentionMs = -1 }, 1000 * day, 10, 0},
		{"by size", func(c *LogConfig) { c.RetentionBytes = 4 * segment }, 0, 10, 6},
		{"by size, keeps at least so much", func(c *LogConfig) { c.RetentionBytes = 4*segment - 1 }, 0, 10, 6},
		{"by size, one byte more", func(c *LogConfig) { c.RetentionBytes = 3 * segment }, 0, 10, 7},
		{"by size, zero", func(c *LogConfig) { c.RetentionBytes = 0 }, 0, 10, 10},
		{"by size, not beyond the high watermark", func(c *LogConfig) { c.RetentionBytes = 0 }, 0, 3, 3},
		{"only compacted", func(c *LogConfig) { c.RetentionMs, c.Delete, c.Compact = 1000, false, true }, day, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, vfs.NewMem())
			l := tenSegments(w)
			cfg := w.cfg
			c.change(&cfg)
			l.UpdateConfig(cfg)
			w.now = w.now.Add(c.age)
			n, err := l.DeleteOldSegments(w.now, c.highWatermark)
			if err != nil || int64(n) != c.start || l.StartOffset() != c.start || l.EndOffset() != 10 {
				t.Fatalf("%d deleted, log [%d,%d), want a start of %d: %v", n, l.StartOffset(), l.EndOffset(), c.start, err)
			}
			if len(readAll(t, l)) != int(10-c.start) {
				t.Fatal("wrong records left")
			}
			var out *OffsetOutOfRange
			if _, err := l.Read(c.start-1, 100, 10, true); !errors.As(err, &out) || out.Start != c.start {
				t.Errorf("reading what is gone: %v", err)
			}
			if info := w.append(batchSpec{size: 300}); info.FirstOffset != 10 || info.LogStartOffset != c.start {
				t.Errorf("next append: %+v", info)
			}
			w.sync()
			for _, clean := range []bool{true, false} {
				if clean {
					w.closeClean()
					l = w.open()
				} else {
					l = w.crash(nil)
				}
				if l.StartOffset() != c.start || l.EndOffset() != 11 {
					t.Errorf("clean restart %v: log [%d,%d)", clean, l.StartOffset(), l.EndOffset())
				}
			}
			w.timers.fire()
			for name := range w.files() {
				if strings.HasSuffix(name, deletedSuffix) {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

// TestFutureRecordsPinSegments: time retention goes by the largest record time, whoever chose it.
func TestFutureRecordsPinSegments(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	w.append(batchSpec{ts: w.now.Add(365 * day).UnixMilli()})
	w.sync()
	cfg := w.cfg
	cfg.RetentionMs = 1000
	l.UpdateConfig(cfg)
	if n, err := l.DeleteOldSegments(w.now.Add(30*day), 1); n != 0 || err != nil {
		t.Fatalf("%d deleted: %v", n, err)
	}
	at, ok := l.RetentionDeadline()
	if !ok || at.Before(w.now.Add(365*day)) {
		t.Fatalf("deadline %v, %v", at, ok)
	}
	if n, err := l.DeleteOldSegments(at, 1); n != 1 || err != nil {
		t.Fatalf("%d deleted at the deadline: %v", n, err)
	}
	if _, ok := l.RetentionDeadline(); ok {
		t.Fatal("an empty log has a deadline")
	}
}

func TestProducersOutliveTheirRecords(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	w.append(batchSpec{pid: 1, seq: 0})
	w.sync()
	w.cfg.RetentionBytes = 0
	l.UpdateConfig(w.cfg)
	if n, err := l.DeleteOldSegments(w.now, 1); n != 1 || err != nil {
		t.Fatalf("%d deleted: %v", n, err)
	}
	check := func(what string) {
		t.Helper()
		if info := w.append(batchSpec{pid: 1, seq: 0}); !info.Duplicate || info.FirstOffset != 0 {
			t.Fatalf("%s: retry: %+v", what, info)
		}
	}
	check("at once")
	w.crash(nil)
	check("after a crash")
	w.closeClean()
	w.open()
	check("after a clean restart")
	w.now = w.now.Add(25 * time.Hour)
	if _, err := w.l.DeleteOldSegments(w.now, 1); err != nil {
		t.Fatal(err)
	}
	if w.l.producers.Len() != 0 {
		t.Fatal("a producer that is silent for a day is remembered")
	}
}

func TestDeleteRecords(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := tenSegments(w)
	if err := l.AdvanceStartOffset(5); err != nil {
		t.Fatal(err)
	}
	if n, err := l.DeleteOldSegments(w.now, 10); n != 5 || err != nil {
		t.Fatalf("%d deleted: %v", n, err)
	}
	if err := l.AdvanceStartOffset(3); err != nil || l.StartOffset() != 5 {
		t.Fatalf("the start went back to %d: %v", l.StartOffset(), err)
	}
	var out *OffsetOutOfRange
	if err := l.AdvanceStartOffset(11); !errors.As(err, &out) {
		t.Fatalf("beyond the end: %v", err)
	}
	w.timers.fire()
	if l := w.crash(nil); l.StartOffset() != 5 {
		t.Fatalf("after a crash the log starts at %d", l.StartOffset())
	}
}

func TestRoll(t *testing.T) {
	const size = 372
	ts := int64(1_700_000_000_000)
	for _, c := range []struct {
		name   string
		change func(*LogConfig)
		times  []int64
		counts []int64 // base offsets of the segments
	}{
		{"by size", func(c *LogConfig) { c.SegmentBytes = 2 * size }, []int64{0, 0, 0, 0, 0}, []int64{0, 2, 4}},
		{"one byte too small for two", func(c *LogConfig) { c.SegmentBytes = 2*size - 1 }, []int64{0, 0, 0}, []int64{0, 1, 2}},
		{"by record time", func(c *LogConfig) { c.SegmentMs = 1000 }, []int64{0, 1000, 1001, 1500, 2002}, []int64{0, 2, 4}},
		{"not back in time", func(c *LogConfig) { c.SegmentMs = 1000 }, []int64{5000, 0, 5000, 100}, []int64{0}},
		{"by a full index", func(c *LogConfig) { c.SegmentIndexBytes, c.IndexIntervalBytes = 24, 0 }, []int64{0, 1, 2, 3, 4, 5}, []int64{0, 2, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, vfs.NewMem())
			c.change(&w.cfg)
			l := w.open()
			for _, at := range c.times {
				w.append(batchSpec{size: 300, ts: ts + at})
			}
			var bases []int64
			for _, s := range *l.segments.Load() {
				bases = append(bases, s.base)
			}
			if len(bases) != len(c.counts) || bases[len(bases)-1] != c.counts[len(c.counts)-1] {
				t.Fatalf("segments at %v, want %v", bases, c.counts)
			}
		})
	}
}

// TestRollByClock: records without a time roll by the clock.
func TestRollByClock(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentMs = 1000
	l := w.open()
	for range 3 {
		w.append(batchSpec{ts: -1})
		w.now = w.now.Add(600 * time.Millisecond)
	}
	if l.SegmentCount() != 2 {
		t.Fatalf("%d segments", l.SegmentCount())
	}
}

func TestBatchTooLargeForSegment(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes = 371
	l := w.open()
	_, err := l.AppendAsLeader(makeBatch(t, batchSpec{size: 300}), 0, w.now)
	if large := (*RecordTooLarge)(nil); !errors.As(err, &large) || large.KafkaCode() != codeRecordListTooLarge {
		t.Fatalf("%v", err)
	}
}

func TestFollowerAppend(t *testing.T) {
	leader, follower := newWorld(t, vfs.NewMem()), newWorld(t, vfs.NewMem())
	leader.open()
	follower.cfg.SegmentBytes = 2000
	l := follower.open()
	for i := range 20 {
		leader.append(batchSpec{n: 2, size: 100, pid: 1, seq: int32(2 * i)})
	}
	for at := int64(0); at < 40; at = l.EndOffset() {
		s, err := leader.l.Read(at, 3000, math.MaxInt64, true)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := l.AppendAsFollower(s.Bytes, follower.now); err != nil || info.FirstOffset != at || info.LastOffset != l.EndOffset()-1 {
			t.Fatalf("append at %d: %+v %v", at, info, err)
		}
	}
	if l.SegmentCount() < 2 || len(readAll(t, l)) != 20 || l.producers.Len() != 1 {
		t.Fatalf("%d segments, %d producers", l.SegmentCount(), l.producers.Len())
	}
	s, _ := leader.l.Read(0, 3000, math.MaxInt64, true)
	var invalid *InvalidAppend
	if _, err := l.AppendAsFollower(s.Bytes, follower.now); !errors.As(err, &invalid) {
		t.Fatalf("offsets that are there already: %v", err)
	}
	if _, err := l.AppendAsFollower(s.Bytes[:100], follower.now); !errors.As(err, &invalid) {
		t.Fatalf("half a batch: %v", err)
	}
	if err := l.TruncateFullyAndStartAt(1000); err != nil || l.StartOffset() != 1000 || l.EndOffset() != 1000 {
		t.Fatalf("start at 1000: [%d,%d) %v", l.StartOffset(), l.EndOffset(), err)
	}
	if l := follower.crash(nil); l.StartOffset() != 1000 || l.EndOffset() != 1000 {
		t.Fatalf("after a crash: [%d,%d)", l.StartOffset(), l.EndOffset())
	}
	if info := follower.append(batchSpec{}); info.FirstOffset != 1000 {
		t.Fatalf("%+v", info)
	}
}

func TestLogAppendTime(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.LogAppendTime = true
	l := w.open()
	first := w.append(batchSpec{pid: 1, ts: 5})
	if first.LogAppendTime != w.now.UnixMilli() {
		t.Fatalf("%+v", first)
	}
	b := readAll(t, l)[0] // checks the checksum
	if !b.IsLogAppendTime() || b.MaxTimestamp() != w.now.UnixMilli() {
		t.Fatalf("max timestamp %d", b.MaxTimestamp())
	}
	w.now = w.now.Add(time.Hour)
	if again := w.append(batchSpec{pid: 1, ts: 5}); !again.Duplicate || again.LogAppendTime != first.LogAppendTime {
		t.Fatalf("retry: %+v", again)
	}
}
