package explorer

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeGroups adds state, members and protocol to groups, in bulk per coordinator and type.
func (s *snapshot) describeGroups(ctx context.Context, groups []*foundGroup) {
	var wg sync.WaitGroup
	wg.Go(func() { perCoordinator(ofType(groups, "classic"), s.chunk(ctx, s.describeClassic)) })
	wg.Go(func() { perCoordinator(ofType(groups, "consumer"), s.chunk(ctx, s.describeConsumer)) })
	wg.Go(func() { perCoordinator(ofType(groups, "share"), s.chunk(ctx, s.describeShare)) })
	wg.Wait()
}

type describer func(ctx context.Context, coordinator int32, byName map[string]*foundGroup)

func (s *snapshot) chunk(ctx context.Context, d describer) func(int32, []*foundGroup) {
	return func(coordinator int32, chunk []*foundGroup) {
		byName := make(map[string]*foundGroup, len(chunk))
		for _, g := range chunk {
			byName[g.Group] = g
		}
		d(ctx, coordinator, byName)
	}
}

func names(byName map[string]*foundGroup) []string {
	out := make([]string, 0, len(byName))
	for name := range byName {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (s *snapshot) describeClassic(ctx context.Context, coordinator int32, byName map[string]*foundGroup) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names(byName)
	resp, p := s.ask(ctx, coordinator, "DescribeGroups", req)
	if p != nil {
		s.problem(p)
		return
	}
	for _, r := range resp.(*kmsg.DescribeGroupsResponse).Groups {
		g := byName[r.Group]
		if g == nil {
			continue
		}
		if g.Problem = codeProblem(r.ErrorCode, r.ErrorMessage, "DescribeGroups", "group "+r.Group); g.Problem != nil {
			continue
		}
		g.State, g.ProtocolType, g.Protocol = r.State, r.ProtocolType, r.Protocol
		members := make([]GroupMember, 0, len(r.Members))
		for _, m := range r.Members {
			member := GroupMember{ID: m.MemberID, InstanceID: deref(m.InstanceID), ClientID: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/"), Assignments: []TopicPartition{}}
			if r.ProtocolType == "consumer" {
				member.Assignments = s.classicAssignment(r.Group, m.MemberAssignment)
			}
			members = append(members, member)
		}
		g.setMembers(members)
	}
}

func (g *foundGroup) setMembers(members []GroupMember) {
	g.members = members
	n := int32(len(members))
	g.Members = &n
}

func (s *snapshot) classicAssignment(group string, raw []byte) []TopicPartition {
	out := []TopicPartition{}
	if len(raw) == 0 { // while the group rebalances
		return out
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(raw); err != nil {
		s.problem(&Problem{Code: "UNREADABLE_ASSIGNMENT", Title: "A member's assignment is not in the consumer protocol's form.", Detail: err.Error(), Operation: "DescribeGroups", Resource: "group " + group})
		return out
	}
	for _, t := range a.Topics {
		out = append(out, TopicPartition{Topic: t.Topic, Partitions: list(t.Partitions)})
	}
	return out
}

func (s *snapshot) describeConsumer(ctx context.Context, coordinator int32, byName map[string]*foundGroup) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names(byName)
	resp, p := s.ask(ctx, coordinator, "ConsumerGroupDescribe", req)
	if p != nil {
		s.problem(p)
		return
	}
	for _, r := range resp.(*kmsg.ConsumerGroupDescribeResponse).Groups {
		g := byName[r.Group]
		if g == nil {
			continue
		}
		if g.Problem = codeProblem(r.ErrorCode, r.ErrorMessage, "ConsumerGroupDescribe", "group "+r.Group); g.Problem != nil {
			continue
		}
		g.State, g.Protocol, g.ProtocolType = r.State, r.AssignorName, "consumer"
		members := make([]GroupMember, 0, len(r.Members))
		for _, m := range r.Members {
			member := GroupMember{ID: m.MemberID, InstanceID: deref(m.InstanceID), Rack: deref(m.RackID), ClientID: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/"), Assignments: []TopicPartition{}}
			for _, t := range m.Assignment.TopicPartitions {
				member.Assignments = append(member.Assignments, TopicPartition{Topic: t.Topic, Partitions: list(t.Partitions)})
			}
			members = append(members, member)
		}
		g.setMembers(members)
	}
}

func (s *snapshot) describeShare(ctx context.Context, coordinator int32, byName map[string]*foundGroup) {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = names(byName)
	resp, p := s.ask(ctx, coordinator, "ShareGroupDescribe", req)
	if p != nil {
		s.problem(p)
		return
	}
	for _, r := range resp.(*kmsg.ShareGroupDescribeResponse).Groups {
		g := byName[r.GroupID]
		if g == nil {
			continue
		}
		if g.Problem = codeProblem(r.ErrorCode, r.ErrorMessage, "ShareGroupDescribe", "group "+r.GroupID); g.Problem != nil {
			continue
		}
		g.State, g.Protocol, g.ProtocolType = r.GroupState, r.Assignor, "share"
		members := make([]GroupMember, 0, len(r.Members))
		for _, m := range r.Members {
			member := GroupMember{ID: m.MemberID, Rack: deref(m.RackID), ClientID: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/"), Assignments: []TopicPartition{}}
			for _, t := range m.Assignment.TopicPartitions {
				member.Assignments = append(member.Assignments, TopicPartition{Topic: t.Topic, Partitions: list(t.Partitions)})
			}
			members = append(members, member)
		}
		g.setMembers(members)
	}
}
