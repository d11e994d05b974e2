package kafkarecord

import (
	"encoding/binary"
	"fmt"
	"math"
)

// decoder reads the primitive types of Kafka's message format. The first error sticks; every read
// after it returns a zero value. flexible selects compact lengths.
type decoder struct {
	src      []byte
	pos      int
	message  string
	version  int16
	flexible bool
	err      error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &DecodeError{Message: d.message, Version: d.version, Offset: d.pos, Reason: fmt.Sprintf(format, args...)}
	}
	d.pos = len(d.src)
}

// finish reports the first error, or bytes left over.
func (d *decoder) finish() error {
	if left := len(d.src) - d.pos; d.err == nil && left != 0 {
		d.fail("%d bytes follow the end", left)
	}
	return d.err
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.src)-d.pos {
		d.fail("%d bytes are needed, %d are left", n, len(d.src)-d.pos)
		return nil
	}
	d.pos += n
	return d.src[d.pos-n : d.pos]
}

func (d *decoder) uint8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint16() uint16 {
	if b := d.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) bool() bool       { return d.uint8() != 0 }
func (d *decoder) int8() int8       { return int8(d.uint8()) }
func (d *decoder) int16() int16     { return int16(d.uint16()) }
func (d *decoder) int32() int32     { return int32(d.uint32()) }
func (d *decoder) int64() int64     { return int64(d.uint64()) }
func (d *decoder) float64() float64 { return math.Float64frombits(d.uint64()) }

func (d *decoder) uuid() (id UUID) {
	copy(id[:], d.take(len(id)))
	return id
}

// uvarint reads an unsigned varint of at most 32 bits.
func (d *decoder) uvarint() uint32 {
	v, n := binary.Uvarint(d.src[d.pos:])
	if n <= 0 || v > math.MaxUint32 {
		d.fail("a variable-length integer is cut short or too large")
		return 0
	}
	d.pos += n
	return uint32(v)
}

// length reads the length of a string, bytes or list; -1 is null.
func (d *decoder) length(short bool) int {
	switch {
	case d.flexible:
		return int(d.uvarint()) - 1
	case short:
		return int(d.int16())
	}
	return int(d.int32())
}

func (d *decoder) blob(short, nullable bool) ([]byte, bool) {
	n := d.length(short)
	if n < 0 {
		if n != -1 || !nullable {
			d.fail("length %d is not allowed here", n)
		}
		return nil, false
	}
	return d.take(n), true
}

func (d *decoder) string() string {
	b, _ := d.blob(true, false)
	return string(b)
}

func (d *decoder) nullableString() *string {
	b, ok := d.blob(true, true)
	if !ok || d.err != nil {
		return nil
	}
	s := string(b)
	return &s
}

func (d *decoder) bytes() []byte {
	b, _ := d.blob(false, false)
	return append([]byte(nil), b...)
}

// present reads the marker in front of a nullable structure: a byte, or a varint inside a tagged
// field. The difference is Kafka's.
func (d *decoder) present(tagged bool) bool {
	if tagged {
		return d.uvarint() > 0
	}
	return d.int8() >= 0 && d.err == nil
}

// decodeList reads a list whose elements take at least size bytes each. An empty list is nil, or
// empty but not nil when the list is nullable.
func decodeList[T any](d *decoder, size int, nullable bool, one func(*decoder) T) []T {
	n := d.length(false)
	switch {
	case d.err != nil:
		return nil
	case n == -1 && nullable:
		return nil
	case n < 0 || n > (len(d.src)-d.pos)/size:
		d.fail("a list of %d elements does not fit the %d bytes left", n, len(d.src)-d.pos)
		return nil
	case n == 0 && !nullable:
		return nil
	}
	list := make([]T, n)
	for i := range list {
		list[i] = one(d)
		if d.err != nil {
			return nil
		}
	}
	return list
}

// tags reads the tagged fields at the end of a structure. known decodes one and reports whether it
// knows the number; the rest is returned.
func (d *decoder) tags(known func(*decoder, uint32) bool) (unknown []Tag) {
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		number, size := d.uvarint(), d.uvarint()
		start := d.pos
		body := d.take(int(size))
		if d.err != nil {
			return nil
		}
		sub := decoder{src: d.src[:d.pos], pos: start, message: d.message, version: d.version, flexible: true}
		if !known(&sub, number) {
			unknown = append(unknown, Tag{number, append([]byte{}, body...)})
		} else if err := sub.finish(); err != nil {
			d.err, d.pos = err, len(d.src)
		}
	}
	return unknown
}
