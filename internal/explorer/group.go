package explorer

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group is one group with members and its place in every partition.
func (c *Connection) Group(ctx context.Context, group string) (GroupDetail, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return GroupDetail{}, err
	}
	defer release()
	s, err := c.snapshot(ctx, cl, nil)
	if err != nil {
		return GroupDetail{}, err
	}
	g, err := s.findGroup(ctx, group)
	if err != nil {
		return GroupDetail{}, err
	}
	offsets := s.committedOffsets(ctx, []*foundGroup{g}, nil)[group]
	d := GroupDetail{
		Group: group, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType, Protocol: g.Protocol, Coordinator: g.Coordinator,
		Members: g.members, FetchedAt: c.now().UnixMilli(),
	}
	if d.Members == nil {
		d.Members = []GroupMember{}
	}
	if g.Problem != nil {
		s.problem(g.Problem)
	}
	s.fillOffsets(ctx, &d, offsets)
	d.Problems = s.allProblems()
	return d, nil
}

// fillOffsets places each committed partition, and each other partition of the same or assigned
// topics, whose offset was never committed.
func (s *snapshot) fillOffsets(ctx context.Context, d *GroupDetail, offsets []committed) {
	owner := map[tp]GroupMember{}
	topics := map[string]bool{}
	for _, m := range d.Members {
		for _, a := range m.Assignments {
			topics[a.Topic] = true
			for _, p := range a.Partitions {
				owner[tp{a.Topic, p}] = m
			}
		}
	}
	have := map[tp]bool{}
	for _, o := range offsets {
		have[o.at] = true
		topics[o.at.topic] = true
	}
	ends := s.endsOf(ctx, func(at tp) bool { return topics[at.topic] })
	if d.Type != "share" {
		for at := range ends.known {
			if topics[at.topic] && !have[at] {
				offsets = append(offsets, committed{at: at, offset: -1})
			}
		}
	}
	d.Offsets = make([]GroupOffset, 0, len(offsets))
	var sum int64
	for _, o := range offsets {
		row := ends.place(o)
		if m, ok := owner[o.at]; ok {
			row.Member, row.ClientID, row.Host = m.ID, m.ClientID, m.Host
		}
		if row.Lag != nil {
			sum += *row.Lag
			d.Lag = &sum
		} else {
			d.NotCounted++
		}
		d.Offsets = append(d.Offsets, row)
	}
	slices.SortFunc(d.Offsets, func(a, b GroupOffset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// findGroup asks the coordinator for the group. Its type is not known before: a cluster with
// KIP-848 is asked for a consumer group first, as Kafka's own admin client does, then for a share
// group, then for a classic one.
func (s *snapshot) findGroup(ctx context.Context, group string) (*foundGroup, error) {
	coordinator, p := s.coordinator(ctx, group)
	if p != nil {
		return nil, p
	}
	apis, err := s.c.versions(ctx, s.cl)
	if err != nil {
		return nil, err
	}
	kinds := []struct {
		typ     string
		key     kmsg.Key
		version int16
		do      describer
	}{
		{"consumer", kmsg.ConsumerGroupDescribe, 0, s.describeConsumer},
		{"share", kmsg.ShareGroupDescribe, 1, s.describeShare},
		{"classic", kmsg.DescribeGroups, 0, s.describeClassic},
	}
	var last *foundGroup
	for _, k := range kinds {
		if !apis.offers(int16(k.key), k.version) {
			continue
		}
		g := &foundGroup{GroupRow: GroupRow{Group: group, Type: k.typ, Coordinator: coordinator}}
		k.do(ctx, coordinator, map[string]*foundGroup{group: g})
		last = g
		if g.Problem == nil || (g.Problem.Code != "GROUP_ID_NOT_FOUND" && g.Problem.Code != "UNSUPPORTED_VERSION") {
			break
		}
	}
	if last == nil {
		return nil, unsupported("DescribeGroups")
	}
	gone := last.Problem != nil && last.Problem.Code == "GROUP_ID_NOT_FOUND"
	if gone || (last.Problem == nil && last.State == "Dead" && len(last.members) == 0) {
		return nil, &Problem{Code: "UNKNOWN_GROUP", Title: "There is no group of this name.", Operation: "DescribeGroups", Resource: "group " + group, Help: "Groups without members vanish when their offsets expire."}
	}
	if last.Problem != nil && last.Members == nil && last.State == "" {
		return nil, last.Problem
	}
	return last, nil
}

// coordinator finds the broker that coordinates a group.
func (s *snapshot) coordinator(ctx context.Context, group string) (int32, *Problem) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = group // up to version 3
	req.CoordinatorKeys = []string{group}
	resp, p := s.askAny(ctx, "FindCoordinator", req)
	if p != nil {
		return -1, p
	}
	r := resp.(*kmsg.FindCoordinatorResponse)
	for _, k := range r.Coordinators {
		return k.NodeID, codeProblem(k.ErrorCode, k.ErrorMessage, "FindCoordinator", "group "+group)
	}
	return r.NodeID, codeProblem(r.ErrorCode, r.ErrorMessage, "FindCoordinator", "group "+group)
}

// DeleteGroup deletes a group with its offsets; the broker refuses while it has members.
func (c *Connection) DeleteGroup(ctx context.Context, group string) error {
	if err := c.changeable("DeleteGroups"); err != nil {
		return err
	}
	cl, release, err := c.acquire()
	if err != nil {
		return err
	}
	defer release()
	s, err := c.snapshot(ctx, cl, []string{})
	if err != nil {
		return err
	}
	coordinator, p := s.coordinator(ctx, group)
	if p != nil {
		return p
	}
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	resp, p := s.ask(ctx, coordinator, "DeleteGroups", req)
	if p != nil {
		return p
	}
	groups := resp.(*kmsg.DeleteGroupsResponse).Groups
	if len(groups) == 0 {
		return emptyAnswer("DeleteGroups", "group "+group)
	}
	if p := codeProblem(groups[0].ErrorCode, nil, "DeleteGroups", "group "+group); p != nil {
		return p
	}
	return nil
}

// TopicConsumers tells which groups read a topic.
func (c *Connection) TopicConsumers(ctx context.Context, topic string) (TopicConsumers, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return TopicConsumers{}, err
	}
	defer release()
	s, t, err := c.oneTopic(ctx, cl, topic)
	if err != nil {
		return TopicConsumers{}, err
	}
	groups, _ := s.listGroups(ctx)
	s.describeGroups(ctx, groups)
	offsets := s.committedOffsets(ctx, groups, partitionsOf(t))
	ends := s.endsOf(ctx, func(tp) bool { return true })
	out := TopicConsumers{Groups: []TopicConsumer{}, FetchedAt: c.now().UnixMilli()}
	for _, g := range groups {
		if row, reads := consumerOf(g, t, offsets[g.Group], ends); reads {
			out.Groups = append(out.Groups, row)
		}
	}
	out.Problems = s.allProblems()
	return out, nil
}

func consumerOf(g *foundGroup, t kmsg.MetadataResponseTopic, offsets []committed, ends logEnds) (TopicConsumer, bool) {
	topic := deref(t.Topic)
	row := TopicConsumer{Group: g.Group, State: g.State, Type: g.Type}
	var sum int64
	for _, o := range offsets {
		if o.at.topic != topic || o.offset < 0 {
			continue
		}
		row.Committed++
		place := ends.place(o)
		if place.State == "aheadOfLog" {
			row.AheadOfLog++
		}
		if place.Lag != nil {
			sum += *place.Lag
			row.Lag = &sum
		}
	}
	for _, m := range g.members {
		if slices.ContainsFunc(m.Assignments, func(a TopicPartition) bool { return a.Topic == topic && len(a.Partitions) > 0 }) {
			row.Members++
		}
	}
	row.NeverCommitted = int32(len(t.Partitions)) - row.Committed
	return row, row.Committed > 0 || row.Members > 0
}
