package explorer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// oneTopic asks for one topic; an unknown or forbidden one is an error.
func (c *Connection) oneTopic(ctx context.Context, cl *kgo.Client, topic string) (*snapshot, kmsg.MetadataResponseTopic, error) {
	var none kmsg.MetadataResponseTopic
	s, err := c.snapshot(ctx, cl, []string{topic})
	if err != nil {
		return nil, none, err
	}
	for _, t := range s.meta.Topics {
		if deref(t.Topic) != topic {
			continue
		}
		if p := codeProblem(t.ErrorCode, nil, "Describe", "topic "+topic); p != nil && len(t.Partitions) == 0 {
			return nil, none, p
		}
		slices.SortFunc(t.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		return s, t, nil
	}
	return nil, none, emptyAnswer("Metadata", "topic "+topic)
}

// measures is what a topic holds. Nil is unknown.
type measures struct {
	starts, ends map[tp]listed
	sizes        map[tp]int64
	records      *int64
	bytes        *int64
	last         *int64
}

// measure asks for offsets, sizes and the newest timestamp of one topic.
func (s *snapshot) measure(ctx context.Context, t kmsg.MetadataResponseTopic) measures {
	m := measures{}
	byLeader := s.leaders()
	var newest map[tp]listed
	var wg sync.WaitGroup
	wg.Go(func() { m.starts = s.listOffsets(ctx, byLeader, atStart, false) })
	wg.Go(func() { m.ends = s.listOffsets(ctx, byLeader, atEnd, false) })
	wg.Go(func() { newest = s.newestTimestamps(ctx, byLeader) })
	wg.Go(func() {
		_, all := s.logDirs(ctx, []kmsg.MetadataResponseTopic{t})
		m.sizes = s.leaderSizes(all)
	})
	wg.Wait()
	row := topicRow(t)
	m.records, m.bytes = sumRecords(&row, m.starts, m.ends), sumBytes(&row, m.sizes)
	for _, l := range newest {
		if l.problem == nil && l.timestamp >= 0 && (m.last == nil || l.timestamp > *m.last) {
			m.last = &l.timestamp
		}
	}
	return m
}

// newestTimestamps asks for the record with the largest timestamp, where the cluster can tell.
func (s *snapshot) newestTimestamps(ctx context.Context, byLeader map[int32][]tp) map[tp]listed {
	apis, err := s.c.versions(ctx, s.cl)
	if err != nil || !apis.offers(int16(kmsg.ListOffsets), 7) {
		return nil
	}
	return s.listOffsets(ctx, byLeader, atMax, false)
}

// Topic is one topic with partitions and configuration.
func (c *Connection) Topic(ctx context.Context, topic string) (TopicDetail, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return TopicDetail{}, err
	}
	defer release()
	s, t, err := c.oneTopic(ctx, cl, topic)
	if err != nil {
		return TopicDetail{}, err
	}
	d := TopicDetail{Name: topic, ID: topicID(t.TopicID), Internal: t.IsInternal, FetchedAt: c.now().UnixMilli()}
	var m measures
	var wg sync.WaitGroup
	wg.Go(func() { m = s.measure(ctx, t) })
	wg.Go(func() { d.Configs = s.configs(ctx, topic) })
	wg.Wait()
	d.Partitions = s.partitionRows(t, m)
	d.Records, d.Bytes, d.LastTimestamp = m.records, m.bytes, m.last
	d.Problems = s.allProblems()
	return d, nil
}

func (s *snapshot) partitionRows(t kmsg.MetadataResponseTopic, m measures) []PartitionRow {
	rows := make([]PartitionRow, 0, len(t.Partitions))
	for _, p := range t.Partitions {
		at := tp{deref(t.Topic), p.Partition}
		row := PartitionRow{
			ID: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, State: partitionState(p),
			Replicas: list(p.Replicas), ISR: list(p.ISR), Offline: list(p.OfflineReplicas),
		}
		row.Words = partitionWords(p)
		start, end := m.starts[at], m.ends[at]
		row.Start, row.End = offsetOf(m.starts, at), offsetOf(m.ends, at)
		row.Problem = cmp.Or(start.problem, end.problem)
		if row.Problem == nil && row.End == nil && p.Leader >= 0 {
			row.Problem = &Problem{Code: "NO_ANSWER", Title: s.brokerName(p.Leader) + ", its leader, did not answer.", Operation: "ListOffsets", Resource: partitionName(at), Retriable: true}
		}
		if n, ok := m.sizes[at]; ok {
			row.Bytes = &n
		}
		rows = append(rows, row)
	}
	return rows
}

// list makes sure that a list is never null in JSON.
func list(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func offsetOf(answers map[tp]listed, at tp) *int64 {
	l, ok := answers[at]
	if !ok || l.problem != nil {
		return nil
	}
	return &l.offset
}

func partitionWords(p kmsg.MetadataResponseTopicPartition) string {
	switch partitionState(p) {
	case "offline":
		return fmt.Sprintf("no leader: none of its replicas %v can lead now", p.Replicas)
	case "underReplicated":
		var missing []int32
		for _, r := range p.Replicas {
			if !slices.Contains(p.ISR, r) {
				missing = append(missing, r)
			}
		}
		return fmt.Sprintf("%d of %d replicas are in sync; behind: %v", len(p.ISR), len(p.Replicas), missing)
	}
	return ""
}

// configs describes a topic's configuration with sources, types and docs.
func (s *snapshot) configs(ctx context.Context, topic string) []ConfigEntry {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	req.Resources = append(req.Resources, topicResource(topic, nil))
	out := []ConfigEntry{}
	resp, p := s.askAny(ctx, "DescribeConfigs", req)
	if p != nil {
		s.problem(p)
		return out
	}
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		if p := codeProblem(r.ErrorCode, r.ErrorMessage, "DescribeConfigs", "topic "+topic); p != nil {
			s.problem(p)
			continue
		}
		for _, e := range r.Configs {
			out = append(out, configEntry(e))
		}
	}
	slices.SortFunc(out, func(a, b ConfigEntry) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func configEntry(e kmsg.DescribeConfigsResponseResourceConfig) ConfigEntry {
	entry := ConfigEntry{
		Name: e.Name, Value: e.Value, Source: e.Source.String(), Default: e.Source != kmsg.ConfigSourceDynamicTopicConfig,
		ReadOnly: e.ReadOnly, Sensitive: e.IsSensitive, Doc: deref(e.Documentation), Synonyms: []ConfigSynonym{},
	}
	if e.ConfigType != 0 {
		entry.Type = e.ConfigType.String()
	}
	for _, syn := range e.ConfigSynonyms {
		entry.Synonyms = append(entry.Synonyms, ConfigSynonym{Name: syn.Name, Value: syn.Value, Source: syn.Source.String()})
	}
	return entry
}
