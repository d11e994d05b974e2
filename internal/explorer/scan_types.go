package explorer

import "time"

// ScanRequest says which records of a topic to show. The page's message view and the CLI use it alike.
type ScanRequest struct {
	Topic      string
	Range      Range
	Limit      int     // records to show at most; 0: all. Not for live.
	Partitions []int32 // nil: all
	Offset     int64   // RangeOffset: first offset, inclusive, in each chosen partition
	Timestamp  int64   // RangeTime: first timestamp, ms, inclusive
	// Follow goes on with what arrives, in the order of arrival, until cancelled. Always so for
	// RangeLive, not possible for RangeNewest.
	Follow bool
	// ReadCommitted hides records of aborted and still open transactions.
	ReadCommitted bool
	// Cursor continues where a Done said; it overrides Offset and Timestamp. Nil starts afresh.
	Cursor *Cursor
	// PreviewBytes bounds the text of each key and value preview; 0 means 200.
	PreviewBytes int
	// Raw gives whole records in RecordRow.Raw instead of previews.
	Raw bool
	// Lossless waits for a slow sink when following; otherwise the oldest rows not yet shown are
	// dropped and counted.
	Lossless bool
	// Patience is how long a partition may stay unreadable when following before it is given up; 0
	// means a number of attempts that take about a minute and a half.
	Patience time.Duration
	// MaxBytes and MaxTime end a scan that reads too much or takes too long; 0 means 4 GiB and 10
	// minutes, negative no bound. Not for following.
	MaxBytes int64
	MaxTime  time.Duration
}

// Range is the kind of a ScanRequest.
type Range string

// The ranges: the newest or oldest Limit records, from an offset or a time on, or what arrives from now on.
const (
	RangeNewest Range = "newest"
	RangeOldest Range = "oldest"
	RangeOffset Range = "offset"
	RangeTime   Range = "time"
	RangeLive   Range = "live"
)

// Progress is what a scan has seen so far.
type Progress struct {
	Scanned        int64  `json:"scanned,string" doc:"Records looked at."`
	Bytes          int64  `json:"bytes,string" doc:"Bytes fetched."`
	Found          int64  `json:"found,string" doc:"Records shown."`
	Total          *int64 `json:"total,omitempty,string" doc:"Offsets in the range, an upper bound; absent for live."`
	Markers        int64  `json:"markers,string" doc:"Transaction markers skipped."`
	Aborted        int64  `json:"aborted,string" doc:"Records of aborted transactions skipped."`
	Gaps           int64  `json:"gaps,string" doc:"Offsets that no longer hold a record (compaction or deletion)."`
	Dropped        int64  `json:"dropped,string" doc:"Live: records that arrived but were not shown, because they came too fast."`
	Undecodable    int64  `json:"undecodable,string" doc:"Batches that could not be read; each is named by a problem event."`
	Partitions     int32  `json:"partitions" doc:"Partitions in the range."`
	PartitionsDone int32  `json:"partitionsDone"`
	Waiting        int32  `json:"waiting,omitempty" doc:"Partitions that cannot be read at the moment; they were named by problem events, and are tried again."`
	Millis         int64  `json:"millis,string" doc:"Since the start."`
	Cursor         string `json:"cursor,omitempty" doc:"Live: give it back as ?range=live&cursor= to go on after the rows sent so far."`
}

// RecordBatch is the messages event: rows to add, newest first for newest, oldest first for other
// ranges, as they arrive for live.
type RecordBatch struct {
	Records []RecordRow `json:"records"`
}

// ScanProblem is something that went wrong while the rest goes on.
type ScanProblem struct {
	Partition *int32  `json:"partition,omitempty" doc:"Absent when it is about the whole scan."`
	Problem   Problem `json:"problem"`
	// Passing tells that the partition is still tried.
	Passing bool `json:"-"`
}

// Done ends a scan.
type Done struct {
	Reason   string   `json:"reason" enum:"limit,end,empty,pastEnd,noLaterRecords,timeLimit,byteLimit,cancelled,failed" doc:"limit: enough found, more may follow. end: the end offsets of the start were reached. empty: nothing in the range. pastEnd: the asked offset is at or after the end. noLaterRecords: no record has that timestamp or a later one."`
	Text     string   `json:"text" doc:"The reason in words."`
	Cursor   string   `json:"cursor,omitempty" doc:"Give it back as ?cursor= to go on; absent when nothing is left."`
	Progress Progress `json:"progress"`
}

// Sink receives a scan's events, one at a time, from one goroutine.
type Sink interface {
	Progress(Progress) error
	Records([]RecordRow) error
	Problem(ScanProblem) error
	Done(Done) error
}
