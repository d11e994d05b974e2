package explorer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// planNotes are what planning learned and the end of a scan tells.
type planNotes struct {
	openTransactions int64 // offsets between last stable offset and high watermark
	pastEnd          int   // partitions whose asked offset is at or past the end
	noLater          int   // partitions without a record as late as asked
	chosen           int
}

func (n planNotes) emptyReason() string {
	switch {
	case n.chosen > 0 && n.pastEnd == n.chosen:
		return "pastEnd"
	case n.chosen > 0 && n.noLater == n.chosen:
		return "noLaterRecords"
	}
	return "empty"
}

// bounds are the offsets that a plan is made of.
type bounds struct {
	start, end, high, at map[tp]listed // end: last stable offset under read committed
}

// planAttempts is how often leaders and offsets are asked for while leaders are moving.
const planAttempts = 4

// plan finds leaders and offsets and makes a reader for each partition.
func (s *scan) plan(ctx context.Context) error {
	snap, parts, b, err := s.look(ctx)
	for attempt := 1; err == nil && attempt < planAttempts && b.unsettled(); attempt++ {
		pause(ctx, 150*time.Millisecond)
		snap, parts, b, err = s.look(ctx)
	}
	if err != nil {
		return err
	}
	for _, p := range snap.allProblems() {
		s.counts.problems = append(s.counts.problems, ScanProblem{Problem: p})
	}
	s.snap, s.notes.chosen = snap, len(parts)
	s.sent = map[int32]int64{}
	take := rowTaker(s.q)
	var total int64
	for _, p := range parts {
		r := &reader{
			partition: p.Partition, backward: s.q.Range == RangeNewest, leader: p.Leader, maxBytes: minPartitionBytes,
			chunk: s.chunk(len(parts)), scan: &s.counts, take: take,
		}
		s.readers = append(s.readers, r)
		s.span(r, b)
		total += max(0, r.high-r.low)
	}
	if !s.q.Follow {
		s.counts.Total = &total
	}
	return nil
}

// look asks once for what a plan is made of.
func (s *scan) look(ctx context.Context) (*snapshot, []kmsg.MetadataResponseTopicPartition, bounds, error) {
	snap, t, err := s.c.oneTopic(ctx, s.cl, s.q.Topic)
	if err != nil {
		return nil, nil, bounds{}, err
	}
	s.topicID = t.TopicID
	parts, err := s.chosen(t)
	if err != nil {
		return nil, nil, bounds{}, err
	}
	byLeader := map[int32][]tp{}
	for _, p := range parts {
		byLeader[p.Leader] = append(byLeader[p.Leader], tp{s.q.Topic, p.Partition})
	}
	return snap, parts, s.bounds(ctx, snap, byLeader), nil
}

// unsettled tells that a broker is not, or not yet, the leader that the metadata says.
func (b bounds) unsettled() bool {
	for _, answers := range []map[tp]listed{b.start, b.end, b.high, b.at} {
		for _, l := range answers {
			if l.problem != nil && l.problem.Retriable {
				return true
			}
		}
	}
	return false
}

// chosen picks the partitions asked for, or those of the cursor.
func (s *scan) chosen(t kmsg.MetadataResponseTopic) ([]kmsg.MetadataResponseTopicPartition, error) {
	want := s.q.Partitions
	if s.q.Cursor != nil {
		want = slices.Sorted(maps.Keys(s.q.Cursor.Partitions))
	}
	if want == nil {
		return t.Partitions, nil
	}
	var out []kmsg.MetadataResponseTopicPartition
	for _, id := range want {
		i := slices.IndexFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Partition == id })
		if i < 0 {
			return nil, &Problem{Code: "INVALID_REQUEST", Title: fmt.Sprintf("Topic %s has no partition %d.", s.q.Topic, id), Resource: "topic " + s.q.Topic, Help: fmt.Sprintf("It has %s, counted from 0.", count(len(t.Partitions), "partition"))}
		}
		out = append(out, t.Partitions[i])
	}
	slices.SortFunc(out, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition) - int(b.Partition) })
	return slices.CompactFunc(out, func(a, b kmsg.MetadataResponseTopicPartition) bool { return a.Partition == b.Partition }), nil
}

// chunk is how many rows a partition holds ready: its share of the limit and some more.
func (s *scan) chunk(partitions int) int {
	if s.q.Limit == 0 || s.q.Follow {
		return 10_000
	}
	return min(2000, s.q.Limit, 2*s.q.Limit/partitions+10)
}

// bounds asks for the offsets at once.
func (s *scan) bounds(ctx context.Context, snap *snapshot, byLeader map[int32][]tp) bounds {
	var b bounds
	done := make(chan struct{}, 4)
	ask := func(to *map[tp]listed, timestamp int64, committed bool) {
		go func() {
			*to = snap.listOffsets(ctx, byLeader, timestamp, committed)
			done <- struct{}{}
		}()
	}
	n := 3
	ask(&b.start, atStart, false)
	ask(&b.high, atEnd, false)
	ask(&b.end, atEnd, s.q.ReadCommitted)
	if s.q.Range == RangeTime && s.q.Timestamp >= 0 && s.q.Cursor == nil {
		n++
		ask(&b.at, s.q.Timestamp, false)
	}
	for range n {
		<-done
	}
	return b
}

// span sets what a reader reads. A partition without a leader fails at once, with its name.
func (s *scan) span(r *reader, b bounds) {
	at := tp{s.q.Topic, r.partition}
	start, ok1 := b.start[at]
	end, ok2 := b.end[at]
	if !ok1 || !ok2 || start.problem != nil || end.problem != nil {
		p := start.problem
		if p == nil {
			p = end.problem
		}
		if p == nil {
			p = s.snap.silence(r.leader)
		}
		if p == nil {
			p = &Problem{Code: "LEADER_NOT_AVAILABLE", Title: "The partition has no leader that answers.", Retriable: true}
		}
		q := *p
		q.Operation = "ListOffsets"
		if q.Resource == "" {
			q.Resource = partitionName(at)
		}
		r.fail(&q)
		return
	}
	r.low, r.high = start.offset, end.offset
	s.notes.openTransactions += max(0, b.high[at].offset-end.offset)
	if s.q.Cursor != nil {
		span := s.q.Cursor.Partitions[r.partition]
		r.low, r.high = max(r.low, span.Low), min(r.high, span.High)
	} else {
		s.from(r, end.offset, b.at[at])
	}
	r.low = min(r.low, max(r.high, 0))
	if s.q.Follow {
		if s.q.Range == RangeLive && s.q.Cursor == nil {
			r.low = end.offset
		}
		s.sent[r.partition] = r.low
		r.high = math.MaxInt64
	}
}

// from moves the start of a reader to the offset or time asked for.
func (s *scan) from(r *reader, end int64, at listed) {
	switch s.q.Range {
	case RangeOffset:
		if s.q.Offset >= end {
			s.notes.pastEnd++
		}
		r.low = max(r.low, s.q.Offset)
	case RangeTime:
		if s.q.Timestamp < 0 {
			return
		}
		if at.problem != nil || at.offset < 0 {
			s.notes.noLater++
			r.low = r.high
			return
		}
		r.low = max(r.low, at.offset)
	}
}
