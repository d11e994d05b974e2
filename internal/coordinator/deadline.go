package coordinator

import (
	"container/heap"
	"time"
)

// deadlineKind says what a deadline is about.
type deadlineKind uint8

const (
	rebalanceDeadline deadlineKind = iota // members that have not joined again are left out
	initialDeadline                       // the first rebalance of an empty group ends or is extended
	syncDeadline                          // members that have not fetched their assignment are removed
	sessionDeadline                       // a silent member, or an id nobody joined with, is removed
	expiryDeadline                        // expired offsets are removed
)

// deadline is one pending timer of a machine.
type deadline struct {
	at     time.Time
	kind   deadlineKind
	group  *group
	member string
	order  int64
	index  int // in the queue, -1 when not queued
}

// deadlineQueue holds the pending deadlines, earliest first; those of the same time in the order
// they were set, so that a machine is deterministic.
type deadlineQueue struct {
	items []*deadline
	order int64
}

// set queues d or moves it.
func (q *deadlineQueue) set(d *deadline, at time.Time) {
	q.order++
	d.at, d.order = at, q.order
	if d.index >= 0 {
		heap.Fix(q, d.index)
		return
	}
	heap.Push(q, d)
}

// cancel removes d if it is queued. A nil d is fine.
func (q *deadlineQueue) cancel(d *deadline) {
	if d != nil && d.index >= 0 {
		heap.Remove(q, d.index)
	}
}

// due removes and returns the earliest deadline that is not after now, or nil.
func (q *deadlineQueue) due(now time.Time) *deadline {
	if len(q.items) == 0 || q.items[0].at.After(now) {
		return nil
	}
	return heap.Pop(q).(*deadline)
}

func (q *deadlineQueue) next() (time.Time, bool) {
	if len(q.items) == 0 {
		return time.Time{}, false
	}
	return q.items[0].at, true
}

// The methods of heap.Interface.

func (q *deadlineQueue) Len() int { return len(q.items) }

func (q *deadlineQueue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	if a.at.Equal(b.at) {
		return a.order < b.order
	}
	return a.at.Before(b.at)
}

func (q *deadlineQueue) Swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].index, q.items[j].index = i, j
}

func (q *deadlineQueue) Push(x any) {
	d := x.(*deadline)
	d.index = len(q.items)
	q.items = append(q.items, d)
}

func (q *deadlineQueue) Pop() any {
	last := len(q.items) - 1
	d := q.items[last]
	q.items[last] = nil
	q.items = q.items[:last]
	d.index = -1
	return d
}
