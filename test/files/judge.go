// Package files lets Kafka's own dump tool judge the data directories that the other suites leave,
// down to every record, index entry and snapshot.
package files

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// verdict is what the dump tool's output amounts to. Any line that is not known to be harmless is a
// complaint, so that a message nobody has seen yet counts as one.
type verdict struct {
	files, batches, records, entries int
	complaints                       []string
}

// decoder says which records a dump must have been able to decode.
type decoder int

const (
	plain decoder = iota
	metadataRecords
	groupRecords
)

var (
	dumping = regexp.MustCompile(`^Dumping (\S.*)$`)
	empty   = regexp.MustCompile(`^\S.* is empty\.$`)
	sane    = regexp.MustCompile(`^\S.* passed sanity check\.$`)
	start   = regexp.MustCompile(`^(Log|Snapshot) starting offset: \d+`)
	end     = regexp.MustCompile(`^Snapshot end offset: \d+, epoch: \d+$`)
	batch   = regexp.MustCompile(`^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* position: (\d+) .* size: (\d+) .* isvalid: true$`)
	record  = regexp.MustCompile(`^\| offset: (\d+) (?:CreateTime|LogAppendTime|NoTimestampType): -?\d+ keySize: -?\d+ valueSize: -?\d+ (.*)$`)
	offset  = regexp.MustCompile(`^offset: \d+ position: \d+$`)
	stamp   = regexp.MustCompile(`^timestamp: -?\d+ offset: \d+$`)
	writer  = regexp.MustCompile(`^producerId: \d+ producerEpoch: \d+ coordinatorEpoch: -?\d+ currentTxnFirstOffset: \S+ lastTimestamp: -?\d+ firstSequence: \d+ lastSequence: \d+ lastOffset: \d+ offsetDelta: \d+ timestamp: -?\d+$`)
)

// The tool expects the first record after the offset -1 in every segment, so it complains about
// each segment that does not begin at 0. Only that one jump, to the offset in the name, is harmless.
var (
	jumps = regexp.MustCompile(`^Non-consecutive offsets in .*?(\d{20})\.log$`)
	jump  = regexp.MustCompile(`^  (-?\d+) is followed by (\d+)$`)
)

func judge(out string, want decoder) verdict {
	v := verdict{}
	var file string
	base := int64(-1) // of the segment that jumps are listed of
	next, position := int64(-1), int64(0)
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "", empty.MatchString(line), sane.MatchString(line), start.MatchString(line), end.MatchString(line):
		case dumping.MatchString(line):
			v.files++
			file, next, position = dumping.FindStringSubmatch(line)[1], -1, 0
		case offset.MatchString(line), stamp.MatchString(line), writer.MatchString(line):
			v.entries++
		case jumps.MatchString(line):
			base = numbers(jumps.FindStringSubmatch(line))[0]
		case jump.MatchString(line):
			if n := numbers(jump.FindStringSubmatch(line)); n[0] != -1 || n[1] != base {
				v.complain(file, line)
			}
		case batch.MatchString(line):
			next, position = v.batch(file, numbers(batch.FindStringSubmatch(line)), next, position)
		case record.MatchString(line):
			v.records++
			if text := record.FindStringSubmatch(line)[2]; !decoded(text, want) {
				v.complain(file, "not decoded: "+line)
			}
		default:
			v.complain(file, line)
		}
	}
	return v
}

// batch checks that batches follow each other without a gap in offsets and bytes, and returns what
// is expected of the next one.
func (v *verdict) batch(file string, n []int64, next, position int64) (int64, int64) {
	v.batches++
	base, last, count, at, size := n[0], n[1], n[2], n[3], n[4]
	if next >= 0 && base != next {
		v.complain(file, fmt.Sprintf("offset %d follows %d", base, next-1))
	}
	if last-base+1 != count {
		v.complain(file, fmt.Sprintf("batch %d-%d says it holds %d records", base, last, count))
	}
	if at != position {
		v.complain(file, fmt.Sprintf("batch at position %d, expected at %d", at, position))
	}
	return last + 1, position + size
}

func (v *verdict) complain(file, what string) {
	v.complaints = append(v.complaints, file+": "+what)
}

// decoded says whether a record's line shows it in words, where the dump tool knows how.
func decoded(text string, want decoder) bool {
	switch want {
	case metadataRecords:
		return strings.Contains(text, ` payload: {"type":"`) || control.MatchString(text)
	case groupRecords:
		return strings.Contains(text, ` key: {"type":"`) && (strings.Contains(text, ` payload: {"version":"`) || strings.HasSuffix(text, ` payload: <DELETE>`))
	default:
		return true
	}
}

var control = regexp.MustCompile(`(LeaderChange: |KRaftVersion |KRaftVoters |SnapshotHeader |SnapshotFooter )\{"version":`)

func numbers(fields []string) (out []int64) {
	for _, field := range fields[1:] {
		n, _ := strconv.ParseInt(field, 10, 64) // the pattern lets digits through only
		out = append(out, n)
	}
	return out
}
