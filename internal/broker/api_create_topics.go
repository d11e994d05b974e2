package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
)

// CreateTopics (key 19): the controller decides; the broker adds the effective configurations.
//
// Behaviours
//   - Answers come in the order of the request, one per asked topic; a topic named twice is
//     INVALID_REQUEST. ValidateOnly checks everything and writes nothing.
//   - -1 partitions or replicas mean the broker's defaults.
//   - When the answer arrives the topic is in Metadata and takes records.
//   - Configs (version 5 on) is never null for a created topic: Kafka's Java tools fail on null.
//
// Versions: 5 flexible, partitions, replicas and configurations in the answer; 7 topic id.
func (b *Broker) createTopics(_ context.Context, _ *request, req *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	resp := b.decide(req).(*kmsg.CreateTopicsResponse)
	if req.Version < 5 {
		return resp, nil
	}
	overrides := map[string]map[string]string{}
	for _, t := range req.Topics {
		overrides[t.Topic] = map[string]string{}
		for _, c := range t.Configs {
			if c.Value != nil {
				overrides[t.Topic][c.Name] = *c.Value
			}
		}
	}
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.ErrorCode == 0 && t.Configs == nil {
			t.Configs = createdConfigs(b.config().DescribeTopic(overrides[t.Topic]))
		}
	}
	return resp, nil
}

func createdConfigs(entries []config.Entry) []kmsg.CreateTopicsResponseTopicConfig {
	configs := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(entries))
	for _, e := range entries {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly, c.Source, c.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		configs = append(configs, c)
	}
	return configs
}
