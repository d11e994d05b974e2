package metadata

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

// checkpointID names a snapshot as Kafka does: the offset behind its last record, and that record's
// epoch.
type checkpointID struct {
	end   int64
	epoch int32
}

const (
	checkpointSuffix = ".checkpoint"
	partSuffix       = ".checkpoint.part" // being written
)

func (id checkpointID) name() string {
	return fmt.Sprintf("%020d-%010d%s", id.end, id.epoch, checkpointSuffix)
}

// SnapshotError is a snapshot file that cannot be read or written. The node does not go on without
// it: what it holds is in no other place.
type SnapshotError struct {
	File string
	At   int64 // byte position, -1 when the whole file is meant
	Op   string
	Err  error
}

func (e *SnapshotError) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("metadata snapshot %s: %s: %v", e.File, e.Op, e.Err)
	}
	return fmt.Sprintf("metadata snapshot %s at byte %d: %s: %v", e.File, e.At, e.Op, e.Err)
}

func (e *SnapshotError) Unwrap() error { return e.Err }

// listCheckpoints returns the snapshots of a directory, newest first, and removes unfinished ones.
func listCheckpoints(fsys vfs.FS, dir string) ([]checkpointID, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &SnapshotError{dir, -1, "list", err}
	}
	var ids []checkpointID
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) {
			if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, &SnapshotError{filepath.Join(dir, e.Name()), -1, "remove", err}
			}
		}
		if id, ok := parseCheckpointName(e.Name()); ok && !e.IsDir() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b checkpointID) int { return compareNames(b.name(), a.name()) })
	return ids, nil
}

func parseCheckpointName(name string) (checkpointID, bool) {
	stem, ok := strings.CutSuffix(name, checkpointSuffix)
	offset, epoch, dash := strings.Cut(stem, "-")
	end, err1 := strconv.ParseInt(offset, 10, 64)
	e, err2 := strconv.ParseInt(epoch, 10, 32)
	return checkpointID{end, int32(e)}, ok && dash && len(offset) == 20 && len(epoch) == 10 && err1 == nil && err2 == nil
}

// checkpointBatchRecords and checkpointBatchBytes bound one batch of a snapshot.
const (
	checkpointBatchRecords = 1024
	checkpointBatchBytes   = 1 << 20
)

// writeCheckpoint writes the image as a snapshot and makes it durable: header, kraft.version and
// voters, the records, footer. now is in ms since 1970.
func writeCheckpoint(fsys vfs.FS, dir string, img *Image, now int64) (checkpointID, error) {
	id := checkpointID{img.offset + 1, max(img.epoch, 0)}
	name := filepath.Join(dir, id.name())
	data, err := encodeCheckpoint(img, id.epoch, now)
	if err != nil {
		return id, &SnapshotError{name, -1, "encode", err}
	}
	f, err := fsys.OpenFile(name+".part", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return id, &SnapshotError{name, -1, "create", err}
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return id, &SnapshotError{name, -1, "write", err}
	}
	if err := fsys.Rename(name+".part", name); err != nil {
		return id, &SnapshotError{name, -1, "rename", err}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return id, &SnapshotError{dir, -1, "sync directory", err}
	}
	return id, nil
}

// snapshotBuilder appends batches with consecutive offsets.
type snapshotBuilder struct {
	out   []byte
	next  int64
	epoch int32
	now   int64
}

func (s *snapshotBuilder) batch(control bool) *record.Builder {
	o := record.Plain()
	o.BaseOffset, o.PartitionLeaderEpoch, o.Control = s.next, s.epoch, control
	return record.NewBuilder(o)
}

func (s *snapshotBuilder) finish(b *record.Builder) error {
	if b.Count() == 0 {
		return nil
	}
	batch, err := b.Build()
	if err != nil {
		return err
	}
	s.out = append(s.out, batch...)
	s.next = batch.LastOffset() + 1
	return nil
}

func (s *snapshotBuilder) control(records ...controlRecord) error {
	b := s.batch(true)
	for _, r := range records {
		value, err := r.message.AppendTo(nil, 0)
		if err != nil {
			return err
		}
		b.Append(s.now, record.ControlKey(r.kind), value, nil)
	}
	return s.finish(b)
}

// controlRecord is a control record of the metadata log; all are written in version 0.
type controlRecord struct {
	kind    record.ControlType
	message kafkarecord.Message
}

func encodeCheckpoint(img *Image, epoch int32, now int64) ([]byte, error) {
	s := &snapshotBuilder{epoch: epoch, now: now}
	head := []controlRecord{{record.ControlSnapshotHeader, &kafkarecord.SnapshotHeaderRecord{LastContainedLogTimestamp: img.timestamp}}}
	if img.voters != nil {
		head = append(head,
			controlRecord{record.ControlKRaftVersion, &kafkarecord.KRaftVersionRecord{KRaftVersion: img.kraftVersion}},
			controlRecord{record.ControlKRaftVoters, img.voters})
	}
	if err := s.control(head...); err != nil {
		return nil, err
	}
	b := s.batch(false)
	for _, r := range img.records() {
		value, err := kafkarecord.EncodeMetadata(r.Message, r.Version)
		if err != nil {
			return nil, err
		}
		b.Append(now, nil, value, nil)
		if b.Count() >= checkpointBatchRecords || b.Size() >= checkpointBatchBytes {
			if err := s.finish(b); err != nil {
				return nil, err
			}
			b = s.batch(false)
		}
	}
	if err := s.finish(b); err != nil {
		return nil, err
	}
	err := s.control(controlRecord{record.ControlSnapshotFooter, &kafkarecord.SnapshotFooterRecord{}})
	return s.out, err
}

// readCheckpoint reads a snapshot. Anything missing or damaged is a *SnapshotError.
func readCheckpoint(fsys vfs.FS, dir string, id checkpointID, clusterID string) (*Image, error) {
	name := filepath.Join(dir, id.name())
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, &SnapshotError{name, -1, "open", err}
	}
	defer f.Close()
	img, at, err := decodeCheckpoint(&batchReader{file: f, name: name}, id, clusterID)
	if err != nil {
		return nil, &SnapshotError{name, at, "read", err}
	}
	return img, nil
}

func decodeCheckpoint(r *batchReader, id checkpointID, clusterID string) (*Image, int64, error) {
	d := newDraft(NewImage(clusterID))
	var dec record.Decompressor
	var next, timestamp int64
	var last *record.ControlType
	for {
		b, err := r.next()
		if err == io.EOF {
			break
		}
		at := r.pos - int64(len(r.buf))
		if err != nil {
			return nil, at, err
		}
		if b.BaseOffset() != next {
			return nil, r.at, fmt.Errorf("a batch has base offset %d, expected %d", b.BaseOffset(), next)
		}
		next = b.LastOffset() + 1
		if err := d.replayBatch(&dec, b); err != nil {
			return nil, r.at, err
		}
		kind, header, err := frame(&dec, b)
		if err != nil {
			return nil, r.at, err
		}
		if b.BaseOffset() == 0 && (kind == nil || header == nil) {
			return nil, r.at, errors.New("the file does not begin with a snapshot header")
		}
		if header != nil {
			timestamp = header.LastContainedLogTimestamp
		}
		last = kind
	}
	if last == nil || *last != record.ControlSnapshotFooter {
		return nil, r.pos, errors.New("the snapshot footer is missing: the file is cut short")
	}
	d.img.offset, d.img.epoch, d.img.timestamp = id.end-1, id.epoch, timestamp
	if id.end == 0 {
		d.img.epoch = -1
	}
	return d.finish(), 0, nil
}

// frame returns the type of the last control record of a batch, nil for a data batch, and the
// snapshot header if the batch begins with one.
func frame(dec *record.Decompressor, b record.Batch) (last *record.ControlType, header *kafkarecord.SnapshotHeaderRecord, err error) {
	if !b.IsControl() {
		return nil, nil, nil
	}
	err = dec.Walk(b, func(r record.Record) error {
		kind, err := record.ParseControlKey(r.Key)
		if err != nil {
			return err
		}
		if last = &kind; kind == record.ControlSnapshotHeader {
			header = &kafkarecord.SnapshotHeaderRecord{}
			return readControl(header, r.Value)
		}
		return nil
	})
	return last, header, err
}
