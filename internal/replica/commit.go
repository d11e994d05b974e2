package replica

// startSync queues a sync unless one is queued or running already. mu is held.
func (p *Partition) startSync() {
	if p.syncing || !p.manager.syncBeforeCommit() {
		return
	}
	p.syncing = true
	p.manager.syncs.enqueue(p)
}

// syncOnce makes the log durable and moves the high watermark. It tells whether more was appended
// meanwhile, so that another sync is due.
func (p *Partition) syncOnce() (again bool) {
	p.mu.Lock()
	log, bytes, end := p.log, p.appendedBytes, p.log.EndOffset()
	p.mu.Unlock()

	synced, err := log.Sync()

	p.mu.Lock()
	if err != nil {
		p.syncing = false
		waiting := p.takeCommits()
		p.wakeFetches()
		p.mu.Unlock()
		p.manager.logger.Error("a sync failed: the data directory is offline until restart, an fsync is never retried", "partition", p.name(), "error", err)
		failAll(waiting, errStorage(p, err))
		return false
	}
	if synced >= end {
		p.advance(synced, bytes)
	}
	again = p.log.EndOffset() > synced && !p.deleted
	p.syncing = again
	done := p.takeCommitted()
	p.mu.Unlock()
	for _, w := range done {
		w.done(nil)
	}
	return again
}

// advance moves the high watermark, never back. bytes is appendedBytes as of offset. mu is held;
// commit waiters are the caller's to take.
func (p *Partition) advance(offset, bytes int64) {
	if offset <= p.highWatermark {
		return
	}
	p.highWatermark = offset
	p.log.SetHighWatermark(offset)
	grown := max(bytes-p.committedBytes, 0)
	p.committedBytes += grown
	for w := range p.fetches {
		w.committed(grown)
	}
}

// takeCommitted removes and returns the waiters that the high watermark has passed. mu is held.
func (p *Partition) takeCommitted() []commitWaiter {
	n := 0
	var done []commitWaiter
	for _, w := range p.commits {
		if w.offset < p.highWatermark {
			done = append(done, w)
			continue
		}
		p.commits[n] = w
		n++
	}
	clear(p.commits[n:])
	p.commits = p.commits[:n]
	return done
}

func (p *Partition) takeCommits() []commitWaiter {
	waiting := p.commits
	p.commits = nil
	return waiting
}

func failAll(waiting []commitWaiter, err error) {
	for _, w := range waiting {
		w.done(err)
	}
}

// WaitCommitted calls done once, with nil when the high watermark is above offset, with an error
// when this broker stops leading or the disk fails. It may call done before it returns.
func (p *Partition) WaitCommitted(offset int64, done func(error)) {
	p.mu.Lock()
	err := p.checkLeader(AnyEpoch)
	if err == nil && p.highWatermark <= offset {
		p.commits = append(p.commits, commitWaiter{offset: offset, done: done})
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	done(err)
}
