package replica

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/config"
	"klamm/internal/record"
)

// validate checks a client's batch as Kafka's LogValidator does and gives it the topic's
// compression. It returns b, or a new batch when the records had to be compressed anew.
func (m *Manager) validate(b record.Batch, topic string, c config.TopicConfig, now time.Time) (record.Batch, error) {
	v := record.Validation{
		MaxMessageBytes:    c.MaxMessageBytes,
		Compacted:          c.Compact,
		TimestampBeforeMax: c.TimestampBeforeMaxMs,
		TimestampAfterMax:  c.TimestampAfterMaxMs,
		Now:                now.UnixMilli(),
		HeaderOnly:         m.Config().String("klamm.validate") == "header",
		Decompressor:       &m.records,
	}
	if c.LogAppendTime {
		v.TimestampType = record.LogAppendTime
	}
	if _, err := record.Validate(b, v); err != nil {
		return nil, err
	}
	codec, level, fixed := targetCodec(c)
	if !fixed || codec == b.Codec() {
		return b, nil
	}
	return m.recompress(b, codec, level, topic, c.MaxMessageBytes)
}

// targetCodec is the compression that a topic's batches must have; fixed false leaves it to the
// producer.
func targetCodec(c config.TopicConfig) (codec record.Codec, level int, fixed bool) {
	switch c.CompressionType {
	case "uncompressed":
		return record.None, record.DefaultLevel, true
	case "gzip":
		return record.Gzip, c.GzipLevel, true
	case "snappy":
		return record.Snappy, record.DefaultLevel, true
	case "lz4":
		return record.Lz4, c.Lz4Level, true
	case "zstd":
		return record.Zstd, c.ZstdLevel, true
	}
	return record.None, record.DefaultLevel, false
}

// recompress writes the records of b with another codec; everything else of the batch stays.
func (m *Manager) recompress(b record.Batch, codec record.Codec, level int, topic string, maxBytes int) (record.Batch, error) {
	builder := record.NewBuilder(record.BatchOptions{
		BaseOffset: b.BaseOffset(), Codec: codec, Level: level,
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
		Transactional: b.IsTransactional(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(),
	})
	err := m.records.Walk(b, func(r record.Record) error {
		builder.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		return nil
	})
	if err != nil {
		return nil, &Error{Code: kerr.CorruptMessage.Code, Message: "the batch could not be decompressed", Cause: err}
	}
	out, err := builder.Build()
	if err != nil {
		return nil, &Error{Code: kerr.CorruptMessage.Code, Message: "the batch could not be compressed", Cause: err}
	}
	if len(out) > maxBytes {
		return nil, &Error{Code: kerr.MessageTooLarge.Code, Message: fmt.Sprintf("the batch has %d bytes with the compression of topic %s, more than max.message.bytes=%d", len(out), topic, maxBytes)}
	}
	return out, nil
}
