package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/metadata"
)

// Metadata (key 3): brokers with the addresses this client can dial, topics and their leaders.
//
// Behaviours
//   - Version 0: no topics means all. From version 1 null means all and an empty list none.
//   - An unknown topic is created when the request allows it and auto.create.topics.enable is on;
//     the answer already shows it, since the controller answers after the change is applied here.
//     Asking for all topics never creates any.
//   - Illegal names are INVALID_TOPIC_EXCEPTION, others UNKNOWN_TOPIC_OR_PARTITION; a partition
//     without a leader is LEADER_NOT_AVAILABLE but still listed.
//   - Asking by topic id needs version 12; an id in version 10 or 11 is INVALID_REQUEST.
//   - Brokers are those that are not fenced. Any broker takes admin requests, so ControllerID is
//     this one.
//
// Versions: 1 rack, controller, internal; 2 cluster id; 4 allow auto creation; 5 offline replicas;
// 7 leader epoch; 8 authorised operations; 10 topic ids; 11 no cluster operations; 12 ask by id;
// 13 top-level error (KIP-1102).
func (b *Broker) metadata(_ context.Context, r *request, req *kmsg.MetadataRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if req.Version < 12 && asksByID(req) {
		refuseIDs(req, resp)
		return resp, nil
	}
	resp.ClusterID, resp.ControllerID = &b.clusterID, b.nodeID
	if req.Version >= 8 && req.Version <= 10 && req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = allClusterOperations
	}
	all := req.Topics == nil || (req.Version == 0 && len(req.Topics) == 0)
	if !all {
		b.autoCreate(r, req)
	}
	image := b.image()
	b.describeBrokers(r, image, resp)
	if all {
		for _, t := range image.Topics() {
			resp.Topics = append(resp.Topics, b.describeTopic(r, req, image, t))
		}
		return resp, nil
	}
	for _, asked := range distinctTopics(req.Topics) {
		resp.Topics = append(resp.Topics, b.findTopic(r, req, image, asked))
	}
	return resp, nil
}

// asksByID tells whether a topic is asked for by its id, or not by its name.
func asksByID(req *kmsg.MetadataRequest) bool {
	return slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool {
		return t.Topic == nil || t.TopicID != [16]byte{}
	})
}

// refuseIDs answers a request by id of a version that cannot be answered by id: its topics have
// names in the response.
func refuseIDs(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	resp.ControllerID = -1
	for _, asked := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = kerr.InvalidRequest.Code, asked.Topic, asked.TopicID
		if t.Topic == nil {
			t.Topic = new(string)
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// distinctTopics leaves out what was asked for before: it is answered once. A request may name
// millions of topics, so this must not compare each with each.
func distinctTopics(asked []kmsg.MetadataRequestTopic) []kmsg.MetadataRequestTopic {
	type name struct {
		named bool
		name  string
		id    [16]byte // of a topic without a name
	}
	seen := make(map[name]bool, len(asked))
	distinct := make([]kmsg.MetadataRequestTopic, 0, len(asked))
	for _, t := range asked {
		key := name{id: t.TopicID}
		if t.Topic != nil {
			key = name{named: true, name: *t.Topic}
		}
		if !seen[key] {
			seen[key] = true
			distinct = append(distinct, t)
		}
	}
	return distinct
}

func (b *Broker) describeBrokers(r *request, image *metadata.Image, resp *kmsg.MetadataResponse) {
	for _, broker := range image.Brokers() {
		if broker.Fenced {
			continue
		}
		host, port, ok := b.address(r, broker)
		if !ok {
			continue
		}
		mb := kmsg.NewMetadataResponseBroker()
		mb.NodeID, mb.Host, mb.Port, mb.Rack = broker.ID, host, port, broker.Rack
		resp.Brokers = append(resp.Brokers, mb)
	}
}

// findTopic answers one asked topic.
func (b *Broker) findTopic(r *request, req *kmsg.MetadataRequest, image *metadata.Image, asked kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	var none [16]byte
	refused := func(e *kerr.Error) kmsg.MetadataResponseTopic {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = e.Code, asked.Topic, asked.TopicID
		return t
	}
	if asked.Topic == nil {
		if t := image.TopicByID(asked.TopicID); t != nil {
			return b.describeTopic(r, req, image, t)
		}
		return refused(kerr.UnknownTopicID)
	}
	asked.TopicID = none
	if t := image.Topic(*asked.Topic); t != nil {
		return b.describeTopic(r, req, image, t)
	}
	if !isTopicName(*asked.Topic) {
		return refused(kerr.InvalidTopicException)
	}
	return refused(kerr.UnknownTopicOrPartition)
}

func (b *Broker) describeTopic(r *request, req *kmsg.MetadataRequest, image *metadata.Image, t *metadata.Topic) kmsg.MetadataResponseTopic {
	mt := kmsg.NewMetadataResponseTopic()
	mt.Topic, mt.TopicID, mt.IsInternal = &t.Name, t.ID, isInternalTopic(t.Name)
	if req.Version >= 8 && req.IncludeTopicAuthorizedOperations {
		mt.AuthorizedOperations = allTopicOperations
	}
	mt.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions))
	for _, p := range t.Partitions {
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Partition, mp.Leader, mp.LeaderEpoch = p.ID, p.Leader, p.LeaderEpoch
		mp.Replicas, mp.ISR = p.Replicas, p.ISR
		mp.OfflineReplicas = offlineReplicas(image, p)
		if !isAlive(image, p.Leader) {
			mp.ErrorCode, mp.Leader = kerr.LeaderNotAvailable.Code, -1
		}
		mt.Partitions = append(mt.Partitions, mp)
	}
	return mt
}

// autoCreate makes the unknown topics a client asked for by name.
func (b *Broker) autoCreate(r *request, req *kmsg.MetadataRequest) {
	if (req.Version >= 4 && !req.AllowAutoTopicCreation) || !b.config().Bool("auto.create.topics.enable") {
		return
	}
	image := b.image()
	var missing []string
	for _, asked := range distinctTopics(req.Topics) {
		if asked.Topic != nil && image.Topic(*asked.Topic) == nil && isTopicName(*asked.Topic) {
			missing = append(missing, *asked.Topic)
		}
	}
	if len(missing) == 0 {
		return
	}
	if err := b.createMissing(missing); err != nil {
		b.logger.Warn("topics could not be created on demand", "topics", len(missing), "client_id", r.clientID(), "error", err)
	}
}
