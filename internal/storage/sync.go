package storage

import (
	"errors"
	"os"
	"path/filepath"

	"klamm/internal/vfs"
)

// Sync makes everything appended so far durable, rolled segments and directory entries included,
// and returns the end of it (exclusive). Appends and reads go on meanwhile; calls are served one
// after the other. A failed sync takes the log directory offline and is never retried.
func (l *Log) Sync() (syncedTo int64, err error) { return l.syncUpTo(nil) }

// syncUpTo makes the segments up to last durable, all with nil.
func (l *Log) syncUpTo(last *LogSegment) (int64, error) {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.appendMu.Lock()
	if err := l.usable(); err != nil {
		l.appendMu.Unlock()
		return l.synced.Load(), err
	}
	end := l.end.Load()
	dirty, sizes := l.dirtySegments(last)
	if last != nil {
		end = last.nextOffset
	}
	newFiles, newDir := l.newFiles, l.newDir && l.hasFile
	l.newFiles = false
	l.newDir = l.newDir && !newDir
	l.appendMu.Unlock()

	for i, s := range dirty {
		if err := s.sync(sizes[i]); err != nil {
			return l.synced.Load(), l.manager.fail("sync", err)
		}
	}
	if err := l.syncEntries(newFiles, newDir); err != nil {
		return l.synced.Load(), err
	}
	if l.synced.Load() < end {
		l.synced.Store(end)
		l.manager.noteProgress()
	}
	return end, nil
}

// dirtySegments lists the segments with unsynced bytes up to last (nil: all), oldest first, and
// their lengths now. The older ones of a long log are synced, so the search starts at the end.
func (l *Log) dirtySegments(last *LogSegment) (dirty []*LogSegment, sizes []int64) {
	segments := *l.segments.Load()
	first := len(segments) - 1
	for first > 0 && segments[first-1].isDirty() {
		first--
	}
	for _, s := range segments[first:] {
		if size := s.size.Load(); s.synced.Load() < size && (last == nil || s.base <= last.base) {
			dirty, sizes = append(dirty, s), append(sizes, size)
		}
	}
	return dirty, sizes
}

// syncEntries makes the directory entries of new files durable, and those of a new partition.
func (l *Log) syncEntries(newFiles, newDir bool) error {
	fsys := l.manager.fs
	if newDir {
		if err := syncFile(fsys, filepath.Join(l.dir, partitionMetadataFile)); err != nil {
			return l.manager.fail("sync", err)
		}
	}
	if newFiles || newDir {
		if err := fsys.SyncDir(l.dir); err != nil {
			return l.manager.fail("sync of a directory", err)
		}
	}
	if newDir {
		return l.manager.syncRoot()
	}
	return nil
}

func syncFile(fsys vfs.FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sealSoon has seal run beside the appends.
func (l *Log) sealSoon() {
	if l.sealing.CompareAndSwap(false, true) {
		l.manager.runSoon(func() {
			if err := l.seal(); err != nil && !errors.Is(err, ErrClosed) {
				l.logger.Warn("cannot write the indexes of a full segment; will try again", "partition", l.tp.String(), "error", err)
			}
		})
	}
}

// seal writes the indexes and producer snapshots of rolled segments, after which the recovery point
// may pass them.
func (l *Log) seal() error {
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	l.sealing.Store(false)
	return l.sealPending()
}

// sealPending is seal for a caller that holds sealMu.
func (l *Log) sealPending() error {
	sealed := false
	for {
		l.appendMu.Lock()
		if err := l.usable(); err != nil || len(l.pending) == 0 {
			l.appendMu.Unlock()
			if sealed {
				l.manager.noteSealed()
			}
			return err
		}
		task := l.pending[0]
		l.appendMu.Unlock()
		if _, err := l.syncUpTo(task.segment); err != nil {
			return err
		}
		if err := l.writeSealed(task); err != nil {
			return err
		}
		l.appendMu.Lock()
		l.pending = l.pending[1:]
		task.segment.needsSeal = false
		task.segment.indexesOnDisk.Store(true)
		l.sealed.Store(l.firstPending())
		l.appendMu.Unlock()
		sealed = true
	}
}

func (l *Log) firstPending() int64 {
	if len(l.pending) == 0 {
		return -1
	}
	return l.pending[0].segment.base
}

// writeSealed writes the files that belong to a segment that is not appended to.
func (l *Log) writeSealed(task sealTask) error {
	if err := task.segment.writeIndexes(); err != nil {
		return l.manager.failUnlessFull("writing an index", err)
	}
	if task.snapshot != nil {
		name := filepath.Join(l.dir, fileStem(task.end)+snapshotSuffix)
		if err := writeSynced(l.manager.fs, name, task.snapshot); err != nil {
			return l.manager.failUnlessFull("writing a producer snapshot", err)
		}
	}
	if synced, err := l.writeEpochs(); synced || err != nil {
		return err
	}
	if err := l.manager.fs.SyncDir(l.dir); err != nil {
		return l.manager.fail("sync of a directory", err)
	}
	return nil
}

// writeEpochs writes leader-epoch-checkpoint when the epochs changed; that syncs the directory too.
func (l *Log) writeEpochs() (synced bool, err error) {
	data, version, changed := l.epochs.unwritten()
	if !changed {
		return false, nil
	}
	if err := writeAtomic(l.manager.fs, filepath.Join(l.dir, leaderEpochFile), data); err != nil {
		return false, l.manager.failUnlessFull("writing leader-epoch-checkpoint", err)
	}
	l.epochs.markWritten(version)
	return true, nil
}

// close closes the files. With clean it writes what a clean start needs (indexes, producer snapshot,
// leader epochs); a log that was not written since it was opened costs nothing.
func (l *Log) close(clean bool) error {
	var err error
	if clean {
		err = l.flushForClose()
	}
	l.appendMu.Lock()
	if l.closed == nil {
		l.closed = ErrClosed
	}
	segments := *l.segments.Load()
	l.appendMu.Unlock()
	for _, s := range segments {
		if cerr := s.file.close(); err == nil && clean {
			err = cerr
		}
	}
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// flushForClose makes the log as a clean start expects it.
func (l *Log) flushForClose() error {
	if err := l.seal(); err != nil {
		return err
	}
	if _, err := l.Sync(); err != nil {
		return err
	}
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	l.appendMu.Lock()
	if err := l.usable(); err != nil {
		l.appendMu.Unlock()
		return err
	}
	task := sealTask{segment: l.active(), end: l.end.Load()}
	write := task.segment.needsSeal
	if write {
		task.segment.finish()
		task.snapshot = l.producers.snapshot()
	}
	l.appendMu.Unlock()
	if !write {
		_, err := l.writeEpochs()
		return err
	}
	if err := l.writeSealed(task); err != nil {
		return err
	}
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	task.segment.needsSeal = false
	return nil
}
