package replica

import (
	"cmp"
	"slices"
)

// Status is what is known of one replica of this broker at a moment. Sizes and offsets are 0 when
// it is Offline.
type Status struct {
	Topic           string
	Partition       int32
	Leading         bool
	UnderReplicated bool // this broker leads it, and fewer replicas are in sync than it has
	Offline         bool // its log cannot be used
	Size            int64
	LogStartOffset  int64
	LogEndOffset    int64 // exclusive
}

// Statuses returns every replica of this broker, sorted by topic and partition.
func (m *Manager) Statuses() []Status {
	partitions := m.all()
	offline := m.logs.Offline() != nil
	out := make([]Status, 0, len(partitions))
	for _, p := range partitions {
		s := p.status()
		s.Offline = s.Offline || offline
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

func (p *Partition) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Topic: p.Topic, Partition: p.ID, Leading: p.leading, Offline: p.failed != nil}
	if p.leading && p.state != nil {
		s.UnderReplicated = len(p.state.ISR) < len(p.state.Replicas)
	}
	if p.log != nil {
		s.Size, s.LogStartOffset, s.LogEndOffset = p.log.Size(), p.log.StartOffset(), p.log.EndOffset()
	}
	return s
}
