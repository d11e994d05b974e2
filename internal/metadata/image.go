package metadata

// ResourceType says what a configuration belongs to. The numbers are those of Kafka's
// ConfigResource.Type, as used on the wire and in ConfigRecord.
type ResourceType int8

// Resource types that carry configurations in the metadata log.
const (
	ResourceTopic         ResourceType = 2
	ResourceBroker        ResourceType = 4
	ResourceClientMetrics ResourceType = 16
	ResourceGroup         ResourceType = 32
)

// Resource names one set of dynamic configurations. The empty broker name is the cluster default.
type Resource struct {
	Type ResourceType
	Name string
}

// Topic is one topic of an Image. It is immutable.
type Topic struct {
	Name       string
	ID         [16]byte
	Partitions []*Partition // index = partition id
}

// Partition is the controller's view of one partition. It is immutable.
type Partition struct {
	ID             int32
	Leader         int32 // broker id, -1 when nobody may lead
	LeaderEpoch    int32 // grows with every change of leader
	PartitionEpoch int32 // grows with every change of this partition
	Replicas       []int32
	ISR            []int32
	ELR            []int32 // eligible leader replicas (KIP-966): out of the ISR, but complete
	LastKnownELR   []int32
	Adding         []int32
	Removing       []int32
	Dirs           [][16]byte // log directory of each replica, same order as Replicas
	Recovering     bool       // the leader was elected uncleanly and has not yet confirmed
}

// Listener is one address a broker serves.
type Listener struct {
	Name             string
	Host             string
	Port             int32
	SecurityProtocol int16 // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
}

// VersionRange is the range of levels of a feature a node supports, both ends inclusive.
type VersionRange struct{ Min, Max int16 }

// Broker is one registered broker. It is immutable.
type Broker struct {
	ID                   int32
	Epoch                int64 // offset of the registration record
	Incarnation          [16]byte
	Listeners            []Listener
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              [][16]byte
	Features             map[string]VersionRange
}

// Image is the state of the cluster at one metadata offset. It never changes: readers keep the
// pointer they were given for as long as they like.
type Image struct{}

// Offset returns the offset of the last record in the image and the epoch of its batch; -1, -1 for
// an empty image.
func (m *Image) Offset() (offset int64, epoch int32) { return -1, -1 }

// ClusterID returns the cluster's id as clients see it.
func (m *Image) ClusterID() string { return "" }

// ControllerID returns the node that leads the metadata quorum, -1 when unknown.
func (m *Image) ControllerID() int32 { return -1 }

// Features returns the finalised feature levels. Callers must not change the map.
func (m *Image) Features() map[string]int16 { return nil }

// Brokers returns the registered brokers, fenced ones too, sorted by id.
func (m *Image) Brokers() []*Broker { return nil }

// Broker returns one registered broker or nil.
func (m *Image) Broker(id int32) *Broker { return nil }

// Topic returns a topic by name or nil.
func (m *Image) Topic(name string) *Topic { return nil }

// TopicByID returns a topic by id or nil.
func (m *Image) TopicByID(id [16]byte) *Topic { return nil }

// Topics returns all topics sorted by name. Callers must not change the slice.
func (m *Image) Topics() []*Topic { return nil }

// Config returns the dynamic configurations set on a resource, nil when there are none. Callers
// must not change the map.
func (m *Image) Config(t ResourceType, name string) map[string]string { return nil }
