package storage

import (
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"klamm/internal/config"
	"klamm/internal/record"
)

// LogConfig is the effective configuration of a log.
type LogConfig = config.TopicConfig

// Log is one partition on disk (Kafka's UnifiedLog): segments in order of their base offset, of
// which the last takes the appends. Files appear with the first append.
type Log struct {
	tp      TopicPartition
	topicID [16]byte
	dir     string
	manager *LogManager
	logger  *slog.Logger

	config   atomic.Pointer[LogConfig]
	segments atomic.Pointer[[]*LogSegment] // never empty; replaced as a whole under appendMu

	start         atomic.Int64 // first offset readers may see
	end           atomic.Int64 // one after the last offset
	synced        atomic.Int64 // everything below is durable
	highWatermark atomic.Int64

	epochs    LeaderEpochCache
	producers *ProducerStateManager

	// sealMu serialises the slow work on files beside the appends: sealing rolled segments,
	// truncation, retention, close. syncMu serialises group commits.
	sealMu sync.Mutex
	syncMu sync.Mutex

	appendMu sync.Mutex
	// Guarded by appendMu:
	closed     error // why the log takes no more calls
	pending    []sealTask
	newFiles   bool // directory entries are not durable
	newDir     bool // the partition's directory is new: its entry and partition.metadata are not durable
	hasFile    bool // the active segment's file exists
	undoStates []undoState
	rollJitter int64 // ms, fixed per active segment

	sealed       atomic.Int64 // base of the first rolled segment in pending, -1 without one
	sealing      atomic.Bool  // a call of seal is on its way
	decompressor record.Decompressor
}

// sealTask is a rolled segment whose indexes, and the producer snapshot at its end, must reach the
// disk before the recovery point may pass it.
type sealTask struct {
	segment  *LogSegment
	end      int64 // offset of the snapshot
	snapshot []byte
}

// TopicPartition names the partition.
func (l *Log) TopicPartition() TopicPartition { return l.tp }

// TopicID is the id of the topic the log belongs to.
func (l *Log) TopicID() [16]byte { return l.topicID }

// Dir is the partition's directory.
func (l *Log) Dir() string { return l.dir }

// StartOffset is the first offset that can be read.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// EndOffset is one after the last offset appended (Kafka's log end offset).
func (l *Log) EndOffset() int64 { return l.end.Load() }

// SyncedOffset is the end of what is durable (exclusive).
func (l *Log) SyncedOffset() int64 { return l.synced.Load() }

// HighWatermark is the offset SetHighWatermark was given last; after open, that of the checkpoint.
func (l *Log) HighWatermark() int64 { return l.highWatermark.Load() }

// SetHighWatermark notes the high watermark for replication-offset-checkpoint.
func (l *Log) SetHighWatermark(offset int64) { l.highWatermark.Store(offset) }

// LastStableOffset is the first offset of the oldest open transaction, else EndOffset. A
// read_committed consumer sees what is below it and below the high watermark.
func (l *Log) LastStableOffset() int64 {
	end := l.end.Load()
	if first := l.producers.firstOpenOffset(); first >= 0 {
		return min(first, end)
	}
	return end
}

// LeaderEpochs is the history of leader epochs.
func (l *Log) LeaderEpochs() *LeaderEpochCache { return &l.epochs }

// Config is the current configuration.
func (l *Log) Config() LogConfig { return *l.config.Load() }

// UpdateConfig replaces the configuration; it counts from the next append, roll and retention on.
func (l *Log) UpdateConfig(cfg LogConfig) { l.config.Store(&cfg) }

// Size is the length of all segments in bytes.
func (l *Log) Size() int64 {
	total := int64(0)
	for _, s := range *l.segments.Load() {
		total += s.size.Load()
	}
	return total
}

// SegmentCount is the number of segments.
func (l *Log) SegmentCount() int { return len(*l.segments.Load()) }

func (l *Log) active() *LogSegment {
	segments := *l.segments.Load()
	return segments[len(segments)-1]
}

// floor is the index of the segment that may hold offset: the last with a base not above it.
func floor(segments []*LogSegment, offset int64) int {
	return sort.Search(len(segments), func(i int) bool { return segments[i].base > offset }) - 1
}

// recoveryPoint is the offset from which a start after a crash must check the log: everything below
// is durable, with its indexes and producer snapshots.
func (l *Log) recoveryPoint() int64 {
	point := l.synced.Load()
	if sealed := l.sealed.Load(); sealed >= 0 {
		point = min(point, sealed)
	}
	return point
}

// usable says why the log cannot be used, nil when it can. The caller holds appendMu.
func (l *Log) usable() error {
	if l.closed != nil {
		return l.closed
	}
	return l.manager.Offline()
}

// ExpireProducers forgets idempotent producers that wrote nothing for producer.id.expiration.ms.
func (l *Log) ExpireProducers(now time.Time) {
	l.producers.expire(now.UnixMilli(), l.manager.producerExpirationMs)
}
