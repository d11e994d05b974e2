package explorer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// configChunk bounds the resources of one DescribeConfigs request.
const configChunk = 2000

// Topics lists all topics. With details, offsets, sizes and two configuration values are asked in
// bulk: per broker, never per topic.
func (c *Connection) Topics(ctx context.Context, details bool) (TopicList, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return TopicList{}, err
	}
	defer release()
	s, err := c.snapshot(ctx, cl, nil)
	if err != nil {
		return TopicList{}, err
	}
	list := TopicList{Topics: make([]TopicRow, 0, len(s.meta.Topics)), FetchedAt: c.now().UnixMilli()}
	for _, t := range s.meta.Topics {
		list.Topics = append(list.Topics, topicRow(t))
	}
	slices.SortFunc(list.Topics, func(a, b TopicRow) int { return cmp.Compare(a.Name, b.Name) })
	if details {
		s.fillDetails(ctx, list.Topics)
	}
	list.Problems = s.allProblems()
	return list, nil
}

func topicRow(t kmsg.MetadataResponseTopic) TopicRow {
	row := TopicRow{Name: deref(t.Topic), ID: topicID(t.TopicID), Internal: t.IsInternal, Partitions: int32(len(t.Partitions))}
	row.Problem = codeProblem(t.ErrorCode, nil, "Metadata", "topic "+row.Name)
	for _, p := range t.Partitions {
		row.Replication = max(row.Replication, int32(len(p.Replicas)))
		switch partitionState(p) {
		case "offline":
			row.Offline++
		case "underReplicated":
			row.UnderReplicated++
		}
	}
	return row
}

// fillDetails adds records, bytes and configuration to the rows, as far as each is to be had.
func (s *snapshot) fillDetails(ctx context.Context, rows []TopicRow) {
	var starts, ends map[tp]listed
	var sizes map[tp]int64
	configs := map[string]map[string]string{}
	byLeader := s.leaders()
	var wg sync.WaitGroup
	wg.Go(func() { starts = s.listOffsets(ctx, byLeader, atStart, false) })
	wg.Go(func() { ends = s.listOffsets(ctx, byLeader, atEnd, false) })
	wg.Go(func() {
		_, all := s.logDirs(ctx, nil)
		sizes = s.leaderSizes(all)
	})
	wg.Go(func() { configs = s.topicConfigs(ctx, rows, "cleanup.policy", "retention.ms") })
	wg.Wait()
	for i := range rows {
		row := &rows[i]
		row.Records = sumRecords(row, starts, ends)
		row.Bytes = sumBytes(row, sizes)
		row.CleanupPolicy = configs[row.Name]["cleanup.policy"]
		if ms, err := strconv.ParseInt(configs[row.Name]["retention.ms"], 10, 64); err == nil {
			row.RetentionMs = &ms
		}
	}
}

// sumRecords is end − start over all partitions, nil when one is unknown.
func sumRecords(row *TopicRow, starts, ends map[tp]listed) *int64 {
	var sum int64
	for id := range row.Partitions {
		at := tp{row.Name, id}
		start, ok1 := starts[at]
		end, ok2 := ends[at]
		if !ok1 || !ok2 || start.problem != nil || end.problem != nil {
			if row.Problem == nil {
				row.Problem = cmp.Or(start.problem, end.problem)
			}
			return nil
		}
		sum += max(0, end.offset-start.offset)
	}
	return &sum
}

func sumBytes(row *TopicRow, sizes map[tp]int64) *int64 {
	var sum int64
	for id := range row.Partitions {
		n, ok := sizes[tp{row.Name, id}]
		if !ok {
			return nil
		}
		sum += n
	}
	return &sum
}

// topicConfigs gives some configuration values of many topics.
func (s *snapshot) topicConfigs(ctx context.Context, rows []TopicRow, names ...string) map[string]map[string]string {
	out := make(map[string]map[string]string, len(rows))
	for chunk := range slices.Chunk(rows, configChunk) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, row := range chunk {
			req.Resources = append(req.Resources, topicResource(row.Name, names))
		}
		resp, p := s.askAny(ctx, "DescribeConfigs", req)
		if p != nil {
			s.problem(p)
			return out
		}
		for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
			if p := codeProblem(r.ErrorCode, r.ErrorMessage, "DescribeConfigs", "topic "+r.ResourceName); p != nil {
				s.problem(p)
				continue
			}
			values := make(map[string]string, len(r.Configs))
			for _, e := range r.Configs {
				values[e.Name] = deref(e.Value)
			}
			out[r.ResourceName] = values
		}
	}
	return out
}

func topicResource(topic string, names []string) kmsg.DescribeConfigsRequestResource {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, names
	return r
}

// CreateTopic creates a topic, or only checks it.
func (c *Connection) CreateTopic(ctx context.Context, t TopicCreate) (TopicCreated, error) {
	if !t.ValidateOnly {
		if err := c.changeable("CreateTopics"); err != nil {
			return TopicCreated{}, err
		}
	}
	cl, release, err := c.acquire()
	if err != nil {
		return TopicCreated{}, err
	}
	defer release()
	resp, err := cl.Request(ctx, t.request())
	if err != nil {
		return TopicCreated{}, c.connectProblem(err, "CreateTopics")
	}
	topics := resp.(*kmsg.CreateTopicsResponse).Topics
	if len(topics) == 0 {
		return TopicCreated{}, emptyAnswer("CreateTopics", "topic "+t.Name)
	}
	got := topics[0]
	if p := codeProblem(got.ErrorCode, got.ErrorMessage, "CreateTopics", "topic "+t.Name); p != nil {
		return TopicCreated{}, p
	}
	if !t.ValidateOnly {
		c.settle(ctx, cl, t.Name, true)
	}
	return TopicCreated{
		Name: t.Name, ID: topicID(got.TopicID), Partitions: got.NumPartitions, Replication: int32(got.ReplicationFactor), Validated: t.ValidateOnly,
	}, nil
}

func (t TopicCreate) request() *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly, req.TimeoutMillis = t.ValidateOnly, int32(requestTimeout.Milliseconds())/2
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, orDefault(t.Partitions), int16(orDefault(t.Replication))
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = name, kmsg.StringPtr(t.Configs[name])
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// settleTimeout is how long a change may take to be seen by the broker that is asked next.
const settleTimeout = 3 * time.Second

// settle waits until a created topic can be read, or a deleted one is gone: the controller answers
// before every broker knows. The change is done either way, so running out of time is no error.
func (c *Connection) settle(ctx context.Context, cl *kgo.Client, topic string, exists bool) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for ctx.Err() == nil {
		s, _, err := c.oneTopic(ctx, cl, topic)
		if !exists && err != nil {
			return
		}
		if exists && err == nil && s.readable(ctx) {
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// readable tells whether every partition has a leader that answers.
func (s *snapshot) readable(ctx context.Context) bool {
	byLeader := s.leaders()
	ends := s.listOffsets(ctx, byLeader, atEnd, false)
	for _, parts := range byLeader {
		for _, at := range parts {
			if l, ok := ends[at]; !ok || l.problem != nil {
				return false
			}
		}
	}
	return true
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// orDefault turns 0, which no topic can have, into "the broker's default".
func orDefault(n int32) int32 {
	if n == 0 {
		return -1
	}
	return n
}

func emptyAnswer(operation, resource string) *Problem {
	return &Problem{Code: "EMPTY_ANSWER", Title: "The broker's answer says nothing about what was asked.", Operation: operation, Resource: resource}
}

// DeleteTopic deletes a topic.
func (c *Connection) DeleteTopic(ctx context.Context, topic string) error {
	if err := c.changeable("DeleteTopics"); err != nil {
		return err
	}
	cl, release, err := c.acquire()
	if err != nil {
		return err
	}
	defer release()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(requestTimeout.Milliseconds()) / 2
	req.TopicNames = []string{topic} // up to version 5
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := cl.Request(ctx, req)
	if err != nil {
		return c.connectProblem(err, "DeleteTopics")
	}
	topics := resp.(*kmsg.DeleteTopicsResponse).Topics
	if len(topics) == 0 {
		return emptyAnswer("DeleteTopics", "topic "+topic)
	}
	if p := codeProblem(topics[0].ErrorCode, topics[0].ErrorMessage, "DeleteTopics", "topic "+topic); p != nil {
		return p
	}
	c.settle(ctx, cl, topic, false)
	return nil
}

// TopicImpact tells what deleting a topic takes away.
func (c *Connection) TopicImpact(ctx context.Context, topic string) (TopicImpact, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return TopicImpact{}, err
	}
	defer release()
	s, t, err := c.oneTopic(ctx, cl, topic)
	if err != nil {
		return TopicImpact{}, err
	}
	impact := TopicImpact{Name: topic, Partitions: int32(len(t.Partitions)), Groups: []string{}}
	var m measures
	var wg sync.WaitGroup
	wg.Go(func() { m = s.measure(ctx, t) })
	wg.Go(func() {
		for _, g := range s.groupsOf(ctx, t) {
			impact.Groups = append(impact.Groups, g.Group)
		}
	})
	wg.Wait()
	slices.SortFunc(impact.Groups, strings.Compare)
	impact.Records, impact.Bytes, impact.LastTimestamp = m.records, m.bytes, m.last
	impact.Problems = s.allProblems()
	return impact, nil
}
