package explorer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/internal/record"
)

// How a scan behaves.
const (
	tickEvery        = 125 * time.Millisecond // rows go out 8 times a second, progress twice
	progressTicks    = 4
	maxRowsPerEvent  = 2000
	maxLiveBacklog   = 20000 // rows that wait for a slow sink; older ones are dropped and counted
	defaultMaxBytes  = 4 << 30
	defaultMaxTime   = 10 * time.Minute
	finiteAttempts   = 4
	followedAttempts = 30
)

// errSink marks an error of the sink, which ends a scan without a Done.
var errSink = errors.New("the receiver of the scan failed")

// Scan reads records and sends them to sink with its progress and problems; Done comes last, unless
// ctx ends or sink fails first, which are the only errors of its own: a scan that cannot start says
// so as a problem and a Done. It has connections of its own, closed on return: cancelling ctx frees
// the brokers at once. It never joins a consumer group.
//
// A finite range ends at the end offsets (last stable offsets under ReadCommitted) seen at its start,
// and stops on positions: markers, aborted records and compaction gaps cannot hold it up.
func (c *Connection) Scan(ctx context.Context, q ScanRequest, sink Sink) error {
	s := &scan{c: c, q: q, sink: sink, started: time.Now(), decompressor: &record.Decompressor{}}
	if q.Range == RangeLive {
		s.q.Follow = true
	}
	if s.q.Follow && q.Range == RangeNewest {
		return s.failed(ctx, &Problem{Code: "INVALID_REQUEST", Title: "The newest records cannot be followed: use live, or an offset."})
	}
	var err error
	if s.cl, err = c.newClient(kgo.RequestRetries(1)); err != nil {
		return s.failed(ctx, &Problem{Code: "INVALID_SETTINGS", Title: "The settings make no usable client.", Detail: err.Error(), cause: err})
	}
	defer s.cl.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.plan(ctx); err != nil {
		return s.failed(ctx, err)
	}
	defer s.fetches.Wait()
	defer cancel() // before waiting
	if err := s.run(ctx); err != nil {
		return err
	}
	return nil
}

// scan is one Scan under way; one goroutine owns it, fetches run beside it.
type scan struct {
	c            *Connection
	q            ScanRequest
	cl           *kgo.Client
	sink         Sink
	decompressor *record.Decompressor
	started      time.Time

	topicID  [16]byte
	snap     *snapshot // names the brokers
	readers  []*reader
	notes    planNotes
	counts   scanCounts
	out      []RecordRow // waiting for the next tick
	sent     map[int32]int64
	fetches  fetchPool
	unknown  int // looks in a row that did not find the topic
	tellLast int // ticks since the last progress event
}

// failed ends a scan that could not start: as events, since a page listens to those.
func (s *scan) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var p *Problem
	if !errors.As(err, &p) {
		p = &Problem{Code: "INTERNAL", Title: "The scan could not start.", Detail: err.Error(), cause: err}
	}
	if err := s.sink.Problem(ScanProblem{Problem: *p}); err != nil {
		return fmt.Errorf("%w: %w", errSink, err)
	}
	return s.sinkError(s.sink.Done(Done{Reason: "failed", Text: p.Title, Progress: s.progress()}))
}

func (s *scan) sinkError(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errSink, err)
	}
	return nil
}

// run dispatches fetches, merges what they bring and sends it, until the range is done.
func (s *scan) run(ctx context.Context) error {
	s.fetches.start(s)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		reason := s.merge()
		if err := s.tellProblems(); err != nil {
			return err
		}
		if reason == "" {
			reason = s.budget()
		}
		if reason != "" {
			return s.finish(reason)
		}
		if len(s.out) >= maxRowsPerEvent && !s.paced() {
			if err := s.flush(len(s.out)); err != nil {
				return err
			}
		}
		s.fetches.dispatch(ctx, s)
		if s.moreReady() {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-s.fetches.results:
			s.fetches.take(s, r)
		case r := <-s.fetches.found:
			s.fetches.relocated(s, r)
		case <-tick.C:
			if err := s.tick(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// merge moves ready rows to out in the order of the range; it returns why the scan is over, or "".
func (s *scan) merge() string {
	if s.q.Follow {
		return s.drain()
	}
	for {
		if s.q.Limit > 0 && s.counts.Found >= int64(s.q.Limit) {
			return "limit"
		}
		if len(s.out) >= 2*maxRowsPerEvent {
			return "" // they go out first
		}
		next, ready := s.nextReader()
		if !ready {
			return ""
		}
		if next == nil {
			return "end"
		}
		s.out = append(s.out, next.pop())
		s.counts.Found++
	}
}

// paced tells that rows wait for the tick: a page following a busy topic should not be flooded.
func (s *scan) paced() bool { return s.q.Follow && !s.q.Lossless }

// moreReady tells that merging can go on without a new answer.
func (s *scan) moreReady() bool {
	if s.q.Follow {
		return slices.ContainsFunc(s.readers, func(r *reader) bool { return len(r.rows) > 0 })
	}
	next, ready := s.nextReader()
	return ready && next != nil
}

// nextReader is the reader whose first row is next; ready is false while a reader has none yet.
func (s *scan) nextReader() (next *reader, ready bool) {
	backward := s.q.Range == RangeNewest
	for _, r := range s.readers {
		if len(r.rows) == 0 {
			if r.exhausted() {
				continue
			}
			return nil, false
		}
		if next == nil || before(r.rows[0], next.rows[0], backward) {
			next = r
		}
	}
	return next, true
}

// before orders rows by time; readers come in the order of partitions, which settles ties.
func before(a, b RecordRow, backward bool) bool {
	if backward {
		return a.Timestamp > b.Timestamp
	}
	return a.Timestamp < b.Timestamp
}

// drain takes rows as they came, when following.
func (s *scan) drain() string {
	for _, r := range s.readers {
		for len(r.rows) > 0 {
			s.out = append(s.out, r.pop())
			s.counts.Found++
		}
	}
	if s.q.Limit > 0 && s.counts.Found >= int64(s.q.Limit) && s.q.Range != RangeLive {
		s.out = s.out[:max(0, len(s.out)-int(s.counts.Found-int64(s.q.Limit)))]
		s.counts.Found = int64(s.q.Limit)
		return "limit"
	}
	if over := len(s.out) - maxLiveBacklog; over > 0 && !s.q.Lossless {
		s.counts.Dropped += int64(over)
		s.counts.Found -= int64(over)
		s.out = append(s.out[:0], s.out[over:]...)
	}
	if !slices.ContainsFunc(s.readers, func(r *reader) bool { return r.failed == nil }) {
		return "end"
	}
	return ""
}

// budget ends a scan that read too much or took too long.
func (s *scan) budget() string {
	if s.q.Follow {
		return ""
	}
	maxBytes, maxTime := s.q.MaxBytes, s.q.MaxTime
	if maxBytes == 0 {
		maxBytes = defaultMaxBytes
	}
	if maxTime == 0 {
		maxTime = defaultMaxTime
	}
	switch {
	case maxBytes > 0 && s.counts.Bytes > maxBytes:
		return "byteLimit"
	case maxTime > 0 && time.Since(s.started) > maxTime:
		return "timeLimit"
	}
	return ""
}

// tick sends the rows that wait, and every fourth time the progress.
func (s *scan) tick() error {
	if err := s.flush(maxRowsPerEvent); err != nil {
		return err
	}
	if s.tellLast++; s.tellLast < progressTicks {
		return nil
	}
	s.tellLast = 0
	return s.sinkError(s.sink.Progress(s.progress()))
}

// flush sends up to n of the rows that wait, in events of bounded size.
func (s *scan) flush(n int) error {
	n = min(n, len(s.out))
	for rows := range slices.Chunk(s.out[:n], maxRowsPerEvent) {
		if s.q.Follow {
			for _, row := range rows {
				s.sent[row.Partition] = row.Offset + 1
			}
		}
		if err := s.sinkError(s.sink.Records(rows)); err != nil {
			return err
		}
	}
	s.out = append([]RecordRow(nil), s.out[n:]...)
	return nil
}

func (s *scan) tellProblems() error {
	for _, p := range s.counts.problems {
		if err := s.sinkError(s.sink.Problem(p)); err != nil {
			return err
		}
	}
	s.counts.problems = nil
	return nil
}

func (s *scan) progress() Progress {
	p := s.counts.Progress
	p.Partitions = int32(len(s.readers))
	p.Millis = time.Since(s.started).Milliseconds()
	for _, r := range s.readers {
		if r.exhausted() {
			p.PartitionsDone++
		}
		if r.announced && r.failed == nil {
			p.Waiting++
		}
	}
	if s.q.Follow && len(s.readers) > 0 {
		c := Cursor{Partitions: make(map[int32]OffsetSpan, len(s.sent))}
		for id, next := range s.sent {
			c.Partitions[id] = OffsetSpan{Low: next, High: math.MaxInt64}
		}
		p.Cursor = c.String()
	}
	return p
}

// finish sends what is left and the reason.
func (s *scan) finish(reason string) error {
	if err := s.flush(len(s.out)); err != nil {
		return err
	}
	d := Done{Reason: reason, Progress: s.progress()}
	c := Cursor{Partitions: map[int32]OffsetSpan{}}
	failed := 0
	for _, r := range s.readers {
		if left := r.left(); left.Low < left.High && !s.q.Follow {
			c.Partitions[r.partition] = left
		}
		if r.failed != nil {
			failed++
		}
	}
	if len(c.Partitions) > 0 {
		d.Cursor = c.String()
	}
	switch {
	case reason == "limit" && d.Cursor == "":
		d.Reason = "end"
	case reason == "end" && failed > 0 && failed == len(s.readers):
		d.Reason = "failed"
	case reason == "end" && s.counts.Found == 0 && failed == 0:
		d.Reason = s.notes.emptyReason()
	}
	d.Text = s.words(d.Reason, failed)
	return s.sinkError(s.sink.Done(d))
}

// words says why a scan ended.
func (s *scan) words(reason string, failed int) string {
	var text string
	switch reason {
	case "limit":
		text = fmt.Sprintf("stopped at the limit of %d records; there may be more", s.q.Limit)
	case "end":
		text = "everything up to the end was read"
		if s.q.Range == RangeNewest {
			text = "everything down to the start was read"
		}
	case "byteLimit":
		text = "stopped: a great deal was read; it can go on from here"
	case "timeLimit":
		text = "stopped: it took too long; it can go on from here"
	case "failed":
		text = "no partition could be read"
	case "empty":
		text = "the range holds no records"
		if s.counts.Markers+s.counts.Aborted+s.counts.Gaps > 0 {
			text = "the range holds no visible records"
		}
	case "pastEnd":
		text = fmt.Sprintf("offset %d is at or past the end of every chosen partition", s.q.Offset)
	case "noLaterRecords":
		text = "no record has this timestamp or a later one"
	}
	if failed > 0 && reason != "failed" {
		text += fmt.Sprintf("; %s could not be read", count(failed, "partition"))
	}
	if s.notes.openTransactions > 0 {
		text += fmt.Sprintf("; %s after the last stable offset belong to open transactions or wait for them", count(int(s.notes.openTransactions), "offset"))
	}
	return text
}
