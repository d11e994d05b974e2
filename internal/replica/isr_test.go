package replica_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/metadata"
	"klamm/internal/protocol"
	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// neighbour registers a second broker that follows nothing, and returns how to fence it.
func (h *host) neighbour() (fence func()) {
	h.t.Helper()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID, req.IncarnationID = 4, 2, h.logs.ClusterID(), [16]byte{2}
	req.LogDirs = [][16]byte{{2, 2}}
	for name, span := range metadata.SupportedFeatures() {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, span.Min, span.Max
		req.Features = append(req.Features, f)
	}
	epoch := request[*kmsg.BrokerRegistrationResponse](h, req).BrokerEpoch
	beat := func(wantFence bool) {
		h.t.Helper()
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset, req.WantFence = 2, epoch, epoch, wantFence
		if resp := request[*kmsg.BrokerHeartbeatResponse](h, req); resp.ErrorCode != 0 || resp.IsFenced != wantFence {
			h.t.Fatalf("heartbeat of broker 2: error %d, fenced %v", resp.ErrorCode, resp.IsFenced)
		}
	}
	beat(false)
	return func() { beat(true) }
}

// assigned makes a topic whose partitions have these replicas and needs two of them in sync.
func (h *host) assigned(name string, replicas ...[]int32) {
	h.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for id, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(id), r
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
	}
	minISR := kmsg.NewCreateTopicsRequestTopicConfig()
	two := "2"
	minISR.Name, minISR.Value = "min.insync.replicas", &two
	topic.Configs = append(topic.Configs, minISR)
	req.Topics = append(req.Topics, topic)
	if got := request[*kmsg.CreateTopicsResponse](h, req).Topics[0]; got.ErrorCode != 0 {
		h.t.Fatalf("creating %s: error %d", name, got.ErrorCode)
	}
}

// acks=all needs min.insync.replicas; acks=1 does not. A partition this broker does not host or
// lead is not its to answer.
func TestTooFewInSyncReplicas(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	fence := h.neighbour()
	h.assigned("a", []int32{1, 2}, []int32{2, 1})
	h.assigned("b", []int32{2})
	_, err := h.partition("a", 1).Leader(replica.AnyEpoch)
	wantCode(t, err, protocol.CodeNotLeaderOrFollower)
	_, err = h.replicas.Partition("b", 0)
	wantCode(t, err, protocol.CodeNotLeaderOrFollower)

	appendTo(t, h.partition("a", 0), batch(t, 1, 10)) // two in sync
	fence()
	_, err = h.partition("a", 0).AppendAsLeader(batch(t, 1, 10), replica.AppendOptions{RequiredAcks: -1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, protocol.CodeNotEnoughReplicas)
	if _, err = h.partition("a", 0).AppendAsLeader(batch(t, 1, 10), replica.AppendOptions{RequiredAcks: 1, LeaderEpoch: replica.AnyEpoch}); err != nil {
		t.Errorf("acks=1: %v", err)
	}
	// The partition whose leader was fenced comes to this broker.
	if _, err := h.partition("a", 1).Leader(replica.AnyEpoch); err != nil {
		t.Errorf("the partition of the fenced leader: %v", err)
	}
}

// A cluster-wide default counts for the topics that do not say otherwise, at once.
func TestBrokerDefaultsChangeLive(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	plain, own := h.topic("plain", 1), h.topic("own", 1, "max.message.bytes", "100000")
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType = kmsg.ConfigResourceTypeBroker
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	limit := "500"
	c.Name, c.Value = "message.max.bytes", &limit
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	if got := request[*kmsg.IncrementalAlterConfigsResponse](h, req).Resources[0]; got.ErrorCode != 0 {
		t.Fatalf("error %d", got.ErrorCode)
	}
	_, err := plain.AppendAsLeader(batch(t, 1, 1000), replica.AppendOptions{RequiredAcks: 1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, protocol.CodeMessageTooLarge)
	appendTo(t, own, batch(t, 1, 1000))
}
