package explorer

// GroupRow is one line of the group list.
type GroupRow struct {
	Group        string   `json:"group"`
	State        string   `json:"state" doc:"Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, Dead; empty when not told."`
	Type         string   `json:"type" doc:"classic, consumer, share, streams; empty when not told."`
	ProtocolType string   `json:"protocolType,omitempty"`
	Protocol     string   `json:"protocol,omitempty" doc:"Assignor."`
	Coordinator  int32    `json:"coordinator" doc:"Broker id; -1 when unknown."`
	Members      *int32   `json:"members,omitempty"`
	Topics       []string `json:"topics" doc:"Topics with committed offsets."`
	Lag          *int64   `json:"lag,omitempty,string" doc:"Sum over the partitions with a committed offset within the log."`
	LagPartial   bool     `json:"lagPartial" doc:"Some partitions are not counted (never committed, ahead of the log, unknown end)."`
	Problem      *Problem `json:"problem,omitempty"`
}

// GroupList is all groups this user may see.
type GroupList struct {
	Groups    []GroupRow `json:"groups" doc:"Sorted by name."`
	Problems  []Problem  `json:"problems"`
	FetchedAt int64      `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// GroupDetail is one group.
type GroupDetail struct {
	Group        string        `json:"group"`
	State        string        `json:"state"`
	Type         string        `json:"type"`
	ProtocolType string        `json:"protocolType,omitempty"`
	Protocol     string        `json:"protocol,omitempty"`
	Coordinator  int32         `json:"coordinator" doc:"Broker id; -1 when unknown."`
	Members      []GroupMember `json:"members"`
	Offsets      []GroupOffset `json:"offsets" doc:"Committed partitions, and the other partitions of the same or assigned topics."`
	Lag          *int64        `json:"lag,omitempty,string" doc:"Sum over partitions in state ok or belowLogStart."`
	NotCounted   int32         `json:"notCounted" doc:"Partitions that lag leaves out: neverCommitted, aheadOfLog, unknown."`
	Problems     []Problem     `json:"problems"`
	FetchedAt    int64         `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// GroupMember is one member with its assignment.
type GroupMember struct {
	ID          string           `json:"id"`
	InstanceID  string           `json:"instanceId,omitempty"`
	ClientID    string           `json:"clientId"`
	Host        string           `json:"host"`
	Rack        string           `json:"rack,omitempty"`
	Assignments []TopicPartition `json:"assignments"`
}

// TopicPartition names partitions of one topic.
type TopicPartition struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// GroupOffset is a group's place in one partition.
type GroupOffset struct {
	Topic      string   `json:"topic"`
	Partition  int32    `json:"partition"`
	Committed  *int64   `json:"committed,omitempty,string" doc:"Next offset to read; absent when never committed."`
	Start      *int64   `json:"start,omitempty,string" doc:"Log start offset."`
	End        *int64   `json:"end,omitempty,string" doc:"High watermark, exclusive."`
	LastStable *int64   `json:"lastStable,omitempty,string" doc:"Last stable offset, where it differs from end: as far as a read-committed group can come now."`
	Lag        *int64   `json:"lag,omitempty,string" doc:"Exact: end − max(committed, start); absent unless state is ok or belowLogStart."`
	State      string   `json:"state" enum:"ok,neverCommitted,belowLogStart,aheadOfLog,unknown"`
	Words      string   `json:"words,omitempty" doc:"The state in words when not ok."`
	Metadata   string   `json:"metadata,omitempty" doc:"What the committer noted."`
	Member     string   `json:"member,omitempty" doc:"Id of the member that has it."`
	ClientID   string   `json:"clientId,omitempty"`
	Host       string   `json:"host,omitempty"`
	Problem    *Problem `json:"problem,omitempty"`
}
