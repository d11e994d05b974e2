package explorer

// TopicRow is one line of the topic list.
type TopicRow struct {
	Name            string   `json:"name"`
	ID              string   `json:"id,omitempty" doc:"Kafka's topic id (base64url), when the cluster has them."`
	Internal        bool     `json:"internal"`
	Partitions      int32    `json:"partitions"`
	Replication     int32    `json:"replication" doc:"Replication factor of partition 0."`
	Offline         int32    `json:"offline" doc:"Partitions without a leader."`
	UnderReplicated int32    `json:"underReplicated"`
	Records         *int64   `json:"records,omitempty,string" doc:"Sum of end − start over partitions: an upper bound where the topic is compacted or transactional."`
	RecordsExact    bool     `json:"recordsExact" doc:"Never true yet: end − start counts markers and compacted offsets too."`
	Bytes           *int64   `json:"bytes,omitempty,string" doc:"On disk, leaders only."`
	CleanupPolicy   string   `json:"cleanupPolicy,omitempty"`
	RetentionMs     *int64   `json:"retentionMs,omitempty,string" doc:"-1 is for ever."`
	Problem         *Problem `json:"problem,omitempty"`
}

// TopicList is all topics this user may see.
type TopicList struct {
	Topics    []TopicRow `json:"topics" doc:"Sorted by name."`
	Problems  []Problem  `json:"problems"`
	FetchedAt int64      `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// TopicDetail is one topic.
type TopicDetail struct {
	Name          string         `json:"name"`
	ID            string         `json:"id,omitempty"`
	Internal      bool           `json:"internal"`
	Partitions    []PartitionRow `json:"partitions"`
	Records       *int64         `json:"records,omitempty,string" doc:"Sum of end − start; absent when a partition is unknown."`
	Bytes         *int64         `json:"bytes,omitempty,string" doc:"On disk, leaders only."`
	LastTimestamp *int64         `json:"lastTimestamp,omitempty,string" doc:"Largest record timestamp, ms since 1970, UTC."`
	Configs       []ConfigEntry  `json:"configs"`
	Problems      []Problem      `json:"problems"`
	FetchedAt     int64          `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// PartitionRow is one partition. Offsets: start is the first readable one, end is exclusive.
type PartitionRow struct {
	ID          int32    `json:"id"`
	Leader      int32    `json:"leader" doc:"-1 when there is none."`
	LeaderEpoch int32    `json:"leaderEpoch"`
	Replicas    []int32  `json:"replicas"`
	ISR         []int32  `json:"isr"`
	Offline     []int32  `json:"offline" doc:"Replicas that are not reachable."`
	Start       *int64   `json:"start,omitempty,string" doc:"Log start offset."`
	End         *int64   `json:"end,omitempty,string" doc:"High watermark: the offset of the next record, exclusive end."`
	Bytes       *int64   `json:"bytes,omitempty,string" doc:"Leader's size on disk."`
	State       string   `json:"state" enum:"ok,underReplicated,offline"`
	Words       string   `json:"words,omitempty" doc:"Why it is not ok."`
	Problem     *Problem `json:"problem,omitempty" doc:"Why its offsets are unknown."`
}

// ConfigEntry is one configuration value with where it comes from.
type ConfigEntry struct {
	Name      string          `json:"name"`
	Value     *string         `json:"value,omitempty" doc:"Absent for null and sensitive values. 64-bit numbers are exact text."`
	Source    string          `json:"source" doc:"DYNAMIC_TOPIC_CONFIG, DEFAULT_CONFIG, STATIC_BROKER_CONFIG, ..."`
	Default   bool            `json:"default" doc:"Not set for this topic."`
	ReadOnly  bool            `json:"readOnly"`
	Sensitive bool            `json:"sensitive"`
	Type      string          `json:"type,omitempty" doc:"INT, LONG, LIST, ..."`
	Doc       string          `json:"doc,omitempty"`
	Synonyms  []ConfigSynonym `json:"synonyms"`
}

// ConfigSynonym is where a value would come from when the ones before it were removed.
type ConfigSynonym struct {
	Name   string  `json:"name"`
	Value  *string `json:"value,omitempty"`
	Source string  `json:"source"`
}

// TopicCreate asks for a new topic.
type TopicCreate struct {
	Name         string            `json:"name" minLength:"1" maxLength:"249"`
	Partitions   int32             `json:"partitions,omitempty" minimum:"-1" doc:"-1 or absent: the broker's default."`
	Replication  int32             `json:"replication,omitempty" minimum:"-1" maximum:"32767" doc:"-1 or absent: the broker's default."`
	Configs      map[string]string `json:"configs,omitempty"`
	ValidateOnly bool              `json:"validateOnly,omitempty" doc:"Check without creating."`
}

// TopicCreated is the answer to TopicCreate.
type TopicCreated struct {
	Name        string `json:"name"`
	ID          string `json:"id,omitempty"`
	Partitions  int32  `json:"partitions" doc:"-1 when the broker did not tell."`
	Replication int32  `json:"replication" doc:"-1 when the broker did not tell."`
	Validated   bool   `json:"validated" doc:"Only checked, not created."`
}

// TopicImpact is what deleting a topic takes away.
type TopicImpact struct {
	Name          string    `json:"name"`
	Partitions    int32     `json:"partitions"`
	Records       *int64    `json:"records,omitempty,string" doc:"Upper bound, see TopicRow."`
	Bytes         *int64    `json:"bytes,omitempty,string"`
	LastTimestamp *int64    `json:"lastTimestamp,omitempty,string" doc:"Largest record timestamp, ms since 1970, UTC."`
	Groups        []string  `json:"groups" doc:"Groups with committed offsets in it."`
	Problems      []Problem `json:"problems"`
}

// TopicConsumers is who reads a topic.
type TopicConsumers struct {
	Groups    []TopicConsumer `json:"groups"`
	Problems  []Problem       `json:"problems"`
	FetchedAt int64           `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// TopicConsumer is one group's reading of one topic.
type TopicConsumer struct {
	Group          string `json:"group"`
	State          string `json:"state"`
	Type           string `json:"type"`
	Members        int32  `json:"members" doc:"Members that have partitions of this topic."`
	Committed      int32  `json:"committed" doc:"Partitions with a committed offset."`
	NeverCommitted int32  `json:"neverCommitted" doc:"Partitions without one; not part of lag."`
	AheadOfLog     int32  `json:"aheadOfLog" doc:"Partitions committed past the end; not part of lag."`
	Lag            *int64 `json:"lag,omitempty,string" doc:"Records after the committed offsets."`
}
