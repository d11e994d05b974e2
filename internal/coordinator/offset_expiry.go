package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// Expiry of offsets (KIP-211, Kafka's OffsetMetadataManager.cleanupExpiredOffsets). An offset
// with an expiry time of its own ends then; any other ends offsets.retention.minutes after
//   - the group became empty, if it had members,
//   - the commit, if the group never had members,
//   - the commit, if the group is a stable consumer group and nobody reads the topic.
//
// The offsets of all other groups with members stay. An empty group goes with its last offset.

// never is later than every deadline.
var never = time.UnixMilli(1 << 50)

// expiresAt is when an offset of the group ends as things stand.
func (g *group) expiresAt(topic string, c committedOffset, retention time.Duration) time.Time {
	var base time.Time
	switch {
	case g.protocolType == nil:
		base = time.UnixMilli(c.committedAt)
	case g.state == stateEmpty:
		base = g.stateSince
	case g.state == stateStable && g.topics.known && !g.topics.names[topic]:
		base = time.UnixMilli(c.committedAt)
	default:
		return never
	}
	return c.end(base, retention)
}

// end is when an offset ends whose retention counts from base.
func (c committedOffset) end(base time.Time, retention time.Duration) time.Time {
	if c.expiresAt >= 0 {
		return time.UnixMilli(c.expiresAt)
	}
	return base.Add(retention)
}

// soonest is when something of the group can be removed, never if nothing as things stand.
func (s *groupShard) soonest(g *group) time.Time {
	if len(g.offsets) == 0 {
		if g.state == stateEmpty && len(g.pending) == 0 {
			return s.now
		}
		return never
	}
	at := never
	for topic, partitions := range g.offsets {
		for _, c := range partitions {
			if t := g.expiresAt(topic, c, s.config.OffsetsRetention); t.Before(at) {
				at = t
			}
		}
	}
	return at
}

// expireBy makes sure that a sweep happens soon after the time given, but not more often than
// offsets.retention.check.interval.ms. Without anything that can end there is no timer.
func (s *groupShard) expireBy(at time.Time) {
	if !at.Before(never) || s.loading {
		return
	}
	if floor := s.lastSweep.Add(s.config.RetentionCheckInterval); at.Before(floor) {
		at = floor
	}
	if s.expiry.index < 0 || at.Before(s.expiry.at) {
		s.deadlines.set(s.expiry, at)
	}
}

// sweep removes what has ended and sets the time of the next sweep.
func (s *groupShard) sweep() {
	s.lastSweep = s.now
	next := never
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		s.expire(g)
		if s.groups[id] == nil {
			continue
		}
		if at := s.soonest(g); at.Before(next) {
			next = at
		}
	}
	s.expireBy(next)
}

func (s *groupShard) expire(g *group) {
	var doomed []topicPartitions
	for _, t := range g.allOffsets() {
		t.partitions = slices.DeleteFunc(t.partitions, func(p int32) bool {
			return g.expiresAt(t.topic, g.offsets[t.topic][p], s.config.OffsetsRetention).After(s.now)
		})
		doomed = append(doomed, t)
	}
	code := s.dropOffsets(g, doomed)
	if code == protocol.CodeNone && len(g.offsets) == 0 && g.state == stateEmpty && len(g.pending) == 0 {
		code = s.bury(g)
	}
	if code != protocol.CodeNone {
		s.out.problems = append(s.out.problems, fmt.Errorf("expired offsets of group %q cannot be removed: %s", g.id, protocol.CodeName(code)))
	}
}

// bury writes the tombstone of a group without offsets and members, and forgets it.
func (s *groupShard) bury(g *group) int16 {
	rec, err := newRecord(&kafkarecord.GroupMetadataKey{Group: g.id}, nil, 0)
	if err != nil {
		return protocol.CodeUnknownServerError
	}
	if code := s.write(rec); code != protocol.CodeNone {
		return code
	}
	s.forget(g)
	return protocol.CodeNone
}
