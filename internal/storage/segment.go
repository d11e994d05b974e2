package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// Suffixes of the files of a segment; the stem is the base offset in 20 digits.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"
	deletedSuffix   = ".deleted" // removed later
	cleanedSuffix   = ".cleaned" // half-written by a compaction
	swapSuffix      = ".swap"    // finished by a compaction, not yet renamed
	cutSuffix       = ".cut"     // bytes recovery took off the end of a log
)

// fileStem is the name without suffix of the files that belong to offset.
func fileStem(offset int64) string { return fmt.Sprintf("%020d", offset) }

// LogSegment is one .log file with its indexes. One goroutine appends (under the Log's appendMu);
// others read at the same time.
type LogSegment struct {
	dir  string
	base int64 // offset in the file name
	fs   vfs.FS
	file *segmentFile

	size   atomic.Int64 // bytes that readers may see
	synced atomic.Int64 // bytes that are durable; written under syncMu

	// indexesOnDisk tells that nothing is appended any more and the index files are complete.
	indexesOnDisk atomic.Bool

	// truncMu is held for writing only while the file is cut, so that no reader sees bytes that are
	// replaced below it.
	truncMu sync.RWMutex

	idxMu   sync.RWMutex
	offsets *OffsetIndex // nil until loaded
	times   *TimeIndex
	aborted []AbortedTxn

	// largest is the largest time of the segment and the last offset of the batch that has it;
	// known only once largestKnown. Guarded by idxMu.
	largest      TimestampOffset
	largestKnown bool

	// Owned by the appender.
	indexInterval  int
	sinceIndex     int   // bytes since the last index entry
	firstTimestamp int64 // of the first batch, -1 when not known
	created        int64 // ms, when the segment was opened for appends
	needsSeal      bool  // the index files on disk are not those of the log
	nextOffset     int64 // after the last batch; kept for the last segment and while scanning
}

func newSegment(fsys vfs.FS, files *openFiles, dir string, base int64, indexInterval int) *LogSegment {
	s := &LogSegment{
		dir: dir, base: base, fs: fsys,
		indexInterval:  indexInterval,
		firstTimestamp: noTimestamp,
		nextOffset:     base,
	}
	s.file = newSegmentFile(files, s)
	return s
}

func (s *LogSegment) isDirty() bool { return s.synced.Load() < s.size.Load() }

// startEmpty makes the in-memory indexes of a segment without batches.
func (s *LogSegment) startEmpty() {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.offsets, s.times = &OffsetIndex{base: s.base}, &TimeIndex{base: s.base}
	s.largest, s.largestKnown = TimestampOffset{noTimestamp, s.base, UndefinedEpoch}, true
	s.aborted, s.sinceIndex, s.firstTimestamp = nil, 0, noTimestamp
}

func (s *LogSegment) name(suffix string) string {
	return filepath.Join(s.dir, fileStem(s.base)+suffix)
}

// indexBatch notes a batch that lies at position: index entries, largest time (Kafka's
// LogSegment.append).
func (s *LogSegment) indexBatch(b record.Batch, position int64) {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	last := b.LastOffset()
	if ts := b.MaxTimestamp(); ts > s.largest.Timestamp {
		s.largest = TimestampOffset{ts, last, b.PartitionLeaderEpoch()}
	}
	if s.firstTimestamp == noTimestamp && position == 0 {
		s.firstTimestamp = b.MaxTimestamp()
	}
	if s.sinceIndex > s.indexInterval {
		s.offsets.Append(last, position)
		s.times.MaybeAppend(s.largest.Timestamp, s.largest.Offset)
		s.sinceIndex = 0
	}
	s.sinceIndex += int(batchSize(b))
	s.nextOffset = last + 1
}

// publish shows size bytes to readers.
func (s *LogSegment) publish(size int64) { s.size.Store(size) }

// finish adds the last entry of the time index, as Kafka does on roll and close.
func (s *LogSegment) finish() {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.times.MaybeAppend(s.largest.Timestamp, s.largest.Offset)
}

// isFull tells whether an index of maxIndexBytes has no room for another entry.
func (s *LogSegment) isFull(maxIndexBytes int) bool {
	s.idxMu.RLock()
	defer s.idxMu.RUnlock()
	return s.offsets.Len() >= maxIndexBytes/offsetEntrySize || s.times.Len() >= maxIndexBytes/timeEntrySize-1
}

// writeIndexes writes the index files whole and makes them durable (not their directory entries).
func (s *LogSegment) writeIndexes() error {
	s.idxMu.RLock()
	offsets, times := s.offsets.entries, s.times.entries
	var aborted []byte
	for _, t := range s.aborted {
		aborted = AppendAbortedTxn(aborted, t)
	}
	s.idxMu.RUnlock()
	if err := writeSynced(s.fs, s.name(indexSuffix), offsets); err != nil {
		return err
	}
	if err := writeSynced(s.fs, s.name(timeIndexSuffix), times); err != nil {
		return err
	}
	if len(aborted) == 0 {
		return removeIfExists(s.fs, s.name(txnIndexSuffix))
	}
	return writeSynced(s.fs, s.name(txnIndexSuffix), aborted)
}

// syncError marks a failed fsync: what is on the disk afterwards is unknown, so it must not be
// tried again.
type syncError struct{ err error }

func (e *syncError) Error() string { return e.err.Error() }
func (e *syncError) Unwrap() error { return e.err }

func asSyncError(err error) error {
	if err == nil {
		return nil
	}
	return &syncError{err}
}

// writeSynced replaces the content of name in place and syncs it.
func writeSynced(fsys vfs.FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil {
		err = asSyncError(f.Sync())
	}
	return errors.Join(err, f.Close())
}

func removeIfExists(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// scan walks the batches from position, of which the first has an offset of at least next. Bad
// bytes are a *CorruptionError.
func (s *LogSegment) scan(position, next int64, crc bool, fn func(position int64, b record.Batch) error) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	scanner := batchScanner{file: f, base: s.base, next: next, crc: crc}
	_, err = scanner.scan(position, s.size.Load(), fn)
	return s.scanError(err)
}

// scanError turns the error of a batchScanner into one that names the file.
func (s *LogSegment) scanError(err error) error {
	if bad := (*damage)(nil); errors.As(err, &bad) {
		return &CorruptionError{s.dir, filepath.Base(s.file.path), bad.offset, bad.position, bad}
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return &ReadError{s.file.path, err}
	}
	return err
}

// adoptIndexes takes over the indexes of a twin that was built from the same batches.
func (s *LogSegment) adoptIndexes(fresh *LogSegment) {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.offsets, s.times, s.largest, s.largestKnown = fresh.offsets, fresh.times, fresh.largest, true
	s.sinceIndex, s.firstTimestamp = fresh.sinceIndex, fresh.firstTimestamp
}

// truncateTo cuts the file and the indexes to size bytes, after which nextOffset follows.
func (s *LogSegment) truncateTo(size, nextOffset int64) error {
	s.truncMu.Lock()
	defer s.truncMu.Unlock()
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	if err := f.Truncate(size); err != nil {
		return err
	}
	s.size.Store(size)
	s.synced.Store(min(s.synced.Load(), size))
	s.nextOffset = nextOffset
	return nil
}

// sync makes the bytes below size durable.
func (s *LogSegment) sync(size int64) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	if err := f.Sync(); err != nil {
		return asSyncError(err)
	}
	s.synced.Store(max(s.synced.Load(), size))
	return nil
}
