package metadata

import (
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
)

// activate begins this node's term: a LeaderChange control batch, for a new log the voters and the
// feature levels, and the controller's own registration. All of it is one write.
func (n *Node) activate(formatted map[string]int16) error {
	l := n.log
	epoch, now := int32(l.currentTerm()), n.o.Now().UnixMilli()
	first := l.image.levels[metadataVersionFeature] == 0
	s := &snapshotBuilder{next: l.image.offset + 1, epoch: epoch, now: now}
	if err := s.control(n.termStart()...); err != nil {
		return err
	}
	if err := l.propose(l.image.offset+1, s.out); err != nil {
		return err
	}
	if first {
		if err := n.proposeRecords(s, bootstrapRecords(formatted)); err != nil {
			return err
		}
	}
	if err := n.proposeRecords(s, []Record{{n.registration(), 0}}); err != nil {
		return err
	}
	if _, err := l.process(); err != nil {
		return err
	}
	if err := n.writeFormat(); err != nil {
		return err
	}
	return l.writeQuorumState()
}

// proposeRecords proposes one batch behind what the builder has so far.
func (n *Node) proposeRecords(s *snapshotBuilder, records []Record) error {
	next := s.next
	batches, err := encodeBatches(records, next, s.epoch, s.now)
	if err != nil {
		return err
	}
	s.next += int64(len(records))
	return n.log.propose(next, batches)
}

// termStart are the control records of a new term.
func (n *Node) termStart() []controlRecord {
	voter := []kafkarecord.LeaderChangeMessageVoter{{VoterID: n.o.NodeID}}
	records := []controlRecord{{record.ControlLeaderChange, &kafkarecord.LeaderChangeMessage{LeaderID: n.o.NodeID, Voters: voter, GrantingVoters: voter}}}
	if n.log.image.voters == nil {
		records = append(records,
			controlRecord{record.ControlKRaftVersion, &kafkarecord.KRaftVersionRecord{KRaftVersion: 1}},
			controlRecord{record.ControlKRaftVoters, n.voters()})
	}
	return records
}

func (n *Node) voters() *kafkarecord.VotersRecord {
	e := n.o.Endpoint
	return &kafkarecord.VotersRecord{Voters: []kafkarecord.VotersRecordVoter{{
		VoterID: n.o.NodeID, VoterDirectoryID: n.o.DirectoryID,
		Endpoints:           []kafkarecord.VotersRecordEndpoint{{Name: e.Name, Host: e.Host, Port: uint16(e.Port)}},
		KRaftVersionFeature: kafkarecord.VotersRecordKRaftVersionFeature{MinSupportedVersion: 0, MaxSupportedVersion: 1},
	}}}
}

// bootstrapRecords finalise the features of a new cluster: what Kafka's format chose, as far as it
// is supported, or this build's newest levels. Like Kafka with ELR, the cluster default of
// min.insync.replicas is stored, so that all brokers agree on it.
func bootstrapRecords(formatted map[string]int16) []Record {
	records := []Record{{&kafkarecord.BeginTransactionRecord{Name: ptr("Bootstrap records")}, 0}}
	levels := map[string]int16{metadataVersionFeature: metadataLevel, elrFeature: 1}
	for name, supported := range SupportedFeatures() {
		if level, ok := formatted[name]; ok && level >= supported.Min && level <= supported.Max {
			levels[name] = level
		}
	}
	for _, name := range []string{metadataVersionFeature, elrFeature} {
		if levels[name] > 0 {
			records = append(records, Record{&kafkarecord.FeatureLevelRecord{Name: name, FeatureLevel: levels[name]}, 0})
		}
	}
	if levels[elrFeature] > 0 {
		records = append(records, Record{&kafkarecord.ConfigRecord{ResourceType: int8(ResourceBroker), Name: minISRConfig, Value: ptr("1")}, 0})
	}
	return append(records, Record{&kafkarecord.EndTransactionRecord{}, 0})
}

func ptr[T any](v T) *T { return &v }

// registration is this controller's RegisterControllerRecord; it has a new incarnation per start.
func (n *Node) registration() *kafkarecord.RegisterControllerRecord {
	e := n.o.Endpoint
	r := &kafkarecord.RegisterControllerRecord{
		ControllerID: n.o.NodeID, IncarnationID: randomID(n.o.Rand),
		EndPoints: []kafkarecord.RegisterControllerRecordControllerEndpoint{{Name: e.Name, Host: e.Host, Port: uint16(e.Port), SecurityProtocol: e.SecurityProtocol}},
	}
	supported := SupportedFeatures()
	for _, name := range sortedKeys(supported) {
		r.Features = append(r.Features, kafkarecord.RegisterControllerRecordControllerFeature{Name: name, MinSupportedVersion: supported[name].Min, MaxSupportedVersion: supported[name].Max})
	}
	return r
}

// writeFormat writes what Kafka's format tool leaves behind, if it is not there: the topic id, and for
// a log that has no snapshot yet one at offset 0 with the voters and the feature levels.
func (n *Node) writeFormat() error {
	l := n.log
	if _, err := l.o.FS.Stat(filepath.Join(l.dir, "partition.metadata")); err != nil {
		if err := l.kafka.writeSmall("partition.metadata", []byte("version: 0\ntopic_id: "+metadataTopicID)); err != nil {
			return err
		}
	}
	ids, err := listCheckpoints(l.o.FS, l.dir)
	if err != nil || l.kafka.start() > 0 || len(ids) > 0 && ids[0] != (checkpointID{}) {
		return err
	}
	if len(ids) == 1 {
		if _, err := readCheckpoint(l.o.FS, l.dir, ids[0], l.o.ClusterID); err == nil {
			return nil
		}
	}
	img := NewImage(l.o.ClusterID)
	img.voters, img.kraftVersion, img.levels = l.image.voters, l.image.kraftVersion, l.image.levels
	data, err := encodeCheckpoint(img, 0, n.o.Now().UnixMilli())
	if err != nil {
		return err
	}
	return l.kafka.writeSmall(checkpointID{}.name(), data)
}

// describeQuorum handles DescribeQuorum (55). A lone voter has always just heard from itself.
func (n *Node) describeQuorum(req *kmsg.DescribeQuorumRequest) kmsg.Response {
	img := n.log.image
	now := n.o.Now().UnixMilli()
	resp := kmsg.NewPtrDescribeQuorumResponse()
	resp.SetVersion(req.Version)
	for i := range req.Topics {
		topic := kmsg.NewDescribeQuorumResponseTopic()
		topic.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			topic.Partitions = append(topic.Partitions, n.quorumPartition(topic.Topic, p.Partition, img, now))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	node := kmsg.NewDescribeQuorumResponseNode()
	node.NodeID = n.o.NodeID
	listener := kmsg.NewDescribeQuorumResponseNodeListener()
	listener.Name, listener.Host, listener.Port = n.o.Endpoint.Name, n.o.Endpoint.Host, uint16(n.o.Endpoint.Port)
	node.Listeners = append(node.Listeners, listener)
	resp.Nodes = append(resp.Nodes, node)
	return resp
}

func (n *Node) quorumPartition(topic string, id int32, img *Image, now int64) kmsg.DescribeQuorumResponseTopicPartition {
	out := kmsg.NewDescribeQuorumResponseTopicPartition()
	out.Partition = id
	if topic != metadataTopic || id != 0 {
		err := noSuchTopic(topic)
		out.ErrorCode, out.ErrorMessage = err.code, err.text()
		return out
	}
	out.LeaderID, out.LeaderEpoch, out.HighWatermark = img.controllerID, int32(n.log.currentTerm()), img.offset+1
	state := func(id int32, dir [16]byte) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
		r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		r.ReplicaID, r.ReplicaDirectoryID, r.LogEndOffset = id, dir, img.offset+1
		r.LastFetchTimestamp, r.LastCaughtUpTimestamp = now, now
		return r
	}
	out.CurrentVoters = append(out.CurrentVoters, state(n.o.NodeID, n.o.DirectoryID))
	for _, b := range img.Brokers() {
		if b.ID != n.o.NodeID && len(b.LogDirs) > 0 {
			out.Observers = append(out.Observers, state(b.ID, b.LogDirs[0]))
		}
	}
	return out
}
