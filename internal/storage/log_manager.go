package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"klamm/internal/config"
	"klamm/internal/vfs"
)

const (
	// checkpointMaxInterval bounds the time between checkpoints of a log directory that is written
	// to: a start after a crash can tell damage from a torn end only below the recovery point.
	checkpointMaxInterval = 5 * time.Second
	// checkpointMinInterval keeps many rolls at once from writing many checkpoints.
	checkpointMinInterval = time.Second

	defaultProducerExpirationMs = 24 * 60 * 60 * 1000
	defaultFileDeleteDelay      = time.Minute
)

// LogManagerOptions say where a log directory is and what it may use.
type LogManagerOptions struct {
	FS     vfs.FS
	Dir    string
	Config *config.Broker // nil means defaults
	Logger *slog.Logger   // nil logs nothing
	Now    func() time.Time
	Rand   io.Reader // for ids; nil means crypto/rand

	// ClusterID must equal cluster.id of the directory. Empty takes the directory's, and makes one up
	// in a new directory.
	ClusterID string
	NodeID    int32

	// OnOffline is called once, on its own goroutine, when a write or sync failed.
	OnOffline func(*OfflineError)
	// AfterFunc runs f after d unless stop is called; nil means time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	// Background runs f soon, without the caller's locks; nil means a goroutine.
	Background func(f func())
	// MaxOpenFiles bounds the segment files held open beside those in use; 0 means 1024.
	MaxOpenFiles int
}

// LogManager owns one log directory: its identity and lock, its partitions, its checkpoints. It is
// safe for concurrent use.
type LogManager struct {
	fs     vfs.FS
	dir    string
	logger *slog.Logger
	now    func() time.Time
	rand   io.Reader

	afterFunc  func(time.Duration, func()) func() bool
	onOffline  func(*OfflineError)
	runLater   func(func())
	background sync.WaitGroup

	checkpointInterval   time.Duration
	producerExpirationMs int64
	recoveryThreads      int

	meta           MetaProperties
	lock           io.Closer
	clean          bool
	cleanEpoch     int64
	boot           string // names this run of the machine, empty when unknown
	sameBoot       bool
	files          openFiles
	buffers        bufferPools
	expanding      chan struct{} // holds one: the turn to decompress in a search by time
	offline        atomic.Pointer[OfflineError]
	closed         atomic.Bool
	checkpointDue  atomic.Bool // a timer runs
	rootTicket     atomic.Uint64
	rootMu         sync.Mutex
	rootCovered    uint64
	checkpointMu   sync.Mutex // serialises checkpoint files
	lastCheckpoint time.Time  // guarded by checkpointMu
	written        checkpoints

	mu      sync.Mutex // of the maps only: no other lock is taken and nothing slow done under it
	logs    map[TopicPartition]*logSlot
	deleted map[TopicPartition]bool // since the start; their checkpoint entries go
	timers  map[int]func() bool
	timer   int

	finished bool // no goroutine is started any more
}

// checkpoints are the contents of the checkpoint files of a log directory.
type checkpoints struct {
	recoveryPoints, startOffsets, highWatermarks, unchecked OffsetCheckpoint
}

// logSlot is a partition that is open, being opened, or could not be opened.
type logSlot struct {
	ready chan struct{} // closed when log and err are set
	log   *Log
	err   error
}

// LogSpec is a partition that belongs into this directory.
type LogSpec struct {
	TopicPartition
	TopicID [16]byte
	Config  LogConfig
}

// ClusterID is cluster.id of meta.properties.
func (m *LogManager) ClusterID() string { return m.meta.ClusterID }

// DirectoryID is directory.id of meta.properties (KIP-858).
func (m *LogManager) DirectoryID() [16]byte { return m.meta.DirectoryID }

// Dir is the log directory.
func (m *LogManager) Dir() string { return m.dir }

// CleanShutdown tells whether the last run ended in order, and the broker epoch it had, -1 if unknown.
func (m *LogManager) CleanShutdown() (clean bool, brokerEpoch int64) { return m.clean, m.cleanEpoch }

// Offline returns the *OfflineError that took the directory out of use, nil while it works.
func (m *LogManager) Offline() error {
	if e := m.offline.Load(); e != nil {
		return e
	}
	return nil
}

// fail takes the directory offline. It returns the error that did so first.
func (m *LogManager) fail(op string, err error) error {
	e := &OfflineError{m.dir, op, err}
	if !m.offline.CompareAndSwap(nil, e) {
		return m.offline.Load()
	}
	m.logger.Error("log directory is offline", "dir", m.dir, "operation", op, "error", err)
	if m.onOffline != nil {
		m.spawn(func() { m.onOffline(e) })
	}
	return e
}

// failUnlessFull is fail, but a full disk is no reason to stop.
func (m *LogManager) failUnlessFull(op string, err error) error {
	if isNoSpace(err) {
		return &NoSpaceError{m.dir, err}
	}
	return m.fail(op, err)
}

// spawn runs f on a goroutine that Close waits for; after Close nothing is started any more.
func (m *LogManager) spawn(f func()) {
	m.mu.Lock()
	if m.finished {
		m.mu.Unlock()
		return
	}
	m.background.Add(1)
	m.mu.Unlock()
	go func() {
		defer m.background.Done()
		f()
	}()
}

// runSoon runs f without the caller's locks, beside it unless the options say otherwise.
func (m *LogManager) runSoon(f func()) {
	if m.runLater != nil {
		m.runLater(f)
		return
	}
	m.spawn(f)
}

// later runs f after d unless the manager is closed before.
func (m *LogManager) later(d time.Duration, f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		return
	}
	m.timer++
	id := m.timer
	m.timers[id] = m.afterFunc(d, func() {
		m.mu.Lock()
		_, wanted := m.timers[id]
		delete(m.timers, id)
		if wanted {
			m.background.Add(1) // under mu, so that Close either stops the timer or waits for f
		}
		m.mu.Unlock()
		if wanted {
			defer m.background.Done()
			f()
		}
	})
}

// stopTimers keeps timers from starting anything new.
func (m *LogManager) stopTimers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, stop := range m.timers {
		stop()
		delete(m.timers, id)
	}
}

// removeLater removes files or directories after d.
func (m *LogManager) removeLater(names []string, d time.Duration) {
	if len(names) == 0 {
		return
	}
	m.later(d, func() {
		for _, name := range names {
			if err := m.fs.RemoveAll(name); err != nil {
				m.logger.Warn("cannot remove a deleted file; it will be tried at the next start", "file", name, "error", err)
			}
		}
	})
}

// syncRoot makes the entries of the log directory durable. Callers that come while a sync runs
// share the next one.
func (m *LogManager) syncRoot() error {
	ticket := m.rootTicket.Add(1)
	m.rootMu.Lock()
	defer m.rootMu.Unlock()
	if m.rootCovered >= ticket {
		return nil
	}
	covers := m.rootTicket.Load()
	if err := m.fs.SyncDir(m.dir); err != nil {
		return m.fail("sync of a directory", err)
	}
	m.rootCovered = covers
	return nil
}

// Get returns the open log of a partition, nil when there is none.
func (m *LogManager) Get(topic string, partition int32) *Log {
	m.mu.Lock()
	slot := m.logs[TopicPartition{topic, partition}]
	m.mu.Unlock()
	if slot == nil {
		return nil
	}
	<-slot.ready
	return slot.log
}

// openLogs lists the logs that are open.
func (m *LogManager) openLogs() []*Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	logs := make([]*Log, 0, len(m.logs))
	for _, slot := range m.logs {
		select {
		case <-slot.ready:
			if slot.log != nil {
				logs = append(logs, slot.log)
			}
		default:
		}
	}
	return logs
}

// Recover opens many logs in parallel. The result holds the error of each that cannot be served;
// the others are served.
func (m *LogManager) Recover(specs []LogSpec) map[TopicPartition]error {
	var (
		mu     sync.Mutex
		failed = map[TopicPartition]error{}
	)
	m.parallel(len(specs), func(i int) {
		s := specs[i]
		if _, err := m.GetOrCreate(s.Topic, s.TopicID, s.Partition, s.Config); err != nil {
			mu.Lock()
			failed[s.TopicPartition] = err
			mu.Unlock()
		}
	})
	if !m.sameBoot && m.boot != "" {
		if err := m.writeProcessFile(m.boot); err != nil {
			m.logger.Warn("cannot note that all logs are recovered", "dir", m.dir, "error", err)
		}
	}
	return failed
}

// parallel calls f(0) to f(n-1) on a few goroutines and waits for them.
func (m *LogManager) parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, max(m.recoveryThreads, runtime.GOMAXPROCS(0))) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}

// Close ends the use of the directory. With clean, every log is made ready for a quick start and
// .kafka_cleanshutdown says so, together with the broker's epoch (-1 if it has none).
func (m *LogManager) Close(clean bool, brokerEpoch int64) error {
	if m.closed.Swap(true) {
		return ErrClosed
	}
	m.stopTimers()
	clean = clean && m.Offline() == nil
	logs := m.openLogs()
	errs := make([]error, len(logs))
	m.parallel(len(logs), func(i int) {
		if err := logs[i].close(clean); err != nil {
			errs[i] = fmt.Errorf("closing %s: %w", logs[i].tp, err)
		}
	})
	err := errors.Join(errs...)
	if gone := m.Offline(); gone != nil {
		err = gone // says it all; every log would repeat it
	}
	if clean && err == nil {
		err = m.writeCleanShutdown(brokerEpoch)
	}
	m.mu.Lock()
	m.finished = true
	m.mu.Unlock()
	m.background.Wait()
	return errors.Join(err, m.lock.Close())
}

func (m *LogManager) writeCleanShutdown(brokerEpoch int64) error {
	if err := m.Offline(); err != nil {
		return err
	}
	if err := m.Checkpoint(); err != nil {
		return err
	}
	if err := m.writeUnchecked(); err != nil {
		return err
	}
	if err := m.syncRoot(); err != nil {
		return err
	}
	return writeAtomic(m.fs, filepath.Join(m.dir, cleanShutdownFile), AppendCleanShutdown(nil, brokerEpoch))
}

// writeUnchecked lists the partitions on disk that the clean shutdown does not speak for.
func (m *LogManager) writeUnchecked() error {
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil {
		return &ReadError{m.dir, err}
	}
	m.checkpointMu.Lock()
	defer m.checkpointMu.Unlock()
	unchecked := OffsetCheckpoint{}
	m.mu.Lock()
	for _, entry := range entries {
		tp, ok := parseDirName(entry.Name())
		if !ok || !entry.IsDir() || !m.mustCheck(tp) {
			continue
		}
		if slot := m.logs[tp]; slot == nil || slot.log == nil {
			unchecked[tp] = 0
		}
	}
	m.mu.Unlock()
	return m.writeCheckpoint(uncheckedFile, unchecked, &m.written.unchecked)
}

// mustCheck tells whether a partition on disk may have been left in the middle of something.
func (m *LogManager) mustCheck(tp TopicPartition) bool {
	_, listed := m.written.unchecked[tp]
	return !m.clean || listed
}
