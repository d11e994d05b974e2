package explorer

// Info is what the page needs before anything else.
type Info struct {
	Product  string `json:"product" doc:"Always 'Klamm'."`
	Version  string `json:"version"`
	Embedded string `json:"embedded,omitempty" doc:"Id of the cluster that runs in this process, if one does."`
}

// ClusterSettings is what a person states about a cluster.
type ClusterSettings struct {
	Name         string            `json:"name" minLength:"1" maxLength:"200"`
	Bootstrap    []string          `json:"bootstrap" minItems:"1" maxItems:"100" doc:"Addresses as host:port; the port may be left out (9092)."`
	Properties   map[string]string `json:"properties,omitempty" doc:"Kafka client properties (security.protocol, sasl.mechanism, sasl.jaas.config, ssl.*). Secrets are answered as ********; sending that back keeps the stored value."`
	Color        string            `json:"color,omitempty" maxLength:"30" doc:"The cluster's own colour, as the page names it."`
	ReadOnly     bool              `json:"readOnly,omitempty" doc:"Refuse every change on this cluster."`
	Confirmation string            `json:"confirmation,omitempty" enum:"none,ask,type" doc:"How changes are confirmed; ask when left out."`
}

// Cluster is one saved connection.
type Cluster struct {
	ID       string          `json:"id" doc:"Stable id, used in every path."`
	Embedded bool            `json:"embedded" doc:"Runs in this process; cannot be changed or removed."`
	Settings ClusterSettings `json:"settings"`
	Security string          `json:"security" doc:"PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."`
	LastUsed int64           `json:"lastUsed,omitempty,string" doc:"ms since 1970, UTC."`
	Health   Health          `json:"health"`
}

// Health is what the last contact with a cluster showed. Listing clusters contacts none.
type Health struct {
	State   string   `json:"state" enum:"unknown,up,partial,down"`
	At      int64    `json:"at,omitempty,string" doc:"When, ms since 1970, UTC."`
	Millis  int32    `json:"millis,omitempty" doc:"How long the metadata answer took."`
	Brokers int32    `json:"brokers,omitempty"`
	Topics  int32    `json:"topics,omitempty"`
	Product string   `json:"product,omitempty" doc:"E.g. 'Kafka 4.4 API'."`
	Problem *Problem `json:"problem,omitempty"`
}

// ClusterList is all saved connections.
type ClusterList struct {
	Clusters []Cluster `json:"clusters"`
	Problems []Problem `json:"problems" doc:"E.g. a state file of a newer version was put aside."`
}

// TestReport is the ladder climbed to a cluster. It takes 10 s at most.
type TestReport struct {
	OK      bool     `json:"ok"`
	Millis  int32    `json:"millis"`
	Rungs   []Rung   `json:"rungs"`
	Ignored []string `json:"ignored,omitempty" doc:"Properties that have no effect here."`
}

// Rung is one step of a TestReport.
type Rung struct {
	Step   string `json:"step" enum:"resolve,connect,tls,sasl,apiVersions,metadata,advertised"`
	Target string `json:"target" doc:"The address or broker this step was about."`
	State  string `json:"state" enum:"ok,warning,failed,skipped"`
	Millis int32  `json:"millis"`
	Text   string `json:"text" doc:"What was found, in words."`
	Code   string `json:"code,omitempty" doc:"Problem code when not ok."`
	Help   string `json:"help,omitempty" doc:"Likely cause and fix."`
}

// Product is a guess from ApiVersions: brokers do not tell their name.
type Product struct {
	Name    string `json:"name" doc:"E.g. 'Kafka 4.4 API'."`
	Keys    int32  `json:"keys" doc:"How many API keys are offered."`
	Explain string `json:"explain,omitempty" doc:"What the guess rests on."`
}

// Overview is a cluster at a glance.
type Overview struct {
	Cluster          Cluster   `json:"cluster"`
	ClusterID        string    `json:"clusterId,omitempty" doc:"Kafka's own cluster id."`
	Product          Product   `json:"product"`
	Controller       *int32    `json:"controller,omitempty" doc:"Broker id of the active controller; absent when unknown."`
	ControllerSource string    `json:"controllerSource" doc:"Where the controller id comes from, or why it is unknown."`
	Brokers          []Broker  `json:"brokers"`
	Topics           int32     `json:"topics" doc:"Without internal ones."`
	InternalTopics   int32     `json:"internalTopics"`
	Partitions       int32     `json:"partitions" doc:"Of all topics, internal ones included."`
	OfflinePartition int32     `json:"offlinePartitions" doc:"Partitions without a leader."`
	UnderReplicated  int32     `json:"underReplicated" doc:"Partitions whose ISR is smaller than their replica set."`
	Groups           *int32    `json:"groups,omitempty" doc:"Absent when groups could not be listed."`
	Problems         []Problem `json:"problems"`
	FetchedAt        int64     `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}

// Broker is one broker as the cluster's metadata and log directories show it.
type Broker struct {
	ID         int32    `json:"id"`
	Host       string   `json:"host"`
	Port       int32    `json:"port"`
	Rack       string   `json:"rack,omitempty"`
	Controller bool     `json:"controller" doc:"Is the active controller (from DescribeQuorum)."`
	Leaders    int32    `json:"leaders" doc:"Partitions it leads."`
	Replicas   int32    `json:"replicas" doc:"Partition replicas assigned to it."`
	LogDirs    []LogDir `json:"logDirs" doc:"Empty in the overview, or when they could not be described (see problems)."`
	LogBytes   *int64   `json:"logBytes,omitempty,string" doc:"Sum of its replicas' sizes on disk."`
}

// LogDir is one log directory of a broker.
type LogDir struct {
	Path        string   `json:"path"`
	Bytes       int64    `json:"bytes,string" doc:"Size of the replicas in it."`
	TotalBytes  *int64   `json:"totalBytes,omitempty,string" doc:"Size of the volume, when the broker tells."`
	UsableBytes *int64   `json:"usableBytes,omitempty,string"`
	Problem     *Problem `json:"problem,omitempty"`
}

// BrokerList is all brokers.
type BrokerList struct {
	Controller       *int32    `json:"controller,omitempty"`
	ControllerSource string    `json:"controllerSource"`
	Brokers          []Broker  `json:"brokers"`
	Problems         []Problem `json:"problems"`
	FetchedAt        int64     `json:"fetchedAt,string" doc:"ms since 1970, UTC."`
}
