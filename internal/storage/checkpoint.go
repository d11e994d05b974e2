package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"klamm/internal/vfs"
)

// Names of the checkpoint files in a log directory. Each is text: a version, the number of entries,
// then "topic partition offset" lines (Kafka's OffsetCheckpointFile).
const (
	recoveryPointFile  = "recovery-point-offset-checkpoint"
	logStartFile       = "log-start-offset-checkpoint"
	highWatermarkFile  = "replication-offset-checkpoint"
	cleanerOffsetFile  = "cleaner-offset-checkpoint"
	checkpointVersion  = 0
	checkpointMaxBytes = 64 << 20
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the partition's directory name, topic-partition.
func (tp TopicPartition) String() string { return tp.Topic + "-" + strconv.Itoa(int(tp.Partition)) }

// OffsetCheckpoint maps partitions to offsets.
type OffsetCheckpoint map[TopicPartition]int64

// AppendTo writes the checkpoint in Kafka's text form, sorted, so that equal content is equal bytes.
func (c OffsetCheckpoint) AppendTo(dst []byte) []byte {
	keys := make([]TopicPartition, 0, len(c))
	for tp := range c {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, func(a, b TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	dst = fmt.Appendf(dst, "%d\n%d\n", checkpointVersion, len(c))
	for _, tp := range keys {
		dst = fmt.Appendf(dst, "%s %d %d\n", tp.Topic, tp.Partition, c[tp])
	}
	return dst
}

// ParseOffsetCheckpoint reads a checkpoint. An empty file is an empty checkpoint, as a fresh Kafka
// node leaves it; anything else malformed is a *FormatError.
func ParseOffsetCheckpoint(file string, data []byte) (OffsetCheckpoint, error) {
	out := OffsetCheckpoint{}
	err := parseCheckpoint(file, data, func(fields []string) bool {
		if len(fields) != 3 {
			return false
		}
		partition, err1 := strconv.ParseInt(fields[1], 10, 32)
		offset, err2 := strconv.ParseInt(fields[2], 10, 64)
		tp := TopicPartition{fields[0], int32(partition)}
		if _, twice := out[tp]; twice || err1 != nil || err2 != nil || partition < 0 {
			return false
		}
		out[tp] = offset
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// parseCheckpoint reads the version, the count and the entries of a checkpoint file.
func parseCheckpoint(file string, data []byte, entry func(fields []string) bool) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	if version, err := strconv.Atoi(lines[0]); err != nil || version != checkpointVersion {
		return &FormatError{file, fmt.Sprintf("line 1 says version %.40q, not %d", lines[0], checkpointVersion)}
	}
	if len(lines) < 2 {
		return &FormatError{file, "the number of entries is missing"}
	}
	if count, err := strconv.Atoi(lines[1]); err != nil || count != len(lines)-2 {
		return &FormatError{file, fmt.Sprintf("line 2 says %.40q entries, there are %d", lines[1], len(lines)-2)}
	}
	for i, line := range lines[2:] {
		if !entry(strings.Fields(line)) {
			return &FormatError{file, fmt.Sprintf("line %d is wrong: %.80q", i+3, line)}
		}
	}
	return nil
}

// readOffsetCheckpoint reads a checkpoint file; a missing one is empty.
func readOffsetCheckpoint(fsys vfs.FS, file string) (OffsetCheckpoint, error) {
	data, err := vfs.ReadFile(fsys, file, checkpointMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return OffsetCheckpoint{}, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseOffsetCheckpoint(file, data)
}
