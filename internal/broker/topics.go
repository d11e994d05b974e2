package broker

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/coordinator"
	"klamm/internal/metadata"
)

// noOperations in place of a bit field says that the client did not ask for authorised operations.
const noOperations int32 = -2147483648

// Bits of AclOperation a client may do when nothing is forbidden: for a topic READ, WRITE, CREATE,
// DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS; for the cluster those that apply to
// it (KIP-430).
const (
	allTopicOperations   int32 = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	allClusterOperations int32 = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// maxTopicName is the longest legal topic name, so that "<topic>-<partition>" stays a file name.
const maxTopicName = 249

// isTopicName tells legal topic names (Kafka's Topic.validate).
func isTopicName(s string) bool {
	if s == "" || s == "." || s == ".." || len(s) > maxTopicName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// isInternalTopic tells the topics brokers keep for themselves.
func isInternalTopic(name string) bool {
	return name == coordinator.OffsetsTopic || name == "__transaction_state" || name == "__share_group_state"
}

func isAlive(image *metadata.Image, broker int32) bool {
	b := image.Broker(broker)
	return b != nil && !b.Fenced
}

// offlineReplicas lists the replicas whose broker does not serve; never nil, since clients of
// Kafka do not expect null here.
func offlineReplicas(image *metadata.Image, p *metadata.Partition) []int32 {
	offline := []int32{}
	for _, id := range p.Replicas {
		if !isAlive(image, id) {
			offline = append(offline, id)
		}
	}
	return offline
}

// createMissing creates topics with the broker's defaults, internal ones with their own. Every name
// comes once.
func (b *Broker) createMissing(names []string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.TimeoutMillis = int32(b.config().Int("request.timeout.ms"))
	for _, name := range names {
		req.Topics = append(req.Topics, b.newTopic(name))
	}
	for _, t := range b.decide(req).(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode == 0 || t.ErrorCode == kerr.TopicAlreadyExists.Code {
			continue
		}
		reason := kerr.ErrorForCode(t.ErrorCode).Error()
		if t.ErrorMessage != nil {
			reason = *t.ErrorMessage
		}
		return fmt.Errorf("topic %s: %s", t.Topic, reason)
	}
	return nil
}

func (b *Broker) newTopic(name string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	if name != coordinator.OffsetsTopic {
		return t
	}
	c := b.config()
	t.NumPartitions = int32(c.Int("offsets.topic.num.partitions"))
	t.ReplicationFactor = int16(c.Int("offsets.topic.replication.factor"))
	for _, kv := range [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", strconv.Itoa(c.Int("offsets.topic.segment.bytes"))},
	} {
		tc := kmsg.NewCreateTopicsRequestTopicConfig()
		tc.Name, tc.Value = kv[0], &kv[1]
		t.Configs = append(t.Configs, tc)
	}
	return t
}
