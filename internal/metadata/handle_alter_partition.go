package metadata

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// alterPartition handles AlterPartition (56): the leader of a partition proposes another ISR. Every
// part is a compare-and-set on the partition epoch.
func (s *step) alterPartition(req *kmsg.AlterPartitionRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionResponse()
	if err := s.checkBrokerEpoch(req.BrokerID, req.BrokerEpoch); err != nil {
		resp.ErrorCode = protocol.CodeStaleBrokerEpoch
		return resp
	}
	for i := range req.Topics {
		topic := &req.Topics[i]
		out := kmsg.NewAlterPartitionResponseTopic()
		out.Topic, out.TopidID = topic.Topic, topic.TopicID
		for j := range topic.Partitions {
			out.Partitions = append(out.Partitions, s.alterOnePartition(req, topic.TopicID, &topic.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (s *step) alterOnePartition(req *kmsg.AlterPartitionRequest, id [16]byte, want *kmsg.AlterPartitionRequestTopicPartition) kmsg.AlterPartitionResponseTopicPartition {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition = want.Partition
	t := s.img().TopicByID(id)
	p := t.Partition(want.Partition)
	switch {
	case t == nil:
		out.ErrorCode = protocol.CodeUnknownTopicID
		return out
	case p == nil:
		out.ErrorCode = protocol.CodeUnknownTopicOrPartition
		return out
	}
	isr, code := s.checkAlter(req, p, want)
	if code != 0 {
		out.ErrorCode = code
		return out
	}
	c := s.newChange(t, p)
	c.isr, c.recovery = isr, want.LeaderRecoveryState
	if r := c.build(); r != nil {
		s.emit(r, partitionRecordVersion)
	}
	after := s.img().TopicByID(id).Partitions[want.Partition]
	out.LeaderID, out.LeaderEpoch, out.ISR, out.PartitionEpoch = after.Leader, after.LeaderEpoch, after.ISR, after.PartitionEpoch
	out.LeaderRecoveryState = recovered
	if after.Recovering {
		out.LeaderRecoveryState = recovering
	}
	if after.Leader != req.BrokerID {
		out.ErrorCode = protocol.CodeNewLeaderElected
	}
	return out
}

// checkAlter returns the wanted ISR, or why it is refused.
func (s *step) checkAlter(req *kmsg.AlterPartitionRequest, p *Partition, want *kmsg.AlterPartitionRequestTopicPartition) ([]int32, int16) {
	isr, epochs := want.NewISR, map[int32]int64{}
	for _, m := range want.NewEpochISR {
		isr = append(isr, m.BrokerID)
		epochs[m.BrokerID] = m.BrokerEpoch
	}
	switch {
	case want.LeaderEpoch > p.LeaderEpoch || want.PartitionEpoch > p.PartitionEpoch:
		return nil, protocol.CodeNotController // the leader knows a newer controller than this one
	case want.LeaderEpoch < p.LeaderEpoch || p.Leader != req.BrokerID:
		return nil, protocol.CodeFencedLeaderEpoch
	case want.PartitionEpoch < p.PartitionEpoch:
		return nil, protocol.CodeInvalidUpdateVersion
	case !slices.Contains(isr, p.Leader) || len(without(isr, p.Leader)) != len(isr)-1:
		return nil, protocol.CodeInvalidRequest
	case want.LeaderRecoveryState == recovering && (len(isr) > 1 || !p.Recovering):
		return nil, protocol.CodeInvalidRequest
	}
	for i, id := range isr {
		if !slices.Contains(p.Replicas, id) || slices.Contains(isr[:i], id) {
			return nil, protocol.CodeInvalidRequest
		}
		b := s.img().Broker(id)
		if epoch, told := epochs[id]; !b.active() || told && epoch != -1 && epoch != b.Epoch {
			return nil, protocol.CodeIneligibleReplica
		}
	}
	return isr, 0
}
