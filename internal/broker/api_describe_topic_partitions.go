package broker

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/metadata"
)

// maxDescribedPartitions is Kafka's own bound on one answer
// (max.request.partition.size.limit).
const maxDescribedPartitions = 2000

// DescribeTopicPartitions (key 75, KIP-966): partitions of topics page by page, with the eligible
// leader replicas.
//
// Behaviours
//   - Topics sorted by name, none asked means all; partitions by id; at most the asked limit (at
//     least 1, at most 2000) in one answer, then NextCursor says where to go on.
//   - The cursor's topic is the first one answered; topics before it are left out. A cursor that
//     names none of the asked topics, or a negative partition, makes every topic INVALID_REQUEST.
//   - EligibleLeaderReplicas and LastKnownELR are empty, never null: Kafka's Java tools fail on null.
//
// Versions: 0 only, flexible.
func (b *Broker) describeTopicPartitions(_ context.Context, _ *request, req *kmsg.DescribeTopicPartitionsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	image := b.image()
	names, all := describedNames(image, req)
	first := int32(0)
	if req.Cursor != nil {
		if req.Cursor.Partition < 0 || (!all && (len(names) == 0 || names[0] != req.Cursor.Topic)) {
			refuseCursor(req, resp)
			return resp, nil
		}
		first = req.Cursor.Partition
	}
	left := max(1, min(maxDescribedPartitions, int(req.ResponsePartitionLimit)))
	for i, name := range names {
		if i > 0 || req.Cursor == nil || req.Cursor.Topic != name {
			first = 0
		}
		if left == 0 {
			resp.NextCursor = cursorAt(name, first)
			break
		}
		t := image.Topic(name)
		if t == nil {
			if !all {
				resp.Topics = append(resp.Topics, undescribed(name))
			}
			continue
		}
		described, next := describePartitions(image, t, first, left)
		left -= len(described.Partitions)
		resp.Topics = append(resp.Topics, described)
		if next >= 0 {
			resp.NextCursor = cursorAt(name, next)
			break
		}
	}
	return resp, nil
}

// describedNames lists the names to answer, sorted, from the cursor on.
func describedNames(image *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) (names []string, all bool) {
	all = len(req.Topics) == 0
	if all {
		for _, t := range image.Topics() {
			names = append(names, t.Name)
		}
	}
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor != nil {
		names = slices.DeleteFunc(names, func(n string) bool { return strings.Compare(n, req.Cursor.Topic) < 0 })
	}
	return names, all
}

// refuseCursor answers every asked topic with INVALID_REQUEST.
func refuseCursor(req *kmsg.DescribeTopicPartitionsRequest, resp *kmsg.DescribeTopicPartitionsResponse) {
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.Topic, t.ErrorCode = &asked.Topic, kerr.InvalidRequest.Code
		resp.Topics = append(resp.Topics, t)
	}
}

func undescribed(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.AuthorizedOperations = &name, kerr.UnknownTopicOrPartition.Code, allTopicOperations
	if !isTopicName(name) {
		t.ErrorCode = kerr.InvalidTopicException.Code
	}
	return t
}

// describePartitions describes up to limit partitions of t; next is where to go on, -1 at the end.
func describePartitions(image *metadata.Image, t *metadata.Topic, first int32, limit int) (described kmsg.DescribeTopicPartitionsResponseTopic, next int32) {
	described = kmsg.NewDescribeTopicPartitionsResponseTopic()
	described.Topic, described.TopicID, described.IsInternal = &t.Name, t.ID, isInternalTopic(t.Name)
	described.AuthorizedOperations = allTopicOperations
	for _, p := range t.Partitions {
		if p.ID < first {
			continue
		}
		if len(described.Partitions) == limit {
			return described, p.ID
		}
		dp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		dp.Partition, dp.LeaderID, dp.LeaderEpoch = p.ID, p.Leader, p.LeaderEpoch
		dp.Replicas, dp.ISR, dp.OfflineReplicas = p.Replicas, p.ISR, offlineReplicas(image, p)
		dp.EligibleLeaderReplicas, dp.LastKnownELR = neverNil(p.ELR), neverNil(p.LastKnownELR)
		if !isAlive(image, p.Leader) {
			dp.ErrorCode, dp.LeaderID = kerr.LeaderNotAvailable.Code, -1
		}
		described.Partitions = append(described.Partitions, dp)
	}
	return described, -1
}

func neverNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func cursorAt(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}
