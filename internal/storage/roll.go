package storage

import (
	"math"

	"klamm/internal/record"
)

// mustRoll tells whether b, which ends at lastOffset, needs a new segment when unwritten bytes are
// put before it (Kafka's LogSegment.shouldRoll).
func (l *Log) mustRoll(cfg *LogConfig, unwritten int64, b record.Batch, lastOffset, nowMs int64) bool {
	s := l.active()
	used := s.size.Load() + unwritten
	switch {
	case lastOffset-s.base > math.MaxInt32:
		return true
	case used == 0:
		return false
	case used+int64(len(b)) > int64(min(cfg.SegmentBytes, math.MaxInt32)):
		return true
	case s.isFull(cfg.SegmentIndexBytes):
		return true
	}
	return s.waited(nowMs, b.MaxTimestamp()) > cfg.SegmentMs-l.rollJitter
}

// waited is how long the segment has been filled, in ms: by record time when there is one, else by
// the clock (Kafka's LogSegment.timeWaitedForRoll).
func (s *LogSegment) waited(nowMs, maxTimestamp int64) int64 {
	if s.firstTimestamp >= 0 && maxTimestamp >= 0 {
		return maxTimestamp - s.firstTimestamp
	}
	return nowMs - s.created
}

// roll starts a new segment at base. Only the file is created here; the old segment's indexes and
// the producer snapshot are written later, beside the appends.
func (l *Log) roll(base, nowMs int64) error {
	old := l.active()
	cfg := l.config.Load()
	next := newSegment(l.manager.fs, &l.manager.files, l.dir, base, cfg.IndexIntervalBytes)
	next.startEmpty()
	next.created = nowMs
	if err := next.file.create(); err != nil {
		if isNoSpace(err) {
			return &NoSpaceError{l.manager.dir, err}
		}
		return l.manager.fail("creating a segment", err)
	}
	old.finish()
	l.pending = append(l.pending, sealTask{old, base, l.producers.snapshot()})
	l.sealed.CompareAndSwap(-1, old.base)
	l.hasFile, l.newFiles = true, true
	l.rollJitter = l.jitter(cfg)
	segments := *l.segments.Load()
	grown := append(segments[:len(segments):len(segments)], next)
	l.segments.Store(&grown)
	return nil
}

// jitter spreads the rolls of many partitions over segment.jitter.ms; it depends on the name only,
// so that a test or a restart sees the same.
func (l *Log) jitter(cfg *LogConfig) int64 {
	bound := min(cfg.SegmentJitterMs, cfg.SegmentMs)
	if bound <= 0 {
		return 0
	}
	sum := uint64(14695981039346656037)
	for _, c := range []byte(l.tp.String()) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return int64(sum % uint64(bound))
}
