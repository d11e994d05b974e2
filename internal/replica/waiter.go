package replica

import (
	"context"
	"sync/atomic"
	"time"
)

// commitWaiter waits until the high watermark is above an offset.
type commitWaiter struct {
	offset int64
	done   func(error)
}

// fetchWaiter is one long poll. It is registered with every partition the poll reads.
type fetchWaiter struct {
	need  int64         // bytes that end the poll
	bytes atomic.Int64  // readable so far
	ready chan struct{} // cap 1: enough bytes, or something else to look at
}

func newFetchWaiter(need int64) *fetchWaiter {
	return &fetchWaiter{need: need, ready: make(chan struct{}, 1)}
}

// committed adds bytes that a poll can read now.
func (w *fetchWaiter) committed(n int64) {
	if w.bytes.Add(n) >= w.need {
		w.wake()
	}
}

// wake ends the poll, for enough bytes or a change of the partition.
func (w *fetchWaiter) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// wait returns when the poll is over, for whatever reason.
func (w *fetchWaiter) wait(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-w.ready:
	case <-t.C:
	case <-ctx.Done():
	}
}

// watch registers a long poll that has seen the partition as of s; what was committed since then
// counts at once.
func (p *Partition) watch(w *fetchWaiter, s Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leading || p.leaderEpoch != s.LeaderEpoch || p.deleted || p.failed != nil {
		w.wake()
		return
	}
	if p.fetches == nil {
		p.fetches = map[*fetchWaiter]struct{}{}
	}
	p.fetches[w] = struct{}{}
	if p.highWatermark != s.HighWatermark {
		w.committed(p.committedBytes - s.committedBytes)
	}
}

func (p *Partition) unwatch(w *fetchWaiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.fetches, w)
}

func (p *Partition) wakeFetches() {
	for w := range p.fetches {
		w.wake()
	}
}
