package storage

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

const testDir = "/data/klamm"

var testTopicID = [16]byte{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16}

// tb is what both testing.TB and rapid.T have.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// timers is a clock's worth of AfterFunc that a test fires by hand.
type timers struct {
	mu   sync.Mutex
	list map[int]func()
	next int
}

func (t *timers) after(_ time.Duration, f func()) func() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[int]func(){}
	}
	t.next++
	id := t.next
	t.list[id] = f
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, was := t.list[id]
		delete(t.list, id)
		return was
	}
}

// fire runs everything that waits.
func (t *timers) fire() {
	t.mu.Lock()
	list := t.list
	t.list = nil
	t.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(list)) {
		list[id]()
	}
}

// world is one log directory on one file system, for tests: background work runs at once, timers
// run when told, the clock moves when told.
type world struct {
	t      tb
	fs     vfs.FS
	dir    string
	timers timers
	now    time.Time
	cfg    LogConfig
	logs   bytes.Buffer
	m      *LogManager
	l      *Log
}

func testConfig() LogConfig {
	return LogConfig{
		SegmentBytes: 1 << 30, SegmentMs: math.MaxInt64, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		RetentionMs: -1, RetentionBytes: -1, MaxMessageBytes: 1 << 20, Delete: true, FileDeleteDelayMs: 60000,
	}
}

func newWorld(t tb, fsys vfs.FS) *world {
	return &world{t: t, fs: fsys, dir: testDir, now: time.UnixMilli(1_700_000_000_000), cfg: testConfig()}
}

func (w *world) options() LogManagerOptions {
	return LogManagerOptions{
		FS: w.fs, Dir: w.dir, Now: func() time.Time { return w.now }, NodeID: 1, ClusterID: "FtmRHpMyRyWuSOw4eVth_A",
		Rand: rand.New(rand.NewSource(1)), AfterFunc: w.timers.after, Background: func(f func()) { f() },
		Logger: slog.New(slog.NewTextHandler(&w.logs, nil)),
	}
}

func (w *world) openManager() *LogManager {
	w.t.Helper()
	m, err := OpenLogManager(w.options())
	if err != nil {
		w.t.Fatalf("open manager: %v", err)
	}
	w.m = m
	return m
}

// open opens the directory and the partition t-0 of it.
func (w *world) open() *Log {
	w.t.Helper()
	w.openManager()
	w.m.Recover([]LogSpec{{TopicPartition{"t", 0}, testTopicID, w.cfg}})
	l, err := w.m.GetOrCreate("t", testTopicID, 0, w.cfg)
	if err != nil {
		w.t.Fatalf("open log: %v", err)
	}
	w.l = l
	return l
}

func (w *world) closeClean() {
	w.t.Helper()
	if err := w.m.Close(true, 7); err != nil {
		w.t.Fatalf("close: %v", err)
	}
}

// crash cuts the power and starts again on what is left. rnd may be nil: nothing unsynced is left.
func (w *world) crash(rnd *rand.Rand) *Log {
	w.t.Helper()
	w.kill(rnd)
	return w.open()
}

func (w *world) kill(rnd *rand.Rand) {
	w.fs = memOf(w.fs).Crash(rnd)
	w.m.Close(false, -1) // frees the old manager's timers; its file system is dead
	w.timers.list = nil
}

func memOf(fsys vfs.FS) *vfs.Mem {
	switch f := fsys.(type) {
	case *vfs.Mem:
		return f
	case vfs.Fault:
		return memOf(f.FS)
	}
	panic("not in memory")
}

// batchSpec describes a batch for tests.
type batchSpec struct {
	n             int // records
	size          int // of each value
	ts            int64
	pid           int64 // 0 means none
	epoch         int16
	seq           int32
	codec         record.Codec
	transactional bool
	seed          byte
}

func makeBatch(t tb, s batchSpec) record.Batch {
	t.Helper()
	o := record.BatchOptions{
		Codec: s.codec, ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch, BaseSequence: record.NoSequence,
		PartitionLeaderEpoch: -1, Level: record.DefaultLevel, Transactional: s.transactional,
	}
	if s.pid > 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = s.pid, s.epoch, s.seq
	}
	if s.ts == 0 {
		s.ts = 1_700_000_000_000
	}
	b := record.NewBuilder(o)
	for i := range max(s.n, 1) {
		value := bytes.Repeat([]byte{s.seed + byte(i) + 1}, s.size)
		b.Append(s.ts+int64(i), fmt.Appendf(nil, "k%d", i), value, nil)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatalf("build batch: %v", err)
	}
	return batch
}

func (w *world) append(s batchSpec) AppendInfo {
	w.t.Helper()
	info, err := w.l.AppendAsLeader(makeBatch(w.t, s), 0, w.now)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	return info
}

func (w *world) sync() int64 {
	w.t.Helper()
	to, err := w.l.Sync()
	if err != nil {
		w.t.Fatalf("sync: %v", err)
	}
	return to
}

// readAll reads the whole log as batches and checks them: whole, in order, right checksums.
func readAll(t tb, l *Log) []record.Batch {
	t.Helper()
	var out []record.Batch
	for at := l.StartOffset(); at < l.EndOffset(); {
		s, err := l.Read(at, 1<<20, math.MaxInt64, true)
		if err != nil {
			t.Fatalf("read %d of [%d,%d): %v", at, l.StartOffset(), l.EndOffset(), err)
		}
		if len(s.Bytes) == 0 {
			t.Fatalf("read %d of [%d,%d): nothing", at, l.StartOffset(), l.EndOffset())
		}
		for rest := s.Bytes; len(rest) > 0; {
			b, after, err := record.Next(rest)
			if err != nil {
				t.Fatalf("read %d: %v", at, err)
			}
			if err := b.VerifyCRC(); err != nil {
				t.Fatalf("read %d: %v", at, err)
			}
			if b.LastOffset() < at {
				t.Fatalf("read %d returned a batch that ends at %d", at, b.LastOffset())
			}
			at = b.LastOffset() + 1
			out = append(out, b)
			rest = after
		}
	}
	return out
}

// files lists the partition's directory with sizes.
func (w *world) files() map[string]int64 {
	w.t.Helper()
	out := map[string]int64{}
	entries, err := w.fs.ReadDir(filepath.Join(w.dir, "t-0"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			w.t.Fatal(err)
		}
		out[e.Name()] = info.Size()
	}
	return out
}

// corrupt changes bytes of a file in the partition's directory.
func (w *world) corrupt(name string, at int64, data []byte) {
	w.t.Helper()
	f, err := w.fs.OpenFile(filepath.Join(w.dir, "t-0", name), os.O_RDWR)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		w.t.Fatal(err)
	}
}
