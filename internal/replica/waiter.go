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
