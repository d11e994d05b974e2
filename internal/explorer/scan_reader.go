package explorer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
)

const (
	// minPartitionBytes and maxPartitionBytes bound how much a fetch asks of one partition: little at
	// first, since a window may be small, then more while there is more to read.
	minPartitionBytes = 128 << 10
	maxPartitionBytes = 4 << 20
	// maxReadAhead bounds the bytes that a partition's rows hold while they wait to be merged.
	maxReadAhead = 8 << 20
)

// reader reads one partition's part of a range: forward as it lies, or backward in windows that are
// each read forward. It is pure: it says what to fetch and takes what came.
type reader struct {
	partition int32
	backward  bool
	low, high int64 // not yet read: low inclusive, high exclusive
	leader    int32 // -1: to be found

	pos, to    int64 // the window being read; none when pos == to
	windowSize int64 // backward: offsets of the next window
	window     []RecordRow
	trimmed    bool        // older rows of the window were dropped, to be read again
	rows       []RecordRow // ready, in output order
	pending    []byte      // forward: the rest of the last answer
	aborted    *abortedFilter
	rowBytes   int64
	chunk      int // rows to hold ready

	maxBytes  int32
	starved   bool     // the last fetch brought nothing though something should be there
	failed    *Problem // gave up
	attempts  int      // failures since the last answer
	announced bool     // the present failure was told
	lostAt    int64    // ms; of the first of them
	retryAt   int64    // ms; not before

	scan *scanCounts
	take func(partition int32, b record.Batch, r record.Record) (RecordRow, bool)
}

// scanCounts are the counters that all readers of a scan add to.
type scanCounts struct {
	Progress
	problems []ScanProblem
}

func (c *scanCounts) problem(partition int32, p *Problem) {
	c.problems = append(c.problems, ScanProblem{Partition: &partition, Problem: *p})
}

// wants opens the next window if rows are needed and tells whether something is to be fetched.
func (r *reader) wants() bool {
	if r.failed != nil {
		return false
	}
	if r.pos < r.to {
		return len(r.pending) == 0 && !r.stopped()
	}
	if r.low >= r.high || r.full() {
		return false
	}
	if r.backward {
		r.windowSize = max(r.windowSize, int64(r.chunk))
		r.pos, r.to = max(r.low, r.high-r.windowSize), r.high
	} else {
		r.pos, r.to = r.low, r.high
	}
	return true
}

func (r *reader) full() bool { return len(r.rows) >= r.chunk || r.rowBytes >= maxReadAhead }

// exhausted tells that no further row will come.
func (r *reader) exhausted() bool {
	return len(r.rows) == 0 && (r.failed != nil || (r.low >= r.high && r.pos == r.to))
}

// left is the part of the range whose rows were not taken from rows.
func (r *reader) left() OffsetSpan {
	s := OffsetSpan{Low: r.low, High: r.high}
	if r.backward {
		if len(r.rows) > 0 {
			s.High = r.rows[0].Offset + 1
		}
		return s
	}
	if r.pos < r.to {
		s.Low = r.pos
	}
	if len(r.rows) > 0 {
		s.Low = r.rows[0].Offset
	}
	return s
}

// pop takes the first ready row.
func (r *reader) pop() RecordRow {
	row := r.rows[0]
	r.rows = r.rows[1:]
	r.rowBytes -= rowCost(row)
	if len(r.rows) == 0 {
		r.rows, r.rowBytes = nil, 0
	}
	return row
}

// rowCost is about what a row holds in memory.
func rowCost(row RecordRow) int64 {
	cost := int64(400 + len(row.Key.Text) + len(row.Value.Text))
	if row.Raw != nil {
		cost += row.Bytes
	}
	return cost
}

// answer takes a partition's part of a fetch answer.
func (r *reader) answer(d *record.Decompressor, p *kmsg.FetchResponseTopicPartition, first bool) {
	r.attempts, r.announced = 0, false
	r.scan.Bytes += int64(len(p.RecordBatches))
	before := r.pos
	r.pending, r.aborted = p.RecordBatches, newAbortedFilter(p.AbortedTransactions)
	r.consume(d)
	if r.failed == nil {
		r.grow(before, first, len(p.RecordBatches))
		r.closeIfDone()
	}
}

// refill goes on with what an earlier answer left when the rows were full.
func (r *reader) refill(d *record.Decompressor) {
	if len(r.pending) > 0 && !r.stopped() && r.failed == nil {
		r.consume(d)
		r.closeIfDone()
	}
}

// consume takes batches from pending until the window is read, the rows are full or nothing whole is
// left. A batch that is taken in part stays.
func (r *reader) consume(d *record.Decompressor) {
	for r.pos < r.to && !r.stopped() {
		b, rest, err := record.Next(r.pending)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				r.fail(&Problem{Code: "UNREADABLE_BATCH", Title: "The records from here on cannot be read: they are damaged or of a format older than Kafka 0.11.", Detail: err.Error(), Operation: "Fetch", Resource: fmt.Sprintf("offset %d", r.pos), cause: err})
			}
			r.pending = nil
			return
		}
		r.batch(d, b)
		if r.stopped() && r.pos <= b.LastOffset() && r.pos < r.to {
			return
		}
		r.pending = rest
	}
	if r.pos >= r.to {
		r.pending = nil
	}
}

func (r *reader) closeIfDone() {
	if r.failed == nil && r.pos >= r.to && r.to > 0 {
		r.closeWindow()
	}
}

// stopped tells a forward reader that its buffer is full in the middle of an answer.
func (r *reader) stopped() bool { return !r.backward && r.full() }

// grow adapts the size to ask for, and ends a window that holds nothing any more.
func (r *reader) grow(before int64, first bool, got int) {
	if r.pos > before {
		r.starved = false
		if r.pos < r.to && got > int(r.maxBytes)/2 {
			r.maxBytes = min(r.maxBytes*2, maxPartitionBytes)
		}
		return
	}
	if r.to == math.MaxInt64 || r.stopped() {
		return // following: nothing new is normal
	}
	r.maxBytes = min(r.maxBytes*2, maxPartitionBytes)
	if r.starved && first {
		// Asked alone in front, where a broker gives one batch whatever its size, and still nothing:
		// the offsets up to the end hold no record (compacted away, or open transactions).
		r.scan.Gaps += r.to - r.pos
		r.pos = r.to
	}
	r.starved = true
}

// batch takes one batch that reaches into the window.
func (r *reader) batch(d *record.Decompressor, b record.Batch) {
	base, last := b.BaseOffset(), b.LastOffset()
	skip := r.aborted.skips(b)
	if last < r.pos {
		return
	}
	if base >= r.to {
		r.scan.Gaps += r.to - r.pos
		r.pos = r.to
		return
	}
	if base > r.pos {
		r.scan.Gaps += base - r.pos
		r.pos = base
	}
	end := min(last+1, r.to)
	switch {
	case b.IsControl():
		r.scan.Markers += end - r.pos
		r.pos = end
	case skip:
		r.scan.Aborted += end - r.pos
		r.pos = end
	default:
		r.records(d, b, end)
	}
}

// records takes the rows of a batch from pos up to end.
func (r *reader) records(d *record.Decompressor, b record.Batch, end int64) {
	err := b.VerifyCRC()
	if err == nil {
		err = d.Walk(b, func(rec record.Record) error {
			if rec.Offset < r.pos {
				return nil
			}
			if rec.Offset >= end || r.stopped() {
				return record.ErrStop
			}
			r.scan.Gaps += rec.Offset - r.pos
			r.pos = rec.Offset + 1
			r.scan.Scanned++
			if row, ok := r.take(r.partition, b, rec); ok {
				r.add(row)
			}
			return nil
		})
	}
	if err != nil {
		r.scan.Undecodable++
		r.scan.problem(r.partition, &Problem{
			Code: "UNREADABLE_BATCH", Title: fmt.Sprintf("The records of offsets %d to %d cannot be read.", b.BaseOffset(), b.LastOffset()),
			Detail: err.Error(), Operation: "Fetch", Resource: fmt.Sprintf("partition %d", r.partition), cause: err,
		})
		r.pos = end
		return
	}
	if !r.stopped() && r.pos < end {
		r.scan.Gaps += end - r.pos // compaction left holes at the end of the batch
		r.pos = end
	}
}

func (r *reader) add(row RecordRow) {
	if !r.backward {
		r.rows = append(r.rows, row)
		r.rowBytes += rowCost(row)
		return
	}
	r.window = append(r.window, row)
	if len(r.window) >= 2*r.chunk { // only the newest are wanted; the others are read again if needed
		r.window = append(r.window[:0], r.window[len(r.window)-r.chunk:]...)
		r.trimmed = true
	}
}

// closeWindow ends a window: what it gave is ready, the rest of the range is left.
func (r *reader) closeWindow() {
	if !r.backward {
		r.low = r.to
		r.pos, r.to = 0, 0
		return
	}
	low := max(r.low, r.high-r.windowSize)
	found := int64(len(r.window))
	if found > int64(r.chunk) {
		r.window = r.window[found-int64(r.chunk):]
		r.trimmed = true
	}
	if r.trimmed {
		low = r.window[0].Offset
	}
	slices.Reverse(r.window)
	for _, row := range r.window {
		r.rowBytes += rowCost(row)
	}
	r.rows = append(r.rows, r.window...)
	if found < int64(r.chunk) {
		r.windowSize = min(r.windowSize*2, 1<<40)
	}
	r.high, r.window, r.trimmed = low, nil, false
	r.pos, r.to = 0, 0
}

// fail gives up the partition; its rows so far stay.
func (r *reader) fail(p *Problem) {
	if r.failed == nil {
		r.failed = p
		r.scan.problem(r.partition, p)
	}
}

// moveStart follows a log start that retention moved past what was to be read.
func (r *reader) moveStart(start int64) bool {
	if start <= r.pos {
		return false
	}
	r.scan.Gaps += min(start, r.to) - r.pos
	r.low = max(r.low, start)
	r.pos = min(start, r.to)
	if r.pos >= r.to {
		r.closeWindow()
	}
	return true
}
