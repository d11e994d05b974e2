package storage

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

const offsetEntrySize = 8

// OffsetIndex maps offsets of one segment to byte positions, sparsely. It holds Kafka's file bytes:
// entries of (offset - base, position), both 32 bits; an entry names the last offset of a batch and
// the position at which that batch starts (Kafka's OffsetIndex). It is not safe for concurrent use.
type OffsetIndex struct {
	base    int64
	entries []byte
}

// Len is the number of entries.
func (x *OffsetIndex) Len() int { return len(x.entries) / offsetEntrySize }

// Entry returns entry i.
func (x *OffsetIndex) Entry(i int) (lastOffset, position int64) {
	e := x.entries[i*offsetEntrySize:]
	return x.base + int64(binary.BigEndian.Uint32(e)), int64(binary.BigEndian.Uint32(e[4:]))
}

// Append adds an entry; offsets that do not increase are ignored.
func (x *OffsetIndex) Append(lastOffset, position int64) {
	if n := x.Len(); n > 0 {
		if last, _ := x.Entry(n - 1); lastOffset <= last {
			return
		}
	}
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(lastOffset-x.base))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(position))
}

// Lookup returns the last entry whose offset is not above offset: reading forward from its position
// finds the batch that holds offset. ok is false when reading must start at the segment's start.
func (x *OffsetIndex) Lookup(offset int64) (lastOffset, position int64, ok bool) {
	i := sort.Search(x.Len(), func(i int) bool { last, _ := x.Entry(i); return last > offset })
	if i == 0 {
		return x.base, 0, false
	}
	lastOffset, position = x.Entry(i - 1)
	return lastOffset, position, true
}

// ParseOffsetIndex reads an .index file of the segment that starts at base and is logSize bytes
// long. A file that Kafka preallocated ends at its first zero entry. Entries that do not increase
// or lie outside of the segment are a *FormatError: the index must then be rebuilt.
func ParseOffsetIndex(file string, base int64, data []byte, logSize int64) (*OffsetIndex, error) {
	if len(data)%offsetEntrySize != 0 {
		return nil, &FormatError{file, fmt.Sprintf("its size %d is not a multiple of %d", len(data), offsetEntrySize)}
	}
	x := &OffsetIndex{base: base, entries: data}
	lastOffset, lastPosition := int64(-1), int64(0)
	for i := range x.Len() {
		if binary.BigEndian.Uint64(data[i*offsetEntrySize:]) == 0 {
			x.entries = data[:i*offsetEntrySize]
			break
		}
		offset, position := x.Entry(i)
		if offset-base > math.MaxInt32 || offset <= lastOffset || position <= lastPosition && i > 0 || position >= logSize {
			return nil, &FormatError{file, fmt.Sprintf("entry %d (offset %d, position %d) is out of place", i, offset, position)}
		}
		lastOffset, lastPosition = offset, position
	}
	x.entries = x.entries[:len(x.entries):len(x.entries)]
	return x, nil
}
