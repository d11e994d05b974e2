package storage

import (
	"errors"
	"math"
	"time"

	"klamm/internal/record"
)

const (
	gatherMax   = 1 << 20  // bytes of small batches that are put together into one write
	gatherStart = 64 << 10 // bytes of the buffer for that, before it grows
	groupMax    = 64       // batches in one write
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
	g := batchGroup{log: l, cfg: l.config.Load(), epoch: epoch, nowMs: nowMs, next: l.end.Load()}
	l.undoStates = l.undoStates[:0]
	n := 0
	for n < len(bs) && g.add(n, bs[n], &results[n]) {
		n++
	}
	if g.failed != nil {
		return n + 1, g.failed
	}
	if g.count == 0 {
		return n, nil
	}
	data := []byte(g.only)
	if g.count > 1 {
		data = g.gathered
		defer l.manager.buffers.put(g.gathered)
	}
	if err := l.write(data); err != nil {
		l.undoProducers()
		for _, i := range g.taken[:g.count] {
			results[i] = AppendResult{Err: err}
		}
		return n, err
	}
	l.commitAppend(data)
	return n, nil
}

// batchGroup is a run of batches that are written together.
type batchGroup struct {
	log   *Log
	cfg   *LogConfig
	epoch int32
	nowMs int64

	next     int64        // offset of the next batch
	only     record.Batch // the first batch: without a second one it is written without a copy
	gathered []byte       // all batches once there are two, in a pooled buffer
	bytes    int64
	taken    [groupMax]int // indexes of their results
	count    int
	failed   error // of a roll before the first batch
}

// add takes the i-th batch into the group, or refuses it in result. It returns false when the batch
// has to wait for the next group, or failed.
func (g *batchGroup) add(i int, b record.Batch, result *AppendResult) bool {
	l := g.log
	if g.count == groupMax {
		return false
	}
	info, accept, err := l.admit(b, g.next, g.cfg, g.nowMs)
	if !accept && g.count > 0 {
		return false // the answer may rest on a batch that is not written yet
	}
	if !accept {
		*result = AppendResult{info, err}
		return true
	}
	roll := l.mustRoll(g.cfg, g.bytes, b, g.next+int64(b.LastOffsetDelta()), g.nowMs)
	switch {
	case g.count > 0 && (roll || g.bytes+int64(len(b)) > gatherMax):
		return false
	case roll:
		if g.failed = l.roll(g.next, g.nowMs); g.failed != nil {
			*result = AppendResult{Err: g.failed}
			return false
		}
	}
	b.SetBaseOffset(g.next)
	b.SetPartitionLeaderEpoch(g.epoch)
	l.noteProducer(b)
	switch g.count {
	case 0:
		g.only = b
	case 1:
		g.gathered = l.manager.buffers.get(max(gatherStart, len(g.only)+len(b)))[:0]
		g.gathered = append(append(g.gathered, g.only...), b...)
	default:
		g.gathered = append(g.gathered, b...)
	}
	info.FirstOffset, info.LastOffset = g.next, b.LastOffset()
	result.AppendInfo = info
	g.taken[g.count] = i
	g.count++
	g.bytes += int64(len(b))
	g.next = b.LastOffset() + 1
	return true
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
	older, readErr := l.olderBatches(b.ProducerID(), b.ProducerEpoch(), olderBatchesMax)
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
