package explorer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// fetchMaxBytes bounds one answer; fetchPartitions the partitions of one request.
	fetchMaxBytes   = 16 << 20
	fetchPartitions = 256
	// Waits of a fetch at the end of the log: short while rows are expected, longer when following.
	fetchWait  = 250 * time.Millisecond
	followWait = 500 * time.Millisecond
)

// fetchPool runs at most one fetch a broker, and looks for lost leaders. Only its goroutines run
// beside the scan; everything else belongs to the scan's goroutine.
type fetchPool struct {
	results chan fetched
	found   chan located
	busy    map[int32]bool
	looking bool
	turn    int
	running sync.WaitGroup
}

// fetched is the answer to one fetch.
type fetched struct {
	broker  int32
	readers []*reader
	resp    *kmsg.FetchResponse
	err     error
}

// located is a new look at the partitions' leaders.
type located struct {
	snap    *snapshot
	topicID [16]byte
	leaders map[int32]int32
	problem *Problem
}

func (f *fetchPool) start(s *scan) {
	f.results, f.found, f.busy = make(chan fetched), make(chan located), map[int32]bool{}
}

// Wait waits for the goroutines; cancel their context first.
func (f *fetchPool) Wait() { f.running.Wait() }

// dispatch sends a fetch to each broker that has none under way and something to give.
func (f *fetchPool) dispatch(ctx context.Context, s *scan) {
	if s.q.Follow && len(s.out) >= maxLiveBacklog && s.q.Lossless {
		return
	}
	now := time.Now().UnixMilli()
	lost := false
	by := map[int32][]*reader{}
	f.turn++
	for i := range s.readers {
		r := s.readers[(i+f.turn)%len(s.readers)] // in turn: a broker serves the first partitions best
		r.refill(s.decompressor)
		if !r.wants() || now < r.retryAt {
			continue
		}
		if r.leader < 0 {
			lost = true
			continue
		}
		if !f.busy[r.leader] {
			by[r.leader] = append(by[r.leader], r)
		}
	}
	for broker, readers := range by {
		f.fetch(ctx, s, broker, readers)
	}
	if lost && !f.looking {
		f.look(ctx, s)
	}
}

func (f *fetchPool) fetch(ctx context.Context, s *scan, broker int32, readers []*reader) {
	// A starved partition goes first: there, one batch comes whatever its size.
	for i, r := range readers {
		if r.starved {
			readers[0], readers[i] = readers[i], readers[0]
			break
		}
	}
	readers = readers[:min(len(readers), fetchPartitions)]
	req := s.fetchRequest(readers)
	f.busy[broker] = true
	f.running.Go(func() {
		out := fetched{broker: broker, readers: readers}
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		resp, err := s.cl.Broker(int(broker)).Request(limited, req)
		if out.err = err; err == nil {
			out.resp = resp.(*kmsg.FetchResponse)
		}
		select {
		case f.results <- out:
		case <-ctx.Done():
		}
	})
}

func (s *scan) fetchRequest(readers []*reader) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchWait.Milliseconds()), 1, fetchMaxBytes
	if s.q.Follow {
		req.MaxWaitMillis = int32(followWait.Milliseconds())
	}
	if s.q.ReadCommitted {
		req.IsolationLevel = 1
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = s.q.Topic, s.topicID // the name up to version 12, the id from 13
	for _, r := range readers {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LogStartOffset = r.partition, r.pos, r.maxBytes, -1, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// take hands an answer to the readers that asked.
func (f *fetchPool) take(s *scan, got fetched) {
	delete(f.busy, got.broker)
	if got.err != nil {
		p := s.c.connectProblem(got.err, "Fetch")
		q := *p
		q.Resource = s.snap.brokerName(got.broker)
		for _, r := range got.readers {
			s.lost(r, &q)
		}
		return
	}
	if p := codeProblem(got.resp.ErrorCode, nil, "Fetch", "topic "+s.q.Topic); p != nil {
		for _, r := range got.readers {
			s.lost(r, p)
		}
		return
	}
	parts := map[int32]*kmsg.FetchResponseTopicPartition{}
	for i := range got.resp.Topics {
		for j := range got.resp.Topics[i].Partitions {
			p := &got.resp.Topics[i].Partitions[j]
			parts[p.Partition] = p
		}
	}
	for i, r := range got.readers {
		p, ok := parts[r.partition]
		if !ok {
			s.lost(r, emptyAnswer("Fetch", partitionName(tp{s.q.Topic, r.partition})))
			continue
		}
		s.partition(r, p, i == 0)
	}
}

// partition takes one partition's answer or error.
func (s *scan) partition(r *reader, p *kmsg.FetchResponseTopicPartition, first bool) {
	problem := codeProblem(p.ErrorCode, nil, "Fetch", partitionName(tp{s.q.Topic, r.partition}))
	switch {
	case problem == nil:
		r.answer(s.decompressor, p, first)
	case problem.Code == "OFFSET_OUT_OF_RANGE":
		s.outOfRange(r, p.LogStartOffset, problem)
	case problem.Retriable:
		s.lost(r, problem)
	default:
		r.fail(problem)
	}
}

// outOfRange goes on at the log start when retention overtook the scan; a log that became shorter is
// a failure: what was shown may be gone.
func (s *scan) outOfRange(r *reader, start int64, p *Problem) {
	if r.moveStart(start) {
		return
	}
	q := *p
	q.Title = fmt.Sprintf("The log no longer reaches offset %d: it was cut back, or the topic was made anew.", r.pos)
	r.fail(&q)
}

// lost notes a failure that may pass: the leader is looked for again after a pause, a bounded number
// of times.
func (s *scan) lost(r *reader, p *Problem) {
	now := time.Now().UnixMilli()
	if r.attempts++; r.attempts == 1 {
		r.lostAt = now
	}
	if s.givesUp(r, now) {
		q := *p
		if q.Resource == "" {
			q.Resource = partitionName(tp{s.q.Topic, r.partition})
		}
		r.fail(&q)
		return
	}
	if r.attempts >= 2 && !r.announced {
		r.announced = true
		s.counts.problems = append(s.counts.problems, ScanProblem{Partition: &r.partition, Problem: *p, Passing: true})
	}
	r.leader = -1
	pause := min(200*time.Millisecond<<min(r.attempts-1, 5), 3*time.Second)
	r.retryAt = now + pause.Milliseconds()
	if s.q.Follow && s.q.Patience > 0 {
		r.retryAt = min(r.retryAt, r.lostAt+s.q.Patience.Milliseconds())
	}
}

// givesUp tells that a partition was lost for too long or too often.
func (s *scan) givesUp(r *reader, now int64) bool {
	switch {
	case !s.q.Follow:
		return r.attempts > finiteAttempts
	case s.q.Patience > 0:
		return now-r.lostAt >= s.q.Patience.Milliseconds()
	}
	return r.attempts > followedAttempts
}

// look asks for the leaders again.
func (f *fetchPool) look(ctx context.Context, s *scan) {
	f.looking = true
	f.running.Go(func() {
		var out located
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		snap, t, err := s.c.oneTopic(limited, s.cl, s.q.Topic)
		if err != nil {
			out.problem = s.c.connectProblem(err, "Metadata")
		} else {
			out.snap, out.topicID, out.leaders = snap, t.TopicID, map[int32]int32{}
			for _, p := range t.Partitions {
				out.leaders[p.Partition] = p.Leader
			}
		}
		select {
		case f.found <- out:
		case <-ctx.Done():
		}
	})
}

// relocated gives the readers without a leader their new one.
func (f *fetchPool) relocated(s *scan, got located) {
	f.looking = false
	if got.snap != nil {
		s.snap = got.snap
	}
	gone := s.gone(got)
	for _, r := range s.readers {
		if r.leader >= 0 || r.failed != nil {
			continue
		}
		switch leader, ok := got.leaders[r.partition]; {
		case gone != nil:
			r.fail(gone)
		case got.problem != nil && !got.problem.Retriable:
			r.fail(got.problem)
		case got.problem != nil:
			s.lost(r, got.problem)
		case !ok:
			r.fail(&Problem{Code: "UNKNOWN_TOPIC_OR_PARTITION", Title: "The partition does not exist any more.", Operation: "Metadata", Resource: partitionName(tp{s.q.Topic, r.partition})})
		case leader < 0:
			s.lost(r, &Problem{Code: "LEADER_NOT_AVAILABLE", Title: "The partition has no leader.", Operation: "Metadata", Resource: partitionName(tp{s.q.Topic, r.partition}), Retriable: true})
		default:
			r.leader = leader
		}
	}
}

// unknownLooks is how often in a row the topic may be unknown before it counts as deleted: brokers
// learn of a new topic a little later than its creator.
const unknownLooks = 4

// gone tells that the topic was deleted, or made anew under the same name, while it was read.
func (s *scan) gone(got located) *Problem {
	name := "topic " + s.q.Topic
	if got.problem != nil {
		if got.problem.Code != "UNKNOWN_TOPIC_OR_PARTITION" {
			return nil
		}
		if s.unknown++; s.unknown < unknownLooks {
			return nil
		}
		return &Problem{Code: "TOPIC_DELETED", Title: "The topic was deleted.", Operation: "Metadata", Resource: name}
	}
	s.unknown = 0
	if got.topicID != s.topicID {
		return &Problem{Code: "TOPIC_DELETED", Title: "The topic was deleted and made anew.", Operation: "Metadata", Resource: name, Help: "Start again to read the new one."}
	}
	return nil
}
