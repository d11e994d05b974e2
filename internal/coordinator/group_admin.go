package coordinator

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// classicType is the type that ListGroups shows for the groups of this machine.
const classicType = "classic"

// listGroups asks for the groups of one shard. Filters are compared without case; nil lets
// everything through.
type listGroups struct{ states, types []string }

// describeGroup asks for one group with its members.
type describeGroup struct {
	id      string
	version int16
}

// deleteGroup removes a group without members, and its offsets.
type deleteGroup struct{ id string }

func (s *groupShard) list(req request, body listGroups) {
	groups := []kmsg.ListGroupsResponseGroup{}
	after := s.removed
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		if !passes(body.states, g.state.String()) || !passes(body.types, classicType) {
			continue
		}
		entry := kmsg.NewListGroupsResponseGroup()
		entry.Group, entry.GroupState, entry.GroupType = id, g.state.String(), classicType
		if g.protocolType != nil {
			entry.ProtocolType = *g.protocolType
		}
		groups = append(groups, entry)
		after = max(after, g.lastWrite)
	}
	s.out.replies = append(s.out.replies, reply{ticket: req.ticket, body: groups, after: after})
}

func passes(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}

// describe shows a group. Subscriptions are only shown for a stable group, in which they are those
// of the chosen protocol. From version 6 an unknown group is an error (KIP-1043).
func (s *groupShard) describe(req request, body describeGroup) {
	entry := kmsg.NewDescribeGroupsResponseGroup()
	entry.Group, entry.Members = body.id, []kmsg.DescribeGroupsResponseGroupMember{}
	g := s.groups[body.id]
	if g == nil {
		entry.State = "Dead"
		if body.version >= 6 {
			message := "Group " + body.id + " not found."
			entry.ErrorCode, entry.ErrorMessage = protocol.CodeGroupIDNotFound, &message
		}
		s.answerDurably(nil, req.ticket, entry)
		return
	}
	entry.State = g.state.String()
	if g.protocolType != nil {
		entry.ProtocolType = *g.protocolType
	}
	if g.state == stateStable && g.protocol != nil {
		entry.Protocol = *g.protocol
	}
	for _, m := range g.order {
		described := kmsg.NewDescribeGroupsResponseGroupMember()
		described.MemberID, described.InstanceID = m.id, m.instance
		described.ClientID, described.ClientHost = m.client.id, m.client.host
		if g.state == stateStable {
			described.ProtocolMetadata = m.metadata(entry.Protocol)
		}
		described.MemberAssignment = m.assignment
		entry.Members = append(entry.Members, described)
	}
	s.answerDurably(g, req.ticket, entry)
}

func (s *groupShard) delete(req request, body deleteGroup) {
	g := s.groups[body.id]
	entry := kmsg.NewDeleteGroupsResponseGroup()
	entry.Group, entry.ErrorCode = body.id, s.deleteGroup(g)
	s.answerDurably(g, req.ticket, entry)
}

func (s *groupShard) deleteGroup(g *group) int16 {
	if g == nil {
		return protocol.CodeGroupIDNotFound
	}
	if g.state != stateEmpty {
		return protocol.CodeNonEmptyGroup
	}
	if code := s.dropOffsets(g, g.allOffsets()); code != protocol.CodeNone {
		return code
	}
	return s.bury(g)
}
