package storage

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"klamm/internal/config"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

var errNotBuilt = errors.New("storage is being written")

// LogConfig is the effective configuration of a log.
type LogConfig = config.TopicConfig

// LogManagerOptions say where a log directory is and what it may use.
type LogManagerOptions struct {
	FS     vfs.FS
	Dir    string
	Config *config.Broker // nil means Kafka's defaults
	Logger *slog.Logger
	Now    func() time.Time
	Rand   io.Reader // random ids; nil means crypto/rand
	// ClusterID must equal cluster.id of the directory; empty adopts it, and makes one up in a new directory.
	ClusterID string
	NodeID    int32
	// OnOffline is called once, on its own goroutine, when the directory goes offline.
	OnOffline func(*OfflineError)
	// AfterFunc starts f after d; the result stops it. nil means time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	// Background runs f soon, outside of the caller's locks. nil means a goroutine.
	Background func(f func())
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// LogSpec is a partition that metadata places in this directory.
type LogSpec struct {
	TopicPartition
	TopicID [16]byte
	Config  LogConfig
}

type LogManager struct{}

func OpenLogManager(o LogManagerOptions) (*LogManager, error) { return nil, errNotBuilt }

func (m *LogManager) ClusterID() string                              { return "" }
func (m *LogManager) DirectoryID() [16]byte                          { return [16]byte{} }
func (m *LogManager) CleanShutdown() (clean bool, brokerEpoch int64) { return false, -1 }
func (m *LogManager) Offline() error                                 { return nil }

// GetOrCreate opens (and recovers) the partition's log, or creates its directory.
func (m *LogManager) GetOrCreate(topic string, topicID [16]byte, partition int32, cfg LogConfig) (*Log, error) {
	return nil, errNotBuilt
}

// Get returns an open log, nil when there is none.
func (m *LogManager) Get(topic string, partition int32) *Log { return nil }

// Recover opens many logs in parallel; the result holds the error of each that could not be opened.
func (m *LogManager) Recover(specs []LogSpec) map[TopicPartition]error { return nil }

// Stray lists partitions on disk that no GetOrCreate or Recover has asked for.
func (m *LogManager) Stray() ([]TopicPartition, error) { return nil, errNotBuilt }

// Delete renames the partition's directory to NAME.UUID-delete and removes it after file.delete.delay.ms.
func (m *LogManager) Delete(topic string, partition int32) error { return errNotBuilt }

// Checkpoint writes the recovery points, log start offsets and high watermarks.
func (m *LogManager) Checkpoint() error { return errNotBuilt }

func (m *LogManager) Close(clean bool, brokerEpoch int64) error { return errNotBuilt }

type Log struct{}

// AppendInfo tells where a batch went.
type AppendInfo struct {
	FirstOffset, LastOffset int64 // inclusive; of the original batch for a duplicate
	LogAppendTime           int64 // ms, -1 under CreateTime
	LogStartOffset          int64
	Duplicate               bool // the batch was in the log already
}

// AppendAsLeader appends one validated batch; see AppendBatches.
func (l *Log) AppendAsLeader(b record.Batch, epoch int32, now time.Time) (AppendInfo, error) {
	return AppendInfo{}, errNotBuilt
}

// AppendBatches appends batches in order with one write, stamping offsets and the leader epoch into them.
func (l *Log) AppendBatches(bs []record.Batch, epoch int32, now time.Time) ([]AppendInfo, error) {
	return nil, errNotBuilt
}

// AppendAsFollower appends whole batches that carry their offsets and epochs already.
func (l *Log) AppendAsFollower(data []byte, now time.Time) (AppendInfo, error) {
	return AppendInfo{}, errNotBuilt
}

// AbortedTxn is one aborted transaction that overlaps a read.
type AbortedTxn struct{ ProducerID, FirstOffset, LastOffset, LastStableOffset int64 }

// Slice is the result of Read: whole batches.
type Slice struct {
	Bytes       []byte
	FirstOffset int64 // base offset of the first batch, -1 when empty
	AbortedTxns []AbortedTxn
}

// Release gives the bytes back for reuse; optional.
func (s *Slice) Release() {}

func (l *Log) Read(offset int64, maxBytes int, upTo int64, minOne bool) (Slice, error) {
	return Slice{}, errNotBuilt
}
func (l *Log) Sync() (syncedTo int64, err error) { return 0, errNotBuilt }
func (l *Log) StartOffset() int64                { return 0 }
func (l *Log) EndOffset() int64                  { return 0 }
func (l *Log) SyncedOffset() int64               { return 0 }
func (l *Log) LastStableOffset() int64           { return 0 }
func (l *Log) HighWatermark() int64              { return 0 }
func (l *Log) SetHighWatermark(offset int64)     {}
func (l *Log) LeaderEpochs() *LeaderEpochCache   { return nil }

// TimestampOffset is a record found by time.
type TimestampOffset struct {
	Timestamp   int64 // ms
	Offset      int64
	LeaderEpoch int32
}

func (l *Log) OffsetForTimestamp(ts int64) (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, errNotBuilt
}
func (l *Log) MaxTimestamp() (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, errNotBuilt
}
func (l *Log) Size() int64                                { return 0 }
func (l *Log) TruncateTo(offset int64) error              { return errNotBuilt }
func (l *Log) TruncateFullyAndStartAt(offset int64) error { return errNotBuilt }
func (l *Log) AdvanceStartOffset(offset int64) error      { return errNotBuilt }

// DeleteOldSegments applies retention below highWatermark and returns how many segments went.
func (l *Log) DeleteOldSegments(now time.Time, highWatermark int64) (int, error) {
	return 0, errNotBuilt
}
func (l *Log) UpdateConfig(cfg LogConfig) {}
func (l *Log) Config() LogConfig          { return LogConfig{} }
func (l *Log) TopicID() [16]byte          { return [16]byte{} }
func (l *Log) Close() error               { return errNotBuilt }

type LeaderEpochCache struct{}

func (c *LeaderEpochCache) Assign(epoch int32, startOffset int64) {}

// EndOffsetFor answers OffsetForLeaderEpoch (KIP-101).
func (c *LeaderEpochCache) EndOffsetFor(epoch int32, logEnd int64) (foundEpoch int32, endOffset int64) {
	return -1, -1
}
func (c *LeaderEpochCache) Latest() (epoch int32, ok bool) { return 0, false }
