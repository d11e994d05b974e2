package metadata

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"klamm/internal/kafkarecord"
)

// draft is an image being changed by records. It shares everything it has not touched with its
// base, so starting one is cheap. It is used up by finish.
type draft struct {
	base    *Image
	img     *Image // private copy of base's fields
	visible *Image // state before the open metadata transaction, else nil
	touched map[[16]byte]bool
	own     map[[16]byte]bool // topics whose Topic value belongs to this draft
	configs map[Resource]bool
	brokers map[int32]bool
}

func newDraft(base *Image) *draft {
	d := &draft{base: base, touched: map[[16]byte]bool{}, own: map[[16]byte]bool{}, configs: map[Resource]bool{}, brokers: map[int32]bool{}}
	if base.pending != nil { // what earlier batches of the transaction touched is not remembered: compare all
		d.img, d.visible = base.pending.clone(), base
		d.touchAll(base)
		d.touchAll(base.pending)
	} else {
		d.img = base.clone()
	}
	return d
}

// clone copies the fields of an image; tables and maps stay shared.
func (m *Image) clone() *Image {
	return &Image{
		offset: m.offset, epoch: m.epoch, timestamp: m.timestamp, clusterID: m.clusterID,
		controllerID: m.controllerID, kraftVersion: m.kraftVersion, voters: m.voters,
		levels: m.levels, features: m.features, brokers: m.brokers, controllers: m.controllers,
		topics: m.topics, topicsByID: m.topicsByID, configs: m.configs, nextProducerID: m.nextProducerID,
		quotas: m.quotas, acls: m.acls, scram: m.scram, tokens: m.tokens,
	}
}

func (m *Image) freeze() {
	m.topics.freeze()
	m.topicsByID.freeze()
	m.configs.freeze()
}

// finish returns the new image. The draft must not be used afterwards.
func (d *draft) finish() *Image {
	d.img.freeze()
	if d.visible == nil {
		return d.img
	}
	out := d.visible.clone() // a transaction is open: its records stay invisible
	out.offset, out.epoch, out.timestamp = d.img.offset, d.img.epoch, d.img.timestamp
	out.controllerID = d.img.controllerID
	out.pending = d.img
	return out
}

// begin opens a metadata transaction: what was there so far stays visible until end.
func (d *draft) begin() {
	d.visible = d.img
	d.visible.freeze()
	d.img = d.visible.clone()
	d.own = map[[16]byte]bool{}
}

// abort forgets the records of the open transaction.
func (d *draft) abort() {
	at := d.img
	d.img, d.visible = d.visible.clone(), nil
	d.img.offset, d.img.epoch, d.img.timestamp = at.offset, at.epoch, at.timestamp
	d.own = map[[16]byte]bool{}
}

// set copies a small map with one entry changed; a nil value deletes.
func set[K comparable, V any](m map[K]V, k K, v *V) map[K]V {
	m = maps.Clone(m)
	switch {
	case v == nil:
		delete(m, k)
	case m == nil:
		m = map[K]V{k: *v}
	default:
		m[k] = *v
	}
	return m
}

// topic returns a private copy of a topic, nil when there is no topic of that id.
func (d *draft) topic(id [16]byte) *Topic {
	t, ok := d.img.topicsByID.get(id)
	if !ok {
		return nil
	}
	d.touched[id] = true
	if !d.own[id] {
		t = &Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
		d.putTopic(t)
	}
	return t
}

func (d *draft) putTopic(t *Topic) {
	d.touched[t.ID], d.own[t.ID] = true, true
	d.img.topics.set(t.Name, t)
	d.img.topicsByID.set(t.ID, t)
}

func (d *draft) removeTopic(t *Topic) {
	d.touched[t.ID] = true
	delete(d.own, t.ID)
	d.img.topics.delete(t.Name)
	d.img.topicsByID.delete(t.ID)
	if r := (Resource{ResourceTopic, t.Name}); d.img.Config(r.Type, r.Name) != nil {
		d.img.configs.delete(r)
		d.configs[r] = true
	}
}

func (d *draft) putBroker(b *Broker) {
	d.brokers[b.ID] = true
	d.img.brokers = set(d.img.brokers, b.ID, &b)
}

func (d *draft) setConfig(r Resource, name string, value *string) {
	d.configs[r] = true
	entries := set(d.img.Config(r.Type, r.Name), name, value)
	if len(entries) == 0 {
		d.img.configs.delete(r)
		return
	}
	d.img.configs.set(r, entries)
}

// setFeature finalises a level. A log that Kafka wrote may finalise features this build does not
// have: they stay in the log for Kafka, but are neither shown to clients nor asked of brokers.
func (d *draft) setFeature(name string, level int16) {
	var value *int16
	if level != 0 {
		value = &level
	}
	if name == kraftVersionFeature {
		d.img.kraftVersion = level
	} else {
		d.img.levels = set(d.img.levels, name, value)
	}
	if _, supported := SupportedFeatures()[name]; supported {
		d.img.features = set(d.img.features, name, value)
	}
}

// diff says what changed between two images, given the topics, configurations and brokers that
// records between them touched.
func (d *draft) diff(from, to *Image) *Delta {
	delta := &Delta{Old: from, New: to, FeaturesChanged: !maps.Equal(from.features, to.features)}
	ids := slices.SortedFunc(maps.Keys(d.touched), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		delta.addTopic(from.TopicByID(id), to.TopicByID(id))
	}
	byName := func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(delta.TopicsCreated, byName)
	slices.SortFunc(delta.TopicsDeleted, byName)
	slices.SortStableFunc(delta.PartitionsChanged, func(a, b PartitionChange) int { return byName(a.Topic, b.Topic) })
	for r := range d.configs {
		if !maps.Equal(from.Config(r.Type, r.Name), to.Config(r.Type, r.Name)) {
			delta.ConfigsChanged = append(delta.ConfigsChanged, r)
		}
	}
	slices.SortFunc(delta.ConfigsChanged, func(a, b Resource) int {
		return strings.Compare(string(rune(a.Type))+a.Name, string(rune(b.Type))+b.Name)
	})
	for id := range d.brokers {
		if from.Broker(id) != to.Broker(id) {
			delta.BrokersChanged = append(delta.BrokersChanged, id)
		}
	}
	slices.Sort(delta.BrokersChanged)
	return delta
}

func (d *Delta) addTopic(old, new *Topic) {
	switch {
	case old == new: // touched inside a transaction that is still open, or created and deleted again
		return
	case new == nil:
		d.TopicsDeleted = append(d.TopicsDeleted, old)
		return
	case old == nil:
		d.TopicsCreated = append(d.TopicsCreated, new)
	}
	for i, p := range new.Partitions {
		if before := old.Partition(int32(i)); before != p {
			d.PartitionsChanged = append(d.PartitionsChanged, PartitionChange{Topic: new, Old: before, New: p})
		}
	}
}

// touchAll counts all of an image as touched.
func (d *draft) touchAll(img *Image) {
	img.topicsByID.all(func(id [16]byte, _ *Topic) { d.touched[id] = true })
	img.configs.all(func(r Resource, _ map[string]string) { d.configs[r] = true })
	for id := range img.brokers {
		d.brokers[id] = true
	}
}

// quotaKey is a text that is equal for equal entities and keys.
func quotaKey(r *kafkarecord.ClientQuotaRecord) string {
	parts := make([]string, 0, len(r.Entity)+1)
	for _, e := range r.Entity {
		name := "\x00"
		if e.EntityName != nil {
			name = *e.EntityName
		}
		parts = append(parts, e.EntityType+"\x01"+name)
	}
	slices.Sort(parts)
	return strings.Join(append(parts, r.Key), "\x02")
}
