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
		HeaderOnly:         m.settings.Load().headerOnly,
	}
	if c.LogAppendTime {
		v.TimestampType = record.LogAppendTime
	}
	err := m.expanders.expand(b.Codec() != record.None, func(d *record.Decompressor) error {
		v.Decompressor = d
		_, err := record.Validate(b, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	codec, level, fixed := targetCodec(c)
	if !fixed || codec == b.Codec() {
		return b, nil
	}
	err = m.expanders.expand(b.Codec() != record.None, func(d *record.Decompressor) (err error) {
		again, err := record.Recompress(b, codec, level, &m.compressor, d)
		if err == nil {
			b = again
		}
		return err
	})
	if err != nil {
		return nil, &Error{Code: kerr.CorruptMessage.Code, Message: "the batch could not be compressed anew", Cause: err}
	}
	if len(b) > c.MaxMessageBytes {
		return nil, &Error{Code: kerr.MessageTooLarge.Code, Message: fmt.Sprintf("the batch has %d bytes with the compression of topic %s, more than max.message.bytes=%d", len(b), topic, c.MaxMessageBytes)}
	}
	return b, nil
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
