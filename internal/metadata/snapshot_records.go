package metadata

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"klamm/internal/kafkarecord"
)

// records returns the records that make this image from an empty one, always in the same order:
// metadata.version first, as every reader needs it to understand the rest.
func (m *Image) records() []Record {
	var out []Record
	add := func(r kafkarecord.MetadataRecord, version int16) { out = append(out, Record{r, version}) }
	names := sortedKeys(m.levels)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(boolInt(b == metadataVersionFeature), boolInt(a == metadataVersionFeature))
	})
	for _, name := range names {
		add(&kafkarecord.FeatureLevelRecord{Name: name, FeatureLevel: m.levels[name]}, 0)
	}
	for _, b := range m.Brokers() {
		add(b.record(), m.registerBrokerVersion())
	}
	for _, id := range slices.Sorted(maps.Keys(m.controllers)) {
		add(m.controllers[id], 0)
	}
	for _, t := range m.sortedTopics() {
		add(&kafkarecord.TopicRecord{Name: t.Name, TopicID: t.ID}, 0)
		for _, p := range t.Partitions {
			add(p.record(t.ID), partitionRecordVersion)
		}
	}
	out = append(out, m.configRecords()...)
	return append(out, m.securityRecords()...)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *Image) configRecords() []Record {
	var resources []Resource
	m.configs.all(func(r Resource, _ map[string]string) { resources = append(resources, r) })
	slices.SortFunc(resources, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), compareNames(a.Name, b.Name))
	})
	var out []Record
	for _, r := range resources {
		values := m.Config(r.Type, r.Name)
		for _, name := range sortedKeys(values) {
			value := values[name]
			out = append(out, Record{&kafkarecord.ConfigRecord{ResourceType: int8(r.Type), ResourceName: r.Name, Name: name, Value: &value}, 0})
		}
	}
	return out
}

// securityRecords are quotas, producer ids, ACLs, credentials and tokens.
func (m *Image) securityRecords() []Record {
	var out []Record
	for _, k := range sortedKeys(m.quotas) {
		out = append(out, Record{m.quotas[k], 0})
	}
	if m.nextProducerID > 0 {
		out = append(out, Record{&kafkarecord.ProducerIdsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: m.nextProducerID}, 0})
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.acls), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }) {
		out = append(out, Record{m.acls[id], 0})
	}
	for _, k := range slices.SortedFunc(maps.Keys(m.scram), func(a, b scramKey) int {
		return cmp.Or(compareNames(a.user, b.user), cmp.Compare(a.mechanism, b.mechanism))
	}) {
		out = append(out, Record{m.scram[k], 0})
	}
	for _, id := range sortedKeys(m.tokens) {
		out = append(out, Record{m.tokens[id], 0})
	}
	return out
}

func (b *Broker) record() *kafkarecord.RegisterBrokerRecord {
	r := kafkarecord.NewRegisterBrokerRecord()
	r.BrokerID, r.IncarnationID, r.BrokerEpoch, r.Rack = b.ID, b.Incarnation, b.Epoch, b.Rack
	r.Fenced, r.InControlledShutdown = b.Fenced, b.InControlledShutdown
	r.LogDirs, r.CordonedLogDirs = b.LogDirs, b.CordonedLogDirs
	for _, l := range b.Listeners {
		r.EndPoints = append(r.EndPoints, kafkarecord.RegisterBrokerRecordBrokerEndpoint{Name: l.Name, Host: l.Host, Port: uint16(l.Port), SecurityProtocol: l.SecurityProtocol})
	}
	for _, name := range sortedKeys(b.Features) {
		f := b.Features[name]
		r.Features = append(r.Features, kafkarecord.RegisterBrokerRecordBrokerFeature{Name: name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	return r
}

func (p *Partition) record(topic [16]byte) *kafkarecord.PartitionRecord {
	r := kafkarecord.NewPartitionRecord()
	r.PartitionID, r.TopicID = p.ID, topic
	r.Replicas, r.ISR, r.RemovingReplicas, r.AddingReplicas = p.Replicas, p.ISR, p.Removing, p.Adding
	r.Leader, r.LeaderEpoch, r.PartitionEpoch, r.Directories = p.Leader, p.LeaderEpoch, p.PartitionEpoch, p.Dirs
	if p.Recovering {
		r.LeaderRecoveryState = recovering
	}
	if len(p.ELR) > 0 {
		r.EligibleLeaderReplicas = p.ELR
	}
	if len(p.LastKnownELR) > 0 {
		r.LastKnownELR = p.LastKnownELR
	}
	return r
}
