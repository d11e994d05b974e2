package coordinator

import (
	"time"

	"klamm/internal/config"
)

// GroupConfig holds the broker properties that govern groups.
type GroupConfig struct {
	InitialRebalanceDelay  time.Duration // group.initial.rebalance.delay.ms
	MinSessionTimeout      time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout      time.Duration // group.max.session.timeout.ms
	MaxSize                int           // group.max.size, members
	OffsetMetadataMaxBytes int           // offset.metadata.max.bytes; counted in UTF-16 units, as Kafka does
	OffsetsRetention       time.Duration // offsets.retention.minutes
	RetentionCheckInterval time.Duration // offsets.retention.check.interval.ms
	LoadBufferBytes        int           // offsets.load.buffer.size
	MaxBatchBytes          int           // message.max.bytes, the limit of __consumer_offsets
}

// GroupConfigOf reads the properties from the broker's configuration.
func GroupConfigOf(b *config.Broker) GroupConfig {
	ms := func(name string) time.Duration { return time.Duration(b.Int(name)) * time.Millisecond }
	return GroupConfig{
		InitialRebalanceDelay:  ms("group.initial.rebalance.delay.ms"),
		MinSessionTimeout:      ms("group.min.session.timeout.ms"),
		MaxSessionTimeout:      ms("group.max.session.timeout.ms"),
		MaxSize:                b.Int("group.max.size"),
		OffsetMetadataMaxBytes: b.Int("offset.metadata.max.bytes"),
		OffsetsRetention:       time.Duration(b.Int("offsets.retention.minutes")) * time.Minute,
		RetentionCheckInterval: time.Duration(b.Long("offsets.retention.check.interval.ms")) * time.Millisecond,
		LoadBufferBytes:        b.Int("offsets.load.buffer.size"),
		MaxBatchBytes:          b.Int("message.max.bytes"),
	}
}
