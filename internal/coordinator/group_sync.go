package coordinator

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// SyncGroup, in Kafka's GroupMetadataManager.classicGroupSync: followers wait for the leader's
// assignment, which is stored before anybody gets it. A member without one gets an empty one.

func (s *groupShard) sync(req request, body *kmsg.SyncGroupRequest) {
	g := s.groups[body.Group]
	if g == nil {
		s.answer(req.ticket, syncError(protocol.CodeUnknownMemberID))
		return
	}
	m, code := g.checkSync(body)
	if code != protocol.CodeNone {
		s.answer(req.ticket, syncError(code))
		return
	}
	delete(g.unsynced, m.id)
	if len(g.unsynced) == 0 {
		s.deadlines.cancel(g.assignment)
	}
	if g.state == stateStable {
		s.extendSession(m)
		s.answerDurably(g, req.ticket, g.syncResponse(m))
		return
	}
	m.syncs = append(m.syncs, req.ticket)
	if m.id == g.leader {
		s.assign(g, body.GroupAssignment)
	}
}

// checkSync finds the member, or the code to answer.
func (g *group) checkSync(body *kmsg.SyncGroupRequest) (*member, int16) {
	m, code := g.checkMember(body.MemberID, body.InstanceID)
	switch {
	case code != protocol.CodeNone:
		return nil, code
	case body.Generation != g.generation:
		return nil, protocol.CodeIllegalGeneration
	case inconsistent(body.ProtocolType, g.protocolType) || inconsistent(body.Protocol, g.protocol):
		return nil, protocol.CodeInconsistentGroupProtocol
	case g.state == statePreparing:
		return nil, protocol.CodeRebalanceInProgress
	}
	return m, protocol.CodeNone
}

// assign stores the leader's assignment and hands it out.
func (s *groupShard) assign(g *group, assignments []kmsg.SyncGroupRequestGroupAssignment) {
	for _, m := range g.order {
		m.assignment = []byte{}
	}
	for _, a := range assignments {
		if m := g.members[a.MemberID]; m != nil {
			m.assignment = a.MemberAssignment
		}
	}
	if code := s.writeGroup(g); code != protocol.CodeNone {
		s.cancelSyncs(g, code)
		s.prepareRebalance(g)
		return
	}
	g.transition(stateStable, s.now)
	s.expireBy(s.soonest(g))
	for _, m := range g.order {
		if !m.awaitsSync() {
			continue
		}
		for _, ticket := range m.syncs {
			s.answerDurably(g, ticket, g.syncResponse(m))
		}
		m.syncs = nil
		s.extendSession(m)
	}
}

// cancelSyncs takes all assignments back and answers the members that wait for theirs.
func (s *groupShard) cancelSyncs(g *group, code int16) {
	for _, m := range g.order {
		m.assignment = nil
		if m.awaitsSync() {
			s.answerSyncs(m, syncError(code))
			s.extendSession(m)
		}
	}
}

func (s *groupShard) answerSyncs(m *member, resp *kmsg.SyncGroupResponse) {
	for _, ticket := range m.syncs {
		answer := *resp
		s.answer(ticket, &answer)
	}
	m.syncs = nil
}

func (g *group) syncResponse(m *member) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = g.protocolType, g.protocol, m.assignment
	if resp.MemberAssignment == nil {
		resp.MemberAssignment = []byte{}
	}
	return resp
}

func syncError(code int16) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode, resp.MemberAssignment = code, []byte{}
	return resp
}
