package storage

import (
	"errors"
	"fmt"
	"os"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// recover checks every batch of the segments from first on, makes their indexes, the leader epochs
// and the producer state again, and cuts off what the last writes left incomplete.
//
// Bad bytes are one of two things. They are the torn end of the log when they lie at or after the
// recovery point and no whole batch follows them: they are cut off. Everything else is damage to
// records that may have been acknowledged: a *CorruptionError, and nothing is changed. One case
// lies in between: the machine itself has restarted, and whole batches follow the bad ones. A disk
// may write pages out of order, so bytes that were never synced can be missing before others that
// made it; the log is cut there, and the bytes taken away are kept in a file with suffix .cut.
func (l *loader) recover(first int) error {
	replayFrom, err := l.loadSnapshot(l.segments[first].base)
	if err != nil {
		return err
	}
	if err := l.replayProducers(replayFrom, l.segments[first].base); err != nil {
		return err
	}
	for i := first; i < len(l.segments); i++ {
		s := l.segments[i]
		if i > first {
			l.sealRecovered(l.segments[i-1], s.base)
		}
		end, bad, err := l.recoverSegment(s)
		if err != nil {
			return err
		}
		if bad != nil {
			return l.settle(i, end, bad)
		}
		if i+1 < len(l.segments) {
			if bad := l.checkSeam(s, l.segments[i+1]); bad != nil {
				return l.settle(i, end, bad)
			}
		}
	}
	return nil
}

// checkSeam compares the end of a segment with the start of the next one. Only compaction leaves gaps.
func (l *loader) checkSeam(s, next *LogSegment) *damage {
	switch {
	case next.base < s.nextOffset:
		return &damage{s.size.Load(), s.nextOffset, fmt.Sprintf("the next segment begins at offset %d, within this one", next.base)}
	case next.base > s.nextOffset && !l.config.Load().Compact:
		return &damage{s.size.Load(), s.nextOffset, fmt.Sprintf("the segment ends at offset %d, the next one begins at %d", s.nextOffset, next.base)}
	}
	return nil
}

// sealRecovered queues the index files and snapshot of a checked segment that another follows.
func (l *loader) sealRecovered(s *LogSegment, end int64) {
	s.finish()
	s.needsSeal = true
	l.pending = append(l.pending, sealTask{s, end, l.producers.snapshot()})
}

// recoverSegment walks one segment. It returns where the good batches end and what is wrong there.
func (l *loader) recoverSegment(s *LogSegment) (end int64, bad *damage, err error) {
	s.startEmpty()
	s.indexesOnDisk.Store(false)
	f, err := s.file.acquire()
	if err != nil {
		return 0, nil, err
	}
	defer s.file.release()
	scanner := batchScanner{file: f, base: s.base, next: s.base, crc: true}
	end, err = scanner.scan(0, s.size.Load(), func(position int64, b record.Batch) error {
		s.indexBatch(b, position)
		if latest, known := l.epochs.Latest(); !known || b.PartitionLeaderEpoch() > latest {
			l.epochs.Assign(b.PartitionLeaderEpoch(), b.BaseOffset())
		}
		if !b.HasProducerID() {
			return nil
		}
		if txn, ended := l.producers.update(b); ended && txn.Aborted {
			s.noteAborted(AbortedTxn{txn.ProducerID, txn.FirstOffset, txn.LastOffset, l.stableAfter(txn)})
		}
		return nil
	})
	s.needsSeal = true
	if err != nil && !errors.As(err, &bad) {
		return end, nil, s.scanError(err)
	}
	return end, bad, nil
}

// settle decides about bad bytes at position end of segment i.
func (l *loader) settle(i int, end int64, bad *damage) error {
	s := l.segments[i]
	corrupt := s.scanError(bad)
	if l.clean || bad.offset < l.recoveryPoint {
		return corrupt
	}
	follows, err := l.batchFollows(i, end, bad.offset)
	if err != nil {
		return s.scanError(err)
	}
	if follows && l.sameBoot {
		return corrupt
	}
	if follows {
		if err := l.keepCut(i, end); err != nil {
			return err
		}
	}
	l.logger.Warn("cut off the incomplete end of a log", "file", s.file.path, "offset", bad.offset,
		"bytes", s.size.Load()-end, "whole batches followed", follows, "reason", bad.reason)
	return l.cutTail(i, end)
}

// batchFollows looks for a whole batch after the bad bytes, in the same segment and in later ones.
func (l *loader) batchFollows(i int, end, offset int64) (bool, error) {
	for j, s := range l.segments[i:] {
		from, size := end+1, s.size.Load()
		if j > 0 {
			from = 0
		}
		f, err := s.file.acquire()
		if err != nil {
			return false, err
		}
		_, found, err := findBatch(f, s.base, offset, from, size)
		s.file.release()
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// keepCut copies what cutTail is going to remove.
func (l *loader) keepCut(i int, end int64) error {
	s := l.segments[i]
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	name := fmt.Sprintf("%s-%d%s", s.name(logSuffix), end, cutSuffix)
	if err := copyRange(l.manager.fs, f, end, s.size.Load(), name); err != nil {
		return l.manager.failUnlessFull("keeping the end of a log before it is cut", err)
	}
	l.logger.Warn("kept bytes that recovery takes off a log", "file", name)
	return nil
}

func copyRange(fsys vfs.FS, from vfs.File, at, end int64, name string) (err error) {
	to, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	buf := make([]byte, min(scanWhole, end-at))
	for start := at; at < end; {
		n := min(int64(len(buf)), end-at)
		if got, err := from.ReadAt(buf[:n], at); int64(got) < n {
			return err
		}
		if _, err := to.WriteAt(buf[:n], at-start); err != nil {
			return err
		}
		at += n
	}
	return asSyncError(to.Sync())
}

// cutTail makes segment i the last one and ends it at size bytes.
func (l *loader) cutTail(i int, size int64) error {
	l.changed = true
	for j := len(l.segments) - 1; j > i; j-- {
		s := l.segments[j]
		if s.size.Load() > 0 {
			if err := s.file.close(); err != nil {
				return err
			}
			if err := l.rename(fileStem(s.base)+logSuffix, fileStem(s.base)+logSuffix+cutSuffix); err != nil {
				return err
			}
			continue
		}
		if err := l.removeSegment(s); err != nil {
			return err
		}
	}
	l.segments = l.segments[:i+1]
	l.Log.segments.Store(&l.segments)
	s := l.segments[i]
	if err := s.truncateTo(size, s.nextOffset); err != nil {
		return l.manager.fail("truncation", err)
	}
	return nil
}
