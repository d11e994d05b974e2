// Package record reads, checks and writes Kafka's record batches (format version 2, the only one
// produced since 0.11). It is pure: no clock, no disk, no global state, and no input makes it panic.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// HeaderSize is the length in bytes of a batch header, base offset and length fields included.
const HeaderSize = 61

// LogOverhead is the length in bytes of the base offset and length fields that precede a batch.
const LogOverhead = 12

// MagicV2 is the only record format that Klamm accepts and writes.
const MagicV2 = 2

// NoTimestamp marks an absent time, NoProducerID, NoProducerEpoch and NoSequence a batch that no
// idempotent producer wrote.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
)

// Byte positions of the header's fields (Kafka's DefaultRecordBatch).
const (
	posBaseOffset    = 0
	posLength        = 8
	posLeaderEpoch   = 12
	posMagic         = 16
	posCRC           = 17
	posAttributes    = 21
	posLastDelta     = 23
	posBaseTimestamp = 27
	posMaxTimestamp  = 35
	posProducerID    = 43
	posProducerEpoch = 51
	posBaseSequence  = 53
	posCount         = 57
)

const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// Batch is exactly one whole v2 batch as it lies on disk and on the wire. Accessors do not copy.
// A Batch comes from Next or Builder.Build; both guarantee at least HeaderSize bytes.
type Batch []byte

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[posBaseOffset:])) }

// Length is the value of the length field: the bytes that follow it.
func (b Batch) Length() int32 { return int32(binary.BigEndian.Uint32(b[posLength:])) }

// PartitionLeaderEpoch is the epoch of the leader that appended the batch, -1 before that.
func (b Batch) PartitionLeaderEpoch() int32 {
	return int32(binary.BigEndian.Uint32(b[posLeaderEpoch:]))
}

// Magic is the format version.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the stored CRC-32C of everything from Attributes to the end.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the raw flag bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }

// LastOffsetDelta is the last offset minus BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(b[posLastDelta:])) }

// BaseTimestamp is the first record's time in ms, or the delete horizon when HasDeleteHorizon.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])) }

// MaxTimestamp is the largest time of the batch in ms.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) }

// ProducerID is the idempotent producer's id, NoProducerID without one.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[posProducerID:])) }

// ProducerEpoch is the idempotent producer's epoch.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[posProducerEpoch:])) }

// BaseSequence is the sequence number of the first record.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[posBaseSequence:])) }

// Count is the number of records.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[posCount:])) }

// LastOffset is the offset of the last record (inclusive).
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// LastSequence is the sequence number of the last record; numbers wrap from 2^31-1 to 0.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return IncrementSequence(base, b.LastOffsetDelta())
}

// IncrementSequence adds n to a sequence number, wrapping from 2^31-1 to 0 as producers do
// (Kafka's DefaultRecordBatch.incrementSequence).
func IncrementSequence(sequence, n int32) int32 {
	if int64(sequence)+int64(n) > math.MaxInt32 {
		return n - (math.MaxInt32 - sequence) - 1
	}
	return sequence + n
}

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & attrCodec) }

// IsControl tells a batch of markers (transactions, KRaft) from one of data.
func (b Batch) IsControl() bool { return b.Attributes()&attrControl != 0 }

// IsTransactional tells whether the batch belongs to a transaction.
func (b Batch) IsTransactional() bool { return b.Attributes()&attrTransactional != 0 }

// IsLogAppendTime tells whether every record carries MaxTimestamp, set by the broker.
func (b Batch) IsLogAppendTime() bool { return b.Attributes()&attrLogAppendTime != 0 }

// HasDeleteHorizon tells whether BaseTimestamp holds the time from which tombstones may go.
func (b Batch) HasDeleteHorizon() bool { return b.Attributes()&attrDeleteHorizon != 0 }

// HasProducerID tells whether an idempotent producer wrote the batch.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// SetBaseOffset moves the batch; the CRC does not cover it.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(offset))
}

// SetPartitionLeaderEpoch stamps the leader epoch; the CRC does not cover it.
func (b Batch) SetPartitionLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(epoch))
}

// SetMaxTimestamp stores the largest record time in ms as CreateTime and renews the CRC.
func (b Batch) SetMaxTimestamp(ms int64) {
	b.setTimestamp(b.Attributes()&^attrLogAppendTime, ms)
}

// SetLogAppendTime gives all records the broker's time in ms and renews the CRC.
func (b Batch) SetLogAppendTime(ms int64) {
	b.setTimestamp(b.Attributes()|attrLogAppendTime, ms)
}

func (b Batch) setTimestamp(attributes int16, ms int64) {
	if b.Attributes() == attributes && b.MaxTimestamp() == ms {
		return
	}
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
	b.updateCRC()
}

func (b Batch) updateCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.computeCRC()) }

func (b Batch) computeCRC() uint32 {
	return crc32.Checksum(b[posAttributes:], crc32.MakeTable(crc32.Castagnoli))
}

// VerifyCRC compares the stored CRC with the bytes; it returns a *CorruptError on a difference.
func (b Batch) VerifyCRC() error {
	if got := b.computeCRC(); got != b.CRC() {
		return &CorruptError{Offset: b.BaseOffset(), Reason: fmt.Sprintf("its checksum is %08x, but its bytes give %08x", b.CRC(), got)}
	}
	return nil
}

// CorruptError says why bytes are not a record batch.
type CorruptError struct {
	Offset int64 // base offset that the bytes claim
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("record batch at offset %d is corrupt: %s", e.Offset, e.Reason)
}

// ErrStop, returned by a Walk callback, ends the walk without an error.
var ErrStop = errors.New("stop walking")

// Next splits the first batch off buf. It returns io.EOF when buf is empty,
// io.ErrUnexpectedEOF when buf ends inside a batch, and a *CorruptError when the header cannot be
// one of a v2 batch. The CRC is not checked.
func Next(buf []byte) (b Batch, rest []byte, err error) {
	if len(buf) == 0 {
		return nil, nil, io.EOF
	}
	if len(buf) < LogOverhead {
		return nil, buf, io.ErrUnexpectedEOF
	}
	h := Batch(buf)
	length := h.Length()
	if length < HeaderSize-LogOverhead {
		return nil, buf, &CorruptError{Offset: h.BaseOffset(), Reason: fmt.Sprintf("its length %d is less than a batch header's %d bytes", length, HeaderSize-LogOverhead)}
	}
	if len(buf) > posMagic && h.Magic() != MagicV2 {
		return nil, buf, &CorruptError{Offset: h.BaseOffset(), Reason: fmt.Sprintf("its format version (magic) is %d, only %d is supported", h.Magic(), MagicV2)}
	}
	size := int64(length) + LogOverhead
	if size > int64(len(buf)) {
		return nil, buf, io.ErrUnexpectedEOF
	}
	b = h[:size:size]
	if err := b.checkHeader(); err != nil {
		return nil, buf, err
	}
	return b, buf[size:], nil
}

// checkHeader refuses field values that no writer produces and that would break arithmetic later.
func (b Batch) checkHeader() error {
	switch {
	case b.BaseOffset() < 0:
		return b.corrupt("its base offset is negative")
	case b.LastOffsetDelta() < 0:
		return b.corrupt("its last offset delta %d is negative", b.LastOffsetDelta())
	case b.BaseOffset() > math.MaxInt64-int64(b.LastOffsetDelta()):
		return b.corrupt("its last offset overflows")
	case b.Count() < 0:
		return b.corrupt("its record count %d is negative", b.Count())
	}
	return nil
}

func (b Batch) corrupt(format string, args ...any) *CorruptError {
	return &CorruptError{Offset: b.BaseOffset(), Reason: fmt.Sprintf(format, args...)}
}
