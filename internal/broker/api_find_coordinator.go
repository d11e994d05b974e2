package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/coordinator"
)

// Types of coordinators.
const (
	coordinatorGroup int8 = 0
	coordinatorTxn   int8 = 1
	coordinatorShare int8 = 2
)

// FindCoordinator (key 10): the broker that coordinates a group.
//
// Behaviours
//   - The group's partition of __consumer_offsets decides; its leader is the coordinator. The topic
//     is created when it is missing. Without a leader: COORDINATOR_NOT_AVAILABLE, which clients retry.
//   - Transactions and share groups are not served: UNSUPPORTED_VERSION, with words.
//
// Versions: 1 type and error message; 3 flexible; 4 many keys at once; 6 share groups.
func (b *Broker) findCoordinator(_ context.Context, r *request, req *kmsg.FindCoordinatorRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 {
		c := b.coordinatorOf(r, req, req.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		if resp.ErrorCode == 0 {
			resp.ErrorMessage = text("NONE") // the word of Kafka's brokers for a success in these versions
		}
		return resp, nil
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, b.coordinatorOf(r, req, key))
	}
	return resp, nil
}

func (b *Broker) coordinatorOf(r *request, req *kmsg.FindCoordinatorRequest, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	refuse := func(e *kerr.Error, words string) kmsg.FindCoordinatorResponseCoordinator {
		c.ErrorCode, c.ErrorMessage = e.Code, text(words)
		return c
	}
	switch {
	case req.CoordinatorType == coordinatorTxn:
		return refuse(kerr.UnsupportedVersion, "this broker does not serve transactions")
	case req.CoordinatorType == coordinatorShare && req.Version >= 6:
		return refuse(kerr.UnsupportedVersion, "this broker does not serve share groups")
	case req.CoordinatorType != coordinatorGroup:
		return refuse(kerr.InvalidRequest, "the coordinator type is not known")
	}
	if b.image().Topic(coordinator.OffsetsTopic) == nil {
		if err := b.createMissing([]string{coordinator.OffsetsTopic}); err != nil {
			b.logger.Error("the topic of consumer offsets could not be created", "error", err)
			return refuse(kerr.CoordinatorNotAvailable, err.Error())
		}
	}
	image := b.image()
	t := image.Topic(coordinator.OffsetsTopic)
	if t == nil || len(t.Partitions) == 0 {
		return refuse(kerr.CoordinatorNotAvailable, "the topic of consumer offsets is not there yet")
	}
	p := t.Partitions[coordinator.PartitionFor(key, int32(len(t.Partitions)))]
	leader := image.Broker(p.Leader)
	if leader == nil || leader.Fenced {
		return refuse(kerr.CoordinatorNotAvailable, "the group's partition of the offsets topic has no leader")
	}
	host, port, ok := b.address(r, leader)
	if !ok {
		return refuse(kerr.CoordinatorNotAvailable, "the coordinator has no address on this listener")
	}
	c.NodeID, c.Host, c.Port, c.ErrorMessage = leader.ID, host, port, new(string)
	return c
}
