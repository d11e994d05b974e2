package coordinator

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// allGroupOperations are the ACL operations that exist on groups, as a bit field of their numbers:
// read 3, delete 6, describe 8, describe configs 10, alter configs 11. Without an authorizer every
// client may do all of them (KIP-430).
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// listGroups asks all shards of this broker. Partitions led elsewhere are not its business, but
// one that is loading may hold groups: then the client must ask again.
func (r *Runtime) listGroups(req *kmsg.ListGroupsRequest, answer func(kmsg.Response)) {
	type part struct {
		groups []kmsg.ListGroupsResponseGroup
		err    error
	}
	parts := make([]part, len(r.runners))
	all := newGather(len(parts), func() {
		resp := kmsg.NewPtrListGroupsResponse()
		resp.Groups = []kmsg.ListGroupsResponseGroup{}
		for _, p := range parts {
			if code := protocol.CodeOf(p.err); code != protocol.CodeNone && code != protocol.CodeNotCoordinator {
				resp.ErrorCode, resp.Groups = code, []kmsg.ListGroupsResponseGroup{}
				break
			}
			resp.Groups = append(resp.Groups, p.groups...)
		}
		answer(resp)
	})
	body := listGroups{states: relevant(req.StatesFilter, groupStates()), types: relevant(req.TypesFilter, []string{classicType})}
	for i, runner := range r.runners {
		runner.submit(&call{body: body, done: func(body any, err error) {
			parts[i].groups, _ = body.([]kmsg.ListGroupsResponseGroup)
			parts[i].err = err
			all.finish()
		}})
	}
}

// repeatable is how many groups a request may name and have repetitions answered like the first
// time, as Kafka does. In longer ones a few bytes of request would make kilobytes of answer again
// and again until the memory is full.
const repeatable = 100

// relevant keeps of a filter, compared without case, what there is. A shard looks through it for each
// group while it serves nobody else, and a request may hold millions of words. One of which nothing is
// left lets nothing through, an empty one everything.
func relevant(filter, names []string) []string {
	if len(filter) == 0 {
		return nil
	}
	left := []string{""} // no name
	for _, name := range names {
		if passes(filter, name) {
			left = append(left, name)
		}
	}
	return left
}

func (r *Runtime) describeGroups(req *kmsg.DescribeGroupsRequest, answer func(kmsg.Response)) {
	ids := req.Groups
	if len(ids) > repeatable {
		ids = distinct(ids)
	}
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(ids))
	all := newGather(len(ids), func() { answer(resp) })
	for i, id := range ids {
		r.ask(id, client{}, describeGroup{id: id, version: req.Version}, func(body any, err error) {
			entry, ok := body.(kmsg.DescribeGroupsResponseGroup)
			if !ok {
				entry = kmsg.NewDescribeGroupsResponseGroup()
				entry.Group, entry.ErrorCode = id, protocol.CodeOf(err)
			}
			if req.IncludeAuthorizedOperations && entry.ErrorCode == protocol.CodeNone {
				entry.AuthorizedOperations = allGroupOperations
			}
			resp.Groups[i] = entry
			all.finish()
		})
	}
}

// deleteGroups answers one entry for each group, also if it is named twice.
func (r *Runtime) deleteGroups(req *kmsg.DeleteGroupsRequest, answer func(kmsg.Response)) {
	ids := distinct(req.Groups)
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(ids))
	all := newGather(len(ids), func() { answer(resp) })
	for i, id := range ids {
		r.ask(id, client{}, deleteGroup{id: id}, func(body any, err error) {
			entry, ok := body.(kmsg.DeleteGroupsResponseGroup)
			if !ok {
				entry = kmsg.NewDeleteGroupsResponseGroup()
				entry.Group, entry.ErrorCode = id, protocol.CodeOf(err)
			}
			resp.Groups[i] = entry
			all.finish()
		})
	}
}

// distinct leaves out what came before; the order stays.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	var first []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			first = append(first, id)
		}
	}
	return first
}

// offsetDelete removes offsets of partitions that exist; the others are answered here.
func (r *Runtime) offsetDelete(req *kmsg.OffsetDeleteRequest, from client, answer func(kmsg.Response)) {
	if req.Group == "" {
		answer(offsetDeleteError(&protocol.CodeError{Code: protocol.CodeInvalidGroupID, Message: "the group id is empty"}))
		return
	}
	body := deleteOffsets{group: req.Group}
	resp := kmsg.NewPtrOffsetDeleteResponse()
	for _, topic := range req.Topics {
		info, _ := r.topics.TopicByName(topic.Topic)
		t := kmsg.NewOffsetDeleteResponseTopic()
		t.Topic = topic.Topic
		wanted := topicPartitions{topic: topic.Topic}
		for _, p := range topic.Partitions {
			entry := kmsg.NewOffsetDeleteResponseTopicPartition()
			entry.Partition = p.Partition
			if p.Partition < 0 || p.Partition >= info.Partitions {
				entry.ErrorCode = protocol.CodeUnknownTopicOrPartition
			} else {
				wanted.partitions = append(wanted.partitions, p.Partition)
			}
			t.Partitions = append(t.Partitions, entry)
		}
		resp.Topics = append(resp.Topics, t)
		body.topics = append(body.topics, wanted)
	}
	r.ask(req.Group, from, body, func(result any, err error) {
		deleted, ok := result.(deletedOffsets)
		if !ok || deleted.code != protocol.CodeNone {
			answer(offsetDeleteError(errors.Join(err, codeError(deleted.code))))
			return
		}
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for j := range t.Partitions {
				if deleted.subscribed[t.Topic] && t.Partitions[j].ErrorCode == protocol.CodeNone {
					t.Partitions[j].ErrorCode = protocol.CodeGroupSubscribedToTopic
				}
			}
		}
		answer(resp)
	})
}

func offsetDeleteError(err error) kmsg.Response {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = protocol.CodeOf(err)
	return resp
}

func codeError(code int16) error {
	if code == protocol.CodeNone {
		return nil
	}
	return &protocol.CodeError{Code: code, Message: protocol.CodeName(code)}
}
