package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// parseFileName splits the name of a segment's file into offset and suffix.
func parseFileName(name string) (offset int64, suffix string, ok bool) {
	stem, rest, ok := strings.Cut(name, ".")
	if !ok || len(stem) != 20 {
		return 0, "", false
	}
	offset, err := strconv.ParseInt(stem, 10, 64)
	if err != nil || offset < 0 {
		return 0, "", false
	}
	return offset, "." + rest, true
}

// loader opens one partition (Kafka's LogLoader).
type loader struct {
	*Log
	clean         bool  // the last run ended in order
	sameBoot      bool  // the machine has not restarted since: what was written is there, synced or not
	recoveryPoint int64 // everything below was durable
	startOffset   int64 // of log-start-offset-checkpoint

	segments  []*LogSegment
	snapshots []int64 // offsets of the snapshot files found
	changed   bool    // files were cut, removed or renamed
}

// load finds the state of the partition on disk.
func (l *loader) load() error {
	if err := l.listFiles(); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return l.startEmpty()
	}
	if err := l.readEpochs(); err != nil {
		return err
	}
	l.Log.segments.Store(&l.segments)
	l.hasFile = true
	first := len(l.segments) // of the segments whose every byte is checked
	if !l.clean && !indexTrusted {
		first = max(0, floor(l.segments, l.recoveryPoint))
	}
	if err := l.openChecked(&first); err != nil {
		return err
	}
	return l.finish(first)
}

// startEmpty makes the log of a partition without segments.
func (l *loader) startEmpty() error {
	cfg := l.config.Load()
	base := max(0, l.startOffset)
	if l.recoveryPoint > base && !l.newDir {
		return l.missing(base)
	}
	s := newSegment(l.manager.fs, &l.manager.files, l.dir, base, cfg.IndexIntervalBytes)
	s.startEmpty()
	s.created = l.manager.now().UnixMilli()
	l.Log.segments.Store(&[]*LogSegment{s})
	l.setOffsets(base, base)
	return nil
}

func (l *loader) setOffsets(start, end int64) {
	l.start.Store(start)
	l.end.Store(end)
	l.synced.Store(end)
	l.sealed.Store(-1)
}

// missing says that records which were durable are not there any more.
func (l *loader) missing(end int64) error {
	segment := fileStem(end) + logSuffix
	position := int64(0)
	if n := len(l.segments); n > 0 {
		segment, position = filepath.Base(l.segments[n-1].file.path), l.segments[n-1].size.Load()
	}
	return &CorruptionError{
		l.dir, segment, end, position,
		fmt.Errorf("the log ends at offset %d, but %s says that offsets up to %d were on disk", end, recoveryPointFile, l.recoveryPoint),
	}
}

// listFiles sorts out the partition's directory: leftovers go, segments are listed.
func (l *loader) listFiles() error {
	entries, err := l.manager.fs.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	logs := map[int64]bool{}
	var indexes []string
	for _, entry := range entries {
		offset, suffix, ok := parseFileName(entry.Name())
		switch {
		case strings.HasSuffix(entry.Name(), ".tmp") || ok && (strings.HasSuffix(suffix, deletedSuffix) || strings.HasSuffix(suffix, cleanedSuffix)):
			err = l.remove(entry.Name())
		case ok && strings.HasSuffix(suffix, swapSuffix): // a compaction had finished it: complete the swap
			err = l.rename(entry.Name(), strings.TrimSuffix(entry.Name(), swapSuffix))
			if suffix == logSuffix+swapSuffix {
				logs[offset] = true
			}
		case ok && suffix == logSuffix:
			logs[offset] = true
		case ok && suffix == snapshotSuffix:
			l.snapshots = append(l.snapshots, offset)
		case ok && (suffix == indexSuffix || suffix == timeIndexSuffix || suffix == txnIndexSuffix):
			indexes = append(indexes, entry.Name())
		}
		if err != nil {
			return err
		}
	}
	for _, name := range indexes {
		if offset, _, _ := parseFileName(name); !logs[offset] {
			if err := l.remove(name); err != nil {
				return err
			}
		}
	}
	return l.openSegments(logs)
}

func (l *loader) openSegments(logs map[int64]bool) error {
	interval := l.config.Load().IndexIntervalBytes
	for base := range logs {
		s := newSegment(l.manager.fs, &l.manager.files, l.dir, base, interval)
		info, err := l.manager.fs.Stat(s.file.path)
		if err != nil {
			return &ReadError{s.file.path, err}
		}
		s.created = info.ModTime().UnixMilli()
		s.size.Store(info.Size())
		s.synced.Store(info.Size())
		s.indexesOnDisk.Store(true)
		l.segments = append(l.segments, s)
	}
	slices.SortFunc(l.segments, func(a, b *LogSegment) int { return int(min(1, max(-1, a.base-b.base))) })
	return nil
}

func (l *loader) remove(name string) error {
	l.changed = true
	return removeIfExists(l.manager.fs, filepath.Join(l.dir, name))
}

func (l *loader) rename(from, to string) error {
	l.changed = true
	return l.manager.fs.Rename(filepath.Join(l.dir, from), filepath.Join(l.dir, to))
}

// readEpochs reads leader-epoch-checkpoint; a damaged one is made again from the batches, as far as
// they are walked.
func (l *loader) readEpochs() error {
	name := filepath.Join(l.dir, leaderEpochFile)
	data, err := vfs.ReadFile(l.manager.fs, name, smallFileMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &ReadError{name, err}
	}
	entries, err := ParseLeaderEpochs(name, data)
	if err != nil {
		l.logger.Warn("ignoring a damaged file; leader epochs are read from the log again", "error", err)
		l.recoveryPoint = 0 // walk everything
		return nil
	}
	l.epochs.reset(entries)
	return nil
}

// openChecked finds the end of the log. Segments from *first on are checked byte by byte; after a
// clean shutdown only the end of the last one is looked at.
func (l *loader) openChecked(first *int) error {
	last := l.segments[len(l.segments)-1]
	if *first == len(l.segments) {
		err := l.openClean(last)
		if err == nil {
			return l.rebuildProducers(last.nextOffset)
		}
		if bad := (*damage)(nil); !errors.As(err, &bad) {
			return err
		}
		l.logger.Warn("the last segment is not as a clean shutdown leaves it; checking all of it", "file", last.file.path, "reason", err)
		*first = len(l.segments) - 1
	}
	return l.recover(*first)
}

// openClean finds the end of the last segment from its last index entry on.
func (l *loader) openClean(s *LogSegment) error {
	if err := s.loadIndexes(); err != nil {
		return s.scanError(err)
	}
	s.idxMu.RLock()
	position := int64(0)
	if n := s.offsets.Len(); n > 0 {
		_, position = s.offsets.Entry(n - 1)
	}
	s.idxMu.RUnlock()
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	scanner := batchScanner{file: f, base: s.base, next: s.base}
	end, err := scanner.scan(position, s.size.Load(), func(at int64, b record.Batch) error {
		if ts := b.MaxTimestamp(); ts > s.largest.Timestamp {
			s.largest = TimestampOffset{ts, b.LastOffset(), b.PartitionLeaderEpoch()}
		}
		if at > position || position == 0 {
			s.sinceIndex += int(batchSize(b))
		}
		return nil
	})
	s.nextOffset = scanner.next
	s.indexesOnDisk.Store(false)
	if err == nil {
		return s.readFirstTimestamp(f)
	}
	if bad := (*damage)(nil); indexTrusted && errors.As(err, &bad) {
		return s.truncateTo(end, s.nextOffset)
	}
	return err
}

// readFirstTimestamp gets the time of the first batch, from which segment.ms counts.
func (s *LogSegment) readFirstTimestamp(f vfs.File) error {
	var header [record.HeaderSize]byte
	if s.size.Load() < record.HeaderSize {
		return nil
	}
	if n, err := f.ReadAt(header[:], 0); n < len(header) {
		return &ReadError{s.file.path, err}
	}
	s.firstTimestamp = record.Batch(header[:]).MaxTimestamp()
	return nil
}

// sortSnapshots removes snapshots that are not needed. After a crash those within the segments that
// were checked go: the ones at rolled segments' ends are written anew. Else the ones at segment
// starts and the newest stay, as in Kafka: every clean shutdown leaves one at the end the log had then.
func (l *loader) sortSnapshots(first int) error {
	if first < len(l.segments) {
		base := l.segments[first].base
		return l.removeSnapshots(func(offset int64) bool { return offset > base })
	}
	if len(l.snapshots) < 2 {
		return nil
	}
	newest := slices.Max(l.snapshots)
	for _, offset := range l.snapshots {
		isBase := slices.ContainsFunc(l.segments, func(s *LogSegment) bool { return s.base == offset })
		if !isBase && offset != newest {
			if err := l.remove(fileStem(offset) + snapshotSuffix); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish sets the offsets of the loaded log and makes what recovery changed durable.
func (l *loader) finish(first int) error {
	active := l.segments[len(l.segments)-1]
	end := active.nextOffset
	start := max(l.startOffset, l.segments[0].base)
	if !indexTrusted && end < l.recoveryPoint && start <= end {
		return l.missing(end)
	}
	l.Log.segments.Store(&l.segments)
	l.setOffsets(start, end)
	if start > end { // everything left was deleted by an advance of the start offset
		return l.restartAt(start)
	}
	l.epochs.truncateFromEnd(end)
	l.epochs.truncateFromStart(start)
	l.sealed.Store(l.firstPending())
	if err := l.sortSnapshots(first); err != nil {
		return err
	}
	if !l.changed && !l.newDir && (first == len(l.segments) || end <= l.recoveryPoint) {
		return nil // nothing was touched, and all of it is durable
	}
	for _, s := range l.segments[min(first, len(l.segments)-1):] {
		if err := s.sync(s.size.Load()); err != nil {
			return l.manager.fail("sync", err)
		}
	}
	if _, err := l.writeEpochs(); err != nil {
		return err
	}
	if err := l.syncEntries(true, l.newDir); err != nil {
		return err
	}
	l.newDir = false
	return nil
}
