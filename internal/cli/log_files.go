package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"klamm/internal/storage"
)

// maxSmallFile bounds everything that is not a segment, in bytes.
const maxSmallFile = 1 << 30

// file prints one file, its kind told by its name.
func (d *dumper) file(ctx context.Context, name string) error {
	d.name = name
	f, err := os.Open(name)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			return path.Err
		}
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("it is a directory; name its files")
	}
	if !info.Mode().IsRegular() { // a device or pipe may have no end
		return errors.New("it is no file of a log")
	}
	if !d.jsonl {
		fmt.Fprintf(d.out, "# %s, %d bytes\n", name, info.Size())
	}
	base := filepath.Base(name)
	if isSegment(base) {
		return d.segment(ctx, f, info.Size())
	}
	if info.Size() > maxSmallFile {
		return fmt.Errorf("it is larger than %d bytes", maxSmallFile)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return d.small(base, data)
}

// isSegment tells files of record batches: segments and metadata snapshots, deleted ones too.
func isSegment(base string) bool {
	for _, suffix := range []string{".deleted", ".swap", ".cleaned"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return strings.HasSuffix(base, ".log") || strings.HasSuffix(base, ".checkpoint")
}

func (d *dumper) small(base string, data []byte) error {
	switch {
	case strings.HasSuffix(base, ".index"):
		return d.offsetIndex(data)
	case strings.HasSuffix(base, ".timeindex"):
		return d.timeIndex(data)
	case strings.HasSuffix(base, ".txnindex"):
		return d.txnIndex(data)
	case strings.HasSuffix(base, ".snapshot"):
		return d.producers(data)
	case base == "leader-epoch-checkpoint":
		return d.epochs(data)
	case strings.HasSuffix(base, "-checkpoint"):
		return d.offsets(data)
	case base == "partition.metadata":
		id, err := storage.ParsePartitionMetadata(d.name, data)
		if err != nil {
			return err
		}
		return d.line("partition", field{"topicId", storage.FormatUUID(id)})
	case base == "meta.properties":
		p, err := storage.ParseMetaProperties(d.name, data)
		if err != nil {
			return err
		}
		return d.line("directory", field{"clusterId", p.ClusterID}, field{"nodeId", p.NodeID}, field{"directoryId", storage.FormatUUID(p.DirectoryID)})
	case base == "quorum-state", base == ".kafka_cleanshutdown":
		return d.line(strings.TrimPrefix(base, ".kafka_"), field{"content", rawJSON(strings.Join(strings.Fields(string(data)), ""))})
	}
	return errors.New("this is no file of a data directory that klamm knows (.log .checkpoint .index .timeindex .txnindex .snapshot *-checkpoint partition.metadata meta.properties quorum-state)")
}

// baseOffset is the number in the name of a segment's file.
func (d *dumper) baseOffset() (int64, error) {
	base := filepath.Base(d.name)
	digits, _, _ := strings.Cut(base, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("its name must start with the segment's base offset, not %q", digits)
	}
	return n, nil
}

func (d *dumper) offsetIndex(data []byte) error {
	base, err := d.baseOffset()
	if err != nil {
		return err
	}
	logSize := int64(math.MaxInt64)
	if info, err := os.Stat(strings.TrimSuffix(d.name, ".index") + ".log"); err == nil {
		logSize = info.Size()
	}
	x, err := storage.ParseOffsetIndex(d.name, base, data, logSize)
	if err != nil {
		return err
	}
	for i := range x.Len() {
		offset, position := x.Entry(i)
		if err := d.line("entry", field{"lastOffset", offset}, field{"position", position}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) timeIndex(data []byte) error {
	base, err := d.baseOffset()
	if err != nil {
		return err
	}
	x, err := storage.ParseTimeIndex(d.name, base, data)
	if err != nil {
		return err
	}
	for i := range x.Len() {
		timestamp, offset := x.Entry(i)
		if err := d.line("entry", field{"timestamp", timestamp}, field{"lastOffset", offset}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) txnIndex(data []byte) error {
	aborted, err := storage.ParseTxnIndex(d.name, data)
	if err != nil {
		return err
	}
	for _, t := range aborted {
		err := d.line("aborted", field{"producerId", t.ProducerID}, field{"firstOffset", t.FirstOffset}, field{"lastOffset", t.LastOffset}, field{"lastStableOffset", t.LastStableOffset})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) producers(data []byte) error {
	entries, err := storage.ParseProducerSnapshot(d.name, data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := d.line("producer", field{"producerId", e.ProducerID}, field{"producerEpoch", e.Epoch}, field{"lastSequence", e.LastSequence}, field{"lastOffset", e.LastOffset},
			field{"offsetDelta", e.OffsetDelta}, field{"timestamp", e.Timestamp}, field{"coordinatorEpoch", e.CoordinatorEpoch}, field{"currentTxnFirstOffset", e.TxnFirstOffset})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) epochs(data []byte) error {
	entries, err := storage.ParseLeaderEpochs(d.name, data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := d.line("epoch", field{"epoch", e.Epoch}, field{"startOffset", e.StartOffset}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) offsets(data []byte) error {
	c, err := storage.ParseOffsetCheckpoint(d.name, data)
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(c), func(a, b storage.TopicPartition) int {
		if n := strings.Compare(a.Topic, b.Topic); n != 0 {
			return n
		}
		return int(a.Partition) - int(b.Partition)
	})
	for _, tp := range keys {
		if err := d.line("offset", field{"topic", tp.Topic}, field{"partition", tp.Partition}, field{"offset", c[tp]}); err != nil {
			return err
		}
	}
	return nil
}
