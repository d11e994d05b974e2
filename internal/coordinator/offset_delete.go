package coordinator

import (
	"fmt"
	"maps"
	"slices"

	"klamm/internal/protocol"
)

// deleteOffsets drops committed offsets of one group (OffsetDelete); the partitions exist.
type deleteOffsets struct {
	group  string
	topics []topicPartitions
}

// deletedOffsets answers it: the group's code, or the topics that could not be touched.
type deletedOffsets struct {
	code       int16
	subscribed map[string]bool
}

// topicsDeleted drops the offsets of topics that no longer exist. Nobody waits for an answer.
type topicsDeleted struct{ names []string }

// deleteOffsets removes offsets of a group that has no members, or of topics that the members of
// a consumer group do not read (Kafka's OffsetMetadataManager.deleteOffsets).
func (s *groupShard) deleteOffsets(req request, body deleteOffsets) {
	g := s.groups[body.group]
	answer := deletedOffsets{subscribed: map[string]bool{}}
	switch {
	case g == nil:
		answer.code = protocol.CodeGroupIDNotFound
	case g.state != stateEmpty && (g.protocolType == nil || *g.protocolType != consumerProtocolType):
		answer.code = protocol.CodeNonEmptyGroup
	}
	if answer.code == protocol.CodeNone {
		var doomed []topicPartitions
		for _, t := range body.topics {
			if g.state != stateEmpty && g.topics.contains(t.topic, g.protocolType) {
				answer.subscribed[t.topic] = true
				continue
			}
			doomed = append(doomed, t)
		}
		answer.code = s.dropOffsets(g, doomed)
		s.expireBy(s.soonest(g))
	}
	s.answerDurably(g, req.ticket, answer)
}

// dropOffsets writes tombstones for the offsets that exist.
func (s *groupShard) dropOffsets(g *group, doomed []topicPartitions) int16 {
	records, err := g.offsetTombstones(doomed)
	if err != nil {
		return protocol.CodeUnknownServerError
	}
	return s.writeInParts(records)
}

func (g *group) offsetTombstones(doomed []topicPartitions) ([]Record, error) {
	var records []Record
	for _, t := range doomed {
		for _, p := range t.partitions {
			if _, ok := g.offsets[t.topic][p]; !ok {
				continue
			}
			rec, err := newRecord(offsetKey(g.id, t.topic, p), nil, 0)
			if err != nil {
				return nil, err
			}
			records = append(records, rec)
		}
	}
	return records, nil
}

func (s *groupShard) forgetTopics(body topicsDeleted) {
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		for _, name := range body.names {
			if partitions := g.offsets[name]; len(partitions) > 0 {
				code := s.dropOffsets(g, []topicPartitions{{topic: name, partitions: slices.Sorted(maps.Keys(partitions))}})
				if code != protocol.CodeNone {
					s.out.problems = append(s.out.problems, fmt.Errorf("offsets of group %q for the deleted topic %q cannot be removed: %s", g.id, name, protocol.CodeName(code)))
				}
				s.expireBy(s.soonest(g))
			}
		}
	}
}
