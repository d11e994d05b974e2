package replica

import "sync"

// groupSync runs the syncs of all partitions: per partition one at a time, the next starting when
// it ends, so that everything appended meanwhile shares it; across partitions at most limit at
// once. There is no timer: without appends nothing runs.
type groupSync struct {
	limit int

	mu      sync.Mutex
	queue   []*Partition
	workers int
	idle    sync.Cond // on mu: no worker runs
}

func newGroupSync(limit int) *groupSync {
	g := &groupSync{limit: limit}
	g.idle.L = &g.mu
	return g
}

// enqueue asks for a sync of p. The caller makes sure that p is queued or running only once.
func (g *groupSync) enqueue(p *Partition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, p)
	if g.workers < g.limit {
		g.workers++
		go g.work()
	}
}

func (g *groupSync) work() {
	for {
		p := g.take()
		if p == nil {
			return
		}
		if p.syncOnce() {
			g.mu.Lock()
			g.queue = append(g.queue, p)
			g.mu.Unlock()
		}
	}
}

// take returns the next partition; without one the calling worker ends.
func (g *groupSync) take() *Partition {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.workers--
		if g.workers == 0 {
			g.queue = nil
			g.idle.Broadcast()
		}
		return nil
	}
	p := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	return p
}

// wait returns when no sync runs and none is asked for.
func (g *groupSync) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.workers > 0 {
		g.idle.Wait()
	}
}
