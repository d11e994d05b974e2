package broker

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/metadata"
)

// DescribeConfigs (key 32): effective configurations with their source, type and documentation.
//
// Behaviours
//   - Every property of the resource, or the asked ones; a property that does not exist is left out.
//   - A broker resource must name this broker (INVALID_REQUEST otherwise); the empty name is the
//     cluster-wide default and shows only what was set there.
//   - A request for more than 100 resources has each answered in full once. Groups beyond 10,000 are
//     INVALID_REQUEST: any name is a group with all defaults.
//   - Sensitive values are null. Synonyms and documentation come only when asked for.
//   - An unknown topic is UNKNOWN_TOPIC_OR_PARTITION, an illegal name INVALID_TOPIC_EXCEPTION.
//   - Log levels and client metrics subscriptions cannot be set here, so there is nothing to show.
//
// Versions: 1 source and synonyms; 3 type and documentation; 4 flexible.
func (b *Broker) describeConfigs(_ context.Context, _ *request, req *kmsg.DescribeConfigsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	groups := 0
	for _, asked := range distinctResources(req.Resources) {
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = asked.ResourceType, asked.ResourceName
		rr.ErrorMessage = new(string) // Kafka has "" here for a success
		if asked.ResourceType == kmsg.ConfigResourceTypeGroupConfig {
			groups++
		}
		entries, refused := b.configEntries(asked, groups)
		if refused != nil {
			rr.ErrorCode, rr.ErrorMessage = refused.KafkaCode(), text(refused.Error())
		}
		for _, e := range entries {
			if len(asked.ConfigNames) == 0 || slices.Contains(asked.ConfigNames, e.Name) {
				rr.Configs = append(rr.Configs, describedConfig(req, e))
			}
		}
		resp.Resources = append(resp.Resources, rr)
	}
	return resp, nil
}

// repeatableResources is how many resources a request may name and have repetitions answered like
// the first time, as Kafka does.
const repeatableResources = 100

// distinctResources leaves out a resource that was asked for in full before, if there are many. A
// repetition takes a few bytes of the request and thousands of the answer, which would then fill the
// broker's memory.
func distinctResources(asked []kmsg.DescribeConfigsRequestResource) []kmsg.DescribeConfigsRequestResource {
	if len(asked) <= repeatableResources {
		return asked
	}
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	seen := make(map[resource]bool, len(asked))
	distinct := make([]kmsg.DescribeConfigsRequestResource, 0, len(asked))
	for _, r := range asked {
		key := resource{r.ResourceType, r.ResourceName}
		if len(r.ConfigNames) > 0 || !seen[key] {
			distinct = append(distinct, r)
		}
		seen[key] = seen[key] || len(r.ConfigNames) == 0
	}
	return distinct
}

// maxDescribedGroups bounds the groups in one answer: twenty bytes of request make twenty thousand
// in memory.
const maxDescribedGroups = 10_000

// configEntries lists what a resource is configured with. groups counts those of the request so far.
func (b *Broker) configEntries(asked kmsg.DescribeConfigsRequestResource, groups int) ([]config.Entry, *codedError) {
	image, name := b.image(), asked.ResourceName
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !isTopicName(name) {
			return nil, refusal(kerr.InvalidTopicException, "%q is not a legal topic name", name)
		}
		if image.Topic(name) == nil {
			return nil, refusal(kerr.UnknownTopicOrPartition, "there is no topic %s", name)
		}
		return b.config().DescribeTopic(image.Config(metadata.ResourceTopic, name)), nil
	case kmsg.ConfigResourceTypeBroker:
		return b.brokerEntries(name)
	case kmsg.ConfigResourceTypeGroupConfig:
		if name == "" {
			return nil, refusal(kerr.InvalidRequest, "the name of a group must not be empty")
		}
		if groups > maxDescribedGroups {
			return nil, refusal(kerr.InvalidRequest, "one request may ask for at most %d groups", maxDescribedGroups)
		}
		return b.config().DescribeGroup(image.Config(metadata.ResourceGroup, name)), nil
	case kmsg.ConfigResourceTypeClientMetrics:
		if name == "" {
			return nil, refusal(kerr.InvalidRequest, "the name of a client metrics subscription must not be empty")
		}
		return nil, nil
	case kmsg.ConfigResourceTypeBrokerLogger:
		return nil, refusal(kerr.InvalidRequest, "log levels cannot be changed while this broker runs")
	}
	return nil, refusal(kerr.InvalidRequest, "the resource type %d is not known", asked.ResourceType)
}

func (b *Broker) brokerEntries(name string) ([]config.Entry, *codedError) {
	if name == "" {
		return b.config().DescribeClusterDefaults(), nil
	}
	id, err := strconv.Atoi(name)
	if err != nil {
		return nil, refusal(kerr.InvalidRequest, "the name of a broker must be its id, a number, but it is %q", name)
	}
	if id != int(b.nodeID) {
		return nil, refusal(kerr.InvalidRequest, "the request for broker %d came to broker %d", id, b.nodeID)
	}
	return b.config().DescribeBroker(), nil
}

func describedConfig(req *kmsg.DescribeConfigsRequest, e config.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly, c.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	c.Source, c.IsDefault = kmsg.ConfigSource(e.Source), e.IsDefault()
	c.ConfigType = kmsg.ConfigType(e.Kind.KafkaType())
	if req.IncludeDocumentation {
		c.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return c
	}
	for _, s := range e.Synonyms {
		cs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		cs.Name, cs.Source = s.Name, kmsg.ConfigSource(s.Source)
		if !s.Null {
			cs.Value = &s.Value
		}
		c.ConfigSynonyms = append(c.ConfigSynonyms, cs)
	}
	return c
}
