package record

import (
	"errors"
	"fmt"
	"math"
)

// Header is one record header. A nil Value is null, an empty one is empty.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record. A nil Key or Value is null, an empty one is empty. The slices given to a
// Walk callback alias the batch or a pooled buffer: copy what must outlive the callback.
type Record struct {
	Offset      int64 // absolute
	Timestamp   int64 // ms since 1970; the batch's MaxTimestamp under LogAppendTime
	OffsetDelta int32
	Key, Value  []byte
	Headers     []Header
}

// Walk calls fn for each record of b in order. The Headers slice is reused between calls. fn may
// return ErrStop to end the walk early without an error; any other error is returned as it is. A
// batch whose records do not parse, are fewer or more than its Count gives a *CorruptError, one
// too large when decompressed a *TooLargeError.
func (d *Decompressor) Walk(b Batch, fn func(Record) error) error {
	w := recordWalk{batch: b, fn: fn}
	err := d.walkRaw(b, w.visit)
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

type recordWalk struct {
	batch   Batch
	fn      func(Record) error
	headers []Header
}

func (w *recordWalk) visit(r *rawRecord) error {
	w.headers = w.headers[:0]
	rest := r.headers
	for range r.headerCount {
		var key, value []byte
		// parseRecord has checked the headers, they cannot fail here.
		key, rest, _ = takeBytes(rest)
		value, rest, _ = takeBytes(rest)
		w.headers = append(w.headers, Header{Key: string(key), Value: value})
	}
	return w.fn(Record{
		Offset: w.batch.BaseOffset() + int64(r.offsetDelta), Timestamp: r.timestamp(w.batch), OffsetDelta: r.offsetDelta,
		Key: r.key, Value: r.value, Headers: w.headers,
	})
}

// rawRecord is a parsed record whose headers are checked but not taken apart.
type rawRecord struct {
	timestampDelta int64
	offsetDelta    int32
	key, value     []byte
	headerCount    int
	headers        []byte
}

func (r *rawRecord) timestamp(b Batch) int64 {
	if b.IsLogAppendTime() {
		return b.MaxTimestamp()
	}
	return b.BaseTimestamp() + r.timestampDelta
}

// walkRaw decompresses b and visits its records; the visited record is reused.
func (d *Decompressor) walkRaw(b Batch, visit func(*rawRecord) error) error {
	if codec := b.Codec(); codec != None {
		return d.withBuffer(func(buf []byte) ([]byte, error) {
			data, err := d.Decompress(buf, b[HeaderSize:], codec)
			if err != nil {
				var large *TooLargeError
				if errors.As(err, &large) {
					return data, err
				}
				return data, b.corrupt("its records do not decompress: %v", err)
			}
			return data, walkRecords(b, data, visit)
		})
	}
	return walkRecords(b, b[HeaderSize:], visit)
}

func walkRecords(b Batch, data []byte, visit func(*rawRecord) error) error {
	var r rawRecord
	count := b.Count()
	for i := range count {
		rest, err := parseRecord(data, &r)
		if err != nil {
			return b.corrupt("record %d of %d: %v", i+1, count, err)
		}
		data = rest
		if err := visit(&r); err != nil {
			return err
		}
	}
	if len(data) > 0 {
		return b.corrupt("%d bytes follow its %d records", len(data), count)
	}
	return nil
}

var (
	errRecordEnd   = errors.New("the data ends inside it")
	errVarint      = errors.New("a number in it is longer than its type allows")
	errRecordSize  = errors.New("its size field disagrees with its content")
	errHeaderKey   = errors.New("a header has no key")
	errHeaderCount = errors.New("its header count is impossible")
)

// parseRecord reads one record from the front of data (Kafka's DefaultRecord) and checks every
// length in it, headers included.
func parseRecord(data []byte, r *rawRecord) (rest []byte, err error) {
	size, data, err := takeVarint(data)
	if err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, fmt.Errorf("its size %d is negative", size)
	}
	if int(size) > len(data) {
		return nil, errRecordEnd
	}
	body, rest := data[:size:size], data[size:]
	if len(body) == 0 {
		return nil, errRecordSize
	}
	body = body[1:] // attributes, unused so far
	if r.timestampDelta, body, err = takeVarlong(body); err != nil {
		return nil, err
	}
	if r.offsetDelta, body, err = takeVarint(body); err != nil {
		return nil, err
	}
	if r.key, body, err = takeBytes(body); err != nil {
		return nil, err
	}
	if r.value, body, err = takeBytes(body); err != nil {
		return nil, err
	}
	count, body, err := takeVarint(body)
	if err != nil {
		return nil, err
	}
	// A header takes at least two bytes.
	if count < 0 || int64(count)*2 > int64(len(body)) {
		return nil, errHeaderCount
	}
	r.headerCount, r.headers = int(count), body
	for range count {
		var key []byte
		if key, body, err = takeBytes(body); err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errHeaderKey
		}
		if _, body, err = takeBytes(body); err != nil {
			return nil, err
		}
	}
	if len(body) != 0 {
		return nil, errRecordSize
	}
	return rest, nil
}

// takeBytes reads a length-prefixed byte string; a negative length is null.
func takeBytes(data []byte) (value, rest []byte, err error) {
	n, data, err := takeVarint(data)
	if err != nil {
		return nil, nil, err
	}
	if n < 0 {
		return nil, data, nil
	}
	if int(n) > len(data) {
		return nil, nil, errRecordEnd
	}
	return data[:n:n], data[n:], nil
}

func takeVarint(data []byte) (int32, []byte, error) {
	if len(data) > 0 && data[0] < 0x80 { // nearly all: one byte
		u := uint32(data[0])
		return int32(u>>1) ^ -int32(u&1), data[1:], nil
	}
	u, rest, err := takeUvarint(data, 5)
	if err != nil {
		return 0, nil, err
	}
	if u > math.MaxUint32 {
		return 0, nil, errVarint
	}
	return int32(uint32(u)>>1) ^ -int32(u&1), rest, nil
}

func takeVarlong(data []byte) (int64, []byte, error) {
	u, rest, err := takeUvarint(data, 10)
	if err != nil {
		return 0, nil, err
	}
	return int64(u>>1) ^ -int64(u&1), rest, nil
}

func takeUvarint(data []byte, maxBytes int) (uint64, []byte, error) {
	var u uint64
	for i := range maxBytes {
		if i == len(data) {
			return 0, nil, errRecordEnd
		}
		c := data[i]
		if i == 9 && c > 1 {
			return 0, nil, errVarint
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, data[i+1:], nil
		}
	}
	return 0, nil, errVarint
}
