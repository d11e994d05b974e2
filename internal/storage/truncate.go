package storage

import (
	"klamm/internal/record"
)

// TruncateTo removes everything at offset and above (a follower whose leader has other records
// there). A batch that begins below offset and ends above goes as a whole. The cut is durable when
// the call returns.
func (l *Log) TruncateTo(offset int64) error {
	if offset >= l.end.Load() {
		return nil
	}
	if offset < (*l.segments.Load())[0].base {
		return l.TruncateFullyAndStartAt(offset)
	}
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset >= l.end.Load() {
		return nil
	}
	segments := *l.segments.Load()
	keep := floor(segments, offset)
	if keep > 0 && segments[keep].base == offset {
		keep-- // its segment would be empty
	}
	if err := l.lowerRecoveryPoint(segments[keep].base, offset); err != nil {
		return err
	}
	return l.cutTo(segments[:keep+1:keep+1], segments[keep+1:], offset)
}

// lowerRecoveryPoint records durably that segments from base on must be checked at a start, and that
// nothing from offset on is synced. It comes before any change: a start after a crash in between must
// not miss what the truncation took.
func (l *Log) lowerRecoveryPoint(base, offset int64) error {
	lowered := l.recoveryPoint() > base
	l.sealed.Store(base)
	l.synced.Store(min(l.synced.Load(), offset))
	l.highWatermark.Store(min(l.highWatermark.Load(), offset))
	if !lowered {
		return nil
	}
	return l.manager.writeRecoveryPoints()
}

// cutTo removes the segments in gone and the records from offset on in the last one left.
func (l *Log) cutTo(left, gone []*LogSegment, offset int64) error {
	l.segments.Store(&left)
	for i := len(gone) - 1; i >= 0; i-- { // from the end, so that a crash leaves no gap
		if err := l.removeSegment(gone[i]); err != nil {
			return err
		}
	}
	active := left[len(left)-1]
	if err := l.cutSegment(active, offset); err != nil {
		return err
	}
	end := active.nextOffset
	for len(l.pending) > 0 && l.pending[len(l.pending)-1].end > end {
		l.pending = l.pending[:len(l.pending)-1]
	}
	l.sealed.Store(l.firstPending())
	active.indexesOnDisk.Store(false)
	active.needsSeal = true
	l.end.Store(end)
	startLowered := l.start.Load() > end // the batch that straddled the start went as a whole
	l.start.Store(min(l.start.Load(), end))
	l.epochs.truncateFromEnd(end)
	if _, err := l.writeEpochs(); err != nil {
		return err
	}
	if err := l.removeSnapshots(func(o int64) bool { return o > end }); err != nil {
		return err
	}
	if err := l.rebuildProducers(end); err != nil {
		return err
	}
	if err := l.syncCut(active); err != nil || !startLowered {
		return err
	}
	return l.manager.Checkpoint()
}

// syncCut makes a truncation durable.
func (l *Log) syncCut(active *LogSegment) error {
	if err := active.sync(active.size.Load()); err != nil {
		return l.manager.fail("sync", err)
	}
	if err := l.syncEntries(true, l.newDir); err != nil {
		return err
	}
	l.newDir = false
	l.synced.Store(active.nextOffset)
	return nil
}

// cutSegment cuts one segment before the batch that reaches offset. Its indexes are made again, for
// its largest time may have gone.
func (l *Log) cutSegment(s *LogSegment, offset int64) error {
	fresh := newSegment(s.fs, s.file.files, s.dir, s.base, s.indexInterval)
	fresh.startEmpty()
	size := int64(0)
	err := s.scan(0, s.base, false, func(at int64, b record.Batch) error {
		if b.LastOffset() >= offset {
			return errStopScan
		}
		size = at + batchSize(b)
		fresh.indexBatch(b, at)
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.truncateTo(size, fresh.nextOffset); err != nil {
		return l.manager.fail("truncation", err)
	}
	s.dropAborted(fresh.nextOffset)
	s.adoptIndexes(fresh)
	return nil
}

// removeSegment deletes the files of a segment at once.
func (l *Log) removeSegment(s *LogSegment) error {
	names, err := l.setAside(s)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeIfExists(l.manager.fs, name); err != nil {
			return l.manager.fail("removing a segment", err)
		}
	}
	return nil
}

// TruncateFullyAndStartAt empties the log and makes offset its first and next one (a follower that
// is told to begin anew, or a state machine that loaded a snapshot).
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	base := min(offset, (*l.segments.Load())[0].base)
	if err := l.lowerRecoveryPoint(base, base); err != nil {
		return err
	}
	return l.restartAt(offset)
}

// restartAt replaces all segments by an empty one.
func (l *Log) restartAt(offset int64) error {
	cfg := l.config.Load()
	gone := *l.segments.Load()
	for i := len(gone) - 1; i >= 0; i-- {
		if err := l.removeSegment(gone[i]); err != nil {
			return err
		}
	}
	fresh := newSegment(l.manager.fs, &l.manager.files, l.dir, offset, cfg.IndexIntervalBytes)
	fresh.startEmpty()
	fresh.created = l.manager.now().UnixMilli()
	if err := fresh.file.create(); err != nil {
		return l.manager.failUnlessFull("creating a segment", err)
	}
	l.segments.Store(&[]*LogSegment{fresh})
	l.hasFile, l.pending = true, nil
	l.sealed.Store(-1)
	l.start.Store(offset)
	l.end.Store(offset)
	l.highWatermark.Store(offset)
	l.epochs.truncateFromEnd(0)
	l.producers.load(nil)
	if err := l.removeSnapshots(func(int64) bool { return true }); err != nil {
		return err
	}
	if _, err := l.writeEpochs(); err != nil {
		return err
	}
	if err := l.syncEntries(true, l.newDir); err != nil {
		return err
	}
	l.newDir = false
	l.synced.Store(offset)
	l.manager.noteProgress()
	return nil
}
