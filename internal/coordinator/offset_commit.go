package coordinator

import (
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// commitOffsets is an OffsetCommit of partitions that exist; topics carry their names and ids.
type commitOffsets struct{ *kmsg.OffsetCommitRequest }

// commit stores offsets (Kafka's OffsetMetadataManager.commitOffset). Members commit with their
// generation; without one, only a group without members accepts offsets, and an unknown group
// comes into being as a simple one. The answer has one entry for every partition asked.
func (s *groupShard) commit(req request, body commitOffsets) {
	g, code := s.committer(body)
	if code != protocol.CodeNone {
		s.answer(req.ticket, commitResponse(body, code))
		return
	}
	resp := commitResponse(body, protocol.CodeNone)
	records, earliest, code := s.commitRecords(body, resp)
	if code == protocol.CodeNone {
		code = s.write(records...)
	}
	if code != protocol.CodeNone {
		s.answer(req.ticket, commitResponse(body, code))
		return
	}
	if g == nil {
		g = s.groups[body.Group]
	}
	s.expireBy(earliest)
	s.answerDurably(g, req.ticket, resp)
}

// committer finds the group that may commit, nil for one that comes into being, and extends the
// member's session (Kafka's ClassicGroup.validateOffsetCommit).
func (s *groupShard) committer(body commitOffsets) (*group, int16) {
	g := s.groups[body.Group]
	switch {
	case g == nil && body.Generation < 0:
		return nil, protocol.CodeNone
	case g == nil && body.Version >= 9:
		return nil, protocol.CodeGroupIDNotFound
	case g == nil:
		return nil, protocol.CodeIllegalGeneration
	case body.Generation < 0 && g.state == stateEmpty:
		return g, protocol.CodeNone
	case body.Generation < 0 && body.MemberID == "" && body.InstanceID == nil:
		return nil, protocol.CodeUnknownMemberID
	}
	m, code := g.checkMember(body.MemberID, body.InstanceID)
	switch {
	case code != protocol.CodeNone:
		return nil, code
	case body.Generation != g.generation:
		return nil, protocol.CodeIllegalGeneration
	case g.state == stateCompleting:
		return nil, protocol.CodeRebalanceInProgress
	}
	s.extendSession(m)
	return g, protocol.CodeNone
}

// commitRecords makes the records, notes in resp which partitions are refused, and tells when the
// first of the offsets can end.
func (s *groupShard) commitRecords(body commitOffsets, resp *kmsg.OffsetCommitResponse) (records []Record, earliest time.Time, code int16) {
	now := s.now.UnixMilli()
	earliest = never
	for i, topic := range body.Topics {
		for j, p := range topic.Partitions {
			c := committedOffset{offset: p.Offset, leaderEpoch: p.LeaderEpoch, committedAt: now, expiresAt: -1, topicID: topic.TopicID}
			if p.Metadata != nil {
				c.metadata = *p.Metadata
			}
			if utf16Length(c.metadata) > s.config.OffsetMetadataMaxBytes {
				resp.Topics[i].Partitions[j].ErrorCode = protocol.CodeOffsetMetadataTooLarge
				continue
			}
			if kept := body.RetentionTimeMillis; body.Version >= 2 && body.Version <= 4 && kept >= 0 {
				c.expiresAt = now + min(kept, never.UnixMilli()-now)
			}
			if end := c.end(s.now, s.config.OffsetsRetention); end.Before(earliest) {
				earliest = end
			}
			rec, err := c.record(body.Group, topic.Topic, p.Partition)
			if err != nil {
				return nil, never, protocol.CodeUnknownServerError
			}
			records = append(records, rec)
		}
	}
	return records, earliest, protocol.CodeNone
}

// utf16Length is the length of a string as Java counts it.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// commitResponse answers every partition of a request with code.
func commitResponse(body commitOffsets, code int16) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, 0, len(body.Topics))
	for _, topic := range body.Topics {
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic, t.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			entry := kmsg.NewOffsetCommitResponseTopicPartition()
			entry.Partition, entry.ErrorCode = p.Partition, code
			t.Partitions = append(t.Partitions, entry)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
