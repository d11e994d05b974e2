package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// xerialHeader starts the framing that Java's snappy library writes: magic, version 1, oldest
// compatible version 1. Blocks follow, each with its big-endian 32-bit length.
const xerialHeader = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

// xerialMagic is the part of xerialHeader that identifies it.
const xerialMagic = "\x82SNAPPY\x00"

// xerialBlock is how many plain bytes Java's snappy library puts in a block.
const xerialBlock = 32 << 10

// kafkaDefaultLz4Level is the compression.lz4.level that means "the fast compressor".
const kafkaDefaultLz4Level = 9

// Compressor compresses record data with pooled encoders; it is safe for concurrent use. The zero
// value is ready.
type Compressor struct {
	pools sync.Map // encoderKey -> *sync.Pool
}

type encoderKey struct {
	codec Codec
	level int
}

// Compress appends the compressed form of src to dst. The level is the codec's own scale
// (gzip 1-9, lz4 1-17, zstd 1-22 or negative), DefaultLevel its usual effort.
func (c *Compressor) Compress(dst, src []byte, codec Codec, level int) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return c.gzip(dst, src, level)
	case Snappy:
		return appendXerial(dst, src), nil
	case Lz4:
		return c.lz4(dst, src, level)
	case Zstd:
		return c.zstd(dst, src, level)
	}
	return dst, fmt.Errorf("cannot compress with %v", codec)
}

func (c *Compressor) pool(codec Codec, level int) *sync.Pool {
	p, _ := c.pools.LoadOrStore(encoderKey{codec, level}, new(sync.Pool))
	return p.(*sync.Pool)
}

func (c *Compressor) gzip(dst, src []byte, level int) ([]byte, error) {
	if level == DefaultLevel {
		level = gzip.DefaultCompression
	}
	pool := c.pool(Gzip, level)
	out := bytes.NewBuffer(dst)
	w, ok := pool.Get().(*gzip.Writer)
	if ok {
		w.Reset(out)
	} else {
		var err error
		if w, err = gzip.NewWriterLevel(out, level); err != nil {
			return dst, fmt.Errorf("gzip level %d: %w", level, err)
		}
	}
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	pool.Put(w)
	return out.Bytes(), nil
}

// appendXerial writes snappy as Java does, so that every consumer can read it: older ones cannot
// tell a raw block from a framed one.
func appendXerial(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		start := len(dst)
		end := start + 4 + snappy.MaxEncodedLen(n)
		dst = slices.Grow(dst, end-start)[:end]
		block := snappy.Encode(dst[start+4:], src[:n])
		binary.BigEndian.PutUint32(dst[start:], uint32(len(block)))
		dst = dst[:start+4+len(block)]
		src = src[n:]
	}
	return dst
}

func (c *Compressor) lz4(dst, src []byte, level int) ([]byte, error) {
	pool := c.pool(Lz4, level)
	out := bytes.NewBuffer(dst)
	w, ok := pool.Get().(*lz4.Writer)
	if ok {
		w.Reset(out)
	} else {
		w = lz4.NewWriter(out)
		// Kafka's Lz4BlockOutputStream: 64 KiB independent blocks, no checksum but the header's.
		err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
			lz4.BlockChecksumOption(false), lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(lz4Level(level)))
		if err != nil {
			return dst, fmt.Errorf("lz4 level %d: %w", level, err)
		}
	}
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	pool.Put(w)
	return out.Bytes(), nil
}

// lz4Level maps Kafka's compression.lz4.level (1-17, where the default 9 is the fast compressor)
// to the levels of the library, which has none above 9.
func lz4Level(level int) lz4.CompressionLevel {
	if level == DefaultLevel || level == kafkaDefaultLz4Level || level < 1 {
		return lz4.Fast
	}
	return lz4.CompressionLevel(1 << (8 + min(level, 9)))
}

func (c *Compressor) zstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstd.SpeedDefault
	if level != DefaultLevel {
		speed = zstd.EncoderLevelFromZstd(level)
	}
	pool := c.pool(Zstd, int(speed))
	e, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return dst, fmt.Errorf("zstd level %d: %w", level, err)
		}
	}
	dst = e.EncodeAll(src, dst)
	pool.Put(e)
	return dst, nil
}

// DefaultMaxDecompressed bounds the records of one batch after decompression, in bytes.
const DefaultMaxDecompressed = 256 << 20

// keepBuffer is the largest decompression buffer that goes back to the pool, in bytes.
const keepBuffer = 4 << 20

// TooLargeError is a batch whose records exceed MaxDecompressed bytes once decompressed.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the records are larger than %d bytes when decompressed", e.Limit)
}

// Decompressor decompresses and walks batches with pooled decoders; it is safe for concurrent
// use. The zero value is ready. It must not be copied.
type Decompressor struct {
	// MaxDecompressed bounds the decompressed records of one batch in bytes; 0 means
	// DefaultMaxDecompressed. It must not change once the Decompressor is in use.
	MaxDecompressed int

	gzips, lz4s, buffers sync.Pool
	zstdOnce             sync.Once
	zstd                 *zstd.Decoder
	zstdErr              error
}

func (d *Decompressor) limit() int {
	if d.MaxDecompressed > 0 {
		return d.MaxDecompressed
	}
	return DefaultMaxDecompressed
}

// Decompress appends the decompressed form of src to dst. It returns a *TooLargeError when that
// takes more than MaxDecompressed bytes.
func (d *Decompressor) Decompress(dst, src []byte, codec Codec) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return d.gzip(dst, src)
	case Snappy:
		return d.snappy(dst, src)
	case Lz4:
		return d.lz4(dst, src)
	case Zstd:
		return d.decodeZstd(dst, src)
	}
	return dst, fmt.Errorf("the compression %v is unknown", codec)
}

func (d *Decompressor) gzip(dst, src []byte) ([]byte, error) {
	r, ok := d.gzips.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		d.gzips.Put(r)
		return dst, fmt.Errorf("gzip: %w", err)
	}
	dst, err := d.readAll(dst, r)
	d.gzips.Put(r)
	if err != nil {
		return dst, wrapCodec(Gzip, err)
	}
	return dst, nil
}

func (d *Decompressor) lz4(dst, src []byte) ([]byte, error) {
	r, ok := d.lz4s.Get().(*lz4.Reader)
	if ok {
		r.Reset(bytes.NewReader(src))
	} else {
		r = lz4.NewReader(bytes.NewReader(src))
	}
	dst, err := d.readAll(dst, r)
	if err != nil {
		return dst, wrapCodec(Lz4, err) // a reader that failed is not reused
	}
	d.lz4s.Put(r)
	return dst, nil
}

func wrapCodec(c Codec, err error) error {
	if _, ok := err.(*TooLargeError); ok {
		return err
	}
	return fmt.Errorf("%v: %w", c, err)
}

// readAll appends everything of r to dst, growing it as data really arrives.
func (d *Decompressor) readAll(dst []byte, r io.Reader) ([]byte, error) {
	start, limit := len(dst), d.limit()
	for {
		if len(dst)-start > limit {
			return dst[:start], &TooLargeError{Limit: limit}
		}
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			if len(dst)-start > limit {
				return dst[:start], &TooLargeError{Limit: limit}
			}
			return dst, nil
		}
		if err != nil {
			return dst[:start], err
		}
	}
}

func (d *Decompressor) snappy(dst, src []byte) ([]byte, error) {
	start := len(dst)
	if !bytes.HasPrefix(src, []byte(xerialMagic)) {
		dst, err := d.snappyBlock(dst, src, d.limit())
		return dst, err
	}
	for first := true; len(src) > 0; first = false {
		// Concatenated streams repeat the header where a block's length would be.
		if first || bytes.HasPrefix(src, []byte(xerialMagic)) {
			if len(src) < len(xerialHeader) {
				return dst[:start], fmt.Errorf("snappy: the stream ends inside its header")
			}
			src = src[len(xerialHeader):]
			continue
		}
		if len(src) < 4 {
			return dst[:start], fmt.Errorf("snappy: the stream ends inside a block length")
		}
		n := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > int64(len(src)) {
			return dst[:start], fmt.Errorf("snappy: a block of %d bytes is longer than the stream", n)
		}
		var err error
		if dst, err = d.snappyBlock(dst, src[:n], d.limit()-(len(dst)-start)); err != nil {
			return dst[:start], err
		}
		src = src[n:]
	}
	return dst, nil
}

func (d *Decompressor) snappyBlock(dst, src []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, fmt.Errorf("snappy: %w", err)
	}
	if n > limit {
		return dst, &TooLargeError{Limit: d.limit()}
	}
	// An element yields at most 64 bytes: a longer claim is a lie, so do not allocate for it.
	if n > 64*len(src) {
		return dst, fmt.Errorf("snappy: a block of %d bytes cannot hold %d", len(src), n)
	}
	start := len(dst)
	dst = slices.Grow(dst, n)[:start+n]
	out, err := snappy.Decode(dst[start:start+n], src)
	if err != nil {
		return dst[:start], fmt.Errorf("snappy: %w", err)
	}
	return dst[:start+len(out)], nil
}

func (d *Decompressor) decodeZstd(dst, src []byte) ([]byte, error) {
	d.zstdOnce.Do(func() {
		d.zstd, d.zstdErr = zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(d.limit())), zstd.IgnoreChecksum(false))
	})
	if d.zstdErr != nil {
		return dst, fmt.Errorf("zstd: %w", d.zstdErr)
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return dst, fmt.Errorf("zstd: %w", err)
	}
	// A block of 4 bytes yields at most 128 KiB: a frame that claims more would only make us allocate.
	if h.HasFCS && h.FrameContentSize > uint64(len(src))<<15 {
		return dst, fmt.Errorf("zstd: a frame of %d bytes cannot hold %d", len(src), h.FrameContentSize)
	}
	start := len(dst)
	out, err := d.zstd.DecodeAll(src, dst)
	switch err {
	case nil:
		return out, nil
	case zstd.ErrDecoderSizeExceeded, zstd.ErrWindowSizeExceeded:
		return dst[:start], &TooLargeError{Limit: d.limit()}
	}
	return dst[:start], fmt.Errorf("zstd: %w", err)
}

// withBuffer lends a pooled buffer to fn.
func (d *Decompressor) withBuffer(fn func(buf []byte) ([]byte, error)) error {
	p, ok := d.buffers.Get().(*[]byte)
	if !ok {
		p = new([]byte)
	}
	buf, err := fn((*p)[:0])
	if cap(buf) <= keepBuffer {
		*p = buf[:0]
		d.buffers.Put(p)
	}
	return err
}
