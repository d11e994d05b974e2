package storage

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

const timeEntrySize = 12

// noTimestamp marks an absent time.
const noTimestamp int64 = -1

// TimeIndex maps times to offsets of one segment, sparsely. It holds Kafka's file bytes: entries of
// (time in ms, offset - base), both strictly increasing; an entry names the largest time so far and
// the last offset of the batch that brought it (Kafka's TimeIndex). It is not safe for concurrent use.
type TimeIndex struct {
	base    int64
	entries []byte
}

// Len is the number of entries.
func (x *TimeIndex) Len() int { return len(x.entries) / timeEntrySize }

// Entry returns entry i.
func (x *TimeIndex) Entry(i int) (timestamp, offset int64) {
	e := x.entries[i*timeEntrySize:]
	return int64(binary.BigEndian.Uint64(e)), x.base + int64(binary.BigEndian.Uint32(e[8:]))
}

// Last is the last entry, or (-1, base) in an empty index.
func (x *TimeIndex) Last() (timestamp, offset int64) {
	if x.Len() == 0 {
		return noTimestamp, x.base
	}
	return x.Entry(x.Len() - 1)
}

// MaybeAppend adds an entry unless its time is not later than the last one.
func (x *TimeIndex) MaybeAppend(timestamp, offset int64) {
	if last, _ := x.Last(); timestamp <= last {
		return
	}
	x.entries = binary.BigEndian.AppendUint64(x.entries, uint64(timestamp))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(offset-x.base))
}

// Lookup returns the last entry whose time is not after timestamp, or (-1, base).
func (x *TimeIndex) Lookup(timestamp int64) (foundTimestamp, offset int64) {
	i := sort.Search(x.Len(), func(i int) bool { t, _ := x.Entry(i); return t > timestamp })
	if i == 0 {
		return noTimestamp, x.base
	}
	return x.Entry(i - 1)
}

// ParseTimeIndex reads a .timeindex file of the segment that starts at base. A file that Kafka
// preallocated ends at its first zero entry. Entries that do not increase are a *FormatError.
func ParseTimeIndex(file string, base int64, data []byte) (*TimeIndex, error) {
	if len(data)%timeEntrySize != 0 {
		return nil, &FormatError{file, fmt.Sprintf("its size %d is not a multiple of %d", len(data), timeEntrySize)}
	}
	x := &TimeIndex{base: base, entries: data}
	lastTime, lastOffset := noTimestamp, int64(-1)
	for i := range x.Len() {
		timestamp, offset := x.Entry(i)
		if timestamp == 0 && offset == base && (i > 0 || allZero(data)) {
			x.entries = data[:i*timeEntrySize]
			break
		}
		if offset-base > math.MaxInt32 || timestamp <= lastTime || offset < lastOffset {
			return nil, &FormatError{file, fmt.Sprintf("entry %d (time %d, offset %d) is out of place", i, timestamp, offset)}
		}
		lastTime, lastOffset = timestamp, offset
	}
	x.entries = x.entries[:len(x.entries):len(x.entries)]
	return x, nil
}

func allZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
