package storage

import (
	"errors"
	"path/filepath"
	"time"
)

// DeleteOldSegments applies retention.ms, retention.bytes and the start offset: whole segments go,
// oldest first, the active one included (a new, empty one takes its place), and never one that
// holds offsets at or above highWatermark. It also forgets expired producers. The result is the
// number of segments deleted (Kafka's UnifiedLog.deleteOldSegments).
func (l *Log) DeleteOldSegments(now time.Time, highWatermark int64) (int, error) {
	l.ExpireProducers(now)
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	doomed, err := l.deletable(now.UnixMilli(), highWatermark)
	if err != nil || doomed == 0 {
		return 0, err
	}
	// What stays must be on disk before what goes is gone: the records, and the producer snapshot at
	// their start. A full disk is no reason to keep what frees it.
	full := (*NoSpaceError)(nil)
	if err := l.rollBeforeDelete(doomed, now.UnixMilli()); errors.As(err, &full) && doomed > 1 {
		doomed-- // all but the active one
	} else if err != nil {
		return 0, err
	}
	if err := l.sealPending(); err != nil && !errors.As(err, &full) {
		return 0, err
	}
	if _, err := l.Sync(); err != nil {
		return 0, err
	}
	return doomed, l.deleteHead(doomed)
}

// deletable counts the segments at the head of the log that may go.
func (l *Log) deletable(nowMs, highWatermark int64) (int, error) {
	cfg := l.config.Load()
	segments := *l.segments.Load()
	excess := int64(-1)
	if cfg.Delete && cfg.RetentionBytes >= 0 {
		excess = l.Size() - cfg.RetentionBytes
	}
	for i, s := range segments {
		end, size := l.end.Load(), s.size.Load()
		if i+1 < len(segments) {
			end = segments[i+1].base
		}
		if highWatermark < end || size == 0 && i+1 == len(segments) {
			return i, nil
		}
		expired, err := s.expired(cfg, nowMs)
		if err != nil {
			return i, err
		}
		excess -= size
		if !expired && excess < 0 && end > l.start.Load() {
			return i, nil
		}
	}
	return len(segments), nil
}

// expired tells whether all records of the segment are older than retention.ms.
func (s *LogSegment) expired(cfg *LogConfig, nowMs int64) (bool, error) {
	if !cfg.Delete || cfg.RetentionMs < 0 {
		return false, nil
	}
	last, err := s.lastTime()
	return err == nil && nowMs-last > cfg.RetentionMs, err
}

// lastTime is the largest record time in ms or, without one, the time the file was last written.
func (s *LogSegment) lastTime() (int64, error) {
	largest, err := s.largestTimestamp()
	if err != nil || largest.Timestamp >= 0 {
		return largest.Timestamp, err
	}
	info, err := s.fs.Stat(s.name(logSuffix))
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixMilli(), nil
}

// RetentionDeadline is the time from which DeleteOldSegments can delete by retention.ms what is in the
// log now; ok is false when it never can. Deletion by size needs an append first.
func (l *Log) RetentionDeadline() (deadline time.Time, ok bool) {
	cfg := l.config.Load()
	oldest := (*l.segments.Load())[0]
	if !cfg.Delete || cfg.RetentionMs < 0 || oldest.size.Load() == 0 {
		return time.Time{}, false
	}
	at, err := oldest.lastTime()
	if err != nil { // the next pass says what is wrong
		return time.Time{}, false
	}
	return time.UnixMilli(at).Add(time.Duration(min(cfg.RetentionMs, maxRetention)+1) * time.Millisecond), true
}

// maxRetention keeps retention.ms within what a time.Duration can hold.
const maxRetention = int64(200 * 365 * 24 * time.Hour / time.Millisecond)

// rollBeforeDelete makes a new active segment when all segments go.
func (l *Log) rollBeforeDelete(doomed int, nowMs int64) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	segments := *l.segments.Load()
	if doomed < len(segments) || segments[len(segments)-1].size.Load() == 0 {
		return nil
	}
	if err := l.roll(l.end.Load(), nowMs); err != nil {
		return err
	}
	l.active().needsSeal = true // a clean close leaves the producer snapshot even when nothing is appended
	return nil
}

// deleteHead takes the first n segments out of the log and off the disk.
func (l *Log) deleteHead(n int) error {
	l.appendMu.Lock()
	segments := *l.segments.Load()
	n = min(n, len(segments)-1)
	gone, left := segments[:n], segments[n:]
	l.segments.Store(&left)
	l.start.Store(max(l.start.Load(), left[0].base))
	l.appendMu.Unlock()
	l.epochs.truncateFromStart(l.start.Load())
	var doomed []string
	for _, s := range gone {
		names, err := l.setAside(s)
		doomed = append(doomed, names...)
		if err != nil {
			return err
		}
	}
	// The recovery point passes a segment that never got its index files only once it is gone for good.
	if err := l.manager.fs.SyncDir(l.dir); err != nil {
		return l.manager.fail("sync of a directory", err)
	}
	l.appendMu.Lock()
	for len(l.pending) > 0 && l.pending[0].segment.base < left[0].base {
		l.pending = l.pending[1:]
	}
	l.sealed.Store(l.firstPending())
	l.appendMu.Unlock()
	l.manager.noteProgress()
	l.manager.removeLater(doomed, time.Duration(l.config.Load().FileDeleteDelayMs)*time.Millisecond)
	return nil
}

// setAside closes a segment and renames its files for removal; it returns their new names.
func (l *Log) setAside(s *LogSegment) ([]string, error) {
	fsys := l.manager.fs
	s.file.close() // an error concerns only a file that is about to go
	var names []string
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix, snapshotSuffix} {
		name := filepath.Join(l.dir, fileStem(s.base)+suffix)
		if _, err := fsys.Stat(name); err != nil {
			continue
		}
		if err := fsys.Rename(name, name+deletedSuffix); err != nil {
			return names, l.manager.fail("renaming a segment", err)
		}
		names = append(names, name+deletedSuffix)
	}
	return names, nil
}

// AdvanceStartOffset hides everything below offset (DeleteRecords); retention removes what lies
// wholly below it. The caller keeps offset at or below the high watermark.
func (l *Log) AdvanceStartOffset(offset int64) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	start, end := l.start.Load(), l.end.Load()
	if offset > end {
		return &OffsetOutOfRange{offset, start, end}
	}
	if offset <= start {
		return nil
	}
	l.start.Store(offset)
	l.epochs.truncateFromStart(offset)
	l.manager.noteProgress()
	return nil
}
