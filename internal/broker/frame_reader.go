package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// Sizes of the buffers of a connection, in bytes.
const (
	idleBufferSize   = 1 << 10  // what an idle connection keeps
	activeBufferSize = 64 << 10 // lent while requests arrive faster than they are answered
	maxPooledFrame   = 1 << 20  // larger frames are left to the garbage collector
	// maxPlainFrame bounds every request but Produce. Decoded, such a request takes many times its
	// bytes, and so does its answer; a million names fit.
	maxPlainFrame = 16 << 20
)

// largeFrameBytes bounds the memory of all large frames that are being read or handled, in bytes.
const largeFrameBytes = 512 << 20

// frameMemoryError closes a connection whose frame would exceed largeFrameBytes. Waiting instead would
// let a few slow clients stop all others.
type frameMemoryError struct{ size int }

func (e *frameMemoryError) Error() string {
	return fmt.Sprintf("a request of %d bytes came while all memory for large requests was in use; the client may send it again", e.size)
}

// plainSizeError is a request without records that is larger than any client's.
type plainSizeError struct {
	key  int16
	size int32
}

func (e *plainSizeError) Error() string {
	return fmt.Sprintf("a request of type %s (API key %d) has %d bytes; only Produce may be larger than %d", kmsg.NameForKey(e.key), e.key, e.size, maxPlainFrame)
}

// bufferPool lends byte slices. Small and large ones are kept apart, so that a burst of large
// frames does not stay in memory behind thousands of small ones.
type bufferPool struct {
	active sync.Pool    // *[]byte of activeBufferSize
	frames sync.Pool    // *[]byte of up to maxPooledFrame
	large  atomic.Int64 // bytes of larger frames in use
}

// reserve counts n bytes more for a large frame that has held bytes; false, and none, when there are
// not so many. One frame alone is always allowed.
func (p *bufferPool) reserve(held, n int) bool {
	if in := p.large.Add(int64(n)); in > largeFrameBytes && in > int64(held+n) {
		p.large.Add(-int64(n))
		return false
	}
	return true
}

func (p *bufferPool) lendActive() *[]byte {
	if b, ok := p.active.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, activeBufferSize)
	return &b
}

func (p *bufferPool) returnActive(b *[]byte) { p.active.Put(b) }

// lendFrame returns a slice of n bytes.
func (p *bufferPool) lendFrame(n int) *[]byte {
	if n > maxPooledFrame {
		b := make([]byte, n)
		return &b
	}
	if b, ok := p.frames.Get().(*[]byte); ok {
		if cap(*b) >= n {
			*b = (*b)[:n]
			return b
		}
	}
	b := make([]byte, n, sizeClass(n))
	return &b
}

func (p *bufferPool) returnFrame(b *[]byte) {
	if cap(*b) <= maxPooledFrame {
		p.frames.Put(b)
	}
}

// sizeClass rounds up to a power of two, so that frames of about one size reuse each other's memory.
func sizeClass(n int) int {
	c := activeBufferSize
	for c < n {
		c <<= 1
	}
	return c
}

// frameReader splits a connection into frames. An idle connection keeps idleBufferSize bytes;
// larger buffers are lent by a pool from the first byte of a request until it is handled.
type frameReader struct {
	src   io.Reader
	max   int32
	pool  *bufferPool
	small [idleBufferSize]byte
	lent  *[]byte // active buffer, nil while small serves
	r, w  int     // unread bytes are buf()[r:w]
	frame *[]byte // large frame handed out last, nil when it was served from buf
	large int     // bytes reserved in pool for it, until the next frame is read
}

func newFrameReader(src io.Reader, maxSize int32, pool *bufferPool) *frameReader {
	return &frameReader{src: src, max: maxSize, pool: pool}
}

func (f *frameReader) buf() []byte {
	if f.lent != nil {
		return *f.lent
	}
	return f.small[:]
}

// whole tells whether the next frame can be read without waiting for the client.
func (f *frameReader) whole() bool {
	have := f.w - f.r
	if have < 4 {
		return false
	}
	size := int32(binary.BigEndian.Uint32(f.buf()[f.r:]))
	return size < 0 || size > f.max || int(size) <= have-4
}

// next returns the next frame without its size. The slice is valid until release or the next call.
// io.EOF means that the client closed between frames, io.ErrUnexpectedEOF inside one.
func (f *frameReader) next() ([]byte, error) {
	f.release()
	f.returnLarge()
	if err := f.fill(4); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(f.buf()[f.r:]))
	if size < 0 || size > f.max {
		return nil, &protocol.FrameSizeError{Size: size, Max: f.max}
	}
	if size > maxPlainFrame {
		if err := f.fill(4 + 2); err != nil {
			return nil, unexpected(err)
		}
		if key := int16(binary.BigEndian.Uint16(f.buf()[f.r+4:])); key != produceKey {
			return nil, &plainSizeError{key, size}
		}
	}
	if int(size) > activeBufferSize-4 {
		return f.readLarge(int(size))
	}
	if err := f.fill(4 + int(size)); err != nil {
		return nil, unexpected(err)
	}
	frame := f.buf()[f.r+4 : f.r+4+int(size)]
	f.r += 4 + int(size)
	return frame, nil
}

// readLarge reads a frame straight into memory of its own. Memory beyond maxPooledFrame is taken
// only as bytes arrive, so that a size prefix alone costs the broker nothing.
func (f *frameReader) readLarge(size int) ([]byte, error) {
	f.r += 4
	f.frame = f.pool.lendFrame(min(size, maxPooledFrame))
	have := copy(*f.frame, f.buf()[f.r:f.w])
	f.r += have
	for {
		n, err := io.ReadFull(f.src, (*f.frame)[have:])
		have += n
		if err != nil {
			return nil, unexpected(err)
		}
		if have == size {
			return *f.frame, nil
		}
		room := min(size, 4*have)
		if !f.pool.reserve(f.large, room-f.large) {
			return nil, &frameMemoryError{size}
		}
		f.large = room
		grown := make([]byte, room)
		copy(grown, *f.frame)
		f.pool.returnFrame(f.frame)
		f.frame = &grown
	}
}

// release gives back what the last frame used. Call it before waiting for long.
func (f *frameReader) release() {
	if f.frame != nil {
		f.pool.returnFrame(f.frame)
		f.frame = nil
	}
	if f.lent != nil && f.r == f.w {
		f.pool.returnActive(f.lent)
		f.lent, f.r, f.w = nil, 0, 0
	}
}

// returnLarge gives back what was reserved for the last frame. Its handler may keep parts of it for
// longer; what counts is that no more is taken in meanwhile.
func (f *frameReader) returnLarge() {
	if f.large > 0 {
		f.pool.large.Add(-int64(f.large))
		f.large = 0
	}
}

// close gives back everything.
func (f *frameReader) close() {
	f.r, f.w = 0, 0
	f.release()
	f.returnLarge()
}

// fill makes at least n unread bytes available; n <= activeBufferSize.
func (f *frameReader) fill(n int) error {
	for f.w-f.r < n {
		if err := f.makeRoom(n); err != nil {
			return err
		}
		m, err := f.src.Read(f.buf()[f.w:])
		f.w += m
		if m > 0 {
			continue
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		if errors.Is(err, io.EOF) && f.w > f.r {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

// makeRoom moves unread bytes to the front and takes a lent buffer when n bytes do not fit, or
// when the last read filled the small one: more is waiting then.
func (f *frameReader) makeRoom(n int) error {
	buf := f.buf()
	if f.r == f.w {
		f.r, f.w = 0, 0
	}
	if f.lent == nil && (n > len(buf)-f.r || f.w == len(buf)) {
		f.lent = f.pool.lendActive()
		f.w = copy(*f.lent, buf[f.r:f.w])
		f.r = 0
		return nil
	}
	if n > len(buf)-f.r || f.w == len(buf) {
		f.w = copy(buf, buf[f.r:f.w])
		f.r = 0
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
