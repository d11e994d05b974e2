package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// TopicConfig is the effective configuration of a topic. Sizes are bytes, times are ms.
type TopicConfig struct {
	SegmentBytes                int
	SegmentMs                   int64
	SegmentJitterMs             int64
	SegmentIndexBytes           int
	RetentionMs                 int64 // -1 keeps for ever
	RetentionBytes              int64 // -1 is unbounded
	LocalRetentionMs            int64 // -2 means RetentionMs
	LocalRetentionBytes         int64 // -2 means RetentionBytes
	MaxMessageBytes             int
	MaxDecompressedMessageBytes int
	IndexIntervalBytes          int
	FileDeleteDelayMs           int64
	DeleteRetentionMs           int64
	MinCompactionLagMs          int64
	MaxCompactionLagMs          int64
	MinCleanableDirtyRatio      float64
	Compact                     bool // cleanup.policy contains compact
	Delete                      bool // cleanup.policy contains delete
	FlushMessages               int64
	FlushMs                     int64
	Preallocate                 bool
	UncleanLeaderElection       bool
	MinInsyncReplicas           int
	CompressionType             string // producer, uncompressed, gzip, snappy, lz4, zstd
	GzipLevel                   int
	Lz4Level                    int
	ZstdLevel                   int
	LogAppendTime               bool // message.timestamp.type=LogAppendTime
	TimestampBeforeMaxMs        int64
	TimestampAfterMaxMs         int64
}

// Topic is the effective configuration of a topic with these overrides. An override that does not
// parse is ignored: it was checked when it was set, perhaps by a newer version.
func (b *Broker) Topic(overrides map[string]string) TopicConfig {
	v := b.topicDefaults(overrides)
	policy := splitList(v.text("cleanup.policy"))
	c := TopicConfig{
		SegmentBytes:                v.int("segment.bytes"),
		SegmentMs:                   v.long("segment.ms"),
		SegmentJitterMs:             v.long("segment.jitter.ms"),
		SegmentIndexBytes:           v.int("segment.index.bytes"),
		RetentionMs:                 v.long("retention.ms"),
		RetentionBytes:              v.long("retention.bytes"),
		LocalRetentionMs:            v.long("local.retention.ms"),
		LocalRetentionBytes:         v.long("local.retention.bytes"),
		MaxMessageBytes:             v.int("max.message.bytes"),
		MaxDecompressedMessageBytes: v.int("max.decompressed.message.bytes"),
		IndexIntervalBytes:          v.int("index.interval.bytes"),
		FileDeleteDelayMs:           v.long("file.delete.delay.ms"),
		DeleteRetentionMs:           v.long("delete.retention.ms"),
		MinCompactionLagMs:          v.long("min.compaction.lag.ms"),
		MaxCompactionLagMs:          v.long("max.compaction.lag.ms"),
		MinCleanableDirtyRatio:      number(v.text("min.cleanable.dirty.ratio")),
		Compact:                     slices.Contains(policy, "compact"),
		Delete:                      slices.Contains(policy, "delete"),
		FlushMessages:               v.long("flush.messages"),
		FlushMs:                     v.long("flush.ms"),
		Preallocate:                 v.text("preallocate") == "true",
		UncleanLeaderElection:       v.text("unclean.leader.election.enable") == "true",
		MinInsyncReplicas:           v.int("min.insync.replicas"),
		CompressionType:             v.text("compression.type"),
		GzipLevel:                   v.int("compression.gzip.level"),
		Lz4Level:                    v.int("compression.lz4.level"),
		ZstdLevel:                   v.int("compression.zstd.level"),
		LogAppendTime:               v.text("message.timestamp.type") == "LogAppendTime",
		TimestampBeforeMaxMs:        v.long("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:         v.long("message.timestamp.after.max.ms"),
	}
	if small := v.int("internal.segment.bytes"); small > 0 {
		c.SegmentBytes = small
	}
	return c
}

// CheckTopicSet checks all properties of a topic, each by itself and together; the error is an *Error.
func (b *Broker) CheckTopicSet(overrides map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if err := CheckTopic(name, overrides[name]); err != nil {
			return err
		}
	}
	return b.topicDefaults(overrides).checkTogether()
}

// topicValues resolves topic properties: override, then the broker's synonyms, then the default.
type topicValues struct {
	broker    *Broker
	overrides map[string]string
}

func (b *Broker) topicDefaults(overrides map[string]string) topicValues {
	return topicValues{b, overrides}
}

func (v topicValues) text(name string) string {
	d, ok := Find(ScopeTopic, name)
	if !ok {
		panic("config: no topic property " + name)
	}
	value, _ := v.broker.effective(d, v.overrides)
	return value
}

func (v topicValues) long(name string) int64 {
	n, err := strconv.ParseInt(v.text(name), 10, 64)
	if err != nil {
		return 0 // null
	}
	return n
}

func (v topicValues) int(name string) int { return int(v.long(name)) }

func (v topicValues) checkTogether() error {
	if low, high := v.long("min.compaction.lag.ms"), v.long("max.compaction.lag.ms"); low > high {
		return &Error{"min.compaction.lag.ms", fmt.Sprintf("min.compaction.lag.ms %d must not be larger than max.compaction.lag.ms %d", low, high)}
	}
	return nil
}

// effective resolves a topic or group property; ok is false when it is null.
func (b *Broker) effective(d Def, overrides map[string]string) (value string, ok bool) {
	if value, ok := overrides[d.Name]; ok {
		if parsed, err := d.Parse(value); err == nil {
			return parsed, true
		}
	}
	for _, s := range d.Synonyms {
		if value, ok := b.Lookup(s.Name); ok {
			return scaled(value, s.Factor), true
		}
	}
	return d.Default, !d.Null
}

func scaled(value string, factor int64) string {
	if factor == 1 {
		return value
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return value
	case n < 0:
		return "-1" // a negative retention is for ever, in whatever unit
	case n > math.MaxInt64/factor:
		return strconv.FormatInt(math.MaxInt64, 10)
	}
	return strconv.FormatInt(n*factor, 10)
}
