package replica

import "time"

// syncBeforeCommit says whether a record of this partition must be durable before it is committed:
// under flush.policy=auto, and where every single record is to be synced. mu is held.
func (p *Partition) syncBeforeCommit() bool {
	return p.manager.settings.Load().syncBeforeCommit || p.config.FlushMessages <= 1
}

// appended moves what an append moves. mu is held.
func (p *Partition) appended() {
	p.manager.maintenance.appended()
	before := p.syncBeforeCommit()
	if !before || highWatermarkAhead {
		p.advance(p.log.EndOffset(), p.appendedBytes)
	}
	if before || p.log.EndOffset()-p.log.SyncedOffset() >= p.config.FlushMessages {
		p.startSync()
	} else {
		p.syncInTime()
	}
}

// syncInTime lets a sync follow within flush.ms of the first record that is not durable. mu is held.
func (p *Partition) syncInTime() {
	if p.config.FlushMs > maxFlushMs || p.flushTimer {
		return
	}
	p.flushTimer = true
	time.AfterFunc(time.Duration(p.config.FlushMs)*time.Millisecond, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flushTimer = false
		if p.leading {
			p.startSync()
		}
	})
}

// maxFlushMs bounds flush.ms; more is as good as never (Kafka's default is the largest number).
const maxFlushMs = 365 * 24 * 3600 * 1000

// startSync queues a sync unless one is queued or running already. mu is held.
func (p *Partition) startSync() {
	if p.syncing {
		return
	}
	p.syncing = true
	p.manager.syncs.enqueue(p)
}

// syncOnce makes the log durable and moves the high watermark. It tells whether more was appended
// meanwhile, so that another sync is due.
func (p *Partition) syncOnce() (again bool) {
	p.mu.Lock()
	log, bytes := p.log, p.appendedBytes
	p.mu.Unlock()

	synced, err := log.Sync()
	if err != nil {
		p.syncFailed(err)
		return false
	}

	p.mu.Lock()
	if synced >= p.log.EndOffset() {
		bytes = p.appendedBytes // what came between the two is in, too
	}
	p.advance(synced, bytes)
	again = p.syncBeforeCommit() && p.log.EndOffset() > synced && !p.deleted
	p.syncing = again
	done := p.takeCommitted()
	p.mu.Unlock()
	for _, w := range done {
		w.done(nil)
	}
	return again
}

// syncFailed tells everybody who waits. The log manager has taken the directory offline, unless the
// log is gone because its topic was deleted.
func (p *Partition) syncFailed(cause error) {
	p.mu.Lock()
	p.syncing = false
	refusal := errStorage(p, cause)
	if p.deleted {
		refusal = errUnknownPartition(p.Topic, p.ID)
	} else {
		p.manager.logger.Error("a sync failed: the data directory is offline until restart, an fsync is never retried", "partition", p.name(), "error", cause)
	}
	waiting := p.takeCommits()
	p.wakeFetches()
	p.mu.Unlock()
	failAll(waiting, refusal)
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
