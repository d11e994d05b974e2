package explorer

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupChunk bounds the groups of one request.
const groupChunk = 500

// foundGroup is a group as ListGroups (and later describing it) shows it.
type foundGroup struct {
	GroupRow
	members []GroupMember
}

// listGroups lists the groups of every broker: a broker lists those it coordinates. answered counts
// the brokers that gave a list.
func (s *snapshot) listGroups(ctx context.Context) (groups []*foundGroup, answered int) {
	reqs := map[int32]kmsg.Request{}
	for id := range s.brokers {
		reqs[id] = kmsg.NewPtrListGroupsRequest()
	}
	seen := map[string]bool{}
	s.askAll(ctx, "ListGroups", reqs, func(broker int32, resp kmsg.Response) {
		r := resp.(*kmsg.ListGroupsResponse)
		if p := codeProblem(r.ErrorCode, nil, "ListGroups", s.brokerName(broker)); p != nil {
			s.problem(p)
			return
		}
		answered++
		for _, g := range r.Groups {
			if seen[g.Group] { // a coordinator moved between two answers
				continue
			}
			seen[g.Group] = true
			f := &foundGroup{GroupRow: GroupRow{Group: g.Group, State: g.GroupState, Type: strings.ToLower(g.GroupType), ProtocolType: g.ProtocolType, Coordinator: broker, Topics: []string{}}}
			if f.Type == "" {
				f.Type = "classic" // before KIP-848 there was no other
			}
			groups = append(groups, f)
		}
	})
	slices.SortFunc(groups, func(a, b *foundGroup) int { return cmp.Compare(a.Group, b.Group) })
	return groups, answered
}

// perCoordinator calls do for chunks of groups of one coordinator, coordinators at once.
func perCoordinator(groups []*foundGroup, do func(coordinator int32, chunk []*foundGroup)) {
	by := map[int32][]*foundGroup{}
	for _, g := range groups {
		if g.Coordinator >= 0 {
			by[g.Coordinator] = append(by[g.Coordinator], g)
		}
	}
	var wg sync.WaitGroup
	for coordinator, gs := range by {
		wg.Go(func() {
			for chunk := range slices.Chunk(gs, groupChunk) {
				do(coordinator, chunk)
			}
		})
	}
	wg.Wait()
}

func ofType(groups []*foundGroup, types ...string) []*foundGroup {
	var out []*foundGroup
	for _, g := range groups {
		if slices.Contains(types, g.Type) {
			out = append(out, g)
		}
	}
	return out
}

// Groups lists all groups with members and lag.
func (c *Connection) Groups(ctx context.Context) (GroupList, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return GroupList{}, err
	}
	defer release()
	s, err := c.snapshot(ctx, cl, nil)
	if err != nil {
		return GroupList{}, err
	}
	list := GroupList{Groups: []GroupRow{}, FetchedAt: c.now().UnixMilli()}
	groups, _ := s.listGroups(ctx)
	var offsets map[string][]committed
	var wg sync.WaitGroup
	wg.Go(func() { s.describeGroups(ctx, groups) })
	wg.Go(func() { offsets = s.committedOffsets(ctx, groups, nil) })
	wg.Wait()
	ends := s.logEnds(ctx, offsets)
	for _, g := range groups {
		g.sumLag(offsets[g.Group], ends)
		list.Groups = append(list.Groups, g.GroupRow)
	}
	list.Problems = s.allProblems()
	return list, nil
}

// sumLag fills topics and lag of a row.
func (g *foundGroup) sumLag(offsets []committed, ends logEnds) {
	var sum int64
	topics := map[string]bool{}
	counted := 0
	for _, o := range offsets {
		row := ends.place(o)
		if row.Committed != nil {
			topics[o.at.topic] = true
		}
		if row.Lag == nil {
			g.LagPartial = true
			continue
		}
		counted++
		sum += *row.Lag
	}
	for _, m := range g.members {
		for _, a := range m.Assignments {
			for _, p := range a.Partitions {
				if !slices.ContainsFunc(offsets, func(o committed) bool { return o.at == tp{a.Topic, p} }) {
					g.LagPartial = true
				}
			}
		}
	}
	for t := range topics {
		g.Topics = append(g.Topics, t)
	}
	slices.Sort(g.Topics)
	if counted > 0 {
		g.Lag = &sum
	}
}

// logEnds is start and end of the partitions that groups have offsets in.
type logEnds struct {
	starts, ends, stable map[tp]listed
	known                map[tp]bool // partitions that exist
}

// logEnds asks for start, end and last stable offset of the partitions named by offsets.
func (s *snapshot) logEnds(ctx context.Context, offsets map[string][]committed) logEnds {
	want := map[tp]bool{}
	for _, list := range offsets {
		for _, o := range list {
			want[o.at] = true
		}
	}
	return s.endsOf(ctx, func(at tp) bool { return want[at] })
}

func (s *snapshot) endsOf(ctx context.Context, want func(tp) bool) logEnds {
	e := logEnds{known: map[tp]bool{}}
	byLeader := map[int32][]tp{}
	for leader, parts := range s.leaders() {
		for _, at := range parts {
			e.known[at] = true
			if want(at) {
				byLeader[leader] = append(byLeader[leader], at)
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { e.starts = s.listOffsets(ctx, byLeader, atStart, false) })
	wg.Go(func() { e.ends = s.listOffsets(ctx, byLeader, atEnd, false) })
	wg.Go(func() { e.stable = s.listOffsets(ctx, byLeader, atEnd, true) })
	wg.Wait()
	return e
}

// place says where a committed offset stands in its log. Lag is only given when it is a true count.
func (e logEnds) place(o committed) GroupOffset {
	row := GroupOffset{Topic: o.at.topic, Partition: o.at.partition, Metadata: o.metadata, State: "unknown", Problem: o.problem}
	if o.offset >= 0 {
		row.Committed = &o.offset
	}
	row.Start, row.End = offsetOf(e.starts, o.at), offsetOf(e.ends, o.at)
	if stable := offsetOf(e.stable, o.at); stable != nil && row.End != nil && *stable < *row.End {
		row.LastStable = stable
	}
	switch {
	case o.problem != nil:
		row.Words = o.problem.Title
	case row.Committed == nil:
		row.State, row.Words = "neverCommitted", "never committed: lag is not known"
	case !e.known[o.at]:
		row.Words = "the topic or partition does not exist any more, or this user may not see it"
	case row.End == nil || row.Start == nil:
		row.Words = "the end of the log is not known"
		row.Problem = cmp.Or(e.starts[o.at].problem, e.ends[o.at].problem)
	case o.offset > *row.End:
		row.State, row.Words = "aheadOfLog", "ahead of log: committed past the end, as after the topic was made anew"
	case o.offset < *row.Start:
		lag := *row.End - *row.Start
		row.State, row.Lag, row.Words = "belowLogStart", &lag, "below log start: records it had not read were deleted; lag counts those left"
	default:
		lag := *row.End - o.offset
		row.State, row.Lag = "ok", &lag
	}
	if row.Lag != nil && o.lag != nil {
		row.Lag = o.lag
	}
	return row
}

// groupsOf finds the groups with committed offsets in one topic.
func (s *snapshot) groupsOf(ctx context.Context, t kmsg.MetadataResponseTopic) []*foundGroup {
	groups, _ := s.listGroups(ctx)
	offsets := s.committedOffsets(ctx, groups, partitionsOf(t))
	return slices.DeleteFunc(groups, func(g *foundGroup) bool {
		return !slices.ContainsFunc(offsets[g.Group], func(o committed) bool { return o.at.topic == deref(t.Topic) && o.offset >= 0 })
	})
}

// partitionsOf asks for the offsets of one topic only.
func partitionsOf(t kmsg.MetadataResponseTopic) []kmsg.OffsetFetchRequestGroupTopic {
	rt := kmsg.NewOffsetFetchRequestGroupTopic()
	rt.Topic = deref(t.Topic)
	for _, p := range t.Partitions {
		rt.Partitions = append(rt.Partitions, p.Partition)
	}
	return []kmsg.OffsetFetchRequestGroupTopic{rt}
}
