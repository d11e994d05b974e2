package coordinator

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// leave removes members at once (Kafka's GroupMetadataManager.classicGroupLeave). Versions from 3
// name several; an administrator may name a static member by its instance id alone. Every member
// has its own error code; before version 3 it is the response's.
func (s *groupShard) leave(req request, body *kmsg.LeaveGroupRequest) {
	members := body.Members
	if body.Version < 3 {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = body.MemberID
		members = []kmsg.LeaveGroupRequestMember{one}
	}
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Members = []kmsg.LeaveGroupResponseMember{}
	g := s.groups[body.Group]
	removed := false
	for _, who := range members {
		entry := kmsg.NewLeaveGroupResponseMember()
		entry.MemberID, entry.InstanceID = who.MemberID, who.InstanceID
		entry.ErrorCode = s.leaveOne(g, who)
		removed = removed || entry.ErrorCode == protocol.CodeNone
		resp.Members = append(resp.Members, entry)
	}
	if removed {
		s.afterRemoval(g)
		s.forgetIfIdle(g)
	}
	if body.Version < 3 {
		resp.ErrorCode, resp.Members = resp.Members[0].ErrorCode, nil
	}
	s.answerDurably(g, req.ticket, resp)
}

func (s *groupShard) leaveOne(g *group, who kmsg.LeaveGroupRequestMember) int16 {
	if g == nil {
		return protocol.CodeUnknownMemberID
	}
	id := who.MemberID
	if id == "" && who.InstanceID != nil {
		id = g.static[*who.InstanceID]
	}
	if s.dropPending(g, id) {
		return protocol.CodeNone
	}
	m, code := g.checkMember(id, who.InstanceID)
	if code != protocol.CodeNone {
		return code
	}
	s.remove(g, m, protocol.CodeUnknownMemberID)
	return protocol.CodeNone
}
