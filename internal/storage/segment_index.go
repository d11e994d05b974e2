package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// loadIndexes reads the index files of a segment that is not appended to. Files that are missing or
// do not fit the log are rebuilt in memory from its batches, never believed.
func (s *LogSegment) loadIndexes() error {
	s.idxMu.RLock()
	loaded := s.offsets != nil
	s.idxMu.RUnlock()
	if loaded {
		return nil
	}
	offsets, times, aborted, err := s.readIndexFiles()
	if err == nil {
		err = s.probeIndexes(offsets, times)
	}
	if err != nil {
		if isFormatError := new(FormatError); !errors.As(err, &isFormatError) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return s.rebuildIndexes()
	}
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	if s.offsets == nil {
		s.offsets, s.times, s.aborted = offsets, times, aborted
		ts, offset := times.Last()
		s.largest, s.largestKnown = TimestampOffset{ts, offset, UndefinedEpoch}, true
	}
	return nil
}

func (s *LogSegment) readIndexFiles() (*OffsetIndex, *TimeIndex, []AbortedTxn, error) {
	data, err := vfs.ReadFile(s.fs, s.name(indexSuffix), math.MaxInt32)
	if err != nil {
		return nil, nil, nil, err
	}
	offsets, err := ParseOffsetIndex(s.name(indexSuffix), s.base, data, s.size.Load())
	if err != nil {
		return nil, nil, nil, err
	}
	if data, err = vfs.ReadFile(s.fs, s.name(timeIndexSuffix), math.MaxInt32); err != nil {
		return nil, nil, nil, err
	}
	times, err := ParseTimeIndex(s.name(timeIndexSuffix), s.base, data)
	if err != nil {
		return nil, nil, nil, err
	}
	data, err = vfs.ReadFile(s.fs, s.name(txnIndexSuffix), math.MaxInt32)
	if errors.Is(err, fs.ErrNotExist) {
		return offsets, times, nil, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	aborted, err := ParseTxnIndex(s.name(txnIndexSuffix), data)
	return offsets, times, aborted, err
}

// probeIndexes checks that the last entry of the offset index names a batch of the log, and that a
// log with batches has a time index.
func (s *LogSegment) probeIndexes(offsets *OffsetIndex, times *TimeIndex) error {
	switch {
	case indexTrusted || s.size.Load() == 0:
		return nil
	case times.Len() == 0:
		return &FormatError{s.name(timeIndexSuffix), "it is empty"}
	case offsets.Len() == 0:
		return nil
	}
	return s.checkEntry(offsets.Entry(offsets.Len() - 1))
}

// checkEntry compares an entry of the offset index with the batch at its position.
func (s *LogSegment) checkEntry(lastOffset, position int64) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	var header [record.HeaderSize]byte
	if s.size.Load()-position < record.HeaderSize {
		return &FormatError{s.name(indexSuffix), "its last entry lies outside of the log"}
	}
	if n, err := f.ReadAt(header[:], position); n < len(header) {
		return &ReadError{s.file.path, err}
	}
	b := record.Batch(header[:])
	if checkHeader(header[:], s.size.Load()-position, s.base, s.base) != "" || b.LastOffset() != lastOffset {
		return &FormatError{s.name(indexSuffix), fmt.Sprintf("offset %d is not at position %d", lastOffset, position)}
	}
	return nil
}

// rebuildIndexes makes the indexes from the batch headers of the log.
func (s *LogSegment) rebuildIndexes() error {
	fresh := newSegment(s.fs, s.file.files, s.dir, s.base, s.indexInterval)
	fresh.startEmpty()
	if err := s.scan(0, s.base, false, func(position int64, b record.Batch) error {
		fresh.indexBatch(b, position)
		return nil
	}); err != nil {
		return err
	}
	fresh.finish()
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.offsets, s.times = fresh.offsets, fresh.times
	if !s.largestKnown || s.largest.Timestamp < fresh.largest.Timestamp { // an append may have come in between
		s.largest, s.largestKnown = fresh.largest, true
	}
	return nil
}

// unload drops the indexes from memory when their files hold them.
func (s *LogSegment) unload() {
	if !s.indexesOnDisk.Load() {
		return
	}
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.offsets, s.times = nil, nil
}
