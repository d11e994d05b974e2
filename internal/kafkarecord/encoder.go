package kafkarecord

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// encoder writes the primitive types of Kafka's message format. The first error sticks.
type encoder struct {
	dst      []byte
	flexible bool
	err      string
	pending  []Tag // tagged fields of the structure being written
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == "" {
		e.err = fmt.Sprintf(format, args...)
	}
}

func (e *encoder) bool(v bool) {
	if v {
		e.dst = append(e.dst, 1)
	} else {
		e.dst = append(e.dst, 0)
	}
}
func (e *encoder) int8(v int8)       { e.dst = append(e.dst, byte(v)) }
func (e *encoder) int16(v int16)     { e.dst = binary.BigEndian.AppendUint16(e.dst, uint16(v)) }
func (e *encoder) int32(v int32)     { e.dst = binary.BigEndian.AppendUint32(e.dst, uint32(v)) }
func (e *encoder) int64(v int64)     { e.dst = binary.BigEndian.AppendUint64(e.dst, uint64(v)) }
func (e *encoder) uint16(v uint16)   { e.dst = binary.BigEndian.AppendUint16(e.dst, v) }
func (e *encoder) uint32(v uint32)   { e.dst = binary.BigEndian.AppendUint32(e.dst, v) }
func (e *encoder) float64(v float64) { e.int64(int64(math.Float64bits(v))) }
func (e *encoder) uuid(v UUID)       { e.dst = append(e.dst, v[:]...) }
func (e *encoder) uvarint(v uint32)  { e.dst = binary.AppendUvarint(e.dst, uint64(v)) }

// length writes the length of a string (short), bytes or list; -1 is null.
func (e *encoder) length(n int, short bool) {
	switch {
	case e.flexible && n < math.MaxInt32:
		e.uvarint(uint32(n + 1))
	case !e.flexible && short && n <= math.MaxInt16:
		e.int16(int16(n))
	case !e.flexible && !short && n <= math.MaxInt32:
		e.int32(int32(n))
	default:
		e.fail("a length of %d does not fit its field", n)
	}
}

func (e *encoder) string(s string) {
	e.length(len(s), true)
	e.dst = append(e.dst, s...)
}

func (e *encoder) nullableString(s *string) {
	if s == nil {
		e.length(-1, true)
		return
	}
	e.string(*s)
}

func (e *encoder) bytes(b []byte) {
	e.length(len(b), false)
	e.dst = append(e.dst, b...)
}

// present writes the marker in front of a nullable structure and returns ok.
func (e *encoder) present(ok, tagged bool) bool {
	switch {
	case ok:
		e.int8(1) // also the varint 1
	case tagged:
		e.uvarint(0)
	default:
		e.int8(-1)
	}
	return ok
}

func encodeList[T any](e *encoder, list []T, nullable bool, one func(*encoder, T)) {
	if list == nil && nullable {
		e.length(-1, false)
		return
	}
	e.length(len(list), false)
	for _, v := range list {
		one(e, v)
	}
}

// tag keeps one tagged field for endTags.
func (e *encoder) tag(number uint32, body func(*encoder)) {
	sub := encoder{flexible: true}
	body(&sub)
	if sub.err != "" {
		e.fail("%s", sub.err)
	}
	e.pending = append(e.pending, Tag{number, sub.dst})
}

// endTags writes the tagged fields of a structure in ascending order, as Kafka does.
func (e *encoder) endTags(unknown []Tag) {
	all := append(e.pending, unknown...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	e.uvarint(uint32(len(all)))
	for _, t := range all {
		e.uvarint(t.Number)
		e.uvarint(uint32(len(t.Value)))
		e.dst = append(e.dst, t.Value...)
	}
	e.pending = e.pending[:0]
}

func readMessage(m Message, flexible bool, src []byte, version int16, body func(*decoder, int16)) error {
	s := m.Schema()
	d := decoder{src: src, message: s.Name, version: version, flexible: flexible}
	if version < s.MinVersion || version > s.MaxVersion {
		d.fail("only versions %d to %d are known", s.MinVersion, s.MaxVersion)
		return d.err
	}
	body(&d, version)
	return d.finish()
}

func appendMessage(m Message, flexible bool, dst []byte, version int16, body func(*encoder, int16)) ([]byte, error) {
	s := m.Schema()
	e := encoder{dst: dst, flexible: flexible}
	if version < s.MinVersion || version > s.MaxVersion {
		e.fail("only versions %d to %d are known", s.MinVersion, s.MaxVersion)
	} else {
		body(&e, version)
	}
	if e.err != "" {
		return dst, &EncodeError{Message: s.Name, Version: version, Reason: e.err}
	}
	return e.dst, nil
}
