package coordinator

import (
	"errors"
	"fmt"

	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// Versions of the values written, those of Apache Kafka 4.4 (GroupCoordinatorRecordHelpers). An
// offset with an expiry time of its own needs version 1, the only one that has the field.
const (
	groupMetadataVersion  = 3
	offsetCommitVersion   = 4
	offsetCommitExpirable = 1
)

// maxName is the longest string that keys and non-flexible values can hold, in bytes.
const maxName = 1<<15 - 1

// groupMetadata is the newest GroupMetadata record of a group.
type groupMetadata = kafkarecord.GroupMetadataValue

// committedOffset is the newest OffsetCommit record of a partition.
type committedOffset struct {
	offset      int64
	leaderEpoch int32 // -1 when the client gave none
	metadata    string
	committedAt int64 // ms since 1970
	expiresAt   int64 // ms since 1970, -1 without a time of its own
	topicID     kafkarecord.UUID
}

// writeGroup stores the group's generation, members and assignment.
func (s *groupShard) writeGroup(g *group) int16 {
	value := kafkarecord.NewGroupMetadataValue()
	if g.protocolType != nil {
		value.ProtocolType = *g.protocolType
	}
	value.Generation, value.Protocol, value.Leader = g.generation, g.protocol, nil
	value.CurrentStateTimestamp = g.stateSince.UnixMilli()
	if g.leader != "" {
		value.Leader = &g.leader
	}
	for _, m := range g.order {
		entry := kafkarecord.NewGroupMetadataValueMemberMetadata()
		entry.MemberID, entry.GroupInstanceID = m.id, m.instance
		entry.ClientID, entry.ClientHost = m.client.id, m.client.host
		entry.RebalanceTimeout = int32(m.rebalanceTimeout.Milliseconds())
		entry.SessionTimeout = int32(m.sessionTimeout.Milliseconds())
		if g.protocol != nil {
			entry.Subscription = m.metadata(*g.protocol)
		}
		entry.Assignment = m.assignment
		value.Members = append(value.Members, entry)
	}
	rec, err := newRecord(&kafkarecord.GroupMetadataKey{Group: g.id}, value, groupMetadataVersion)
	if err != nil {
		return protocol.CodeUnknownServerError
	}
	return s.write(rec)
}

// newRecord encodes a record; a nil value makes a tombstone.
func newRecord(key, value kafkarecord.Message, version int16) (rec Record, err error) {
	if rec.Key, err = kafkarecord.EncodeKey(key); err != nil {
		return Record{}, err
	}
	if value == nil {
		return rec, nil
	}
	rec.Value, err = kafkarecord.EncodeValue(value, version)
	return rec, err
}

func (c committedOffset) record(group, topic string, partition int32) (Record, error) {
	value := kafkarecord.NewOffsetCommitValue()
	value.Offset, value.LeaderEpoch, value.Metadata = c.offset, c.leaderEpoch, c.metadata
	value.CommitTimestamp, value.ExpireTimestamp, value.TopicID = c.committedAt, c.expiresAt, c.topicID
	version := int16(offsetCommitVersion)
	if c.expiresAt >= 0 {
		version = offsetCommitExpirable
	}
	return newRecord(offsetKey(group, topic, partition), value, version)
}

func offsetKey(group, topic string, partition int32) *kafkarecord.OffsetCommitKey {
	return &kafkarecord.OffsetCommitKey{Group: group, Topic: topic, Partition: partition}
}

// replay applies one record. Types that this build does not know, and versions of a newer Kafka,
// are left alone: they belong to other kinds of groups, and refusing them would take every group
// of the partition down.
func (s *groupShard) replay(rec Record) error {
	s.records++
	decoded, err := kafkarecord.DecodeGroup(rec.Key, rec.Value)
	var unknown *kafkarecord.UnknownRecordError
	if errors.As(err, &unknown) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record %d: %w", s.records-1, err)
	}
	switch key := decoded.Key.(type) {
	case *kafkarecord.LegacyOffsetCommitKey:
		s.replayOffset(key.Group, key.Topic, key.Partition, decoded.Value)
	case *kafkarecord.OffsetCommitKey:
		s.replayOffset(key.Group, key.Topic, key.Partition, decoded.Value)
	case *kafkarecord.GroupMetadataKey:
		value, _ := decoded.Value.(*kafkarecord.GroupMetadataValue)
		s.replayGroup(key.Group, value)
	}
	return nil
}

func (s *groupShard) replayOffset(groupID, topic string, partition int32, value kafkarecord.Message) {
	if value == nil {
		s.replayOffsetGone(groupID, topic, partition)
		return
	}
	committed := committedOffset{leaderEpoch: -1, expiresAt: -1}
	switch v := value.(type) {
	case *kafkarecord.LegacyOffsetCommitValue:
		committed.offset, committed.metadata, committed.committedAt = v.Offset, v.Metadata, v.CommitTimestamp
	case *kafkarecord.OffsetCommitValue:
		committed = committedOffset{
			offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata,
			committedAt: v.CommitTimestamp, expiresAt: v.ExpireTimestamp, topicID: v.TopicID,
		}
	}
	g := s.remember(groupID)
	g.lastWrite = s.records
	if g.offsets[topic] == nil {
		g.offsets[topic] = map[int32]committedOffset{}
	}
	g.offsets[topic][partition] = committed
}

func (s *groupShard) replayOffsetGone(groupID, topic string, partition int32) {
	g := s.groups[groupID]
	if g == nil {
		return
	}
	g.lastWrite = s.records
	delete(g.offsets[topic], partition)
	if len(g.offsets[topic]) == 0 {
		delete(g.offsets, topic)
	}
	s.forgetIfGone(g)
}

func (s *groupShard) replayGroup(groupID string, value *groupMetadata) {
	if value == nil {
		if g := s.groups[groupID]; g != nil {
			g.meta, g.lastWrite = nil, s.records
			s.forgetIfGone(g)
		}
		return
	}
	g := s.remember(groupID)
	g.meta, g.lastWrite = value, s.records
}

// forgetIfGone drops a group of which the log holds nothing any more. In a running shard a group
// may live on without a record: the step in progress decides.
func (s *groupShard) forgetIfGone(g *group) {
	s.removed = s.records
	if s.loading && g.meta == nil && len(g.offsets) == 0 {
		delete(s.groups, g.id)
	}
}
