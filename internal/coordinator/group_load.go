package coordinator

import (
	"maps"
	"slices"
	"time"

	"klamm/internal/kafkarecord"
)

// loaded derives the volatile state from what the log said: a group with members is stable, and
// every member has a full session to show up in.
func (s *groupShard) loaded(now time.Time) result {
	s.begin(now)
	s.loading = false
	s.lastSweep = now
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		g.stateSince = now
		if g.meta != nil {
			s.restore(g)
		}
		s.expireBy(s.soonest(g))
		if len(g.members) > s.config.MaxSize {
			// Loaded over capacity, the limit was lowered: let the members commit and join again.
			s.prepareRebalance(g)
		}
	}
	return s.finish()
}

func (s *groupShard) restore(g *group) {
	meta := g.meta
	g.generation, g.protocol = meta.Generation, meta.Protocol
	if meta.ProtocolType != "" {
		g.protocolType = &meta.ProtocolType
	}
	if meta.CurrentStateTimestamp >= 0 {
		g.stateSince = time.UnixMilli(meta.CurrentStateTimestamp)
	}
	for _, v := range meta.Members {
		m := s.restoreMember(g, v)
		g.add(m, meta.ProtocolType)
		s.extendSession(m)
	}
	g.state, g.previous = stateEmpty, stateEmpty
	if len(g.members) > 0 {
		g.state = stateStable
	}
	if meta.Leader != nil && g.members[*meta.Leader] != nil {
		g.leader = *meta.Leader
	}
	g.topics = g.subscriptions()
}

func (s *groupShard) restoreMember(g *group, v kafkarecord.GroupMetadataValueMemberMetadata) *member {
	m := &member{
		id: v.MemberID, instance: v.GroupInstanceID, client: client{id: v.ClientID, host: v.ClientHost},
		sessionTimeout: millis(v.SessionTimeout), rebalanceTimeout: millis(v.RebalanceTimeout),
		assignment: v.Assignment,
		session:    &deadline{kind: sessionDeadline, group: g, member: v.MemberID, index: -1},
	}
	if v.RebalanceTimeout < 0 {
		m.rebalanceTimeout = m.sessionTimeout
	}
	if g.protocol != nil {
		m.protocols = []memberProtocol{{name: *g.protocol, metadata: v.Subscription}}
	}
	return m
}
