package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// scriptCluster describes the cluster, configurations and directories.
func scriptCluster(r *Run) error {
	for _, f := range []func(*Run) error{describeCluster, describeConfigs, alterConfigs, describeLogDirs, findCoordinator} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func describeCluster(r *Run) error {
	return eachVersion(kmsg.DescribeCluster, func(v int16) error {
		ask := func(endpoint int8, operations, fenced bool) *kmsg.DescribeClusterRequest {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.EndpointType, req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = v, endpoint, operations, fenced
			return req
		}
		requests := []any{"brokers", ask(1, false, false), "operations", ask(1, true, false)}
		if v >= 1 {
			requests = append(requests, "controllers", ask(2, false, false), "endpoint type 3", ask(3, false, false))
		}
		if v >= 2 {
			requests = append(requests, "fenced too", ask(1, false, true))
		}
		return r.all(orderedRequests(requests...))
	})
}

func describeConfigs(r *Run) error {
	if err := r.createTopic("described", 1, "retention.ms", "5000", "cleanup.policy", "compact"); err != nil {
		return err
	}
	return eachVersion(kmsg.DescribeConfigs, func(v int16) error {
		ask := func(t kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Version, req.IncludeSynonyms, req.IncludeDocumentation = v, true, true
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName, rr.ConfigNames = t, name, keys
			req.Resources = append(req.Resources, rr)
			return req
		}
		plain := ask(kmsg.ConfigResourceTypeTopic, "described", "retention.ms", "segment.bytes")
		plain.IncludeSynonyms, plain.IncludeDocumentation = false, false
		two := ask(kmsg.ConfigResourceTypeTopic, "described", "retention.ms")
		two.Resources = append(two.Resources, ask(kmsg.ConfigResourceTypeTopic, "described-unknown").Resources...)
		return r.all(orderedRequests(
			"topic", ask(kmsg.ConfigResourceTypeTopic, "described", "retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas", "compression.type", "max.message.bytes"),
			"without synonyms and documentation", plain,
			"unknown property", ask(kmsg.ConfigResourceTypeTopic, "described", "no.such.config"),
			"two resources", two,
			"unknown topic", ask(kmsg.ConfigResourceTypeTopic, "described-unknown"),
			"illegal topic", ask(kmsg.ConfigResourceTypeTopic, "a b"),
			"no topic", ask(kmsg.ConfigResourceTypeTopic, ""),
			"broker", ask(kmsg.ConfigResourceTypeBroker, "1", "log.retention.hours", "message.max.bytes", "num.partitions", "log.retention.ms"),
			"other broker", ask(kmsg.ConfigResourceTypeBroker, "2", "num.partitions"),
			"broker that is no number", ask(kmsg.ConfigResourceTypeBroker, "x", "num.partitions"),
			"cluster default", ask(kmsg.ConfigResourceTypeBroker, "", "num.partitions"),
			"group", ask(kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"),
			"no group", ask(kmsg.ConfigResourceTypeGroupConfig, ""),
			"client metrics", ask(kmsg.ConfigResourceTypeClientMetrics, "m"),
			"no client metrics", ask(kmsg.ConfigResourceTypeClientMetrics, ""),
			"unknown type", ask(kmsg.ConfigResourceType(3), "x"),
		))
	})
}

func alterConfigs(r *Run) error {
	return eachVersion(kmsg.IncrementalAlterConfigs, func(v int16) error {
		topic := fmt.Sprintf("altered-v%d", v)
		if err := r.createTopic(topic, 1); err != nil {
			return err
		}
		alter := func(t kmsg.ConfigResourceType, name, key string, op kmsg.IncrementalAlterConfigOp, value string) *kmsg.IncrementalAlterConfigsRequest {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.Version = v
			rr := kmsg.NewIncrementalAlterConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = t, name
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Op = key, op
			if value != "null" {
				c.Value = &value
			}
			rr.Configs = append(rr.Configs, c)
			req.Resources = append(req.Resources, rr)
			return req
		}
		const (
			set      = kmsg.IncrementalAlterConfigOpSet
			remove   = kmsg.IncrementalAlterConfigOpDelete
			appendTo = kmsg.IncrementalAlterConfigOpAppend
			subtract = kmsg.IncrementalAlterConfigOpSubtract
			topics   = kmsg.ConfigResourceTypeTopic
			brokers  = kmsg.ConfigResourceTypeBroker
		)
		validate := alter(topics, topic, "retention.ms", set, "77")
		validate.ValidateOnly = true
		twice := alter(topics, topic, "retention.ms", set, "1000")
		twice.Resources = append(twice.Resources, alter(topics, topic, "segment.ms", set, "1000").Resources...)
		sameKey := alter(topics, topic, "retention.ms", set, "1000")
		sameKey.Resources[0].Configs = append(sameKey.Resources[0].Configs, alter(topics, topic, "retention.ms", set, "2000").Resources[0].Configs...)
		show := kmsg.NewPtrDescribeConfigsRequest()
		show.Version = 4
		sr := kmsg.NewDescribeConfigsRequestResource()
		sr.ResourceType, sr.ResourceName, sr.ConfigNames = topics, topic, []string{"retention.ms", "cleanup.policy", "segment.bytes"}
		show.Resources = append(show.Resources, sr)
		return r.all(orderedRequests(
			"set", alter(topics, topic, "retention.ms", set, "5000"),
			"shown", show,
			"validate only", validate,
			"append", alter(topics, topic, "cleanup.policy", appendTo, "compact"),
			"append again", alter(topics, topic, "cleanup.policy", appendTo, "compact"),
			"shown after append", show,
			"subtract", alter(topics, topic, "cleanup.policy", subtract, "delete"),
			"shown after subtract", show,
			"append to a number", alter(topics, topic, "retention.ms", appendTo, "1"),
			"remove", alter(topics, topic, "retention.ms", remove, "null"),
			"remove again", alter(topics, topic, "retention.ms", remove, "null"),
			"shown after remove", show,
			"null value", alter(topics, topic, "retention.ms", set, "null"),
			"bad value", alter(topics, topic, "retention.ms", set, "soon"),
			"out of range", alter(topics, topic, "min.insync.replicas", set, "0"),
			"unknown property", alter(topics, topic, "no.such.config", set, "1"),
			"remove an unknown property", alter(topics, topic, "no.such.config", remove, "null"),
			"empty property", alter(topics, topic, "", set, "1"),
			"operation 9", alter(topics, topic, "retention.ms", 9, "1"),
			"resource twice", twice,
			"property twice", sameKey,
			"unknown topic", alter(topics, "altered-unknown", "retention.ms", set, "1"),
			"illegal topic", alter(topics, "a b", "retention.ms", set, "1"),
			"broker, read only", alter(brokers, "1", "log.dirs", set, "/x"),
			"broker, dynamic", alter(brokers, "1", "log.cleaner.threads", set, "2"),
			"broker, dynamic back", alter(brokers, "1", "log.cleaner.threads", remove, "null"),
			"broker, unknown property", alter(brokers, "1", "no.such.config", set, "2"),
			"other broker", alter(brokers, "2", "log.cleaner.threads", set, "2"),
			"cluster default", alter(brokers, "", "log.retention.ms", set, "604800000"),
			"shown with the cluster default", show,
			"cluster default back", alter(brokers, "", "log.retention.ms", remove, "null"),
			"unknown type", alter(kmsg.ConfigResourceType(3), "x", "y", set, "1"),
			"nothing", func() kmsg.Request { q := alter(topics, topic, "x", set, ""); q.Resources = nil; return q }(),
		))
	})
}

func describeLogDirs(r *Run) error {
	if err := r.createTopic("sized", 2); err != nil {
		return err
	}
	b, err := batchOf(3, nil)
	if err != nil {
		return err
	}
	if _, err := r.quiet(produce(12, "sized", [16]byte{}, 0, b)); err != nil {
		return err
	}
	return eachVersion(kmsg.DescribeLogDirs, func(v int16) error {
		ask := func(topic string, partitions ...int32) *kmsg.DescribeLogDirsRequest {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Version = v
			t := kmsg.NewDescribeLogDirsRequestTopic()
			t.Topic, t.Partitions = topic, partitions
			req.Topics = append(req.Topics, t)
			return req
		}
		none := ask("sized")
		none.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		return r.all(orderedRequests(
			"two partitions", ask("sized", 0, 1),
			"one partition", ask("sized", 1),
			"no partitions", ask("sized"),
			"unknown", ask("sized-unknown", 0),
			"no topics", none,
		))
	})
}

func findCoordinator(r *Run) error {
	if err := r.offsetsTopic(); err != nil {
		return err
	}
	return eachVersion(kmsg.FindCoordinator, func(v int16) error {
		ask := func(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType = v, kind
			if v < 4 {
				req.CoordinatorKey = keys[0]
			} else {
				req.CoordinatorKeys = keys
			}
			return req
		}
		requests := []any{"group", ask(0, "g"), "empty group", ask(0, ""), "unknown type", ask(9, "g")}
		if v >= 4 {
			requests = append(requests, "three groups", ask(0, "a", "b", "c"), "no groups", ask(0))
		}
		return r.all(orderedRequests(requests...))
	})
}
