package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind names a broken promise.
type Kind string

const (
	// LostWrite: acknowledged with acks=all, not in the log afterwards.
	LostWrite Kind = "lost-write"
	// Duplicate: one value at two offsets.
	Duplicate Kind = "duplicate"
	// Reorder: a key's numbers do not grow with the offset, or the key changed partition.
	Reorder Kind = "reorder"
	// InconsistentOffset: two observations of one offset differ.
	InconsistentOffset Kind = "inconsistent-offset"
	// LostRead: a consumer was given a record that is not in the log afterwards.
	LostRead Kind = "lost-read"
	// PollSkip: a reader was given offsets that are not consecutive.
	PollSkip Kind = "poll-skip"
	// Gap: the log itself skips offsets.
	Gap Kind = "gap"
	// Phantom: a value nobody sent, or a committed offset nobody committed.
	Phantom Kind = "phantom"
	// CommitWentBack: the broker knows a lower group offset than it acknowledged before.
	CommitWentBack Kind = "commit-went-back"
	// Unreadable: the broker cannot deliver a part of its own log.
	Unreadable Kind = "unreadable"
	// NameLost: an acknowledged creation or deletion of a topic was undone.
	NameLost Kind = "name-lost"
)

// Violation is one broken promise with the evidence in words.
type Violation struct {
	Kind   Kind
	Detail string
}

func (v Violation) String() string { return string(v.Kind) + ": " + v.Detail }

// Check judges the whole history. The final read must be complete. An empty result means that
// nothing contradicts the promises.
func (r *Recorder) Check() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := checker{Recorder: r, log: map[Place]Value{}, places: map[Value]Place{}}
	for _, detail := range c.damage {
		c.report(Unreadable, detail)
	}
	c.readFinal()
	c.checkAcks()
	c.checkPolls()
	c.checkCommits()
	c.names.check(c.report)
	slices.SortFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
	return c.found
}

// Kinds lists the distinct kinds among violations, sorted.
func Kinds(violations []Violation) []Kind {
	var kinds []Kind
	for _, v := range violations {
		kinds = append(kinds, v.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

type checker struct {
	*Recorder
	log    map[Place]Value // as the final read shows it
	places map[Value]Place
	found  []Violation
}

func (c *checker) report(kind Kind, detail string) {
	c.found = append(c.found, Violation{kind, detail})
}

func (c *checker) readFinal() {
	lastOfKey := map[string]observation{}
	partitions := make([]int32, 0, len(c.final))
	for partition := range c.final {
		partitions = append(partitions, partition)
	}
	slices.Sort(partitions)
	for _, partition := range partitions {
		want := c.starts[partition]
		for _, o := range c.final[partition] {
			if o.where.Offset != want {
				c.report(Gap, fmt.Sprintf("partition %d: offset %d follows %d", partition, o.where.Offset, want-1))
			}
			want = o.where.Offset + 1
			c.addFinal(o, lastOfKey)
		}
	}
}

func (c *checker) addFinal(o observation, lastOfKey map[string]observation) {
	if _, sent := c.sent[o.value]; !sent {
		c.report(Phantom, fmt.Sprintf("%s holds %s, which was never sent", o.where, o.value))
	}
	if old, seen := c.log[o.where]; seen && old != o.value {
		c.report(InconsistentOffset, fmt.Sprintf("%s read twice: %s, then %s", o.where, old, o.value))
	}
	c.log[o.where] = o.value
	if at, seen := c.places[o.value]; seen && at != o.where {
		c.report(Duplicate, fmt.Sprintf("%s lies at %s and at %s", o.value, at, o.where))
		return
	}
	c.places[o.value] = o.where
	last, seen := lastOfKey[o.value.Key]
	switch {
	case seen && last.where.Partition != o.where.Partition:
		c.report(Reorder, fmt.Sprintf("key %s lies in partitions %d and %d", o.value.Key, last.where.Partition, o.where.Partition))
	case seen && last.value.Number > o.value.Number:
		c.report(Reorder, fmt.Sprintf("%s at %s comes after %s at %s", o.value, o.where, last.value, last.where))
	}
	lastOfKey[o.value.Key] = o
}

func (c *checker) checkAcks() {
	for _, ack := range c.acked {
		got, there := c.log[ack.where]
		at, found := c.places[ack.value]
		switch {
		case there && got == ack.value:
		case !found:
			c.report(LostWrite, fmt.Sprintf("%s was acknowledged at %s", ack.value, ack.where))
		case there:
			c.report(InconsistentOffset, fmt.Sprintf("%s was acknowledged as %s and holds %s; the value lies at %s", ack.where, ack.value, got, at))
		default:
			c.report(InconsistentOffset, fmt.Sprintf("%s was acknowledged at %s and lies at %s", ack.value, ack.where, at))
		}
	}
}

func (c *checker) checkPolls() {
	type session struct {
		reader    string
		partition int32
	}
	next := map[session]int64{}
	for _, p := range c.polled {
		s := session{p.reader, p.where.Partition}
		if want, started := next[s]; started && p.where.Offset != want {
			c.report(PollSkip, fmt.Sprintf("reader %s in partition %d: offset %d follows %d", p.reader, p.where.Partition, p.where.Offset, want-1))
		}
		next[s] = p.where.Offset + 1
		got, there := c.log[p.where]
		switch {
		case !there:
			c.report(LostRead, fmt.Sprintf("%s was read at %s and is gone", p.value, p.where))
		case got != p.value:
			c.report(InconsistentOffset, fmt.Sprintf("%s was read as %s and holds %s", p.where, p.value, got))
		}
	}
}

func (c *checker) checkCommits() {
	for _, f := range c.fetched {
		var stored int64 = -1
		for _, s := range c.committed {
			if s.partition == f.partition && s.at < f.at {
				stored = max(stored, s.offset)
			}
		}
		if f.offset < stored {
			c.report(CommitWentBack, fmt.Sprintf("partition %d: %d was stored, %d was read back", f.partition, stored, f.offset))
		}
		if attempted, any := c.attempted[f.partition]; f.offset > attempted || (f.offset >= 0 && !any) {
			c.report(Phantom, fmt.Sprintf("partition %d: offset %d was read back, the highest ever sent is %d", f.partition, f.offset, attempted))
		}
	}
}
