// Package config is the one table of broker, topic and group properties under Kafka's names. It
// feeds parsing, DescribeConfigs, documentation and the explorer.
package config

import "io"

// Kind is the type of a property's value.
type Kind int8

// Kinds, as Kafka's ConfigDef has them.
const (
	Int Kind = iota
	Short
	Long
	Bool
	String
	List
	Double
	Class
	Password
)

// Scope says on what a property is set.
type Scope int8

// Scopes of properties.
const (
	ScopeBroker Scope = iota
	ScopeTopic
	ScopeGroup
)

// Source says where an effective value comes from; the numbers are DescribeConfigs'.
type Source int8

// Sources of values.
const (
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStaticBroker         Source = 4
	SourceDefault              Source = 5
	SourceGroup                Source = 8
)

// ParseProperties reads a Java .properties file.
func ParseProperties(r io.Reader) (map[string]string, error) { return nil, nil }

// Broker is the parsed set of broker properties. It is immutable.
type Broker struct{}

// New checks and merges properties of the file and of --set, which win.
func New(file, sets map[string]string) (*Broker, error) { return &Broker{}, nil }

// WithDynamic returns a copy with the dynamic cluster defaults and the dynamic properties of this broker on top.
func (b *Broker) WithDynamic(clusterDefaults, perBroker map[string]string) *Broker { return b }

// Int, Long, Bool, Double, String and List give the effective value of a property of the table.
func (b *Broker) Int(name string) int        { return 0 }
func (b *Broker) Long(name string) int64     { return 0 }
func (b *Broker) Bool(name string) bool      { return false }
func (b *Broker) Double(name string) float64 { return 0 }
func (b *Broker) String(name string) string  { return "" }
func (b *Broker) List(name string) []string  { return nil }

// TopicConfig is the effective configuration of a topic. Sizes are bytes, times are ms.
type TopicConfig struct {
	SegmentBytes                int
	SegmentMs                   int64
	SegmentJitterMs             int64
	SegmentIndexBytes           int
	RetentionMs                 int64 // -1 keeps for ever
	RetentionBytes              int64 // -1 is unbounded
	LocalRetentionMs            int64
	LocalRetentionBytes         int64
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

// Topic is the effective configuration of a topic with these overrides.
func (b *Broker) Topic(overrides map[string]string) TopicConfig { return TopicConfig{} }

// Synonym is one place a value may come from.
type Synonym struct {
	Name, Value string
	Source      Source
}

// Entry is one property as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil when null or sensitive
	Source    Source
	Sensitive bool
	ReadOnly  bool
	Kind      Kind
	Synonyms  []Synonym
	Doc       string
}

// DescribeTopic lists every topic property, sorted by name.
func (b *Broker) DescribeTopic(overrides map[string]string) []Entry { return nil }

// DescribeBroker lists every broker property, sorted by name.
func (b *Broker) DescribeBroker() []Entry { return nil }

// DescribeGroup lists every group property, sorted by name.
func (b *Broker) DescribeGroup(overrides map[string]string) []Entry { return nil }

// CheckTopic, CheckBroker and CheckGroup say whether a property may be set to value; the error is one plain sentence.
func CheckTopic(name, value string) error  { return nil }
func CheckBroker(name, value string) error { return nil }
func CheckGroup(name, value string) error  { return nil }
