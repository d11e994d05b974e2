package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// metadataDir is the directory of the metadata log under the log directory, under Kafka's name.
const metadataDir = "__cluster_metadata-0"

// metadataTopicID is the fixed topic id of the metadata log.
const metadataTopicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// maxMetadataBatch is the largest batch that is believed, in bytes. Kafka's limit is 8 MiB; it may be
// configured.
const maxMetadataBatch = 256 << 20

// kraftLog is the metadata log as Kafka keeps it: segment files of record batches. It is derived:
// whatever is wrong with it is written again from the WAL or a checkpoint, so appending does not
// sync.
type kraftLog struct {
	fs       vfs.FS
	dir      string
	segments []int64 // base offsets, ascending; the last one is open
	file     vfs.File
	size     int64 // of the open segment
	end      int64 // next offset
	epoch    int32 // of the last batch
	epochs   []epochStart
	// segmentBytes is the size from which a segment is closed (metadata.log.segment.bytes).
	segmentBytes int64
}

// epochStart is one line of leader-epoch-checkpoint.
type epochStart struct {
	epoch int32
	start int64
}

// KraftLogError is a failed read or write of the derived metadata log, or damage that cannot be
// healed by writing it again.
type KraftLogError struct {
	File string
	Op   string
	Err  error
}

func (e *KraftLogError) Error() string {
	return fmt.Sprintf("metadata log %s: %s: %v", e.File, e.Op, e.Err)
}

func (e *KraftLogError) Unwrap() error { return e.Err }

func segmentName(dir string, base int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d.log", base))
}

// openKraftLog lists the segments. Nothing is read yet.
func openKraftLog(fsys vfs.FS, dir string) (*kraftLog, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &KraftLogError{dir, "list", err}
	}
	l := &kraftLog{fs: fsys, dir: dir}
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".log")
		if base, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && len(digits) == 20 && !e.IsDir() {
			l.segments = append(l.segments, base)
		}
	}
	slices.Sort(l.segments)
	return l, nil
}

// start is the first offset of the log, 0 when it is empty.
func (l *kraftLog) start() int64 {
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[0]
}

// batches calls fn for each valid batch from the segment that holds offset from on, until fn returns
// false, the log ends, or something else than the expected next batch is there. Damage is no error:
// the log just ends in front of it.
func (l *kraftLog) batches(from int64, fn func(record.Batch) (bool, error)) error {
	first := 0
	for i, base := range l.segments {
		if base <= from {
			first = i
		}
	}
	next := int64(-1)
	for _, base := range l.segments[first:] {
		if next >= 0 && base != next {
			return nil
		}
		next = base
		goOn, err := l.segmentBatches(base, &next, fn)
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}

// segmentBatches reads one segment; next is the offset the next batch must have. It reports whether
// the segment was whole.
func (l *kraftLog) segmentBatches(base int64, next *int64, fn func(record.Batch) (bool, error)) (bool, error) {
	name := segmentName(l.dir, base)
	f, err := l.fs.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return false, &KraftLogError{name, "open", err}
	}
	defer f.Close()
	r := batchReader{file: f, name: name}
	for {
		b, err := r.next()
		if err == io.EOF {
			return true, nil
		}
		var damaged *record.CorruptError
		if errors.As(err, &damaged) || err == io.ErrUnexpectedEOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if b.BaseOffset() != *next {
			return false, nil
		}
		*next = b.LastOffset() + 1
		if goOn, err := fn(b); err != nil || !goOn {
			return false, err
		}
	}
}

// checkTornEnd tells a torn end from damage in the middle, where the readable part ends in front of
// offset end: nothing intact may follow. It is asked only when this log is the only source.
func (l *kraftLog) checkTornEnd(end int64) error {
	for i, base := range l.segments {
		if i+1 < len(l.segments) && l.segments[i+1] <= end {
			continue
		}
		name := segmentName(l.dir, base)
		data, err := vfs.ReadFile(l.fs, name, maxWALFile)
		if err != nil {
			return &KraftLogError{name, "read", err}
		}
		if at := findBatch(data, end); at >= 0 {
			return &KraftLogError{name, "read", fmt.Errorf("offset %d cannot be read, but records behind it are intact at byte %d: restore the file from a backup, or cut it there by hand", end, at)}
		}
	}
	return nil
}

// findBatch looks for an intact batch at or behind an offset, at any position; -1 when there is none.
func findBatch(data []byte, from int64) int {
	for at := 0; at+record.HeaderSize <= len(data); at++ {
		if data[at+16] != record.MagicV2 {
			continue
		}
		if b, _, err := record.Next(data[at:]); err == nil && b.BaseOffset() >= from && b.VerifyCRC() == nil {
			return at
		}
	}
	return -1
}

// batchReader reads the batches of a file in pieces.
type batchReader struct {
	file vfs.File
	name string
	buf  []byte // unread bytes
	pos  int64  // position in the file behind buf
	at   int64  // position of the batch last returned
}

const readPiece = 256 << 10

// next returns the next batch with a valid checksum; io.EOF at a clean end, io.ErrUnexpectedEOF
// inside a batch, *record.CorruptError for anything else. The batch is valid until the next call.
func (r *batchReader) next() (record.Batch, error) {
	for want := record.LogOverhead; ; {
		if len(r.buf) >= want {
			b, rest, err := record.Next(r.buf)
			if err == nil {
				if err := b.VerifyCRC(); err != nil {
					return nil, err
				}
				r.at, r.buf = r.pos-int64(len(r.buf)), rest
				return b, nil
			}
			if err != io.ErrUnexpectedEOF {
				return nil, err
			}
			length := int64(record.Batch(r.buf).Length()) + record.LogOverhead
			if length > maxMetadataBatch {
				return nil, &record.CorruptError{}
			}
			want = max(int(length), want+1)
		}
		n, err := r.fill(want)
		if err != nil {
			return nil, &KraftLogError{r.name, "read", err}
		}
		if n == 0 && len(r.buf) == 0 {
			return nil, io.EOF
		}
		if n == 0 {
			return nil, io.ErrUnexpectedEOF
		}
	}
}

// fill reads more bytes so that buf has want of them, if the file has.
func (r *batchReader) fill(want int) (int, error) {
	size, err := r.file.Size()
	if err != nil {
		return 0, err
	}
	piece := len(r.buf) + int(min(readPiece, max(size-r.pos, 0)))
	grown := make([]byte, min(max(want, piece), len(r.buf)+int(max(size-r.pos, 0))))
	have := copy(grown, r.buf)
	n, err := r.file.ReadAt(grown[have:], r.pos)
	r.buf = grown[:have+n]
	r.pos += int64(n)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// cutAt makes the log end in front of offset at and opens it for appending. A log that does not
// reach at without a gap starts anew there.
func (l *kraftLog) cutAt(at int64) error {
	i := len(l.segments) - 1
	for i >= 0 && l.segments[i] > at {
		i--
	}
	if i < 0 {
		return l.restart(at)
	}
	base := l.segments[i]
	size, end := int64(0), base
	next := base
	l.epoch = -1
	if _, err := l.segmentBatches(base, &next, func(b record.Batch) (bool, error) {
		if b.LastOffset() >= at {
			return false, nil
		}
		size, end, l.epoch = size+int64(len(b)), b.LastOffset()+1, b.PartitionLeaderEpoch()
		return true, nil
	}); err != nil {
		return err
	}
	if end != at {
		return l.restart(at)
	}
	oldest, err := l.whole(base)
	if err != nil {
		return err
	}
	if err := l.removeSegments(func(b int64) bool { return b > base || b < oldest }); err != nil {
		return err
	}
	l.end = at
	l.readEpochs()
	return l.openSegment(base, size)
}

// whole returns the first segment from which the log has no gap up to the segment base. History in
// front of a gap is of no use to a reader.
func (l *kraftLog) whole(base int64) (int64, error) {
	oldest := l.segments[0]
	for i := 0; l.segments[i] != base; i++ {
		next := l.segments[i]
		if _, err := l.segmentBatches(l.segments[i], &next, func(record.Batch) (bool, error) { return true, nil }); err != nil {
			return 0, err
		}
		if next != l.segments[i+1] {
			oldest = l.segments[i+1]
		}
	}
	return oldest, nil
}

// restart forgets all segments and begins at an offset.
func (l *kraftLog) restart(at int64) error {
	if err := l.removeSegments(func(int64) bool { return true }); err != nil {
		return err
	}
	l.end, l.epoch, l.epochs = at, -1, nil
	return l.openSegment(at, 0)
}

// readEpochs reads leader-epoch-checkpoint up to the log's end. When it is missing or wrong, it is
// begun anew with what the log shows from now on.
func (l *kraftLog) readEpochs() {
	l.epochs = nil
	text, err := vfs.ReadFile(l.fs, filepath.Join(l.dir, "leader-epoch-checkpoint"), 1<<20)
	if err != nil {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var e epochStart
		if i < 2 {
			continue
		}
		if n, err := fmt.Sscan(line, &e.epoch, &e.start); n != 2 || err != nil {
			l.epochs = nil
			return
		}
		if e.start < l.end {
			l.epochs = append(l.epochs, e)
			l.epoch = max(l.epoch, e.epoch)
		}
	}
}

// removeSegments deletes every segment file whose base offset matches, and what Kafka kept beside it.
func (l *kraftLog) removeSegments(match func(base int64) bool) error {
	entries, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return &KraftLogError{l.dir, "list", err}
	}
	for _, e := range entries {
		digits, ext, _ := strings.Cut(e.Name(), ".")
		base, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || len(digits) != 20 || e.IsDir() || !slices.Contains([]string{"log", "index", "timeindex", "txnindex", "snapshot"}, ext) || !match(base) {
			continue
		}
		if err := l.fs.Remove(filepath.Join(l.dir, e.Name())); err != nil {
			return &KraftLogError{filepath.Join(l.dir, e.Name()), "remove", err}
		}
	}
	l.segments = slices.DeleteFunc(l.segments, match)
	return nil
}

// openSegment opens a segment for appending behind size bytes, creating it when it is missing.
func (l *kraftLog) openSegment(base, size int64) error {
	if l.file != nil {
		if err := l.file.Close(); err != nil {
			return &KraftLogError{l.dir, "close", err}
		}
		l.file = nil
	}
	name := segmentName(l.dir, base)
	f, err := l.fs.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return &KraftLogError{name, "create", err}
	}
	if err := f.Truncate(size); err != nil {
		return &KraftLogError{name, "cut", errors.Join(err, f.Close())}
	}
	l.file, l.size = f, size
	if !slices.Contains(l.segments, base) {
		l.segments = append(l.segments, base)
	}
	return l.dropIndexes(base)
}

// dropIndexes removes the indexes that Kafka left beside a segment. They would not know what is
// appended now; Kafka makes them anew when they are missing.
func (l *kraftLog) dropIndexes(base int64) error {
	for _, ext := range []string{".index", ".timeindex"} {
		name := strings.TrimSuffix(segmentName(l.dir, base), ".log") + ext
		if err := l.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &KraftLogError{name, "remove", err}
		}
	}
	return nil
}

// append writes batches whose first offset is the log's end.
func (l *kraftLog) append(batches []byte) error {
	if l.size+int64(len(batches)) > l.segmentBytes {
		if err := l.roll(); err != nil {
			return err
		}
	}
	if _, err := l.file.WriteAt(batches, l.size); err != nil {
		return &KraftLogError{segmentName(l.dir, l.segments[len(l.segments)-1]), "write", err}
	}
	l.size += int64(len(batches))
	newEpoch := false
	for len(batches) > 0 {
		b, rest, err := record.Next(batches)
		if err != nil {
			return err
		}
		if e := b.PartitionLeaderEpoch(); e > l.epoch {
			l.epoch, newEpoch = e, true
			l.epochs = append(l.epochs, epochStart{e, b.BaseOffset()})
		}
		l.end, batches = b.LastOffset()+1, rest
	}
	if newEpoch {
		return l.writeEpochs()
	}
	return nil
}

// roll closes the open segment and starts the next one at the log's end.
func (l *kraftLog) roll() error {
	if l.size == 0 {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	return l.openSegment(l.end, 0)
}

// removeBefore deletes the segments whose records all lie in front of offset at.
func (l *kraftLog) removeBefore(at int64) error {
	return l.removeSegments(func(base int64) bool {
		i := slices.Index(l.segments, base)
		return i >= 0 && i+1 < len(l.segments) && l.segments[i+1] <= at
	})
}

func (l *kraftLog) sync() error {
	if l.file == nil {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return &KraftLogError{l.dir, "sync", err}
	}
	return nil
}

func (l *kraftLog) close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.sync(), l.file.Close())
	l.file = nil
	return err
}

// writeEpochs writes leader-epoch-checkpoint: version 0, the number of lines, epoch and start offset.
func (l *kraftLog) writeEpochs() error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(l.epochs))
	for _, e := range l.epochs {
		fmt.Fprintf(&b, "%d %d\n", e.epoch, e.start)
	}
	return l.writeSmall("leader-epoch-checkpoint", b.Bytes())
}

// writeSmall replaces a derived file. It is not synced: a crash leaves the old, the new or a broken
// file, and all three are written again at the next start.
func (l *kraftLog) writeSmall(name string, data []byte) error {
	path := filepath.Join(l.dir, name)
	f, err := l.fs.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return &KraftLogError{path, "create", err}
	}
	_, err = f.WriteAt(data, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return &KraftLogError{path, "write", err}
	}
	if err := l.fs.Rename(path+".tmp", path); err != nil {
		return &KraftLogError{path, "rename", err}
	}
	return nil
}
