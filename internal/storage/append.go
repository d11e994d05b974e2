package storage

import (
	"errors"
	"fmt"
	"math"
	"time"

	"klamm/internal/record"
)

const (
	gatherMax  = 1 << 20  // bytes of small batches that are put together into one write
	gatherKeep = 64 << 10 // bytes of that buffer a log keeps between appends
)

// AppendInfo tells where a batch went.
type AppendInfo struct {
	FirstOffset, LastOffset int64 // both inclusive; of the original batch when Duplicate
	LogAppendTime           int64 // ms, -1 under CreateTime
	LogStartOffset          int64
	Duplicate               bool // a retry: the batch was in the log already
}

// AppendResult is the fate of one batch of AppendBatches.
type AppendResult struct {
	AppendInfo
	Err error
}

// undoState is what a producer's state was before a batch whose write failed.
type undoState struct {
	id      int64
	before  producerEntry
	existed bool
}

// AppendAsLeader appends one validated batch and stamps its offset and the leader epoch into it.
// The batch can be read at once, and is durable after Sync. Refusals are *OutOfOrderSequence,
// *InvalidProducerEpoch, *RecordTooLarge, *InvalidAppend; failures *NoSpaceError (try again later)
// and *OfflineError.
func (l *Log) AppendAsLeader(b record.Batch, epoch int32, now time.Time) (AppendInfo, error) {
	var result [1]AppendResult
	l.appendBatches(result[:], []record.Batch{b}, epoch, now)
	return result[0].AppendInfo, result[0].Err
}

// AppendBatches appends batches in order, small ones with one write. Each has its own result; after
// a failed write all that follow have its error.
func (l *Log) AppendBatches(bs []record.Batch, epoch int32, now time.Time) []AppendResult {
	results := make([]AppendResult, len(bs))
	l.appendBatches(results, bs, epoch, now)
	return results
}

func (l *Log) appendBatches(results []AppendResult, bs []record.Batch, epoch int32, now time.Time) {
	l.appendMu.Lock()
	rolled := len(l.pending)
	failed := l.usable()
	for done := 0; done < len(bs); {
		if failed != nil {
			results[done].Err = failed
			done++
			continue
		}
		n, err := l.appendGroup(results[done:], bs[done:], epoch, now.UnixMilli())
		done += n
		failed = err
	}
	rolled = len(l.pending) - rolled
	l.appendMu.Unlock()
	if rolled > 0 {
		l.sealSoon()
	}
}

// appendGroup appends batches that go into the same segment with one write, at least one, and
// returns how many have their result. The error is that of the write.
func (l *Log) appendGroup(results []AppendResult, bs []record.Batch, epoch int32, nowMs int64) (int, error) {
	cfg := l.config.Load()
	next := l.end.Load()
	l.undoStates = l.undoStates[:0]
	var (
		only  record.Batch // the single batch of the group, written without a copy
		bytes int64
		n     int
		group [64]int // indexes of results to fill in
		count int
	)
	l.gathered = l.gathered[:0]
	for n < len(bs) && count < len(group) {
		b := bs[n]
		info, accept, err := l.admit(b, next, cfg, nowMs)
		if !accept {
			results[n] = AppendResult{info, err}
			n++
			continue
		}
		size := int64(len(b))
		if count > 0 && (bytes+size > gatherMax || l.mustRoll(cfg, bytes, b, next+int64(b.LastOffsetDelta()), nowMs)) {
			break
		}
		if count == 0 && l.mustRoll(cfg, 0, b, next+int64(b.LastOffsetDelta()), nowMs) {
			if err := l.roll(next, nowMs); err != nil {
				results[n] = AppendResult{Err: err}
				return n + 1, err
			}
		}
		b.SetBaseOffset(next)
		b.SetPartitionLeaderEpoch(epoch)
		l.noteProducer(b)
		if count == 0 {
			only = b
		} else {
			if count == 1 {
				l.gathered = append(l.gathered, only...)
			}
			l.gathered = append(l.gathered, b...)
		}
		info.FirstOffset, info.LastOffset = next, b.LastOffset()
		info.LogStartOffset = l.start.Load()
		results[n].AppendInfo = info
		group[count] = n
		count++
		n++
		bytes += size
		next = b.LastOffset() + 1
	}
	if count == 0 {
		return n, nil
	}
	data := []byte(only)
	if count > 1 {
		data = l.gathered
	}
	if err := l.write(data); err != nil {
		l.undoProducers()
		for _, i := range group[:count] {
			results[i] = AppendResult{Err: err}
		}
		return n, err
	}
	l.commitAppend(data)
	if cap(l.gathered) > gatherKeep {
		l.gathered = nil
	}
	return n, nil
}

// admit checks one batch. It is not accepted when it is refused (err) or a retry (info).
func (l *Log) admit(b record.Batch, next int64, cfg *LogConfig, nowMs int64) (info AppendInfo, accept bool, err error) {
	info = AppendInfo{LogAppendTime: noTimestamp, LogStartOffset: l.start.Load()}
	if len(b) < record.HeaderSize || batchSize(b) != int64(len(b)) || b.LastOffsetDelta() < 0 {
		return info, false, &InvalidAppend{"the bytes are not one whole batch"}
	}
	if len(b) > min(cfg.SegmentBytes, math.MaxInt32) {
		return info, false, &RecordTooLarge{len(b), cfg.SegmentBytes}
	}
	if next > math.MaxInt64-int64(b.LastOffsetDelta())-1 {
		return info, false, &InvalidAppend{"the partition has used up all offsets"}
	}
	if b.HasProducerID() {
		known, duplicate, err := l.checkProducer(b, next)
		if err != nil {
			return info, false, err
		}
		if duplicate {
			info.FirstOffset, info.LastOffset, info.Duplicate = known.firstOffset(), known.lastOffset, true
			if cfg.LogAppendTime {
				info.LogAppendTime = known.timestamp
			}
			return info, false, nil
		}
	}
	if cfg.LogAppendTime && !b.IsControl() {
		if !b.IsLogAppendTime() || b.MaxTimestamp() != nowMs { // validation may have done it
			b.SetLogAppendTime(nowMs)
		}
		info.LogAppendTime = nowMs
	}
	return info, true, nil
}

// checkProducer asks the producer state about a batch. A refusal that may only come from a window
// that a snapshot cut short is asked again after the log was read.
func (l *Log) checkProducer(b record.Batch, next int64) (producerBatch, bool, error) {
	known, duplicate, partial, err := l.producers.check(b, next)
	if err == nil || !partial {
		return known, duplicate, err
	}
	older, readErr := l.olderBatches(b.ProducerID(), b.ProducerEpoch())
	if readErr != nil {
		return producerBatch{}, false, readErr
	}
	l.producers.complete(b.ProducerID(), older)
	known, duplicate, _, err = l.producers.check(b, next)
	return known, duplicate, err
}

// noteProducer updates the producer state, keeping what is needed to take it back.
func (l *Log) noteProducer(b record.Batch) {
	if !b.HasProducerID() {
		return
	}
	before, existed := l.producers.get(b.ProducerID())
	l.undoStates = append(l.undoStates, undoState{b.ProducerID(), before, existed})
	if txn, ended := l.producers.update(b); ended && txn.Aborted {
		l.active().noteAborted(AbortedTxn{txn.ProducerID, txn.FirstOffset, txn.LastOffset, l.stableAfter(txn)})
	}
}

// stableAfter is the last stable offset once txn has ended.
func (l *Log) stableAfter(txn CompletedTxn) int64 {
	if first := l.producers.firstOpenOffset(); first >= 0 {
		return first
	}
	return txn.LastOffset + 1
}

func (l *Log) undoProducers() {
	for i := len(l.undoStates) - 1; i >= 0; i-- {
		u := l.undoStates[i]
		l.producers.undo(u.id, u.before, u.existed)
	}
	l.active().dropAborted(l.end.Load())
}

// write puts data at the end of the active segment. A full disk cuts the file back to its last
// whole batch; any other failure takes the directory offline.
func (l *Log) write(data []byte) error {
	s := l.active()
	if err := l.ensureFile(s); err != nil {
		return err
	}
	f, err := s.file.acquire()
	if err != nil {
		return l.manager.fail("opening a segment", err)
	}
	defer s.file.release()
	size := s.size.Load()
	if _, err = f.WriteAt(data, size); err == nil {
		return nil
	}
	if !isNoSpace(err) {
		return l.manager.fail("write", err)
	}
	if terr := f.Truncate(size); terr != nil {
		return l.manager.fail("cutting back a segment on a full disk", errors.Join(err, terr))
	}
	return &NoSpaceError{l.manager.dir, err}
}

// ensureFile creates the active segment's file before its first batch.
func (l *Log) ensureFile(s *LogSegment) error {
	if l.hasFile {
		return nil
	}
	if err := s.file.create(); err != nil {
		if isNoSpace(err) {
			return &NoSpaceError{l.manager.dir, err}
		}
		return l.manager.fail("creating a segment", err)
	}
	l.hasFile, l.newFiles = true, true
	return nil
}

// commitAppend makes written batches visible.
func (l *Log) commitAppend(data []byte) {
	s := l.active()
	position := s.size.Load()
	end := l.end.Load()
	for len(data) > 0 {
		b := record.Batch(data)
		size := batchSize(b)
		b = b[:size]
		l.epochs.Assign(b.PartitionLeaderEpoch(), b.BaseOffset())
		s.indexBatch(b, position)
		position += size
		end = b.LastOffset() + 1
		data = data[size:]
	}
	s.needsSeal = true
	s.publish(position)
	l.end.Store(end)
}

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

// AppendAsFollower appends whole batches that carry their offsets and leader epochs already, as a
// follower gets them or a replicated state machine makes them. Offsets must increase and start at
// EndOffset or later; producer sequences are taken as the leader's decision.
func (l *Log) AppendAsFollower(data []byte, now time.Time) (AppendInfo, error) {
	info := AppendInfo{FirstOffset: -1, LastOffset: -1, LogAppendTime: noTimestamp}
	l.appendMu.Lock()
	rolled := len(l.pending)
	err := l.usable()
	for err == nil && len(data) > 0 {
		var n int
		n, err = l.appendReplicated(data, now.UnixMilli(), &info)
		data = data[n:]
	}
	rolled = len(l.pending) - rolled
	info.LogStartOffset = l.start.Load()
	l.appendMu.Unlock()
	if rolled > 0 {
		l.sealSoon()
	}
	return info, err
}

// appendReplicated writes as many whole batches of data as fit into one segment and returns their
// length in bytes.
func (l *Log) appendReplicated(data []byte, nowMs int64, info *AppendInfo) (int, error) {
	cfg := l.config.Load()
	next := l.end.Load()
	l.undoStates = l.undoStates[:0]
	length := int64(0)
	for rest := data; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if err != nil {
			return 0, errors.Join(&InvalidAppend{"the bytes are not whole batches"}, err)
		}
		if b.BaseOffset() < next {
			l.undoProducers()
			return 0, &InvalidAppend{fmt.Sprintf("offset %d does not follow %d", b.BaseOffset(), next-1)}
		}
		if l.mustRoll(cfg, length, b, b.LastOffset(), nowMs) {
			if length > 0 {
				break
			}
			if err := l.roll(b.BaseOffset(), nowMs); err != nil {
				return 0, err
			}
		}
		l.noteProducer(b)
		if info.FirstOffset < 0 {
			info.FirstOffset = b.BaseOffset()
		}
		length += int64(len(b))
		next = b.LastOffset() + 1
		rest = after
	}
	if err := l.write(data[:length]); err != nil {
		l.undoProducers()
		return 0, err
	}
	l.commitAppend(data[:length])
	info.LastOffset = l.end.Load() - 1
	return int(length), nil
}
