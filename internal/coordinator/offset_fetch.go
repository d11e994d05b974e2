package coordinator

import (
	"maps"
	"slices"
)

// fetchOffsets asks for the committed offsets of one group. all wants every topic.
type fetchOffsets struct {
	group  string
	topics []topicPartitions
	all    bool
}

type topicPartitions struct {
	topic      string
	partitions []int32
}

// fetchedTopic answers fetchOffsets, topics and partitions in the order asked, or sorted for all.
type fetchedTopic struct {
	topic      string
	partitions []fetchedOffset
}

type fetchedOffset struct {
	partition int32
	found     bool
	committedOffset
}

// fetch answers with committed offsets. A group, topic or partition without one is not an error.
func (s *groupShard) fetch(req request, body fetchOffsets) {
	g := s.groups[body.group]
	wanted := body.topics
	if body.all && g != nil {
		wanted = g.allOffsets()
	}
	topics := make([]fetchedTopic, 0, len(wanted))
	for _, t := range wanted {
		entry := fetchedTopic{topic: t.topic, partitions: make([]fetchedOffset, 0, len(t.partitions))}
		for _, p := range t.partitions {
			fetched := fetchedOffset{partition: p}
			if g != nil {
				fetched.committedOffset, fetched.found = g.offsets[t.topic][p]
			}
			entry.partitions = append(entry.partitions, fetched)
		}
		topics = append(topics, entry)
	}
	s.answerDurably(g, req.ticket, topics)
}

func (g *group) allOffsets() []topicPartitions {
	var all []topicPartitions
	for _, topic := range slices.Sorted(maps.Keys(g.offsets)) {
		all = append(all, topicPartitions{topic: topic, partitions: slices.Sorted(maps.Keys(g.offsets[topic]))})
	}
	return all
}
