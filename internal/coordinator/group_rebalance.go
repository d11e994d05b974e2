package coordinator

import (
	"fmt"
	"time"

	"klamm/internal/protocol"
)

// rebalanceOrComplete starts a rebalance, or completes the running one if everybody is there.
func (s *groupShard) rebalanceOrComplete(g *group) {
	if g.state == statePreparing {
		s.completeIfJoined(g)
		return
	}
	s.prepareRebalance(g)
}

// completeIfJoined completes a rebalance that waits for nobody. The first rebalance of an empty
// group runs its delay to the end instead.
func (s *groupShard) completeIfJoined(g *group) {
	if g.state == statePreparing && g.previous != stateEmpty && g.allJoined() {
		s.completeJoin(g)
	}
}

// prepareRebalance asks all members to join again and sets the time by which they must.
func (s *groupShard) prepareRebalance(g *group) {
	if g.state == stateCompleting {
		s.cancelSyncs(g, protocol.CodeRebalanceInProgress)
	}
	s.deadlines.cancel(g.assignment)
	first := g.state == stateEmpty
	g.transition(statePreparing, s.now)
	switch {
	case first:
		g.newcomers = false
		g.delay = s.config.InitialRebalanceDelay
		g.delayLeft = max(g.rebalanceTimeout()-g.delay, 0)
		s.waitInitially(g)
	case g.allJoined():
		s.completeJoin(g)
	default:
		g.rebalance.kind = rebalanceDeadline
		s.deadlines.set(g.rebalance, s.now.Add(g.rebalanceTimeout()))
	}
}

// waitInitially gives the members of a new group time to arrive (group.initial.rebalance.delay.ms).
func (s *groupShard) waitInitially(g *group) {
	if g.delay <= 0 {
		s.completeJoin(g)
		return
	}
	g.rebalance.kind = initialDeadline
	s.deadlines.set(g.rebalance, s.now.Add(g.delay))
}

// endInitialDelay waits once more if members arrived meanwhile, up to the rebalance timeout.
func (s *groupShard) endInitialDelay(g *group) {
	if !g.newcomers || g.delayLeft <= 0 {
		s.completeJoin(g)
		return
	}
	g.newcomers = false
	delay := min(s.config.InitialRebalanceDelay, g.delayLeft)
	g.delayLeft = max(g.delayLeft-delay, 0)
	g.delay = delay
	s.waitInitially(g)
}

// minRebalanceWait keeps static members that asked for no rebalance timeout at all from having us
// look for them without a pause.
const minRebalanceWait = time.Second

// completeJoin ends the join phase: dynamic members that did not come are left out, the rest gets
// a new generation. It waits on if only static members are left and none of them came.
func (s *groupShard) completeJoin(g *group) {
	if g.state != statePreparing {
		return
	}
	s.deadlines.cancel(g.rebalance)
	for _, m := range append([]*member(nil), g.order...) {
		if !m.awaitsJoin() && m.instance == nil {
			s.remove(g, m, protocol.CodeUnknownMemberID)
		}
	}
	if len(g.members) > 0 && !g.electJoined() {
		g.rebalance.kind = rebalanceDeadline
		s.deadlines.set(g.rebalance, s.now.Add(max(g.rebalanceTimeout(), minRebalanceWait)))
		return
	}
	s.nextGeneration(g)
}

// electJoined makes sure that the leader is one of those who joined.
func (g *group) electJoined() bool {
	if leader := g.members[g.leader]; leader != nil && leader.awaitsJoin() {
		return true
	}
	for _, m := range g.order {
		if m.awaitsJoin() {
			g.leader = m.id
			return true
		}
	}
	return false
}

func (s *groupShard) nextGeneration(g *group) {
	g.generation++
	clear(g.unsynced)
	if len(g.members) == 0 {
		g.protocol = nil
		g.topics = g.subscriptions()
		g.transition(stateEmpty, s.now)
		if code := s.writeGroup(g); code != protocol.CodeNone {
			s.out.problems = append(s.out.problems, fmt.Errorf("group %q has become empty, but that cannot be stored: %s", g.id, protocol.CodeName(code)))
		}
		s.expireBy(s.soonest(g))
		return
	}
	chosen := g.vote()
	g.protocol = &chosen
	g.topics = g.subscriptions()
	g.transition(stateCompleting, s.now)
	for _, m := range g.order {
		s.answerJoinsDurably(g, m)
		m.isNew = false
		g.unsynced[m.id] = true
		s.extendSession(m)
	}
	s.deadlines.set(g.assignment, s.now.Add(g.rebalanceTimeout()))
}

func (s *groupShard) answerJoinsDurably(g *group, m *member) {
	if !m.awaitsJoin() {
		return
	}
	g.joining--
	for _, ticket := range m.joins {
		s.answerDurably(g, ticket, g.joinResponse(m))
	}
	m.joins = nil
}

// expireSyncs removes the members that joined the generation but never sent SyncGroup.
func (s *groupShard) expireSyncs(g *group) {
	if g.state != stateCompleting && g.state != stateStable || len(g.unsynced) == 0 {
		return
	}
	for _, m := range append([]*member(nil), g.order...) {
		if g.unsynced[m.id] {
			s.remove(g, m, protocol.CodeUnknownMemberID)
		}
	}
	s.prepareRebalance(g)
}

// remove takes a member out of the group and answers its waiting requests with code.
func (s *groupShard) remove(g *group, m *member, code int16) {
	s.answerJoins(g, m, joinError("", code))
	s.answerSyncs(m, syncError(code))
	s.deadlines.cancel(m.session)
	g.drop(m)
}

// dropPending forgets an id that was given out but not joined with.
func (s *groupShard) dropPending(g *group, id string) bool {
	d, ok := g.pending[id]
	if ok {
		s.deadlines.cancel(d)
		delete(g.pending, id)
	}
	return ok
}

func (s *groupShard) extendSession(m *member) {
	s.deadlines.set(m.session, s.now.Add(m.sessionTimeout))
}

// expireSession removes a member that was silent for its session timeout, or an id that nobody
// joined with. A member that waits for us cannot speak and is spared, unless it was never told
// its id.
func (s *groupShard) expireSession(g *group, id string) {
	if s.dropPending(g, id) {
		s.completeIfJoined(g)
		s.forgetIfIdle(g)
		return
	}
	m := g.members[id]
	if m == nil || !m.isNew && (m.awaitsJoin() || m.awaitsSync()) {
		return
	}
	s.remove(g, m, protocol.CodeUnknownMemberID)
	s.afterRemoval(g)
}

// afterRemoval goes on when members have left.
func (s *groupShard) afterRemoval(g *group) {
	switch g.state {
	case stateStable, stateCompleting:
		s.prepareRebalance(g)
	case statePreparing:
		s.completeIfJoined(g)
	}
}
