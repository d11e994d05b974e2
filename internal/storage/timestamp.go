package storage

import (
	"errors"
	"math"
	"path/filepath"

	"klamm/internal/record"
)

// TimestampOffset is a record found by its time.
type TimestampOffset struct {
	Timestamp   int64 // ms
	Offset      int64
	LeaderEpoch int32 // -1 when unknown
}

// noteAborted adds an aborted transaction to the segment that holds its marker.
func (s *LogSegment) noteAborted(t AbortedTxn) {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.aborted = append(s.aborted, t)
}

// dropAborted forgets aborted transactions whose marker lies at end or later.
func (s *LogSegment) dropAborted(end int64) {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	for n := len(s.aborted); n > 0 && s.aborted[n-1].LastOffset >= end; n-- {
		s.aborted = s.aborted[:n-1]
	}
}

// largestTimestamp is the largest time of the segment and the last offset of the batch that has it.
func (s *LogSegment) largestTimestamp() (TimestampOffset, error) {
	s.idxMu.RLock()
	largest, known := s.largest, s.largestKnown
	s.idxMu.RUnlock()
	if known {
		return largest, nil
	}
	if err := s.loadIndexes(); err != nil {
		return TimestampOffset{}, s.scanError(err)
	}
	s.idxMu.RLock()
	defer s.idxMu.RUnlock()
	return s.largest, nil
}

// OffsetForTimestamp finds the first record whose time is at or after ts (ms). found is false when
// all records are older.
func (l *Log) OffsetForTimestamp(ts int64) (result TimestampOffset, found bool, err error) {
	return l.unlessTaken(func() (TimestampOffset, bool, error) {
		return l.searchTime(func(s *LogSegment) (TimestampOffset, bool, error) {
			largest, err := s.largestTimestamp()
			if err != nil || largest.Timestamp < ts {
				return TimestampOffset{}, false, err
			}
			return l.searchSegment(s, ts, l.start.Load())
		})
	})
}

// unlessTaken repeats a search that found nothing while retention took segments from under it: what
// has been appended since was not asked.
func (l *Log) unlessTaken(search func() (TimestampOffset, bool, error)) (TimestampOffset, bool, error) {
	for {
		start := l.start.Load()
		result, found, err := search()
		if found || err != nil || l.start.Load() == start {
			return result, found, err
		}
	}
}

// MaxTimestamp finds the first record that has the largest time in the log. found is false in a log
// without times.
func (l *Log) MaxTimestamp() (result TimestampOffset, found bool, err error) {
	for {
		end := l.end.Load()
		result, found, err = l.unlessTaken(l.searchLargest)
		if found || err != nil {
			return result, found, err
		}
		// The largest time is noted before its batch can be read: let the append that is under way end.
		l.appendMu.Lock()
		appended := l.end.Load() != end
		l.appendMu.Unlock()
		if !appended {
			return result, false, nil
		}
	}
}

func (l *Log) searchLargest() (result TimestampOffset, found bool, err error) {
	largest := int64(noTimestamp)
	var holder int64
	_, _, err = l.searchTime(func(s *LogSegment) (TimestampOffset, bool, error) {
		t, err := s.largestTimestamp()
		if t.Timestamp > largest {
			largest, holder = t.Timestamp, s.base
		}
		return t, false, err
	})
	if err != nil || largest == noTimestamp {
		return TimestampOffset{}, false, err
	}
	return l.searchTime(func(s *LogSegment) (TimestampOffset, bool, error) {
		if s.base < holder {
			return TimestampOffset{}, false, nil
		}
		return l.searchSegment(s, largest, l.start.Load())
	})
}

// searchTime asks the segments, oldest first, until one finds something.
func (l *Log) searchTime(ask func(*LogSegment) (TimestampOffset, bool, error)) (TimestampOffset, bool, error) {
	if err := l.manager.Offline(); err != nil {
		return TimestampOffset{}, false, err
	}
	for _, s := range *l.segments.Load() {
		if s.size.Load() == 0 {
			continue
		}
		result, found, err := ask(s)
		if errors.Is(err, ErrClosed) && !l.isClosed() {
			continue // retention took the segment: its records are gone
		}
		if err != nil || found {
			return result, found, err
		}
	}
	return TimestampOffset{}, false, nil
}

// searchSegment finds the first record of s at offset start or later whose time is at or after ts.
func (l *Log) searchSegment(s *LogSegment, ts, start int64) (result TimestampOffset, found bool, err error) {
	if err := s.loadIndexes(); err != nil {
		return result, false, s.scanError(err)
	}
	s.idxMu.RLock()
	_, offset := s.times.Lookup(ts)
	s.idxMu.RUnlock()
	// The index finds a batch at or before the record; reading goes through the log's read path,
	// which checks the index and bounds memory.
	from := max(offset, start, s.base)
	for from < s.endOffset(l) {
		slice, err := l.Read(from, scanWhole, math.MaxInt64, true)
		if err != nil || slice.FirstOffset < 0 {
			return result, false, err
		}
		for rest := slice.Bytes; len(rest) > 0; {
			b := record.Batch(rest)
			b, rest = b[:batchSize(b)], rest[batchSize(b):]
			from = b.LastOffset() + 1
			if b.MaxTimestamp() < ts || from <= start {
				continue
			}
			if result, found, err = l.searchBatch(s, b, ts, start); err != nil || found {
				slice.Release()
				return result, found, err
			}
		}
		slice.Release()
	}
	return result, false, nil
}

// searchBatch looks into the records of a batch. Compressed ones take turns over the whole directory: a
// few KiB may hold hundreds of megabytes, and every client may ask at the same time.
func (l *Log) searchBatch(s *LogSegment, b record.Batch, ts, start int64) (result TimestampOffset, found bool, err error) {
	if b.Codec() != record.None {
		l.manager.expanding <- struct{}{}
		defer func() { <-l.manager.expanding }()
	}
	err = l.decompressor.Walk(b, func(r record.Record) error {
		if r.Timestamp < ts || r.Offset < start {
			return nil
		}
		result = TimestampOffset{r.Timestamp, r.Offset, b.PartitionLeaderEpoch()}
		found = true
		return record.ErrStop
	})
	if err != nil {
		_, position, _ := s.lookup(b.BaseOffset()) // at or shortly before the batch
		return result, false, &CorruptionError{l.dir, filepath.Base(s.file.path), b.BaseOffset(), position, err}
	}
	return result, found, nil
}

// endOffset is the base of the segment that follows s, or the end of the log.
func (s *LogSegment) endOffset(l *Log) int64 {
	segments := *l.segments.Load()
	if i := floor(segments, s.base) + 1; i < len(segments) {
		return segments[i].base
	}
	return l.end.Load()
}
