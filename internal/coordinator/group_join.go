package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// JoinGroup, in Kafka's GroupMetadataManager.classicGroupJoin:
//   - an id that the group does not know is refused; an empty one gets a new id. Versions from 4
//     tell a dynamic member its id first and admit it when it comes back with it (KIP-394).
//   - a member with a group.instance.id replaces its predecessor, which is fenced from then on; the
//     group does not rebalance unless its protocol changes (KIP-345, KIP-814).
//   - a member that changes nothing is told the current generation; the leader always rebalances.
//   - the group is refused to members that share no protocol with it or exceed group.max.size.
//
// Apache Kafka differs in three corners: it stores a group as soon as somebody asks to join, even if
// nobody gets in; of two waiting requests of one member it answers only the later one; and it
// answers a static member that comes with an id given to a dynamic one UNKNOWN_SERVER_ERROR.

// newMemberJoinTimeout ends the wait of a member that was never told its id: it cannot send
// heartbeats, and a client that gave up would stay in the group for ever.
const newMemberJoinTimeout = 5 * time.Minute

// requiresKnownID is the first version that asks dynamic members to join with an id given before.
const requiresKnownID = 4

// skipsAssignment is the first version with the SkipAssignment field.
const skipsAssignment = 9

// joinStep is one JoinGroup being handled.
type joinStep struct {
	req       request
	body      *kmsg.JoinGroupRequest
	protocols []memberProtocol
}

func (j *joinStep) sessionTimeout() time.Duration { return millis(j.body.SessionTimeoutMillis) }

// rebalanceTimeout stands for the session timeout in version 0, which has no such field.
func (j *joinStep) rebalanceTimeout() time.Duration {
	if j.body.Version < 1 {
		return j.sessionTimeout()
	}
	return millis(j.body.RebalanceTimeoutMillis)
}

func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// storable tells whether every name fits the int16 length of the record that will hold it.
func (j *joinStep) storable() bool {
	longest := max(len(j.body.ProtocolType), len(j.req.client.id), len(j.req.client.host))
	if j.body.InstanceID != nil {
		// The member id made of it is longer by a UUID.
		longest = max(longest, len(*j.body.InstanceID)+64)
	}
	for _, p := range j.protocols {
		longest = max(longest, len(p.name))
	}
	return longest <= maxName
}

func (s *groupShard) join(req request, body *kmsg.JoinGroupRequest) {
	j := &joinStep{req: req, body: body}
	for _, p := range body.Protocols {
		j.protocols = append(j.protocols, memberProtocol{name: p.Name, metadata: p.Metadata})
	}
	if timeout := j.sessionTimeout(); timeout < s.config.MinSessionTimeout || timeout > s.config.MaxSessionTimeout {
		s.refuseJoin(j, body.MemberID, protocol.CodeInvalidSessionTimeout)
		return
	}
	if !j.storable() {
		s.refuseJoin(j, body.MemberID, protocol.CodeInvalidRequest)
		return
	}
	g := s.groups[body.Group]
	if g == nil {
		if body.MemberID != "" {
			s.refuseJoin(j, body.MemberID, protocol.CodeUnknownMemberID)
			return
		}
		g = s.remember(body.Group)
		defer s.forgetIfIdle(g)
	}
	switch {
	case !s.hasRoom(g, body.MemberID):
		if m := g.members[body.MemberID]; m != nil {
			s.remove(g, m, protocol.CodeUnknownMemberID)
		}
		s.dropPending(g, body.MemberID)
		s.refuseJoin(j, "", protocol.CodeGroupMaxSizeReached)
	case body.MemberID == "":
		s.joinNew(g, j)
	default:
		s.joinKnown(g, j)
	}
}

// hasRoom tells whether one more member may wait (Kafka's acceptJoiningMember).
func (s *groupShard) hasRoom(g *group, id string) bool {
	switch g.state {
	case stateEmpty:
		return true
	case statePreparing:
		m := g.members[id]
		return m != nil && m.awaitsJoin() || g.joining < s.config.MaxSize
	}
	return g.members[id] != nil || len(g.members) < s.config.MaxSize
}

func (s *groupShard) joinNew(g *group, j *joinStep) {
	if !g.supports(j.body.ProtocolType, j.protocols) {
		s.refuseJoin(j, "", protocol.CodeInconsistentGroupProtocol)
		return
	}
	prefix := j.req.client.id
	if j.body.InstanceID != nil {
		prefix = *j.body.InstanceID
	}
	id, err := s.newMemberID(prefix)
	if err != nil {
		s.refuseJoin(j, "", protocol.CodeUnknownServerError)
		return
	}
	switch {
	case j.body.InstanceID != nil && g.static[*j.body.InstanceID] != "":
		s.replaceStatic(g, g.members[g.static[*j.body.InstanceID]], id, j)
	case j.body.InstanceID == nil && j.body.Version >= requiresKnownID:
		d := &deadline{kind: sessionDeadline, group: g, member: id, index: -1}
		g.pending[id] = d
		s.deadlines.set(d, s.now.Add(j.sessionTimeout()))
		s.refuseJoin(j, id, protocol.CodeMemberIDRequired)
	default:
		s.admit(g, id, j)
	}
}

// joinKnown handles a member that comes with an id.
func (s *groupShard) joinKnown(g *group, j *joinStep) {
	id := j.body.MemberID
	if !g.supports(j.body.ProtocolType, j.protocols) {
		s.refuseJoin(j, id, protocol.CodeInconsistentGroupProtocol)
		return
	}
	if g.pending[id] != nil && j.body.InstanceID == nil {
		s.dropPending(g, id)
		s.admit(g, id, j)
		return
	}
	m, code := g.checkMember(id, j.body.InstanceID)
	if code == protocol.CodeNone && g.state == stateEmpty {
		code = protocol.CodeUnknownMemberID
	}
	switch {
	case code != protocol.CodeNone:
		s.refuseJoin(j, id, code)
	case g.state == stateCompleting && m.sameProtocols(j.protocols):
		// Most likely the answer got lost.
		s.answerDurably(g, j.req.ticket, g.joinResponse(m))
	case g.state == stateStable && g.leader != id && m.sameProtocols(j.protocols):
		s.answerDurably(g, j.req.ticket, g.joinResponse(m))
	default:
		s.rejoin(g, m, j)
	}
}

// admit makes a new member and starts or completes a rebalance.
func (s *groupShard) admit(g *group, id string, j *joinStep) {
	m := &member{
		id: id, instance: j.body.InstanceID, client: j.req.client, protocols: j.protocols,
		rebalanceTimeout: j.rebalanceTimeout(), sessionTimeout: j.sessionTimeout(), isNew: true,
		session: &deadline{kind: sessionDeadline, group: g, member: id, index: -1},
	}
	if g.state == statePreparing && g.previous == stateEmpty {
		g.newcomers = true
	}
	g.add(m, j.body.ProtocolType)
	g.park(m, j.req.ticket)
	s.deadlines.set(m.session, s.now.Add(newMemberJoinTimeout))
	s.rebalanceOrComplete(g)
}

// rejoin lets a member wait for the next generation, with what it asks for now.
func (s *groupShard) rejoin(g *group, m *member, j *joinStep) {
	g.setProtocols(m, j.protocols)
	m.rebalanceTimeout, m.sessionTimeout = j.rebalanceTimeout(), j.sessionTimeout()
	g.park(m, j.req.ticket)
	s.rebalanceOrComplete(g)
}

// replaceStatic gives a restarted static member a new id.
func (s *groupShard) replaceStatic(g *group, m *member, id string, j *joinStep) {
	formerLeader := g.leader
	s.fence(g, m)
	delete(g.members, m.id)
	s.deadlines.cancel(m.session)
	if g.unsynced[m.id] {
		delete(g.unsynced, m.id)
		g.unsynced[id] = true
	}
	if g.leader == m.id {
		g.leader = id
	}
	m.id, m.session.member, m.isNew = id, id, false
	g.members[id] = m
	g.static[*m.instance] = id
	g.setProtocols(m, j.protocols)
	m.rebalanceTimeout, m.sessionTimeout = j.rebalanceTimeout(), j.sessionTimeout()
	s.extendSession(m)
	if g.state != stateStable || g.protocol == nil || g.vote() != *g.protocol {
		g.park(m, j.req.ticket)
		s.rebalanceOrComplete(g)
		return
	}
	if code := s.writeGroup(g); code != protocol.CodeNone {
		s.refuseJoin(j, "", code)
		s.prepareRebalance(g)
		return
	}
	resp := g.joinResponse(m)
	if j.body.Version < skipsAssignment {
		// With the old id as leader the member takes itself for a follower and does not assign.
		resp.LeaderID, resp.Members = formerLeader, []kmsg.JoinGroupResponseMember{}
	} else {
		resp.SkipAssignment = g.leader == id
	}
	s.answerDurably(g, j.req.ticket, resp)
}

// fence answers the waiting requests of a static member that is being replaced.
func (s *groupShard) fence(g *group, m *member) {
	s.answerJoins(g, m, joinError(m.id, protocol.CodeFencedInstanceID))
	s.answerSyncs(m, syncError(protocol.CodeFencedInstanceID))
}

func (s *groupShard) answerJoins(g *group, m *member, resp *kmsg.JoinGroupResponse) {
	if !m.awaitsJoin() {
		return
	}
	g.joining--
	for _, ticket := range m.joins {
		answer := *resp
		s.answer(ticket, &answer)
	}
	m.joins = nil
}

func (s *groupShard) refuseJoin(j *joinStep, memberID string, code int16) {
	s.answer(j.req.ticket, joinError(memberID, code))
}

func joinError(memberID string, code int16) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.Generation, resp.MemberID = code, -1, memberID
	resp.Members = []kmsg.JoinGroupResponseMember{}
	return resp
}

// joinResponse tells a member the current generation; only the leader sees the others.
func (g *group) joinResponse(m *member) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.ProtocolType, resp.Protocol = g.generation, g.protocolType, g.protocol
	resp.LeaderID, resp.MemberID = g.leader, m.id
	resp.Members = []kmsg.JoinGroupResponseMember{}
	if g.leader != m.id {
		return resp
	}
	for _, other := range g.order {
		entry := kmsg.NewJoinGroupResponseMember()
		entry.MemberID, entry.InstanceID = other.id, other.instance
		if g.protocol != nil {
			entry.ProtocolMetadata = other.metadata(*g.protocol)
		}
		resp.Members = append(resp.Members, entry)
	}
	return resp
}
