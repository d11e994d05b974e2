package metadata

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"klamm/internal/kafkarecord"
)

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

// NoLeader is the Leader of a partition nobody may lead.
const NoLeader = -1

// Topic is one topic of an Image. It is immutable.
type Topic struct {
	Name       string
	ID         [16]byte
	Partitions []*Partition // index = partition id
}

// Partition is the controller's view of one partition. It is immutable.
type Partition struct {
	ID             int32
	Leader         int32 // broker id, NoLeader when nobody may lead
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
	CordonedLogDirs      [][16]byte // directories that take no new replicas; nil when never told
	Features             map[string]VersionRange
}

// active says whether the broker may lead and be in an ISR.
func (b *Broker) active() bool { return b != nil && !b.Fenced && !b.InControlledShutdown }

// Image is the state of the cluster at one metadata offset. It never changes: readers keep the
// pointer they were given for as long as they like.
type Image struct {
	offset    int64
	epoch     int32
	timestamp int64 // of the newest batch, ms since 1970
	clusterID string

	controllerID   int32
	kraftVersion   int16
	voters         *kafkarecord.VotersRecord
	levels         map[string]int16 // by feature record
	features       map[string]int16 // what clients see: supported levels and kraft.version
	brokers        map[int32]*Broker
	controllers    map[int32]*kafkarecord.RegisterControllerRecord
	topics         table[string, *Topic]
	topicsByID     table[[16]byte, *Topic]
	configs        table[Resource, map[string]string]
	nextProducerID int64
	quotas         map[string]*kafkarecord.ClientQuotaRecord
	acls           map[[16]byte]*kafkarecord.AccessControlEntryRecord
	scram          map[scramKey]*kafkarecord.UserScramCredentialRecord
	tokens         map[string]*kafkarecord.DelegationTokenRecord

	pending *Image // state inside an open metadata transaction, else nil
	sorted  atomic.Pointer[[]*Topic]
}

type scramKey struct {
	user      string
	mechanism int8
}

// NewImage returns the state before the first record.
func NewImage(clusterID string) *Image {
	return &Image{
		offset: -1, epoch: -1, clusterID: clusterID, controllerID: -1,
		topics:     table[string, *Topic]{shardOf: shardOfString},
		topicsByID: table[[16]byte, *Topic]{shardOf: shardOfID},
		configs:    table[Resource, map[string]string]{shardOf: shardOfResource},
	}
}

// Offset returns the offset of the last record in the image and the epoch of its batch; -1, -1 for
// an empty image.
func (m *Image) Offset() (offset int64, epoch int32) { return m.offset, m.epoch }

// ClusterID returns the cluster's id as clients see it.
func (m *Image) ClusterID() string { return m.clusterID }

// ControllerID returns the node that leads the metadata quorum, -1 when unknown.
func (m *Image) ControllerID() int32 { return m.controllerID }

// Features returns the finalised levels of the features this build supports. Callers must not change
// the map.
func (m *Image) Features() map[string]int16 { return m.features }

// Brokers returns the registered brokers, fenced ones too, sorted by id.
func (m *Image) Brokers() []*Broker {
	all := make([]*Broker, 0, len(m.brokers))
	for _, id := range slices.Sorted(maps.Keys(m.brokers)) {
		all = append(all, m.brokers[id])
	}
	return all
}

// Broker returns one registered broker or nil.
func (m *Image) Broker(id int32) *Broker { return m.brokers[id] }

// Topic returns a topic by name or nil.
func (m *Image) Topic(name string) *Topic {
	t, _ := m.topics.get(name)
	return t
}

// TopicByID returns a topic by id or nil.
func (m *Image) TopicByID(id [16]byte) *Topic {
	t, _ := m.topicsByID.get(id)
	return t
}

// Topics returns all topics sorted by name. Callers must not change the slice.
func (m *Image) Topics() []*Topic {
	if cached := m.sorted.Load(); cached != nil {
		return *cached
	}
	all := m.sortedTopics()
	m.sorted.Store(&all)
	return all
}

// sortedTopics is Topics without the cache, for images that still change.
func (m *Image) sortedTopics() []*Topic {
	all := make([]*Topic, 0, m.topics.count)
	m.topics.all(func(_ string, t *Topic) { all = append(all, t) })
	slices.SortFunc(all, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Partition returns one partition of a topic, nil when there is none.
func (t *Topic) Partition(id int32) *Partition {
	if t == nil || id < 0 || int(id) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[id]
}

// Config returns the dynamic configurations set on a resource, nil when there are none. Callers
// must not change the map.
func (m *Image) Config(t ResourceType, name string) map[string]string {
	c, _ := m.configs.get(Resource{t, name})
	return c
}

// Resources returns the names of the resources of a type that have configurations, sorted.
func (m *Image) Resources(t ResourceType) []string {
	var names []string
	m.configs.all(func(r Resource, _ map[string]string) {
		if r.Type == t {
			names = append(names, r.Name)
		}
	})
	slices.Sort(names)
	return names
}
