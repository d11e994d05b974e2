package storage

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Kafka error codes that the errors of this package stand for (org.apache.kafka.common.protocol.Errors).
const (
	codeOffsetOutOfRange     int16 = 1
	codeRecordListTooLarge   int16 = 18
	codeOutOfOrderSequence   int16 = 45
	codeInvalidProducerEpoch int16 = 47
	codeKafkaStorage         int16 = 56
	codeInconsistentTopicID  int16 = 103
	codeInvalidRecord        int16 = 87
)

// ErrClosed is returned by calls on a Log or LogManager after Close or Delete.
var ErrClosed = errors.New("the log is closed")

// OffsetOutOfRange says that a read asked for an offset the log does not hold.
type OffsetOutOfRange struct {
	Offset     int64 // asked for
	Start, End int64 // Start is the first offset, End the one after the last
}

func (e *OffsetOutOfRange) Error() string {
	return fmt.Sprintf("offset %d is outside of the log, which holds offsets %d to %d (exclusive)", e.Offset, e.Start, e.End)
}

// KafkaCode is OFFSET_OUT_OF_RANGE.
func (e *OffsetOutOfRange) KafkaCode() int16 { return codeOffsetOutOfRange }

// OutOfOrderSequence refuses a batch of an idempotent producer that does not follow its last one,
// or repeats one older than the window of batches remembered.
type OutOfOrderSequence struct {
	ProducerID     int64
	Got, Last      int32 // first sequence of the batch, last sequence in the log (-1 when none)
	EndOfPartition int64 // offset the batch would have had
}

func (e *OutOfOrderSequence) Error() string {
	return fmt.Sprintf("producer %d sent sequence %d at offset %d, but the last one stored is %d", e.ProducerID, e.Got, e.EndOfPartition, e.Last)
}

// KafkaCode is OUT_OF_ORDER_SEQUENCE_NUMBER.
func (e *OutOfOrderSequence) KafkaCode() int16 { return codeOutOfOrderSequence }

// InvalidProducerEpoch refuses a batch of a producer that a newer instance has replaced.
type InvalidProducerEpoch struct {
	ProducerID   int64
	Got, Current int16
}

func (e *InvalidProducerEpoch) Error() string {
	return fmt.Sprintf("producer %d wrote with epoch %d, but epoch %d is known: a newer instance of it took over", e.ProducerID, e.Got, e.Current)
}

// KafkaCode is INVALID_PRODUCER_EPOCH.
func (e *InvalidProducerEpoch) KafkaCode() int16 { return codeInvalidProducerEpoch }

// RecordTooLarge refuses a batch that no segment can hold.
type RecordTooLarge struct {
	Size, SegmentBytes int // bytes
}

func (e *RecordTooLarge) Error() string {
	return fmt.Sprintf("a batch of %d bytes does not fit into a segment of segment.bytes=%d", e.Size, e.SegmentBytes)
}

// KafkaCode is RECORD_LIST_TOO_LARGE.
func (e *RecordTooLarge) KafkaCode() int16 { return codeRecordListTooLarge }

// InvalidAppend refuses bytes that must never reach a log: a programming error of the caller, or a
// leader that sends offsets out of order.
type InvalidAppend struct{ Reason string }

func (e *InvalidAppend) Error() string { return "cannot append: " + e.Reason }

// KafkaCode is INVALID_RECORD.
func (e *InvalidAppend) KafkaCode() int16 { return codeInvalidRecord }

// NoSpaceError says that the disk is full. The log was cut back to its last whole batch: reads go
// on, and appends succeed again as soon as there is room.
type NoSpaceError struct {
	Dir   string
	Cause error
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("no space left on the disk of %s: produce is refused until there is room (free space, lower retention.ms or retention.bytes, or delete topics): %v", e.Dir, e.Cause)
}

func (e *NoSpaceError) Unwrap() error { return e.Cause }

// KafkaCode is KAFKA_STORAGE_ERROR.
func (e *NoSpaceError) KafkaCode() int16 { return codeKafkaStorage }

// OfflineError says that a log directory was taken out of use after a write or a sync failed. What
// is on its disk is then unknown until the next start, so nothing is retried.
type OfflineError struct {
	Dir   string
	Op    string // what failed, for example "sync" or "write"
	Cause error
}

func (e *OfflineError) Error() string {
	return fmt.Sprintf("log directory %s is offline because %s failed: check the disk, then restart: %v", e.Dir, e.Op, e.Cause)
}

func (e *OfflineError) Unwrap() error { return e.Cause }

// KafkaCode is KAFKA_STORAGE_ERROR.
func (e *OfflineError) KafkaCode() int16 { return codeKafkaStorage }

// ReadError says that stored bytes could not be read; only the asked range is affected.
type ReadError struct {
	File  string
	Cause error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("cannot read %s: %v", e.File, e.Cause)
}

func (e *ReadError) Unwrap() error { return e.Cause }

// KafkaCode is KAFKA_STORAGE_ERROR.
func (e *ReadError) KafkaCode() int16 { return codeKafkaStorage }

// CorruptionError says that a stored batch is damaged and is not just the torn end of the last
// write. Its partition is not served and nothing of it is changed; other partitions go on.
type CorruptionError struct {
	Dir      string // of the partition
	Segment  string // file name
	Offset   int64  // first offset that cannot be trusted
	Position int64  // byte in the file
	Cause    error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d (offset %d): restore the file from a copy, or delete the partition's topic; nothing was changed: %v",
		filepath.Join(e.Dir, e.Segment), e.Position, e.Offset, e.Cause)
}

func (e *CorruptionError) Unwrap() error { return e.Cause }

// KafkaCode is KAFKA_STORAGE_ERROR.
func (e *CorruptionError) KafkaCode() int16 { return codeKafkaStorage }

// FormatError says that a small file (checkpoint, index, snapshot, properties) cannot be parsed.
type FormatError struct {
	File   string
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("%s cannot be read: %s", e.File, e.Reason) }

// LockedError says that another process uses the log directory.
type LockedError struct {
	Dir string
	PID int // 0 when unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop it, or choose another directory with --data-dir", e.Dir, who)
}

// NotWritableError says that the log directory cannot be created or written.
type NotWritableError struct {
	Dir   string
	Cause error
}

func (e *NotWritableError) Error() string {
	return fmt.Sprintf("data directory %s cannot be written: give this user access to it, or choose another one with --data-dir: %v", e.Dir, e.Cause)
}

func (e *NotWritableError) Unwrap() error { return e.Cause }

// NewerVersionError says that a newer program wrote the log directory.
type NewerVersionError struct {
	File             string
	Found, Supported int
}

func (e *NewerVersionError) Error() string {
	return fmt.Sprintf("%s has version %d, this program knows version %d: a newer version wrote it, use that one", e.File, e.Found, e.Supported)
}

// WrongIdentityError says that the log directory belongs to another cluster or node.
type WrongIdentityError struct {
	File           string
	Property       string // cluster.id or node.id
	Found, Expects string
}

func (e *WrongIdentityError) Error() string {
	return fmt.Sprintf("%s says %s=%s, but this node is started with %s: use the data directory of this node, or start it with %s=%s",
		e.File, e.Property, e.Found, e.Expects, e.Property, e.Found)
}

// InconsistentTopicID says that the partition on disk belongs to an earlier topic of the same name.
type InconsistentTopicID struct {
	Dir            string
	Found, Expects string
}

func (e *InconsistentTopicID) Error() string {
	return fmt.Sprintf("%s belongs to topic id %s, not to %s", e.Dir, e.Found, e.Expects)
}

// KafkaCode is INCONSISTENT_TOPIC_ID.
func (e *InconsistentTopicID) KafkaCode() int16 { return codeInconsistentTopicID }
