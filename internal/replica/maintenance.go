package replica

import (
	"sync"
	"time"

	"klamm/internal/storage"
)

// maintenance deletes what retention lets go. It has no ticker: an append
// arms one timer, and when nothing was appended since the last pass the timer is set to the next
// moment at which retention can delete something, if there is one.
type maintenance struct {
	manager *Manager

	mu      sync.Mutex
	retain  *time.Timer // nil: not armed
	closed  bool
	running sync.WaitGroup
	appends bool // since the last retention pass
}

func newMaintenance(m *Manager) *maintenance { return &maintenance{manager: m} }

// appended makes sure that a retention pass comes.
func (t *maintenance) appended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.appends = true
	if t.retain == nil {
		t.retain = time.AfterFunc(t.interval(), t.deleteExpired)
	}
}

func (t *maintenance) interval() time.Duration {
	return time.Duration(t.manager.Config().Long("log.retention.check.interval.ms")) * time.Millisecond
}

// begin reports whether a timer's work may run; end must follow.
func (t *maintenance) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Add(1)
	return true
}

func (t *maintenance) deleteExpired() {
	if !t.begin() {
		return
	}
	defer t.running.Done()
	t.mu.Lock()
	t.appends = false
	t.mu.Unlock()
	next, has := t.manager.deleteExpired(t.manager.now())

	t.mu.Lock()
	defer t.mu.Unlock()
	t.retain = nil
	if t.closed {
		return
	}
	wait := t.interval()
	if !t.appends {
		if !has {
			return
		}
		wait = max(wait, next.Sub(t.manager.now()))
	}
	t.retain = time.AfterFunc(wait, t.deleteExpired)
}

// close stops the timers and waits for what runs.
func (t *maintenance) close() {
	t.mu.Lock()
	t.closed = true
	if t.retain != nil {
		t.retain.Stop()
	}
	t.mu.Unlock()
	t.running.Wait()
}

// deleteExpired applies retention to every log and tells when more can be deleted without a
// further append; ok false means never.
func (m *Manager) deleteExpired(now time.Time) (next time.Time, ok bool) {
	for _, p := range m.all() {
		log, bound := p.retained()
		if log == nil {
			continue
		}
		n, err := log.DeleteOldSegments(now, bound)
		if err != nil {
			m.logger.Error("old segments could not be deleted", "partition", p.name(), "error", err)
		}
		if n > 0 {
			m.logger.Info("old segments deleted", "partition", p.name(), "segments", n, "log_start_offset", log.StartOffset())
		}
		if at, has := log.RetentionDeadline(); has && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// retained returns the log to clean and the offset that retention must not pass.
func (p *Partition) retained() (log *storage.Log, highWatermark int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil || p.deleted || !p.leading {
		return nil, 0
	}
	return p.log, p.highWatermark
}
