package explorer

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed is a group's committed offset in one partition; offset -1 is none.
type committed struct {
	at       tp
	offset   int64
	metadata string
	problem  *Problem
}

// oldOffsetFetches bounds the requests, one per group, to a cluster without the many-groups form.
const oldOffsetFetches = 200

// committedOffsets fetches the offsets of classic and consumer groups, many groups a request
// (OffsetFetch 8). Share groups keep theirs in another way and are left out.
func (s *snapshot) committedOffsets(ctx context.Context, groups []*foundGroup, topics []kmsg.OffsetFetchRequestGroupTopic) map[string][]committed {
	withOffsets := ofType(groups, "classic", "consumer")
	out := make(map[string][]committed, len(withOffsets))
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
		req := kmsg.NewPtrOffsetFetchRequest()
		for _, g := range chunk {
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group, rg.Topics = g.Group, topics // nil: all
			rg.MemberEpoch = -1
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
					list = append(list, committed{at, p.Offset, deref(p.Metadata), codeProblem(p.ErrorCode, nil, "OffsetFetch", partitionName(at))})
				}
			}
			put(r.Group, list)
		}
	})
	return out
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
				list = append(list, committed{at, p.Offset, deref(p.Metadata), codeProblem(p.ErrorCode, nil, "OffsetFetch", partitionName(at))})
			}
		}
		put(g.Group, list)
	}
}
