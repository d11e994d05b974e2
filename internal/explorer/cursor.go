package explorer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Cursor is where a scan can go on: for each partition the part of the range not yet shown.
type Cursor struct {
	// Partitions maps a partition to the offsets left: from Low (inclusive) to High (exclusive).
	Partitions map[int32]OffsetSpan
}

// OffsetSpan is a range of offsets, Low inclusive, High exclusive.
type OffsetSpan struct{ Low, High int64 }

// String is the form ParseCursor reads: partition.low.high joined by '-', safe in a URL.
func (c *Cursor) String() string {
	ids := make([]int32, 0, len(c.Partitions))
	for id := range c.Partitions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte('-')
		}
		s := c.Partitions[id]
		fmt.Fprintf(&b, "%d.%d.%d", id, s.Low, s.High)
	}
	return b.String()
}

// ParseCursor reads what Cursor.String wrote; its error is a Problem with code INVALID_REQUEST.
func ParseCursor(text string) (*Cursor, error) {
	c := &Cursor{Partitions: map[int32]OffsetSpan{}}
	for part := range strings.SplitSeq(text, "-") {
		f := strings.Split(part, ".")
		if len(f) != 3 {
			return nil, cursorProblem(text)
		}
		id, err1 := strconv.ParseInt(f[0], 10, 32)
		low, err2 := strconv.ParseInt(f[1], 10, 64)
		high, err3 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil || id < 0 || low < 0 || high < low {
			return nil, cursorProblem(text)
		}
		c.Partitions[int32(id)] = OffsetSpan{Low: low, High: high}
	}
	return c, nil
}

func cursorProblem(text string) error {
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return &Problem{Code: "INVALID_REQUEST", Title: "The cursor is not one that Klamm gave.", Detail: text, Help: "Start the scan again without it."}
}
