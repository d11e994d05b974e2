package replica

import (
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"klamm/internal/config"
	"klamm/internal/metadata"
	"klamm/internal/record"
	"klamm/internal/storage"
)

// Leadership is told which partitions this broker leads. Calls come in the order of the metadata
// records and must not block.
type Leadership interface {
	// Leading: this broker leads the partition from leaderEpoch on.
	Leading(topic string, partition, leaderEpoch int32)
	// Resigned: it does not any more as of leaderEpoch.
	Resigned(topic string, partition, leaderEpoch int32)
	// TopicsDeleted: the topics are gone from the cluster.
	TopicsDeleted(names []string)
}

// Options configure a Manager. Fields without a stated default are required.
type Options struct {
	NodeID      int32
	Incarnation [16]byte // of this process; nothing leads before the image shows its registration
	Logs        *storage.LogManager
	Config      *config.Broker
	Now         func() time.Time
	Logger      *slog.Logger
	Leadership  Leadership // nil: nobody is told
	// ParallelSyncs bounds how many partitions are synced at once; 0 means 8.
	ParallelSyncs int
}

const defaultParallelSyncs = 8

// Manager holds every replica of this broker and follows the metadata image (Kafka's
// ReplicaManager). It implements metadata.Observer.
type Manager struct {
	nodeID      int32
	incarnation [16]byte
	logs        *storage.LogManager
	now         func() time.Time
	logger      *slog.Logger
	leadership  Leadership
	syncs       *groupSync
	maintenance *maintenance
	compressor  record.Compressor
	expanders   *expanders
	memory      fetchMemory

	static   *config.Broker // of the start
	settings atomic.Pointer[settings]
	image    atomic.Pointer[metadata.Image]
	active   bool // the image has shown this incarnation; only Publish touches it

	mu     sync.RWMutex
	topics map[string]*hostedTopic
	byID   map[[16]byte]*hostedTopic
}

// settings are the broker's effective properties, with those at hand that every append needs.
type settings struct {
	config           *config.Broker
	syncBeforeCommit bool // a record is committed when it is durable, not when it is written
	headerOnly       bool // klamm.validate=header
}

func newSettings(c *config.Broker) *settings {
	return &settings{
		config:           c,
		syncBeforeCommit: c.String("flush.policy") != "kafka",
		headerOnly:       c.String("klamm.validate") == "header",
	}
}

// hostedTopic is what this broker has of one topic.
type hostedTopic struct {
	name       string
	id         [16]byte
	partitions map[int32]*Partition
}

// NewManager returns a Manager without replicas.
func NewManager(o Options) *Manager {
	if o.ParallelSyncs == 0 {
		o.ParallelSyncs = defaultParallelSyncs
	}
	m := &Manager{
		nodeID: o.NodeID, incarnation: o.Incarnation, logs: o.Logs, now: o.Now, logger: o.Logger,
		leadership: o.Leadership, syncs: newGroupSync(o.ParallelSyncs), expanders: newExpanders(2 * runtime.GOMAXPROCS(0)), static: o.Config,
		topics: map[string]*hostedTopic{}, byID: map[[16]byte]*hostedTopic{},
	}
	m.memory.give(fetchMemoryBytes)
	m.settings.Store(newSettings(o.Config))
	m.maintenance = newMaintenance(m)
	return m
}

// Config returns the broker's effective configuration, dynamic changes included.
func (m *Manager) Config() *config.Broker { return m.settings.Load().config }

// Image returns the newest image whose partitions are all in place here, nil before the first.
func (m *Manager) Image() *metadata.Image { return m.image.Load() }

// Publish implements metadata.Observer.
func (m *Manager) Publish(d *metadata.Delta) {
	m.applyBrokerConfig(d)
	if !m.active {
		m.activate(d.New)
	} else {
		m.apply(d)
	}
	m.image.Store(d.New)
}

// activate takes over everything the image holds once it shows this process's own registration.
// Until then the image may describe the time before a crash.
func (m *Manager) activate(image *metadata.Image) {
	self := image.Broker(m.nodeID)
	if self == nil || self.Incarnation != m.incarnation {
		return
	}
	m.active = true
	m.refreshConfig(image)
	m.recover(image)
	for _, t := range image.Topics() {
		for _, p := range t.Partitions {
			m.applyPartition(image, t, p)
		}
	}
}

// recover opens the logs of this broker in parallel; what fails is found again, one by one, when
// the partitions are made.
func (m *Manager) recover(image *metadata.Image) {
	var specs []storage.LogSpec
	for _, t := range image.Topics() {
		c := m.topicConfig(image, t.Name)
		for _, p := range t.Partitions {
			if slices.Contains(p.Replicas, m.nodeID) {
				tp := storage.TopicPartition{Topic: t.Name, Partition: p.ID}
				specs = append(specs, storage.LogSpec{TopicPartition: tp, TopicID: t.ID, Config: c})
			}
		}
	}
	m.logs.Recover(specs)
}

func (m *Manager) apply(d *metadata.Delta) {
	if len(d.TopicsDeleted) > 0 {
		m.deleteTopics(d.TopicsDeleted)
	}
	for _, c := range d.PartitionsChanged {
		m.applyPartition(d.New, c.Topic, c.New)
	}
	for _, r := range d.ConfigsChanged {
		if r.Type == metadata.ResourceTopic {
			m.applyTopicConfig(d.New, r.Name)
		}
	}
}

// applyBrokerConfig renews the effective broker configuration, and with it the topics' defaults.
func (m *Manager) applyBrokerConfig(d *metadata.Delta) {
	if !slices.ContainsFunc(d.ConfigsChanged, func(r metadata.Resource) bool { return r.Type == metadata.ResourceBroker }) {
		return
	}
	m.refreshConfig(d.New)
	m.mu.RLock()
	names := make([]string, 0, len(m.topics))
	for name := range m.topics {
		names = append(names, name)
	}
	m.mu.RUnlock()
	for _, name := range names {
		m.applyTopicConfig(d.New, name)
	}
}

func (m *Manager) refreshConfig(image *metadata.Image) {
	defaults := image.Config(metadata.ResourceBroker, "")
	own := image.Config(metadata.ResourceBroker, strconv.Itoa(int(m.nodeID)))
	m.settings.Store(newSettings(m.static.WithDynamic(defaults, own)))
}

func (m *Manager) applyTopicConfig(image *metadata.Image, topic string) {
	c := m.topicConfig(image, topic)
	for _, p := range m.hosted(topic) {
		p.updateConfig(c)
	}
	m.maintenance.appended() // a shorter retention may make something deletable
}

func (m *Manager) topicConfig(image *metadata.Image, topic string) config.TopicConfig {
	return m.Config().Topic(image.Config(metadata.ResourceTopic, topic))
}

// applyPartition makes the replica of this broker follow the controller's state.
func (m *Manager) applyPartition(image *metadata.Image, t *metadata.Topic, state *metadata.Partition) {
	p := m.lookup(t.Name, state.ID)
	if !slices.Contains(state.Replicas, m.nodeID) {
		if p != nil {
			m.drop(p)
		}
		return
	}
	if p == nil {
		p = m.create(image, t, state)
	}
	if state.Leader != m.nodeID {
		p.resign(state)
		m.resigned(p, state.LeaderEpoch)
		return
	}
	if p.lead(state) && m.leadership != nil {
		m.leadership.Leading(p.Topic, p.ID, state.LeaderEpoch)
	}
}

// create opens or makes the log of a replica. A log that cannot be opened stops this partition only.
func (m *Manager) create(image *metadata.Image, t *metadata.Topic, state *metadata.Partition) *Partition {
	p := &Partition{Topic: t.Name, TopicID: t.ID, ID: state.ID, manager: m, state: state, config: m.topicConfig(image, t.Name), leaderEpoch: -1}
	log, err := m.logs.GetOrCreate(t.Name, t.ID, state.ID, p.config)
	if err != nil {
		p.failed = err
		m.logger.Error("the log of a partition cannot be opened: it answers KAFKA_STORAGE_ERROR, all other partitions are served", "partition", p.name(), "error", err)
	}
	p.log = log
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.topics[t.Name]
	if h == nil {
		h = &hostedTopic{name: t.Name, id: t.ID, partitions: map[int32]*Partition{}}
		m.topics[t.Name], m.byID[t.ID] = h, h
	}
	h.partitions[p.ID] = p
	return p
}

func (m *Manager) deleteTopics(topics []*metadata.Topic) {
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
		for _, p := range m.hosted(t.Name) {
			m.drop(p)
		}
	}
	if m.leadership != nil {
		m.leadership.TopicsDeleted(names)
	}
}

// drop ends a replica and gives its files to the log manager for removal.
func (m *Manager) drop(p *Partition) {
	m.mu.Lock()
	if h := m.topics[p.Topic]; h != nil {
		delete(h.partitions, p.ID)
		if len(h.partitions) == 0 {
			delete(m.topics, h.name)
			delete(m.byID, h.id)
		}
	}
	m.mu.Unlock()
	p.markDeleted()
	m.resigned(p, p.epoch())
	if err := m.logs.Delete(p.Topic, p.ID); err != nil {
		m.logger.Error("the files of a deleted partition could not be removed; remove its directory by hand while the broker is stopped", "partition", p.name(), "error", err)
	}
}

func (m *Manager) resigned(p *Partition, epoch int32) {
	if m.leadership != nil {
		m.leadership.Resigned(p.Topic, p.ID, epoch)
	}
}

// lookup returns a hosted partition or nil.
func (m *Manager) lookup(topic string, id int32) *Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if h := m.topics[topic]; h != nil {
		return h.partitions[id]
	}
	return nil
}

// hosted returns the partitions of a topic, sorted by id.
func (m *Manager) hosted(topic string) []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.topics[topic]
	if h == nil {
		return nil
	}
	ps := make([]*Partition, 0, len(h.partitions))
	for _, p := range h.partitions {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *Partition) int { return int(a.ID - b.ID) })
	return ps
}

// all returns every hosted partition in no order.
func (m *Manager) all() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var ps []*Partition
	for _, h := range m.topics {
		for _, p := range h.partitions {
			ps = append(ps, p)
		}
	}
	return ps
}

// Partition finds a partition of this broker by name. The error carries the code for a client:
// unknown topic or partition, or one that lives on other brokers.
func (m *Manager) Partition(topic string, id int32) (*Partition, error) {
	if p := m.lookup(topic, id); p != nil {
		return p, nil
	}
	if image := m.image.Load(); image != nil {
		if t := image.Topic(topic); t != nil && id >= 0 && int(id) < len(t.Partitions) {
			return nil, errNotLeader(&Partition{Topic: topic, ID: id})
		}
	}
	return nil, errUnknownPartition(topic, id)
}

// TopicName finds a topic of the image by id.
func (m *Manager) TopicName(id [16]byte) (string, bool) {
	if image := m.image.Load(); image != nil {
		if t := image.TopicByID(id); t != nil {
			return t.Name, true
		}
	}
	return "", false
}

// Close completes what waits, syncs, and closes the logs. A clean close lets the next start skip
// recovery; brokerEpoch is that of the last registration.
func (m *Manager) Close(clean bool, brokerEpoch int64) error {
	m.maintenance.close()
	m.syncs.wait()
	for _, p := range m.all() {
		p.resign(nil)
	}
	m.syncs.wait()
	return m.logs.Close(clean, brokerEpoch)
}

// Offline tells why the log directory is out of use, nil while it works.
func (m *Manager) Offline() error { return m.logs.Offline() }

// PreviousBrokerEpoch is the broker epoch of the last run when it was shut down cleanly, else -1
// (KIP-966: the controller then knows that this broker's logs lost nothing).
func (m *Manager) PreviousBrokerEpoch() int64 {
	clean, epoch := m.logs.CleanShutdown()
	if !clean {
		return -1
	}
	return epoch
}
