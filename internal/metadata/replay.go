package metadata

import (
	"fmt"
	"slices"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
)

// ReplayError is a record of the metadata log that cannot be applied. The node stops: skipping it
// would make its state differ from the log's.
type ReplayError struct {
	Offset int64 // of the record, -1 when it is not in the log yet
	Record string
	Err    error
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("the metadata log cannot be applied at offset %d (%s): %v", e.Offset, e.Record, e.Err)
}

func (e *ReplayError) Unwrap() error { return e.Err }

// replayBatch applies a batch of the metadata log: the only way the image changes.
func (d *draft) replayBatch(dec *record.Decompressor, b record.Batch) error {
	if err := dec.Walk(b, func(r record.Record) error {
		d.img.offset, d.img.epoch = r.Offset, b.PartitionLeaderEpoch()
		if b.IsControl() {
			return d.replayControl(r)
		}
		return d.replayRecord(r)
	}); err != nil {
		return err
	}
	d.img.timestamp = max(d.img.timestamp, b.MaxTimestamp())
	return nil
}

func (d *draft) replayRecord(r record.Record) error {
	m, _, err := kafkarecord.DecodeMetadata(r.Value)
	if err != nil {
		return &ReplayError{r.Offset, "unreadable", err}
	}
	if err := d.replay(m); err != nil {
		return &ReplayError{r.Offset, m.Schema().Name, err}
	}
	return nil
}

func (d *draft) replayControl(r record.Record) error {
	t, err := record.ParseControlKey(r.Key)
	if err != nil {
		return &ReplayError{r.Offset, "control record", err}
	}
	switch t {
	case record.ControlLeaderChange:
		var m kafkarecord.LeaderChangeMessage
		if err = readControl(&m, r.Value); err == nil {
			d.img.controllerID = m.LeaderID
		}
	case record.ControlKRaftVersion:
		var m kafkarecord.KRaftVersionRecord
		if err = readControl(&m, r.Value); err == nil {
			d.setFeature(kraftVersionFeature, m.KRaftVersion)
		}
	case record.ControlKRaftVoters:
		m := kafkarecord.NewVotersRecord()
		if err = readControl(m, r.Value); err == nil {
			d.img.voters = m
		}
	case record.ControlSnapshotHeader, record.ControlSnapshotFooter:
	default:
		err = fmt.Errorf("control record type %d is not known to this version of Klamm", t)
	}
	if err != nil {
		return &ReplayError{r.Offset, "control record " + t.String(), err}
	}
	return nil
}

// readControl reads a control record's value; its version is its own first field.
func readControl(m kafkarecord.Message, value []byte) error {
	version := m.Schema().MinVersion
	if len(value) >= 2 {
		version = int16(value[0])<<8 | int16(value[1])
	}
	return m.ReadFrom(value, version)
}

// replay applies one metadata record.
func (d *draft) replay(m kafkarecord.MetadataRecord) error {
	switch m := m.(type) {
	case *kafkarecord.TopicRecord, *kafkarecord.PartitionRecord, *kafkarecord.PartitionChangeRecord,
		*kafkarecord.RemoveTopicRecord, *kafkarecord.ClearElrRecord:
		return d.replayTopics(m)
	case *kafkarecord.RegisterBrokerRecord, *kafkarecord.UnregisterBrokerRecord, *kafkarecord.FenceBrokerRecord,
		*kafkarecord.UnfenceBrokerRecord, *kafkarecord.BrokerRegistrationChangeRecord:
		return d.replayBrokers(m)
	case *kafkarecord.ConfigRecord:
		d.setConfig(Resource{ResourceType(m.ResourceType), m.ResourceName}, m.Name, m.Value)
	case *kafkarecord.FeatureLevelRecord:
		return d.replayFeature(m)
	case *kafkarecord.ProducerIdsRecord:
		d.img.nextProducerID = m.NextProducerID
	case *kafkarecord.RegisterControllerRecord:
		d.img.controllers = set(d.img.controllers, m.ControllerID, &m)
	case *kafkarecord.UnregisterControllerRecord:
		d.img.controllers = set(d.img.controllers, m.ControllerID, nil)
	case *kafkarecord.NoOpRecord, *kafkarecord.ZkMigrationStateRecord:
	case *kafkarecord.BeginTransactionRecord, *kafkarecord.EndTransactionRecord, *kafkarecord.AbortTransactionRecord:
		return d.replayTransaction(m)
	default:
		return d.replaySecurity(m)
	}
	return nil
}

func (d *draft) replayFeature(m *kafkarecord.FeatureLevelRecord) error {
	if m.Name == metadataVersionFeature {
		if r := SupportedFeatures()[metadataVersionFeature]; m.FeatureLevel < r.Min || m.FeatureLevel > r.Max {
			return fmt.Errorf("the log is at metadata.version %d, this version of Klamm reads %d to %d: use the Kafka or Klamm version that wrote it, or raise the level with it first",
				m.FeatureLevel, r.Min, r.Max)
		}
	}
	d.setFeature(m.Name, m.FeatureLevel)
	return nil
}

func (d *draft) replayTransaction(m kafkarecord.MetadataRecord) error {
	_, begins := m.(*kafkarecord.BeginTransactionRecord)
	if open := d.visible != nil; open == begins {
		return fmt.Errorf("a metadata transaction is open: %t", open)
	}
	switch m.(type) {
	case *kafkarecord.BeginTransactionRecord:
		d.begin()
	case *kafkarecord.EndTransactionRecord:
		d.visible = nil
	case *kafkarecord.AbortTransactionRecord:
		d.abort()
	}
	return nil
}

// replaySecurity applies quotas, ACLs, credentials and tokens. Klamm does not enforce them yet, but
// a log that Kafka wrote has them, and its snapshots must keep them.
func (d *draft) replaySecurity(m kafkarecord.MetadataRecord) error {
	switch m := m.(type) {
	case *kafkarecord.ClientQuotaRecord:
		value := &m
		if m.Remove {
			value = nil
		}
		d.img.quotas = set(d.img.quotas, quotaKey(m), value)
	case *kafkarecord.AccessControlEntryRecord:
		d.img.acls = set(d.img.acls, m.ID, &m)
	case *kafkarecord.RemoveAccessControlEntryRecord:
		d.img.acls = set(d.img.acls, m.ID, nil)
	case *kafkarecord.UserScramCredentialRecord:
		d.img.scram = set(d.img.scram, scramKey{m.Name, m.Mechanism}, &m)
	case *kafkarecord.RemoveUserScramCredentialRecord:
		d.img.scram = set(d.img.scram, scramKey{m.Name, m.Mechanism}, nil)
	case *kafkarecord.DelegationTokenRecord:
		d.img.tokens = set(d.img.tokens, m.TokenID, &m)
	case *kafkarecord.RemoveDelegationTokenRecord:
		d.img.tokens = set(d.img.tokens, m.TokenID, nil)
	default:
		return fmt.Errorf("no rule applies this record")
	}
	return nil
}

func (d *draft) replayTopics(m kafkarecord.MetadataRecord) error {
	switch m := m.(type) {
	case *kafkarecord.TopicRecord:
		if d.img.Topic(m.Name) != nil || d.img.TopicByID(m.TopicID) != nil {
			return fmt.Errorf("topic %s (%s) exists already", m.Name, kafkarecord.FormatUUID(m.TopicID))
		}
		d.putTopic(&Topic{Name: m.Name, ID: m.TopicID})
	case *kafkarecord.RemoveTopicRecord:
		t := d.img.TopicByID(m.TopicID)
		if t == nil {
			return unknownTopic(m.TopicID)
		}
		d.removeTopic(t)
	case *kafkarecord.PartitionRecord:
		return d.replayPartition(m)
	case *kafkarecord.PartitionChangeRecord:
		return d.replayPartitionChange(m)
	case *kafkarecord.ClearElrRecord:
		return d.clearELR(m.TopicName)
	}
	return nil
}

func unknownTopic(id [16]byte) error {
	return fmt.Errorf("there is no topic with id %s", kafkarecord.FormatUUID(id))
}

func (d *draft) replayPartition(m *kafkarecord.PartitionRecord) error {
	t := d.topic(m.TopicID)
	if t == nil {
		return unknownTopic(m.TopicID)
	}
	if m.PartitionID < 0 || int(m.PartitionID) > len(t.Partitions) {
		return fmt.Errorf("partition %d of topic %s does not follow its %d partitions", m.PartitionID, t.Name, len(t.Partitions))
	}
	dirs := m.Directories
	if len(dirs) != len(m.Replicas) {
		dirs = make([][16]byte, len(m.Replicas))
	}
	p := &Partition{
		ID: m.PartitionID, Leader: m.Leader, LeaderEpoch: m.LeaderEpoch, PartitionEpoch: m.PartitionEpoch,
		Replicas: m.Replicas, ISR: m.ISR, ELR: m.EligibleLeaderReplicas, LastKnownELR: m.LastKnownELR,
		Adding: m.AddingReplicas, Removing: m.RemovingReplicas, Dirs: dirs, Recovering: m.LeaderRecoveryState == recovering,
	}
	if int(m.PartitionID) == len(t.Partitions) {
		t.Partitions = append(t.Partitions, p)
	} else {
		t.Partitions[m.PartitionID] = p
	}
	return nil
}

// Values of LeaderRecoveryState (KIP-704) and the marker of an unchanged leader.
const (
	recovered      int8  = 0
	recovering     int8  = 1
	unchangedState int8  = -1
	noLeaderChange int32 = -2
)

// replayPartitionChange merges a change (Kafka's PartitionRegistration.merge): absent fields stay,
// a leader in the record starts a new leader epoch, every change a new partition epoch.
func (d *draft) replayPartitionChange(m *kafkarecord.PartitionChangeRecord) error {
	t := d.topic(m.TopicID)
	if t == nil {
		return unknownTopic(m.TopicID)
	}
	old := t.Partition(m.PartitionID)
	if old == nil {
		return fmt.Errorf("topic %s has no partition %d", t.Name, m.PartitionID)
	}
	t.Partitions[m.PartitionID] = old.merge(m)
	return nil
}

func (p *Partition) merge(m *kafkarecord.PartitionChangeRecord) *Partition {
	n := *p
	n.PartitionEpoch++
	if m.Leader != noLeaderChange {
		n.Leader, n.LeaderEpoch = m.Leader, p.LeaderEpoch+1
	}
	for _, f := range []struct {
		to   *[]int32
		from []int32
	}{
		{&n.ISR, m.ISR},
		{&n.Replicas, m.Replicas},
		{&n.Removing, m.RemovingReplicas},
		{&n.Adding, m.AddingReplicas},
		{&n.ELR, m.EligibleLeaderReplicas},
		{&n.LastKnownELR, m.LastKnownELR},
	} {
		if f.from != nil {
			*f.to = f.from
		}
	}
	if m.LeaderRecoveryState != unchangedState {
		n.Recovering = m.LeaderRecoveryState == recovering
	}
	switch {
	case m.Directories != nil && len(m.Directories) == len(n.Replicas):
		n.Dirs = m.Directories
	case m.Replicas != nil:
		n.Dirs = make([][16]byte, len(n.Replicas))
		for i, id := range n.Replicas {
			n.Dirs[i] = p.dir(id)
		}
	}
	return &n
}

// dir is the log directory of a replica, DirUnassigned when the broker is none.
func (p *Partition) dir(broker int32) [16]byte {
	if i := slices.Index(p.Replicas, broker); i >= 0 && i < len(p.Dirs) {
		return p.Dirs[i]
	}
	return DirUnassigned
}

// clearELR empties the eligible leader replicas of one topic, or of all when name is empty.
func (d *draft) clearELR(name string) error {
	topics := d.img.sortedTopics()
	if name != "" {
		t := d.img.Topic(name)
		if t == nil {
			return fmt.Errorf("there is no topic %s", name)
		}
		topics = []*Topic{t}
	}
	for _, t := range topics {
		for i, p := range t.Partitions {
			if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
				continue
			}
			n := *p
			n.ELR, n.LastKnownELR = nil, nil
			n.PartitionEpoch++
			d.topic(t.ID).Partitions[i] = &n
		}
	}
	return nil
}
