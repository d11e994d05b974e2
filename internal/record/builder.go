package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// BatchOptions describe a batch to build. A zero ProducerID is a real id: batches without an
// idempotent producer start from Plain.
type BatchOptions struct {
	BaseOffset           int64
	Codec                Codec
	Level                int // DefaultLevel, or the codec's own scale
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Transactional        bool
	Control              bool
	PartitionLeaderEpoch int32
	TimestampType        TimestampType
	// LogAppendTime is the time of all records under TimestampType LogAppendTime, ms since 1970.
	LogAppendTime int64
	// Compressor lends its pooled encoders; nil uses a fresh one.
	Compressor *Compressor
}

// Plain is the start of most batches: no producer, no compression, leader epoch -1.
func Plain() BatchOptions {
	return BatchOptions{
		Level: DefaultLevel, ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch,
		BaseSequence: NoSequence, PartitionLeaderEpoch: -1,
	}
}

// maxBatchBytes is the most that a batch's 32-bit length field may say.
const maxBatchBytes = math.MaxInt32

// Builder collects records into one batch. It is not safe for concurrent use.
type Builder struct {
	options   BatchOptions
	records   []byte
	scratch   []byte
	count     int32
	lastDelta int32
	base, max int64
}

// NewBuilder starts an empty batch.
func NewBuilder(o BatchOptions) *Builder {
	return &Builder{options: o, lastDelta: -1, max: NoTimestamp}
}

// Append adds a record at the next offset; ts is ms since 1970. The slices are copied.
func (b *Builder) Append(ts int64, key, value []byte, headers []Header) {
	b.AppendAt(b.options.BaseOffset+int64(b.lastDelta)+1, ts, key, value, headers)
}

// AppendAt adds a record at an offset larger than those before, as the log cleaner needs it.
func (b *Builder) AppendAt(offset, ts int64, key, value []byte, headers []Header) {
	if b.count == 0 {
		b.base = ts
	}
	b.max = max(b.max, ts)
	delta := int32(offset - b.options.BaseOffset)
	s := append(b.scratch[:0], 0) // attributes
	s = binary.AppendVarint(s, ts-b.base)
	s = binary.AppendVarint(s, int64(delta))
	s = appendBytes(s, key)
	s = appendBytes(s, value)
	s = binary.AppendVarint(s, int64(len(headers)))
	for _, h := range headers {
		s = binary.AppendVarint(s, int64(len(h.Key)))
		s = append(s, h.Key...)
		s = appendBytes(s, h.Value)
	}
	b.scratch = s
	b.records = binary.AppendVarint(b.records, int64(len(s)))
	b.records = append(b.records, s...)
	b.lastDelta = delta
	b.count++
}

func appendBytes(dst, value []byte) []byte {
	if value == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(value))), value...)
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the uncompressed size of the batch so far in bytes.
func (b *Builder) Size() int { return HeaderSize + len(b.records) }

// Build returns the batch, which does not alias the builder. An empty builder is an error.
func (b *Builder) Build() (Batch, error) {
	if b.count == 0 {
		return nil, errors.New("a record batch needs at least one record")
	}
	o := b.options
	out := make([]byte, HeaderSize, HeaderSize+len(b.records))
	c := o.Compressor
	if c == nil {
		c = &Compressor{}
	}
	out, err := c.Compress(out, b.records, o.Codec, o.Level)
	if err != nil {
		return nil, err
	}
	if len(out) > maxBatchBytes {
		return nil, fmt.Errorf("a record batch of %d bytes is larger than the format allows", len(out))
	}
	batch := Batch(out)
	b.putHeader(batch)
	return batch, nil
}

func (b *Builder) putHeader(batch Batch) {
	o := b.options
	attributes := int16(o.Codec)
	maxTimestamp := b.max
	if o.TimestampType == LogAppendTime {
		attributes |= attrLogAppendTime
		maxTimestamp = o.LogAppendTime
	}
	if o.Transactional {
		attributes |= attrTransactional
	}
	if o.Control {
		attributes |= attrControl
	}
	binary.BigEndian.PutUint64(batch[posBaseOffset:], uint64(o.BaseOffset))
	binary.BigEndian.PutUint32(batch[posLength:], uint32(len(batch)-LogOverhead))
	binary.BigEndian.PutUint32(batch[posLeaderEpoch:], uint32(o.PartitionLeaderEpoch))
	batch[posMagic] = MagicV2
	binary.BigEndian.PutUint16(batch[posAttributes:], uint16(attributes))
	binary.BigEndian.PutUint32(batch[posLastDelta:], uint32(b.lastDelta))
	binary.BigEndian.PutUint64(batch[posBaseTimestamp:], uint64(b.base))
	binary.BigEndian.PutUint64(batch[posMaxTimestamp:], uint64(maxTimestamp))
	binary.BigEndian.PutUint64(batch[posProducerID:], uint64(o.ProducerID))
	binary.BigEndian.PutUint16(batch[posProducerEpoch:], uint16(o.ProducerEpoch))
	binary.BigEndian.PutUint32(batch[posBaseSequence:], uint32(o.BaseSequence))
	binary.BigEndian.PutUint32(batch[posCount:], uint32(b.count))
	batch.updateCRC()
}

// Recompress returns b with its records under another codec, everything else kept
// (compression.type other than producer). b itself is returned when it has that codec already.
func Recompress(b Batch, codec Codec, level int, c *Compressor, d *Decompressor) (Batch, error) {
	if b.Codec() == codec {
		return b, nil
	}
	out := append(make([]byte, 0, len(b)), b[:HeaderSize]...)
	err := d.withBuffer(func(buf []byte) ([]byte, error) {
		data, err := d.Decompress(buf, b[HeaderSize:], b.Codec())
		if err == nil {
			out, err = c.Compress(out, data, codec, level)
		}
		return data, err
	})
	if err != nil {
		return nil, err
	}
	if len(out) > maxBatchBytes {
		return nil, fmt.Errorf("a record batch of %d bytes is larger than the format allows", len(out))
	}
	r := Batch(out)
	binary.BigEndian.PutUint32(r[posLength:], uint32(len(r)-LogOverhead))
	binary.BigEndian.PutUint16(r[posAttributes:], uint16(b.Attributes()&^attrCodec|int16(codec)))
	r.updateCRC()
	return r, nil
}
