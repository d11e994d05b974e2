package explorer

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Overview is the cluster at a glance. It fails only when no broker gives metadata.
func (c *Connection) Overview(ctx context.Context) (Overview, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return Overview{}, err
	}
	defer release()
	apis, err := c.versions(ctx, cl)
	if err != nil {
		c.tell(Health{State: "down", At: c.now().UnixMilli(), Problem: c.connectProblem(err, "ApiVersions")})
		return Overview{}, err
	}
	s, err := c.snapshot(ctx, cl, nil)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Product: apis.product, ClusterID: deref(s.meta.ClusterID), FetchedAt: c.now().UnixMilli()}
	var wg sync.WaitGroup
	wg.Go(func() { o.Controller, o.ControllerSource = s.controller(ctx) })
	wg.Go(func() { o.Groups = s.countGroups(ctx) })
	wg.Wait()
	o.Brokers = s.brokerRows(o.Controller)
	s.countTopics(&o)
	o.Problems = s.allProblems()
	if len(o.Problems) > 0 && slices.ContainsFunc(o.Problems, func(p Problem) bool { return isUnreachable(p.Code) }) {
		c.tell(Health{State: "partial", At: o.FetchedAt, Brokers: int32(len(o.Brokers)), Topics: o.Topics + o.InternalTopics, Product: apis.product.Name, Problem: &o.Problems[0]})
	}
	if c.view != nil {
		o.Cluster = c.view()
	}
	return o, nil
}

// isUnreachable tells a broker that could not be asked from one that refused.
func isUnreachable(code string) bool {
	switch code {
	case "CONNECTION_REFUSED", "CONNECTION_FAILED", "UNRESOLVABLE", "UNREACHABLE", "TIMEOUT", "CLOSED_AT_ONCE", "CONNECTION_LOST":
		return true
	}
	return false
}

// brokerRows counts leaders and replicas from metadata.
func (s *snapshot) brokerRows(controller *int32) []Broker {
	rows := make([]Broker, 0, len(s.meta.Brokers))
	index := map[int32]int{}
	for _, b := range s.meta.Brokers {
		index[b.NodeID] = len(rows)
		rows = append(rows, Broker{
			ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: deref(b.Rack), LogDirs: []LogDir{},
			Controller: controller != nil && *controller == b.NodeID,
		})
	}
	for _, t := range s.meta.Topics {
		for _, p := range t.Partitions {
			if i, ok := index[p.Leader]; ok {
				rows[i].Leaders++
			}
			for _, r := range p.Replicas {
				if i, ok := index[r]; ok {
					rows[i].Replicas++
				}
			}
		}
	}
	slices.SortFunc(rows, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

func (s *snapshot) countTopics(o *Overview) {
	for _, t := range s.meta.Topics {
		if t.IsInternal {
			o.InternalTopics++
		} else {
			o.Topics++
		}
		for _, p := range t.Partitions {
			o.Partitions++
			switch partitionState(p) {
			case "offline":
				o.OfflinePartition++
			case "underReplicated":
				o.UnderReplicated++
			}
		}
	}
}

// partitionState is a partition's health from metadata.
func partitionState(p kmsg.MetadataResponseTopicPartition) string {
	switch {
	case p.Leader < 0:
		return "offline"
	case len(p.ISR) < len(p.Replicas):
		return "underReplicated"
	}
	return "ok"
}

// countGroups lists the groups of every broker; nil when none could be listed.
func (s *snapshot) countGroups(ctx context.Context) *int32 {
	groups, answered := s.listGroups(ctx)
	if answered == 0 {
		return nil
	}
	n := int32(len(groups))
	return &n
}

// Brokers lists the brokers with their log directories, as far as these may be described.
func (c *Connection) Brokers(ctx context.Context) (BrokerList, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return BrokerList{}, err
	}
	defer release()
	s, err := c.snapshot(ctx, cl, nil)
	if err != nil {
		return BrokerList{}, err
	}
	list := BrokerList{FetchedAt: c.now().UnixMilli()}
	var dirs map[int32][]LogDir
	var wg sync.WaitGroup
	wg.Go(func() { list.Controller, list.ControllerSource = s.controller(ctx) })
	wg.Go(func() { dirs, _ = s.logDirs(ctx, nil) })
	wg.Wait()
	list.Brokers = s.brokerRows(list.Controller)
	for i := range list.Brokers {
		b := &list.Brokers[i]
		ds, ok := dirs[b.ID]
		if !ok {
			continue
		}
		var sum int64
		for _, d := range ds {
			sum += d.Bytes
		}
		b.LogDirs, b.LogBytes = ds, &sum
	}
	list.Problems = s.allProblems()
	return list, nil
}
