package metadata

import (
	"slices"

	"klamm/internal/kafkarecord"
)

// partitionChange computes one change of a partition: who leads, who is in the ISR, who stays
// eligible (Kafka's PartitionChangeBuilder). Fields that are not set keep the partition's values.
type partitionChange struct {
	topic   *Topic
	old     *Partition
	isr     []int32          // wanted ISR; nil keeps the old one
	unclean []int32          // replicas that lost their tail: they leave the ELR as well
	online  func(int32) bool // may this replica lead now
	minISR  int
	elr     bool // eligible leader replicas are enabled
	// allowUnclean lets any replica lead when none that is complete can.
	allowUnclean bool
	preferred    bool // try the first replica even when there is a valid leader
	recovery     int8 // wanted recovery state, unchangedState keeps it
	elrAfter     []int32
}

// build returns the record, nil when nothing changes.
func (c *partitionChange) build() *kafkarecord.PartitionChangeRecord {
	r := kafkarecord.NewPartitionChangeRecord()
	r.TopicID, r.PartitionID = c.topic.ID, c.old.ID
	if c.isr == nil {
		c.isr = c.old.ISR
	}
	c.updateELR()
	if c.recovery != unchangedState && (c.recovery == recovering) != c.old.Recovering {
		r.LeaderRecoveryState = c.recovery
	}
	c.electInto(r)
	// Without ELR the last member of an ISR stays in it, although it is offline.
	if (len(c.isr) > 0 || c.elr) && !slices.Equal(c.isr, c.old.ISR) {
		r.ISR = notNil(c.isr)
	}
	c.lastKnownLeader(r)
	if c.elr && !sameMembers(c.elrAfter, c.old.ELR) {
		r.EligibleLeaderReplicas = notNil(c.elrAfter)
	}
	if r.Leader == noLeaderChange && r.ISR == nil && r.EligibleLeaderReplicas == nil && r.LastKnownELR == nil && r.LeaderRecoveryState == unchangedState {
		return nil
	}
	return r
}

// updateELR: below min.insync.replicas, who leaves the ISR cleanly stays eligible to lead.
func (c *partitionChange) updateELR() {
	c.elrAfter = nil
	if !c.elr || len(c.isr) >= min(c.minISR, len(c.old.Replicas)) {
		return
	}
	for _, id := range slices.Concat(c.old.ELR, c.old.ISR) {
		if !slices.Contains(c.isr, id) && !slices.Contains(c.unclean, id) && !slices.Contains(c.elrAfter, id) {
			c.elrAfter = append(c.elrAfter, id)
		}
	}
}

// electInto elects a leader and writes it to the record when it is another one.
func (c *partitionChange) electInto(r *kafkarecord.PartitionChangeRecord) {
	leader, unclean := c.elect()
	if leader == c.old.Leader {
		return
	}
	r.Leader = leader
	switch {
	case leader == NoLeader:
	case unclean:
		c.isr, c.elrAfter = []int32{leader}, nil
		if !c.old.Recovering {
			r.LeaderRecoveryState = recovering
		}
	case !slices.Contains(c.isr, leader): // from the ELR
		c.isr = []int32{leader}
		c.elrAfter = slices.DeleteFunc(slices.Clone(c.elrAfter), func(id int32) bool { return id == leader })
	}
}

// elect picks the leader, and says whether it may lack acknowledged records.
func (c *partitionChange) elect() (leader int32, unclean bool) {
	replicas := c.old.Replicas
	if c.preferred && len(replicas) > 0 && c.valid(replicas[0]) {
		return replicas[0], false
	}
	if c.valid(c.old.Leader) {
		return c.old.Leader, false
	}
	if i := slices.IndexFunc(replicas, c.valid); i >= 0 {
		return replicas[i], false
	}
	if last := c.old.LastKnownELR; c.elr && len(c.isr) == 0 && len(c.elrAfter) == 0 && len(last) == 1 && c.online(last[0]) {
		return last[0], true
	}
	if c.allowUnclean {
		if i := slices.IndexFunc(replicas, c.online); i >= 0 {
			return replicas[i], true
		}
	}
	return NoLeader, false
}

// valid: in the ISR, or eligible when the ISR is empty, and online.
func (c *partitionChange) valid(id int32) bool {
	return (slices.Contains(c.isr, id) || c.elr && len(c.isr) == 0 && slices.Contains(c.elrAfter, id)) && c.online(id)
}

// lastKnownLeader remembers who led when a partition loses its last ISR member, and forgets it when
// the partition has a leader.
func (c *partitionChange) lastKnownLeader(r *kafkarecord.PartitionChangeRecord) {
	last := c.old.LastKnownELR
	switch {
	case !c.elr:
	case r.ISR != nil && len(r.ISR) == 0 && c.old.Leader != NoLeader && !slices.Equal(last, []int32{c.old.Leader}):
		r.LastKnownELR = []int32{c.old.Leader}
	case len(last) > 0 && (r.Leader >= 0 || c.old.Leader != NoLeader && r.Leader == noLeaderChange):
		r.LastKnownELR = []int32{}
	}
}

func notNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func sameMembers(a, b []int32) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// without returns ids without one; never nil.
func without(ids []int32, id int32) []int32 {
	out := make([]int32, 0, len(ids))
	for _, v := range ids {
		if v != id {
			out = append(out, v)
		}
	}
	return out
}
