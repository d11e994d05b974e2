package conformance

import (
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// orderedRequests pairs titles with requests, in order.
func orderedRequests(pairs ...any) iter.Seq2[string, kmsg.Request] {
	return func(yield func(string, kmsg.Request) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i].(string), pairs[i+1].(kmsg.Request)) {
				return
			}
		}
	}
}

func (r *Run) all(requests iter.Seq2[string, kmsg.Request]) error {
	for title, req := range requests {
		if err := r.do(title, req); err != nil {
			return err
		}
	}
	return nil
}

// scriptTopics creates, grows, describes and deletes topics.
func scriptTopics(r *Run) error {
	for _, f := range []func(*Run) error{createTopics, createPartitions, metadata, describeTopicPartitions, deleteTopics} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func createTopics(r *Run) error {
	return eachVersion(kmsg.CreateTopics, func(v int16) error {
		n := func(s string) string { return fmt.Sprintf("%s-v%d", s, v) }
		create := func(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.Version, req.TimeoutMillis, req.Topics = v, 10000, topics
			return req
		}
		validate := create(newTopic(n("validated"), 3, 1))
		validate.ValidateOnly = true
		assigned := newTopic(n("assigned"), -1, -1)
		for i := range int32(2) {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = i, []int32{1}
			assigned.ReplicaAssignment = append(assigned.ReplicaAssignment, a)
		}
		assignedTo := func(name string, change func(t *kmsg.CreateTopicsRequestTopic)) kmsg.CreateTopicsRequestTopic {
			t := newTopic(n(name), -1, -1)
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = 0, []int32{1}
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
			change(&t)
			return t
		}
		nullConfig := newTopic(n("null-config"), 1, 1)
		nc := kmsg.NewCreateTopicsRequestTopicConfig()
		nc.Name = "retention.ms"
		nullConfig.Configs = append(nullConfig.Configs, nc)
		requests := orderedRequests(
			"two partitions", create(newTopic(n("plain"), 2, 1)),
			"exists", create(newTopic(n("plain"), 2, 1)),
			"validate only", validate,
			"validated is not there", create(newTopic(n("validated"), 1, 1)),
			"no partitions", create(newTopic(n("none"), 0, 1)),
			"-2 partitions", create(newTopic(n("none"), -2, 1)),
			"too many replicas", create(newTopic(n("replicas"), 1, 3)),
			"no replicas", create(newTopic(n("replicas"), 1, 0)),
			"assigned", create(assigned),
			"assigned and counted", create(assignedTo("counted", func(t *kmsg.CreateTopicsRequestTopic) { t.NumPartitions = 2 })),
			"assigned to an unknown broker", create(assignedTo("away", func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicaAssignment[0].Replicas = []int32{9} })),
			"assigned twice to a broker", create(assignedTo("twice", func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicaAssignment[0].Replicas = []int32{1, 1} })),
			"assigned from partition 1 on", create(assignedTo("one", func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicaAssignment[0].Partition = 1 })),
			"assigned to nobody", create(assignedTo("nobody", func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicaAssignment[0].Replicas = nil })),
			"named twice", create(newTopic(n("double"), 1, 1), newTopic(n("other"), 1, 1), newTopic(n("double"), 1, 1)),
			"empty name", create(newTopic("", 1, 1)),
			"name .", create(newTopic(".", 1, 1)),
			"name with a blank", create(newTopic("a b", 1, 1)),
			"name of 250 characters", create(newTopic(string(make250()), 1, 1)),
			"dots", create(newTopic(n("x.y"), 1, 1)),
			"collides with dots", create(newTopic(n("x_y"), 1, 1)),
			"configured", create(newTopic(n("configured"), 1, 1, "retention.ms", "1000", "cleanup.policy", "compact")),
			"unknown configuration", create(newTopic(n("unknown-config"), 1, 1, "no.such.config", "1")),
			"bad configuration", create(newTopic(n("bad-config"), 1, 1, "retention.ms", "soon")),
			"configuration out of range", create(newTopic(n("bad-config"), 1, 1, "min.insync.replicas", "0")),
			"null configuration", create(nullConfig),
			"cluster metadata", create(newTopic("__cluster_metadata", 1, 1)),
			"one good, one bad", create(newTopic(n("good"), 1, 1), newTopic("b/ad", 1, 1)),
			"nothing", create(),
		)
		if err := r.createSteps(requests); err != nil {
			return err
		}
		if v < 4 {
			return nil
		}
		return r.createSteps(orderedRequests("defaults", create(newTopic(n("defaults"), -1, -1))))
	})
}

func make250() []byte {
	b := make([]byte, 250)
	for i := range b {
		b[i] = 'n'
	}
	return b
}

// createSteps keeps of the answered configurations those that were asked for: the rest is the
// subject of the configuration table's own test.
func (r *Run) createSteps(requests iter.Seq2[string, kmsg.Request]) error {
	for title, req := range requests {
		resp, err := r.session.ask(req)
		if c, ok := resp.(*kmsg.CreateTopicsResponse); ok {
			for i := range c.Topics {
				t := &c.Topics[i]
				var kept []kmsg.CreateTopicsResponseTopicConfig
				for _, e := range t.Configs {
					if e.Name == "retention.ms" || e.Name == "cleanup.policy" {
						kept = append(kept, e)
					}
				}
				t.Configs = kept
			}
		}
		if err := r.log.request(title, req, resp, err); err != nil {
			return err
		}
	}
	return nil
}

func createPartitions(r *Run) error {
	return eachVersion(kmsg.CreatePartitions, func(v int16) error {
		name := fmt.Sprintf("grown-v%d", v)
		if err := r.createTopic(name, 2); err != nil {
			return err
		}
		grow := func(topic string, count int32, to ...[]int32) *kmsg.CreatePartitionsRequest {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.Version, req.TimeoutMillis = v, 10000
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = topic, count
			for _, replicas := range to {
				a := kmsg.NewCreatePartitionsRequestTopicAssignment()
				a.Replicas = replicas
				t.Assignment = append(t.Assignment, a)
			}
			req.Topics = append(req.Topics, t)
			return req
		}
		validate := grow(name, 9)
		validate.ValidateOnly = true
		twice := grow(name, 4)
		twice.Topics = append(twice.Topics, twice.Topics[0])
		return r.all(orderedRequests(
			"validate only", validate,
			"three", grow(name, 3),
			"three again", grow(name, 3),
			"fewer", grow(name, 1),
			"none", grow(name, 0),
			"minus one", grow(name, -1),
			"assigned", grow(name, 4, []int32{1}),
			"too few assignments", grow(name, 6, []int32{1}),
			"assigned to an unknown broker", grow(name, 5, []int32{8}),
			"named twice", twice,
			"unknown", grow("grown-unknown", 3),
			"nothing", func() kmsg.Request { q := grow(name, 4); q.Topics = nil; return q }(),
			"shown afterwards", metadataOf(12, name),
		))
	})
}

func metadata(r *Run) error {
	if err := r.createTopic("shown", 2); err != nil {
		return err
	}
	return eachVersion(kmsg.Metadata, func(v int16) error {
		quietly := func(topics ...string) *kmsg.MetadataRequest {
			req := metadataOf(v, topics...)
			req.AllowAutoTopicCreation = false
			return req
		}
		operations := quietly("shown")
		operations.IncludeTopicAuthorizedOperations, operations.IncludeClusterAuthorizedOperations = true, true
		requests := []any{
			"one topic", quietly("shown"),
			"authorised operations", operations,
			"twice", quietly("shown", "shown"),
		}
		if v >= 1 {
			requests = append(requests, "none", quietly())
		}
		if v >= 4 {
			requests = append(requests,
				"unknown", quietly("shown-unknown"),
				"unknown and known", quietly("shown-unknown", "shown"),
				"illegal", quietly("a b"),
				"empty name", quietly(""),
			)
		}
		if err := r.all(orderedRequests(requests...)); err != nil {
			return err
		}
		if v >= 10 {
			if err := r.metadataByID(v); err != nil {
				return err
			}
		}
		return r.autoCreation(v)
	})
}

func (r *Run) metadataByID(v int16) error {
	id, err := r.idOf("shown")
	if err != nil {
		return err
	}
	byID := func(id [16]byte, name *string) *kmsg.MetadataRequest {
		req := metadataOf(v)
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID, t.Topic = id, name
		req.Topics = append(req.Topics, t)
		return req
	}
	name := "shown"
	return r.all(orderedRequests(
		"by id", byID(id, nil),
		"by id and name", byID(id, &name),
		"by an unknown id", byID([16]byte{7}, nil),
		"by no id and no name", byID([16]byte{}, nil),
	))
}

// autoCreation asks for a topic that is made on demand until it is there; how often a client has
// to ask is the broker's own affair.
func (r *Run) autoCreation(v int16) error {
	req := metadataOf(v, fmt.Sprintf("made-v%d", v))
	req.AllowAutoTopicCreation = true
	resp, err := r.until("the topic is made", req, func(resp kmsg.Response) bool {
		t := resp.(*kmsg.MetadataResponse).Topics[0]
		return t.ErrorCode == 0 && len(t.Partitions) > 0 && t.Partitions[0].ErrorCode == 0
	})
	if err != nil {
		return err
	}
	return r.log.request("made on demand", req, resp, nil)
}

func describeTopicPartitions(r *Run) error {
	for _, name := range []string{"pages-a", "pages-b", "pages-c"} {
		if err := r.createTopic(name, 3); err != nil {
			return err
		}
	}
	page := func(limit int32, cursor string, at int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = limit
		for _, name := range topics {
			t := kmsg.NewDescribeTopicPartitionsRequestTopic()
			t.Topic = name
			req.Topics = append(req.Topics, t)
		}
		if cursor != "" {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = cursor, at
			req.Cursor = &c
		}
		return req
	}
	return r.all(orderedRequests(
		"one", page(2000, "", 0, "pages-a"),
		"three, unsorted", page(2000, "", 0, "pages-c", "pages-a", "pages-b"),
		"twice", page(2000, "", 0, "pages-a", "pages-a"),
		"limit 4", page(4, "", 0, "pages-a", "pages-b", "pages-c"),
		"limit 3", page(3, "", 0, "pages-a", "pages-b", "pages-c"),
		"cursor", page(4, "pages-b", 1, "pages-a", "pages-b", "pages-c"),
		"cursor of another topic", page(4, "pages-bb", 1, "pages-a", "pages-b", "pages-c"),
		"cursor at the end", page(4, "pages-c", 3, "pages-a", "pages-b", "pages-c"),
		"cursor after the end", page(4, "pages-c", 30, "pages-a", "pages-b", "pages-c"),
		"negative cursor", page(4, "pages-c", -1, "pages-a", "pages-b", "pages-c"),
		"no limit", page(0, "", 0, "pages-a"),
		"negative limit", page(-1, "", 0, "pages-a"),
		"unknown", page(10, "", 0, "pages-unknown", "pages-a"),
		"illegal", page(10, "", 0, "a b"),
	))
}

func deleteTopics(r *Run) error {
	return eachVersion(kmsg.DeleteTopics, func(v int16) error {
		var names []string
		for i := range 4 {
			names = append(names, fmt.Sprintf("gone-v%d-%d", v, i))
			if err := r.createTopic(names[i], 1); err != nil {
				return err
			}
		}
		id, err := r.idOf(names[3])
		if err != nil {
			return err
		}
		remove := func(topics ...string) *kmsg.DeleteTopicsRequest {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Version, req.TimeoutMillis = v, 10000
			for _, name := range topics {
				if v < 6 {
					req.TopicNames = append(req.TopicNames, name)
					continue
				}
				t := kmsg.NewDeleteTopicsRequestTopic()
				t.Topic = &name
				req.Topics = append(req.Topics, t)
			}
			return req
		}
		requests := []any{
			"one", remove(names[0]),
			"again", remove(names[0]),
			"two, one unknown", remove(names[1], "gone-unknown"),
			"twice", remove(names[2], names[2]),
			"nothing", remove(),
			"empty name", remove(""),
			"shown afterwards", func() kmsg.Request {
				q := metadataOf(12, names...)
				q.AllowAutoTopicCreation = false
				return q
			}(),
		}
		if v >= 6 {
			byID := func(id [16]byte, name *string) *kmsg.DeleteTopicsRequest {
				req := remove()
				t := kmsg.NewDeleteTopicsRequestTopic()
				t.TopicID, t.Topic = id, name
				req.Topics = append(req.Topics, t)
				return req
			}
			requests = append(requests,
				"by id and name", byID(id, &names[3]),
				"by id", byID(id, nil),
				"by id again", byID(id, nil),
				"by no id and no name", byID([16]byte{}, nil),
			)
		}
		return r.all(orderedRequests(requests...))
	})
}
