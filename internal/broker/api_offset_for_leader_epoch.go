package broker

import (
	"context"

	"klamm/internal/protocol"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch (key 23): where a leader epoch ends in the log (KIP-101, KIP-320).
//
// Behaviours
//   - The current epoch ends at the log's end; an older one where the next known one starts; an
//     epoch between two known ones is answered with the lower of them; one above the current has
//     epoch -1 and offset -1 without an error.
//
// Versions: 2 the client's leader epoch is checked; 3 replica id; 4 flexible.
func (b *Broker) offsetForLeaderEpoch(_ context.Context, _ *request, req *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, tp := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = tp.Partition, -1, -1
			p, err := b.replicas.Partition(t.Topic, tp.Partition)
			if err == nil {
				end, e := p.EpochEndOffset(tp.LeaderEpoch, tp.CurrentLeaderEpoch)
				rp.LeaderEpoch, rp.EndOffset, err = end.Epoch, end.EndOffset, e
			}
			rp.ErrorCode = protocol.CodeOf(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}
