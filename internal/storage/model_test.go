package storage

import (
	"bytes"
	"errors"
	"math"
	"math/rand"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// model is what a log should hold: every batch ever appended at its offset, and bounds.
type model struct {
	*world
	rt      *rapid.T
	batches []record.Batch // in order; batches below start are kept to compare after a crash
	start   int64
	end     int64
	synced  int64
	retries map[int64][]record.Batch // by producer, the last ones, as stored
	nextSeq map[int64]int32
	full    bool // the disk is full
	floor   int64
}

func (m *model) inject(op vfs.Op) error {
	if m.full && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, logSuffix) {
		return &vfs.ShortWrite{N: int(op.Length) / 2, Err: syscall.ENOSPC}
	}
	return nil
}

func newModel(rt *rapid.T) *model {
	m := &model{rt: rt, retries: map[int64][]record.Batch{}, nextSeq: map[int64]int32{}}
	m.world = newWorld(rt, nil)
	m.fs = vfs.Fault{FS: vfs.NewMem(), Inject: m.inject}
	m.cfg.SegmentBytes = rapid.SampledFrom([]int{1500, 4000, 1 << 20}).Draw(rt, "segmentBytes")
	m.cfg.IndexIntervalBytes = rapid.SampledFrom([]int{0, 300, 4096}).Draw(rt, "indexInterval")
	m.cfg.RetentionMs = 3600_000
	m.openWorld()
	return m
}

func (m *model) openWorld() {
	opt := m.options()
	opt.MaxOpenFiles = 2
	manager, err := OpenLogManager(opt)
	if err != nil {
		m.rt.Fatalf("open manager: %v", err)
	}
	m.m = manager
	if m.l, err = manager.GetOrCreate("t", testTopicID, 0, m.cfg); err != nil {
		m.rt.Fatalf("open log: %v\n%s", err, m.logs.String())
	}
}

func (m *model) Append(t *rapid.T) {
	m.now = m.now.Add(time.Second)
	spec := batchSpec{
		n: rapid.IntRange(1, 5).Draw(t, "n"), size: rapid.IntRange(0, 250).Draw(t, "size"), seed: byte(len(m.batches)),
		ts: m.now.UnixMilli() - int64(rapid.IntRange(0, 5000).Draw(t, "age")), pid: int64(rapid.IntRange(0, 3).Draw(t, "pid")),
	}
	spec.seq = m.nextSeq[spec.pid]
	b := makeBatch(t, spec)
	info, err := m.l.AppendAsLeader(b, 0, m.now)
	if m.full {
		if full := (*NoSpaceError)(nil); !errors.As(err, &full) {
			t.Fatalf("append on a full disk: %v", err)
		}
		return
	}
	if err != nil || info.Duplicate || info.FirstOffset != m.end || info.LastOffset != m.end+int64(spec.n)-1 {
		t.Fatalf("append at %d: %+v %v", m.end, info, err)
	}
	m.accept(b)
}

func (m *model) accept(b record.Batch) {
	m.batches = append(m.batches, bytes.Clone(b))
	m.end = b.LastOffset() + 1
	if id := b.ProducerID(); id != record.NoProducerID {
		m.nextSeq[id] = b.LastSequence() + 1
		m.retries[id] = append(m.retries[id], m.batches[len(m.batches)-1])
	}
}

// AppendMany appends several batches at once, one producer's in a row.
func (m *model) AppendMany(t *rapid.T) {
	pid := int64(rapid.IntRange(1, 3).Draw(t, "pid"))
	seq := m.nextSeq[pid]
	var bs []record.Batch
	for i := range rapid.IntRange(2, 8).Draw(t, "batches") {
		bs = append(bs, makeBatch(t, batchSpec{n: 2, size: 10 * i, seed: byte(i), ts: m.now.UnixMilli(), pid: pid, seq: seq}))
		seq += 2
	}
	for i, r := range m.l.AppendBatches(bs, 0, m.now) {
		if m.full != (r.Err != nil) || r.Err == nil && r.FirstOffset != m.end {
			t.Fatalf("batch %d at %d: %+v", i, m.end, r)
		}
		if r.Err == nil {
			m.accept(bs[i])
		}
	}
}

// Retry sends a batch again that is in the window.
func (m *model) Retry(t *rapid.T) {
	pid := int64(rapid.IntRange(1, 3).Draw(t, "pid"))
	sent := m.retries[pid]
	if len(sent) == 0 {
		return
	}
	window := sent[max(0, len(sent)-producerWindow):]
	i := rapid.IntRange(0, len(window)-1).Draw(t, "batch")
	info, err := m.l.AppendAsLeader(bytes.Clone(window[i]), 0, m.now)
	if window[i].BaseOffset() < m.floor && i < len(window)-1 && err != nil {
		return // its bytes are gone, and so may be the memory of it; the last batch is never forgotten
	}
	if err != nil || !info.Duplicate || info.FirstOffset != window[i].BaseOffset() {
		t.Fatalf("retry of producer %d, sequence %d, offset %d: %+v %v", pid, window[i].BaseSequence(), window[i].BaseOffset(), info, err)
	}
}

// Gap sends a batch that leaves a sequence out.
func (m *model) Gap(t *rapid.T) {
	pid := int64(rapid.IntRange(1, 3).Draw(t, "pid"))
	if len(m.retries[pid]) == 0 {
		return
	}
	_, err := m.l.AppendAsLeader(makeBatch(t, batchSpec{n: 1, pid: pid, seq: m.nextSeq[pid] + 1}), 0, m.now)
	if gap := (*OutOfOrderSequence)(nil); !errors.As(err, &gap) {
		t.Fatalf("a gap was answered with %v", err)
	}
}

func (m *model) Sync(t *rapid.T) {
	to, err := m.l.Sync()
	if err != nil || to != m.end || m.l.SyncedOffset() != m.end {
		t.Fatalf("sync to %d of %d: %v", to, m.end, err)
	}
	m.synced = m.end
}

func (m *model) FullDisk(t *rapid.T) { m.full = rapid.Bool().Draw(t, "full") }

func (m *model) Timers(*rapid.T) { m.timers.fire() }

func (m *model) Truncate(t *rapid.T) {
	if m.end == m.start {
		return
	}
	to := rapid.Int64Range(m.start, m.end).Draw(t, "to")
	if err := m.l.TruncateTo(to); err != nil {
		t.Fatalf("truncate to %d: %v", to, err)
	}
	m.settle(t, m.l.EndOffset())
	m.start = min(m.start, m.end) // a batch that straddles the start goes as a whole
	if m.end > to {
		t.Fatalf("truncate to %d left %d", to, m.end)
	}
	m.synced = min(m.synced, m.end)
}

// settle takes over an end that lies at or below the model's.
func (m *model) settle(t *rapid.T, end int64) {
	if end > m.end {
		t.Fatalf("the log ends at %d, at most %d was appended", end, m.end)
	}
	for len(m.batches) > 0 && m.batches[len(m.batches)-1].LastOffset() >= end {
		m.batches = m.batches[:len(m.batches)-1]
	}
	m.end = end
	for id, sent := range m.retries {
		for len(sent) > 0 && sent[len(sent)-1].LastOffset() >= end {
			sent = sent[:len(sent)-1]
		}
		m.retries[id] = sent
		if m.nextSeq[id] = 0; len(sent) > 0 {
			m.nextSeq[id] = sent[len(sent)-1].LastSequence() + 1
		}
	}
}

func (m *model) Retention(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "seconds")) * time.Second)
	cfg := m.cfg
	cfg.RetentionBytes = int64(rapid.SampledFrom([]int{-1, 0, 3000, 100000}).Draw(t, "retentionBytes"))
	m.l.UpdateConfig(cfg)
	limit := rapid.Int64Range(m.start, m.end).Draw(t, "highWatermark")
	if _, err := m.l.DeleteOldSegments(m.now, limit); err != nil {
		t.Fatalf("retention: %v", err)
	}
	start := m.l.StartOffset()
	if start < m.start || start > limit && start != m.start {
		t.Fatalf("retention moved the start from %d to %d, high watermark %d", m.start, start, limit)
	}
	if start > m.start {
		m.synced = m.end // it synced first
	}
	m.start = start
	m.floor = max(m.floor, (*m.l.segments.Load())[0].base)
	m.l.UpdateConfig(m.cfg)
}

func (m *model) AdvanceStart(t *rapid.T) {
	if m.l.SyncedOffset() < m.start {
		return
	}
	to := rapid.Int64Range(m.start, m.l.SyncedOffset()).Draw(t, "to")
	if err := m.l.AdvanceStartOffset(to); err != nil {
		t.Fatalf("advance: %v", err)
	}
	m.start = max(m.start, to)
}

func (m *model) CleanRestart(t *rapid.T) {
	m.full = false
	if err := m.m.Close(true, 3); err != nil {
		t.Fatalf("close: %v", err)
	}
	m.fs = vfs.Fault{FS: memOf(m.fs).Crash(nil), Inject: m.inject}
	m.timers.list = nil
	m.openWorld()
	if clean, _ := m.m.CleanShutdown(); !clean {
		t.Fatalf("not clean")
	}
	if m.l.EndOffset() != m.end || m.l.StartOffset() != m.start {
		t.Fatalf("clean restart: [%d,%d), had [%d,%d)", m.l.StartOffset(), m.l.EndOffset(), m.start, m.end)
	}
	m.synced = m.end
}

func (m *model) Crash(t *rapid.T) {
	m.full = false
	var rnd *rand.Rand
	if rapid.Bool().Draw(t, "reordered") {
		rnd = rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
	}
	m.fs = vfs.Fault{FS: memOf(m.fs).Crash(rnd), Inject: m.inject}
	m.m.Close(false, -1)
	m.timers.list = nil
	m.openWorld()
	if m.l.EndOffset() < m.synced {
		t.Fatalf("lost synced records: the log ends at %d, synced were %d\n%s", m.l.EndOffset(), m.synced, m.logs.String())
	}
	if m.l.StartOffset() > m.start {
		t.Fatalf("the start moved from %d to %d", m.start, m.l.StartOffset())
	}
	m.settle(t, m.l.EndOffset())
	m.start = m.l.StartOffset() // deletions need not be durable
	m.synced = m.end
}

// Check compares everything that can be asked with the model.
func (m *model) Check(t *rapid.T) {
	if m.l.EndOffset() != m.end || m.l.StartOffset() != m.start {
		t.Fatalf("log [%d,%d), model [%d,%d)", m.l.StartOffset(), m.l.EndOffset(), m.start, m.end)
	}
	m.checkOffsets(t)
	m.checkTimes(t)
	if _, err := m.l.Read(m.end+1, 1, math.MaxInt64, true); err == nil {
		t.Fatalf("read beyond the end")
	}
}

// checkOffsets reads from every offset: what the indexes lead to must be what the model has.
func (m *model) checkOffsets(t *rapid.T) {
	i := 0
	for at := m.start; at < m.end; at++ {
		for m.batches[i].LastOffset() < at {
			i++
		}
		s, err := m.l.Read(at, 1, math.MaxInt64, true)
		if err != nil || !bytes.Equal(s.Bytes, m.batches[i]) {
			t.Fatalf("read %d: %v\n got %x\nwant %x", at, err, s.Bytes, []byte(m.batches[i]))
		}
		s.Release()
	}
}

func (m *model) checkTimes(t *rapid.T) {
	type rec struct{ ts, offset int64 }
	var all []rec
	var d record.Decompressor
	for _, b := range m.batches {
		err := d.Walk(b, func(r record.Record) error {
			if r.Offset >= m.start {
				all = append(all, rec{r.Timestamp, r.Offset})
			}
			return nil
		})
		if err != nil {
			t.Fatalf("walk: %v", err)
		}
	}
	first := func(ts int64) (rec, bool) {
		for _, r := range all {
			if r.ts >= ts {
				return r, true
			}
		}
		return rec{}, false
	}
	for _, probe := range all {
		for _, ts := range []int64{probe.ts, probe.ts + 1} {
			want, ok := first(ts)
			got, found, err := m.l.OffsetForTimestamp(ts)
			if err != nil || found != ok || found && (got.Offset != want.offset || got.Timestamp != want.ts) {
				t.Fatalf("time %d: %+v %v %v, want %+v %v", ts, got, found, err, want, ok)
			}
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"Append": m.Append, "Append2": m.Append, "AppendMany": m.AppendMany, "Retry": m.Retry, "Gap": m.Gap, "Sync": m.Sync,
			"FullDisk": m.FullDisk, "Timers": m.Timers, "Truncate": m.Truncate, "Retention": m.Retention,
			"AdvanceStart": m.AdvanceStart, "CleanRestart": m.CleanRestart, "Crash": m.Crash,
			"": m.Check,
		})
		m.m.Close(false, -1)
	})
}
