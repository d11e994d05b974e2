package explorer

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed is a group's committed offset in one partition; offset -1 is none. For a share group it
// is the start of what is not yet acknowledged, and lag is the broker's own count, if it gives one.
type committed struct {
	at       tp
	offset   int64
	metadata string
	lag      *int64
	problem  *Problem
}

// oldOffsetFetches bounds the requests, one per group, to a cluster without the many-groups form.
const oldOffsetFetches = 200

// committedOffsets fetches the offsets of groups, many groups a request (OffsetFetch 8), in the given
// topics (nil: all). Where partitions are given, those without an offset come with -1.
func (s *snapshot) committedOffsets(ctx context.Context, groups []*foundGroup, topics []kmsg.OffsetFetchRequestGroupTopic) map[string][]committed {
	withOffsets := ofType(groups, "classic", "consumer", "streams")
	out := make(map[string][]committed, len(groups))
	var mu sync.Mutex
	put := func(group string, list []committed) {
		mu.Lock()
		defer mu.Unlock()
		out[group] = list
	}
	apis, err := s.c.versions(ctx, s.cl)
	if err == nil && !apis.offers(int16(kmsg.OffsetFetch), 8) {
		s.fetchOneByOne(ctx, withOffsets, put)
		return out
	}
	perCoordinator(withOffsets, func(coordinator int32, chunk []*foundGroup) {
		s.fetchOffsets(ctx, coordinator, chunk, topics, put)
	})
	if err == nil && apis.offers(int16(kmsg.DescribeShareGroupOffsets), 0) {
		perCoordinator(ofType(groups, "share"), func(coordinator int32, chunk []*foundGroup) {
			s.fetchShareOffsets(ctx, coordinator, chunk, put)
		})
	}
	return out
}

func (s *snapshot) fetchOffsets(ctx context.Context, coordinator int32, chunk []*foundGroup, topics []kmsg.OffsetFetchRequestGroupTopic, put func(string, []committed)) {
	req := kmsg.NewPtrOffsetFetchRequest()
	for _, g := range chunk {
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.Topics, rg.MemberEpoch = g.Group, topics, -1
		req.Groups = append(req.Groups, rg)
	}
	resp, p := s.ask(ctx, coordinator, "OffsetFetch", req)
	if p != nil {
		s.problem(p)
		return
	}
	for _, r := range resp.(*kmsg.OffsetFetchResponse).Groups {
		if p := codeProblem(r.ErrorCode, nil, "OffsetFetch", "group "+r.Group); p != nil {
			s.problem(p)
			continue
		}
		list := []committed{}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				at := tp{t.Topic, p.Partition}
				list = append(list, committed{at: at, offset: p.Offset, metadata: deref(p.Metadata), problem: codeProblem(p.ErrorCode, nil, "OffsetFetch", partitionName(at))})
			}
		}
		put(r.Group, list)
	}
}

// fetchShareOffsets asks where share groups stand (KIP-932; lag since KIP-1226).
func (s *snapshot) fetchShareOffsets(ctx context.Context, coordinator int32, chunk []*foundGroup, put func(string, []committed)) {
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	for _, g := range chunk {
		rg := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
		rg.GroupID = g.Group
		req.Groups = append(req.Groups, rg)
	}
	resp, p := s.ask(ctx, coordinator, "DescribeShareGroupOffsets", req)
	if p != nil {
		s.problem(p)
		return
	}
	r := resp.(*kmsg.DescribeShareGroupOffsetsResponse)
	for _, g := range r.Groups {
		if p := codeProblem(g.ErrorCode, g.ErrorMessage, "DescribeShareGroupOffsets", "group "+g.GroupID); p != nil {
			s.problem(p)
			continue
		}
		list := []committed{}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				at := tp{t.Topic, p.Partition}
				c := committed{at: at, offset: p.StartOffset, problem: codeProblem(p.ErrorCode, p.ErrorMessage, "DescribeShareGroupOffsets", partitionName(at))}
				if r.GetVersion() >= 1 && p.Lag >= 0 {
					c.lag = &p.Lag
				}
				list = append(list, c)
			}
		}
		put(g.GroupID, list)
	}
}

// fetchOneByOne serves clusters older than Kafka 3.0, for a bounded number of groups.
func (s *snapshot) fetchOneByOne(ctx context.Context, groups []*foundGroup, put func(string, []committed)) {
	if len(groups) > oldOffsetFetches {
		s.problem(&Problem{Code: "TOO_MANY_GROUPS", Title: "This cluster answers offsets of one group a request only: lag is shown for the first groups.", Operation: "OffsetFetch"})
		groups = groups[:oldOffsetFetches]
	}
	for _, g := range groups {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = g.Group
		resp, p := s.ask(ctx, g.Coordinator, "OffsetFetch", req)
		if p != nil {
			s.problem(p)
			return
		}
		r := resp.(*kmsg.OffsetFetchResponse)
		if p := codeProblem(r.ErrorCode, nil, "OffsetFetch", "group "+g.Group); p != nil {
			s.problem(p)
			continue
		}
		list := []committed{}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				at := tp{t.Topic, p.Partition}
				list = append(list, committed{at: at, offset: p.Offset, metadata: deref(p.Metadata), problem: codeProblem(p.ErrorCode, nil, "OffsetFetch", partitionName(at))})
			}
		}
		put(g.Group, list)
	}
}
