package storage

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// olderBatchesMax is how many bytes of log are walked at most to fill up a producer's window that a
// snapshot, which holds only the last batch, cut short.
const olderBatchesMax = 256 << 20

// rebuildProducers makes the producer state as of offset end from the newest snapshot that is not
// later, and the batches after it. Snapshots that cannot be read are removed. The caller holds
// appendMu or is loading the log.
func (l *Log) rebuildProducers(end int64) error {
	from, err := l.loadSnapshot(end)
	if err != nil {
		return err
	}
	return l.replayProducers(from, end)
}

// loadSnapshot takes the newest readable snapshot at or before end. It returns the offset from which
// batches must be replayed.
func (l *Log) loadSnapshot(end int64) (from int64, err error) {
	l.producers.load(nil)
	offsets, err := l.snapshotOffsets()
	if err != nil {
		return 0, err
	}
	for _, offset := range slices.Backward(offsets) {
		if offset > end {
			continue
		}
		name := filepath.Join(l.dir, fileStem(offset)+snapshotSuffix)
		entries, err := readSnapshot(l.manager.fs, name)
		if err == nil {
			l.producers.load(entries)
			return offset, nil
		}
		if bad := (*FormatError)(nil); !errors.As(err, &bad) {
			return 0, &ReadError{name, err}
		}
		l.logger.Warn("removing an unreadable producer snapshot; an older one and the log replace it", "file", name, "error", err)
		if err := removeIfExists(l.manager.fs, name); err != nil {
			return 0, err
		}
	}
	return (*l.segments.Load())[0].base, nil
}

func readSnapshot(fsys vfs.FS, name string) ([]ProducerSnapshotEntry, error) {
	data, err := vfs.ReadFile(fsys, name, snapshotMaxBytes)
	if err != nil {
		return nil, err
	}
	return ParseProducerSnapshot(name, data)
}

// snapshotOffsets lists the offsets of the snapshot files in order.
func (l *Log) snapshotOffsets() ([]int64, error) {
	entries, err := l.manager.fs.ReadDir(l.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var offsets []int64
	for _, entry := range entries {
		if offset, suffix, ok := parseFileName(entry.Name()); ok && suffix == snapshotSuffix {
			offsets = append(offsets, offset)
		}
	}
	slices.Sort(offsets)
	return offsets, nil
}

// removeSnapshots removes the snapshot files whose offset drop chooses.
func (l *Log) removeSnapshots(drop func(offset int64) bool) error {
	offsets, err := l.snapshotOffsets()
	if err != nil {
		return err
	}
	for _, offset := range offsets {
		if drop(offset) {
			if err := removeIfExists(l.manager.fs, filepath.Join(l.dir, fileStem(offset)+snapshotSuffix)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayProducers feeds the batches of [from, end) to the producer state.
func (l *Log) replayProducers(from, end int64) error {
	segments := *l.segments.Load()
	for _, s := range segments[max(0, floor(segments, from)):] {
		if s.base >= end || s.size.Load() == 0 {
			continue
		}
		if err := s.loadIndexes(); err != nil {
			return s.scanError(err)
		}
		_, position, _ := s.lookup(from)
		err := s.scan(position, s.base, false, func(_ int64, b record.Batch) error {
			if b.BaseOffset() >= end {
				return errStopScan
			}
			if b.LastOffset() >= from {
				l.producers.update(b)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// olderBatches reads the last batches of a producer from the log, without the newest one that the
// snapshot held. It walks back budget bytes at most.
func (l *Log) olderBatches(id int64, epoch int16, budget int64) ([]producerBatch, error) {
	known, _ := l.producers.get(id)
	if known.count == 0 || known.epoch != epoch {
		return nil, nil
	}
	upTo := known.batches[0].firstOffset()
	segments := *l.segments.Load()
	var found []producerBatch
	for i := floor(segments, upTo); i >= 0 && budget > 0 && len(found) < producerWindow; i-- {
		s := segments[i]
		position := max(0, s.size.Load()-budget)
		budget -= s.size.Load()
		if position > 0 { // begin at a batch, which the index knows
			var err error
			if position, err = s.batchAtOrAfter(position); err != nil {
				return nil, err
			}
		}
		var here []producerBatch
		err := s.scan(position, s.base, false, func(_ int64, b record.Batch) error {
			if b.LastOffset() >= upTo {
				return errStopScan
			}
			if b.ProducerID() == id && b.ProducerEpoch() == epoch && b.BaseSequence() != record.NoSequence {
				here = append(here, producerBatch{b.LastSequence(), b.LastOffsetDelta(), b.LastOffset(), b.MaxTimestamp()})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		found = append(here, found...)
	}
	return found[max(0, len(found)-producerWindow):], nil
}

// batchAtOrAfter is the position of an indexed batch at position or later, the segment's end without one.
func (s *LogSegment) batchAtOrAfter(position int64) (int64, error) {
	if err := s.loadIndexes(); err != nil {
		return 0, s.scanError(err)
	}
	s.idxMu.RLock()
	defer s.idxMu.RUnlock()
	for i := range s.offsets.Len() {
		if _, p := s.offsets.Entry(i); p >= position {
			return p, nil
		}
	}
	return s.size.Load(), nil
}
