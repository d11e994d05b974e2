package coordinator

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// offsetCommit stores the offsets of partitions that exist; the others are answered here. From
// version 10 topics are named by id.
func (r *Runtime) offsetCommit(req *kmsg.OffsetCommitRequest, from client, answer func(kmsg.Response)) {
	resp := commitResponse(commitOffsets{req}, protocol.CodeNone)
	known := *req
	known.Topics = nil
	var slots []*int16 // error codes of the known partitions, in order
	for i, topic := range req.Topics {
		info, missing := r.committedTopic(req.Version, topic)
		kept := topic
		kept.Topic, kept.TopicID, kept.Partitions = info.Name, info.ID, nil
		for j, p := range topic.Partitions {
			slot := &resp.Topics[i].Partitions[j].ErrorCode
			if p.Partition < 0 || p.Partition >= info.Partitions {
				*slot = missing
				continue
			}
			kept.Partitions = append(kept.Partitions, p)
			slots = append(slots, slot)
		}
		if len(kept.Partitions) > 0 {
			known.Topics = append(known.Topics, kept)
		}
	}
	if len(slots) == 0 {
		answer(resp)
		return
	}
	r.ask(req.Group, from, commitOffsets{&known}, func(body any, err error) {
		stored, ok := body.(*kmsg.OffsetCommitResponse)
		if !ok {
			stored = commitResponse(commitOffsets{&known}, protocol.CodeOf(err))
		}
		n := 0
		for _, topic := range stored.Topics {
			for _, p := range topic.Partitions {
				*slots[n] = p.ErrorCode
				n++
			}
		}
		answer(resp)
	})
}

// committedTopic finds the topic of a commit, and the code of partitions it does not have.
func (r *Runtime) committedTopic(version int16, topic kmsg.OffsetCommitRequestTopic) (TopicInfo, int16) {
	if version < 10 {
		info, _ := r.topics.TopicByName(topic.Topic)
		return info, protocol.CodeUnknownTopicOrPartition
	}
	info, ok := r.topics.TopicByID(topic.TopicID)
	if !ok {
		return info, protocol.CodeUnknownTopicID
	}
	return info, protocol.CodeUnknownTopicOrPartition
}

// offsetFetch reads the offsets of one group, or from version 8 of several.
func (r *Runtime) offsetFetch(req *kmsg.OffsetFetchRequest, from client, answer func(kmsg.Response)) {
	if req.Version >= 8 {
		groups := fetchedGroups(req)
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(groups))
		all := newGather(len(groups), func() { answer(resp) })
		for i, group := range groups {
			r.fetchGroup(req.Version, group, from, func(entry kmsg.OffsetFetchResponseGroup) {
				resp.Groups[i] = entry
				all.finish()
			})
		}
		return
	}
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = req.Group
	if req.Topics != nil {
		group.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, topic := range req.Topics {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = topic.Topic, topic.Partitions
		group.Topics = append(group.Topics, t)
	}
	r.fetchGroup(req.Version, group, from, func(entry kmsg.OffsetFetchResponseGroup) {
		answer(singleGroupFetch(req, entry))
	})
}

// fetchedGroups leaves out a group whose offsets were all asked for before, if there are many groups.
func fetchedGroups(req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchRequestGroup {
	if len(req.Groups) <= repeatable {
		return req.Groups
	}
	whole := map[string]bool{}
	var groups []kmsg.OffsetFetchRequestGroup
	for _, group := range req.Groups {
		if group.Topics != nil || !whole[group.Group] {
			groups = append(groups, group)
		}
		whole[group.Group] = whole[group.Group] || group.Topics == nil
	}
	return groups
}

// singleGroupFetch turns the answer into the form before version 8. Version 1 has no code for the
// group, so every partition carries it.
func singleGroupFetch(req *kmsg.OffsetFetchRequest, entry kmsg.OffsetFetchResponseGroup) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.ErrorCode, resp.Topics = entry.ErrorCode, []kmsg.OffsetFetchResponseTopic{}
	if req.Version < 2 && entry.ErrorCode != protocol.CodeNone {
		for _, topic := range req.Topics {
			entry.Topics = append(entry.Topics, missingTopic(topic.Topic, [16]byte{}, topic.Partitions, entry.ErrorCode))
		}
	}
	for _, topic := range entry.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = topic.Topic
		for _, p := range topic.Partitions {
			partition := kmsg.NewOffsetFetchResponseTopicPartition()
			partition.Partition, partition.Offset, partition.LeaderEpoch = p.Partition, p.Offset, p.LeaderEpoch
			partition.Metadata, partition.ErrorCode = p.Metadata, p.ErrorCode
			t.Partitions = append(t.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// fetchGroup reads the offsets of one group. Null topics mean all of them. From version 10 topics
// are named by id, and one without an id, because it is gone, is not shown.
func (r *Runtime) fetchGroup(version int16, group kmsg.OffsetFetchRequestGroup, from client, done func(kmsg.OffsetFetchResponseGroup)) {
	entry := kmsg.NewOffsetFetchResponseGroup()
	entry.Group, entry.Topics = group.Group, []kmsg.OffsetFetchResponseGroupTopic{}
	body := fetchOffsets{group: group.Group, all: group.Topics == nil}
	var unknown []kmsg.OffsetFetchResponseGroupTopic
	for _, topic := range group.Topics {
		name := topic.Topic
		if version >= 10 {
			info, ok := r.topics.TopicByID(topic.TopicID)
			if !ok {
				unknown = append(unknown, missingTopic("", topic.TopicID, topic.Partitions, protocol.CodeUnknownTopicID))
				continue
			}
			name = info.Name
		}
		body.topics = append(body.topics, topicPartitions{topic: name, partitions: topic.Partitions})
	}
	r.ask(group.Group, from, body, func(result any, err error) {
		if err != nil {
			entry.ErrorCode = protocol.CodeOf(err)
			done(entry)
			return
		}
		for _, topic := range result.([]fetchedTopic) {
			if t, ok := r.fetchedTopic(version, topic, body.all); ok {
				entry.Topics = append(entry.Topics, t)
			}
		}
		entry.Topics = append(entry.Topics, unknown...)
		done(entry)
	})
}

// fetchedTopic shows the offsets of one topic. An offset committed for an earlier topic of the
// same name says nothing about this one.
func (r *Runtime) fetchedTopic(version int16, topic fetchedTopic, all bool) (kmsg.OffsetFetchResponseGroupTopic, bool) {
	info, exists := r.topics.TopicByName(topic.topic)
	if version >= 10 && !exists {
		return kmsg.OffsetFetchResponseGroupTopic{}, false
	}
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic, t.TopicID = topic.topic, info.ID
	for _, p := range topic.partitions {
		current := p.found && (!exists || p.topicID == [16]byte{} || p.topicID == info.ID)
		if !current && all {
			continue
		}
		if !current {
			p.committedOffset = committedOffset{offset: -1, leaderEpoch: -1}
		}
		partition := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		partition.Partition, partition.Offset, partition.LeaderEpoch = p.partition, p.offset, p.leaderEpoch
		partition.Metadata = &p.metadata
		t.Partitions = append(t.Partitions, partition)
	}
	return t, len(t.Partitions) > 0 || !all
}

// missingTopic answers partitions that cannot be looked up.
func missingTopic(name string, id [16]byte, partitions []int32, code int16) kmsg.OffsetFetchResponseGroupTopic {
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic, t.TopicID = name, id
	for _, p := range partitions {
		partition := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		empty := ""
		partition.Partition, partition.Offset, partition.LeaderEpoch = p, -1, -1
		partition.Metadata, partition.ErrorCode = &empty, code
		t.Partitions = append(t.Partitions, partition)
	}
	return t
}
