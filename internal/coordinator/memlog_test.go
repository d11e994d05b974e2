package coordinator

import (
	"context"
	"errors"
	"slices"
	"sync"

	"klamm/internal/record"
)

// memLog is a PartitionLog in memory whose high watermark the test moves.
type memLog struct {
	mu         sync.Mutex
	partitions map[int32]*memPartition
	manual     bool  // the test calls commit; else appended is committed
	appendErr  error // the next appends fail
	readErr    error
	keepFailed bool // a failing append leaves its batch in the log all the same
	appends    int
	reads      int
}

type memPartition struct {
	batches []record.Batch
	end     int64
	high    int64
	waiters []memWaiter
}

type memWaiter struct {
	offset int64
	done   func(error)
}

func newMemLog() *memLog { return &memLog{partitions: map[int32]*memPartition{}} }

func (l *memLog) partition(p int32) *memPartition {
	if l.partitions[p] == nil {
		l.partitions[p] = &memPartition{}
	}
	return l.partitions[p]
}

func (l *memLog) Append(_ context.Context, _ string, partition int32, batch record.Batch) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends++
	p := l.partition(partition)
	if l.appendErr == nil || l.keepFailed {
		batch = slices.Clone(batch)
		batch.SetBaseOffset(p.end)
		p.batches = append(p.batches, batch)
		p.end = batch.LastOffset() + 1
	}
	if !l.manual {
		p.high = p.end
	}
	if l.appendErr != nil {
		return 0, l.appendErr
	}
	return p.end - 1, nil
}

func (l *memLog) WaitCommitted(_ string, partition int32, offset int64, done func(error)) {
	l.mu.Lock()
	p := l.partition(partition)
	if p.high <= offset {
		p.waiters = append(p.waiters, memWaiter{offset: offset, done: done})
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	done(nil)
}

func (l *memLog) Read(_ string, partition int32, from int64, maxBytes int) ([]byte, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.readErr != nil {
		return nil, 0, l.readErr
	}
	var out []byte
	next := from
	for _, b := range l.partition(partition).batches {
		if b.LastOffset() < from || len(out) > 0 && len(out)+len(b) > maxBytes {
			continue
		}
		out = append(out, b...)
		next = b.LastOffset() + 1
	}
	return out, next, nil
}

// commit moves the high watermark of every partition to its end.
func (l *memLog) commit() {
	l.mu.Lock()
	var ready []memWaiter
	for _, p := range l.partitions {
		p.high = p.end
		ready = append(ready, p.waiters...)
		p.waiters = nil
	}
	l.mu.Unlock()
	for _, w := range ready {
		w.done(nil)
	}
}

// crash loses what is not committed and fails everybody who waits for it.
func (l *memLog) crash() {
	l.mu.Lock()
	var lost []memWaiter
	for _, p := range l.partitions {
		for len(p.batches) > 0 && p.batches[len(p.batches)-1].BaseOffset() >= p.high {
			p.batches = p.batches[:len(p.batches)-1]
		}
		p.end = p.high
		lost = append(lost, p.waiters...)
		p.waiters = nil
	}
	l.mu.Unlock()
	for _, w := range lost {
		w.done(errors.New("the log failed"))
	}
}

func (l *memLog) failAppends(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendErr = err
}

func (l *memLog) failReads(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readErr = err
}

func (l *memLog) counts() (appends, reads int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appends, l.reads
}
