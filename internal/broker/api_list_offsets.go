package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/replica"
)

// ListOffsets (key 2): the first offset at or after a time, or one of the special offsets.
//
// Behaviours
//   - -1 latest (high watermark, last stable offset under read_committed), -2 earliest, -3 the
//     record with the largest time, -4 earliest local, -5 last tiered, -6 earliest not yet tiered;
//     there is no tiered storage, so -4 equals -2 and -5, -6 find nothing.
//   - A time after the last record finds offset -1 without an error.
//   - A partition named twice in one request is answered once, with INVALID_REQUEST.
//
// Versions: 1 one offset per partition; 2 isolation; 4 leader epoch; 6 flexible; 7 -3; 8 -4; 9 -5;
// 10 timeout (for tiered storage); 11 -6. A special time of a later version is UNSUPPORTED_VERSION.
func (b *Broker) listOffsets(_ context.Context, _ *request, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	twice, answered := duplicatePartitions(req), map[topicPartition]bool{}
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, tp := range t.Partitions {
			named := topicPartition{t.Topic, tp.Partition}
			if answered[named] {
				continue
			}
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Timestamp, rp.Offset, rp.LeaderEpoch = tp.Partition, -1, -1, -1
			if twice[named] {
				rp.ErrorCode, answered[named] = kerr.InvalidRequest.Code, true
			} else if at, err := b.listOffset(req, t.Topic, tp); err != nil {
				rp.ErrorCode = protocol.CodeOf(err)
			} else {
				rp.Timestamp, rp.Offset, rp.LeaderEpoch = at.Timestamp, at.Offset, at.LeaderEpoch
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (b *Broker) listOffset(req *kmsg.ListOffsetsRequest, topic string, tp kmsg.ListOffsetsRequestTopicPartition) (replica.ListedOffset, error) {
	if tp.Timestamp < 0 && req.Version < firstVersionOf(tp.Timestamp) {
		return replica.ListedOffset{}, refusal(kerr.UnsupportedVersion, "special time %d needs a later version than %d", tp.Timestamp, req.Version)
	}
	p, err := b.replicas.Partition(topic, tp.Partition)
	if err != nil {
		return replica.ListedOffset{}, err
	}
	return p.ListOffset(tp.Timestamp, tp.CurrentLeaderEpoch, req.IsolationLevel == readCommitted)
}

// firstVersionOf is the first version of ListOffsets that knows a special time.
func firstVersionOf(timestamp int64) int16 {
	switch timestamp {
	case replica.TimestampLatest, replica.TimestampEarliest:
		return 1
	case replica.TimestampMax:
		return 7
	case replica.TimestampEarliestLocal:
		return 8
	case replica.TimestampLatestTiered:
		return 9
	case replica.TimestampEarliestUpload:
		return 11
	}
	return 1<<15 - 1
}

type topicPartition struct {
	topic     string
	partition int32
}

// duplicatePartitions finds the partitions a request names more than once.
func duplicatePartitions(req *kmsg.ListOffsetsRequest) map[topicPartition]bool {
	seen := map[topicPartition]bool{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			k := topicPartition{t.Topic, p.Partition}
			_, again := seen[k]
			seen[k] = again
		}
	}
	return seen
}
