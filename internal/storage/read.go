package storage

import (
	"errors"
	"io"
	"math/bits"
	"sync"

	"klamm/internal/record"
)

// readSlack is how many bytes are read beyond the asked ones, because the first batch wanted begins
// somewhere after the place an index entry names.
const readSlack = 8 << 10

// Slice is the result of a read: whole batches as they lie on disk.
type Slice struct {
	Bytes       []byte
	FirstOffset int64 // base offset of the first batch, -1 when there is none
	AbortedTxns []AbortedTxn

	buf   []byte
	pools *bufferPools
}

// Release gives the memory of Bytes back for reuse; a caller that does not call it leaves it to the
// garbage collector.
func (s *Slice) Release() {
	if s.pools != nil {
		s.pools.put(s.buf)
	}
	s.Bytes, s.buf, s.pools = nil, nil, nil
}

// Read returns whole batches, beginning with the one that holds offset, as long as they end below
// upTo (exclusive: the high watermark or last stable offset) and fit into maxBytes. With minOne the
// first batch is returned even when it is larger than maxBytes (KIP-74). Nothing below upTo is an
// empty Slice; an offset below StartOffset or above EndOffset is an *OffsetOutOfRange.
func (l *Log) Read(offset int64, maxBytes int, upTo int64, minOne bool) (Slice, error) {
	if err := l.manager.Offline(); err != nil {
		return Slice{}, err
	}
	for {
		start, end := l.start.Load(), l.end.Load()
		if offset < start || offset > end {
			return Slice{}, &OffsetOutOfRange{offset, start, end}
		}
		slice, err := l.readOnce(offset, maxBytes, min(upTo, end), minOne)
		if !errors.Is(err, errSegmentGone) {
			return slice, err
		}
		if l.isClosed() {
			return Slice{}, ErrClosed
		}
	}
}

// errSegmentGone says that retention or truncation took a segment away between finding and reading it.
var errSegmentGone = errors.New("segment gone")

func (l *Log) isClosed() bool {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.closed != nil
}

func (l *Log) readOnce(offset int64, maxBytes int, upTo int64, minOne bool) (Slice, error) {
	empty := Slice{FirstOffset: -1}
	if offset >= upTo || maxBytes <= 0 && !minOne {
		return empty, nil
	}
	segments := *l.segments.Load()
	for _, s := range segments[max(0, floor(segments, offset)):] {
		if s.base >= upTo {
			break
		}
		slice, found, err := s.read(&l.manager.buffers, offset, maxBytes, upTo, minOne)
		if errors.Is(err, ErrClosed) {
			return empty, errSegmentGone
		}
		if err != nil || found {
			return slice, err
		}
	}
	return empty, nil
}

// read returns batches of one segment; found is false when it has none at offset or later.
func (s *LogSegment) read(pools *bufferPools, offset int64, maxBytes int, upTo int64, minOne bool) (Slice, bool, error) {
	empty := Slice{FirstOffset: -1}
	if err := s.loadIndexes(); err != nil {
		return empty, false, s.scanError(err)
	}
	f, err := s.file.acquire()
	if err != nil {
		return empty, false, s.scanError(err)
	}
	defer s.file.release()
	s.truncMu.RLock()
	defer s.truncMu.RUnlock()
	limit := s.size.Load()
	if limit == 0 {
		return empty, false, nil
	}
	r := segmentReader{segment: s, file: f, pools: pools, limit: limit}
	defer func() { pools.put(r.buf) }()
	first, err := r.find(offset, min(int64(max(maxBytes, 0)), limit)+readSlack)
	if err != nil || first == nil {
		return empty, false, s.scanError(err)
	}
	if first.LastOffset() >= upTo || batchSize(first) > int64(maxBytes) && !minOne {
		return empty, true, nil
	}
	base := first.BaseOffset()
	part, err := r.take(max(int64(maxBytes), batchSize(first)), upTo)
	if err != nil {
		return empty, true, s.scanError(err)
	}
	slice := Slice{Bytes: part, FirstOffset: base, buf: r.buf, pools: pools}
	r.buf = nil
	return slice, true, nil
}

// segmentReader reads from one segment into one buffer.
type segmentReader struct {
	segment *LogSegment
	file    io.ReaderAt
	pools   *bufferPools
	limit   int64 // size of the segment

	buf      []byte // bytes of the file from start on
	start    int64
	position int64 // of the batch found
}

// fill makes n bytes at position available, reading up to want.
func (r *segmentReader) fill(position, n, want int64) error {
	if r.buf != nil && position >= r.start && position+n <= r.start+int64(len(r.buf)) {
		return nil
	}
	want = min(max(n, want), r.limit-position)
	r.pools.put(r.buf)
	r.buf = r.pools.get(int(want))
	r.start = position
	if got, err := r.file.ReadAt(r.buf, position); int64(got) < want {
		return &ReadError{r.segment.file.path, cause(err, io.ErrUnexpectedEOF)}
	}
	return nil
}

func (r *segmentReader) header(want int64) (record.Batch, error) {
	n := min(record.HeaderSize, r.limit-r.position)
	if err := r.fill(r.position, n, want); err != nil {
		return nil, err
	}
	h := r.buf[r.position-r.start:][:n]
	if reason := checkHeader(h, r.limit-r.position, r.segment.base, r.segment.base); reason != "" {
		return nil, &damage{r.position, r.segment.base, reason}
	}
	return record.Batch(h), nil
}

// find goes to the first batch that ends at offset or later; nil when there is none.
func (r *segmentReader) find(offset, want int64) (record.Batch, error) {
	lastOffset, position, indexed := r.segment.lookup(offset)
	r.position = min(position, r.limit)
	for r.position < r.limit {
		b, err := r.header(want)
		if indexed && !indexTrusted && (err != nil || b.LastOffset() != lastOffset) {
			// The entry is wrong; the log itself is the truth.
			if err := r.segment.rebuildIndexes(); err != nil {
				return nil, err
			}
			r.position, indexed = 0, false
			continue
		}
		if err != nil {
			return nil, err
		}
		if b.LastOffset() >= offset {
			return b, nil
		}
		indexed = false
		r.position += batchSize(b)
	}
	return nil, nil
}

// take returns whole batches from the found one on that end below upTo, together at most maxBytes.
func (r *segmentReader) take(maxBytes, upTo int64) ([]byte, error) {
	n := min(maxBytes, r.limit-r.position)
	if err := r.fill(r.position, n, n); err != nil {
		return nil, err
	}
	data := r.buf[r.position-r.start:][:n]
	length, next := int64(0), r.segment.base
	for n-length >= record.HeaderSize {
		h := data[length : length+record.HeaderSize]
		if reason := checkHeader(h, r.limit-r.position-length, r.segment.base, next); reason != "" {
			if length > 0 {
				break // the good batches first; the next read names the damage
			}
			return nil, &damage{r.position, next, reason}
		}
		b := record.Batch(h)
		if length+batchSize(b) > n || b.LastOffset() >= upTo {
			break
		}
		length += batchSize(b)
		next = b.LastOffset() + 1
	}
	return data[:length:length], nil
}

// lookup asks the offset index where to start reading for offset.
func (s *LogSegment) lookup(offset int64) (lastOffset, position int64, ok bool) {
	s.idxMu.RLock()
	defer s.idxMu.RUnlock()
	if s.offsets == nil {
		return s.base, 0, false
	}
	return s.offsets.Lookup(offset)
}

// bufferPools keeps read buffers by size, so that fetches do not feed the garbage collector.
type bufferPools struct {
	classes [maxPooledBits - minPooledBits + 1]sync.Pool
}

const (
	minPooledBits = 12 // 4 KiB
	maxPooledBits = 21 // 2 MiB; larger buffers are left to the garbage collector
)

func (p *bufferPools) get(n int) []byte {
	class := bits.Len(uint(max(n, 1) - 1))
	if class > maxPooledBits {
		return make([]byte, n)
	}
	class = max(class, minPooledBits)
	if b, ok := p.classes[class-minPooledBits].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, 1<<class)
}

func (p *bufferPools) put(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if cap(b) == 0 || class < minPooledBits || class > maxPooledBits || cap(b) != 1<<class {
		return
	}
	p.classes[class-minPooledBits].Put(&b)
}
