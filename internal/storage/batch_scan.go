package storage

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"klamm/internal/record"
)

const (
	scanChunk = 64 << 10 // bytes read at once while walking headers
	scanWhole = 1 << 20  // bytes read at once while checking every byte

	// controlMax bounds the control batches that are read whole: a marker has about 80 bytes.
	controlMax = 64 << 10

	minBatchLength = record.HeaderSize - record.LogOverhead // smallest value of the length field
)

// stopScan ends a scan early without an error.
var errStopScan = errors.New("stop scan")

// damage says why the bytes at a position are not the batch that should be there.
type damage struct {
	position int64
	offset   int64 // first offset that is in doubt
	reason   string
}

func (d *damage) Error() string { return d.reason }

// batchScanner walks the batches of one segment file.
type batchScanner struct {
	file io.ReaderAt
	base int64 // base offset of the segment
	next int64 // smallest offset the next batch may have
	crc  bool  // read and check every byte

	buf      []byte
	bufStart int64 // position of buf[0]
}

// scan walks the batches of [from, to) and calls fn with the position and header of each; the
// header is whole for control batches up to controlMax bytes. It returns the end of the last good
// batch. The error is nil at the end, a *damage for bad bytes, and else that of fn or of a read.
func (s *batchScanner) scan(from, to int64, fn func(position int64, b record.Batch) error) (int64, error) {
	position := from
	for position < to {
		header, err := s.window(position, min(record.HeaderSize, to-position), to)
		if err != nil {
			return position, err
		}
		if reason := checkHeader(header, to-position, s.base, s.next); reason != "" {
			return position, &damage{position, s.next, reason}
		}
		b := record.Batch(header)
		size := batchSize(b)
		if s.crc {
			if b, err = s.verify(position, size, to); err != nil {
				return position, err
			}
		} else if b.IsControl() && size <= controlMax {
			whole, err := s.window(position, size, to)
			if err != nil {
				return position, err
			}
			b = whole
		}
		next := b.LastOffset() + 1
		if err := fn(position, b); err != nil {
			if errors.Is(err, errStopScan) {
				return position, nil
			}
			return position, err
		}
		s.next = next
		position += size
	}
	return position, nil
}

func batchSize(b record.Batch) int64 { return int64(b.Length()) + record.LogOverhead }

// checkHeader returns what is wrong with a batch header, "" when it may be one. remaining is the
// number of bytes left in the segment, base its base offset, next the smallest offset allowed.
func checkHeader(h []byte, remaining, base, next int64) string {
	if len(h) < record.HeaderSize {
		return fmt.Sprintf("only %d bytes are left, less than a batch header", remaining)
	}
	b := record.Batch(h)
	switch {
	case b.Length() < minBatchLength:
		return fmt.Sprintf("batch length %d is impossible", b.Length())
	case batchSize(b) > remaining:
		return fmt.Sprintf("a batch of %d bytes ends after the file, %d bytes are left", batchSize(b), remaining)
	case b.Magic() != record.MagicV2:
		return fmt.Sprintf("record format %d is not %d", b.Magic(), record.MagicV2)
	case b.LastOffsetDelta() < 0:
		return fmt.Sprintf("last offset delta %d is negative", b.LastOffsetDelta())
	case b.Count() < 0:
		return fmt.Sprintf("record count %d is negative", b.Count())
	case b.BaseOffset() > math.MaxInt64-1-int64(b.LastOffsetDelta()):
		return "the last offset is impossible"
	case b.BaseOffset() < next:
		return fmt.Sprintf("offset %d does not follow %d", b.BaseOffset(), next-1)
	case b.BaseOffset()-base > math.MaxInt32-int64(b.LastOffsetDelta()):
		return fmt.Sprintf("offset %d is too far from the segment's start %d", b.BaseOffset(), base)
	}
	return ""
}

// verify reads and checks the whole batch at position; a batch larger than the buffer is checked
// piece by piece and returned as its header.
func (s *batchScanner) verify(position, size, to int64) (record.Batch, error) {
	if size <= scanWhole {
		whole, err := s.window(position, size, to)
		if err != nil {
			return nil, err
		}
		b := record.Batch(whole)
		if err := b.VerifyCRC(); err != nil {
			return nil, &damage{position, s.next, err.Error()}
		}
		return b, nil
	}
	header := append(record.Batch(nil), s.buf[position-s.bufStart:][:record.HeaderSize]...)
	const crcStart = 21 // of the attributes: the checksum covers them and all that follows
	sum := uint32(0)
	for at := position + crcStart; at < position+size; {
		part, err := s.window(at, min(scanWhole, position+size-at), to)
		if err != nil {
			return nil, err
		}
		sum = crc32.Update(sum, castagnoli, part)
		at += int64(len(part))
	}
	if sum != header.CRC() {
		return nil, &damage{position, s.next, fmt.Sprintf("the checksum of the batch at offset %d does not match", header.BaseOffset())}
	}
	return header, nil
}

// window returns n bytes at position, n <= scanWhole, reading ahead up to end. The result is valid
// until the next call.
func (s *batchScanner) window(position, n, end int64) ([]byte, error) {
	if position >= s.bufStart && position+n <= s.bufStart+int64(len(s.buf)) {
		return s.buf[position-s.bufStart:][:n], nil
	}
	chunk := int64(scanChunk)
	if s.crc {
		chunk = scanWhole
	}
	want := min(max(chunk, n), end-position)
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.bufStart = s.buf[:want], position
	if got, err := s.file.ReadAt(s.buf, position); int64(got) < want {
		s.buf = s.buf[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return s.buf[:n], nil
}

// findBatch looks in [from, to) for a whole batch with a right checksum whose offset is at least
// next: a sign that the bytes before it are damaged, and not just the end of a torn write. The work
// is bounded; when the bytes hold so many things that look like batches that the bound is reached,
// the answer is true, which changes nothing on disk.
func findBatch(file io.ReaderAt, base, next, from, to int64) (position int64, found bool, err error) {
	const overlap = record.HeaderSize - 1
	budget := 4*(to-from) + 16<<20
	buf := make([]byte, min(scanWhole, max(0, to-from)))
	for from < to {
		n := min(int64(len(buf)), to-from)
		if got, err := file.ReadAt(buf[:n], from); int64(got) < n {
			return 0, false, cause(err, io.ErrUnexpectedEOF)
		}
		for i := range int(n) - overlap {
			h := buf[i : i+record.HeaderSize]
			if h[16] != record.MagicV2 || checkHeader(h, to-from-int64(i), base, next) != "" {
				continue
			}
			at := from + int64(i)
			if budget -= batchSize(record.Batch(h)); budget < 0 {
				return at, true, nil
			}
			probe := batchScanner{file: file, base: base, next: next, crc: true}
			_, err := probe.scan(at, at+batchSize(record.Batch(h)), func(int64, record.Batch) error { return nil })
			if err == nil {
				return at, true, nil
			}
			if bad := (*damage)(nil); !errors.As(err, &bad) {
				return 0, false, err
			}
		}
		if n <= overlap {
			return 0, false, nil
		}
		from += n - overlap
	}
	return 0, false, nil
}

func cause(err, fallback error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fallback
	}
	return err
}
