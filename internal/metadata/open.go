package metadata

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

// raftDir holds the WAL, inside __cluster_metadata-0 because Kafka takes every directory beside it
// for a partition.
const raftDir = "klamm-raft"

// IdentityError is a metadata log that belongs to another node, cluster or directory.
type IdentityError struct {
	Dir    string
	Reason string
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("the metadata log in %s is not this node's: %s", e.Dir, e.Reason)
}

// raftIDOf is the raft id of a directory id: a wiped disk is another voter.
func raftIDOf(directory [16]byte) uint64 {
	if id := binary.BigEndian.Uint64(directory[:8]) ^ binary.BigEndian.Uint64(directory[8:]); id != 0 {
		return id
	}
	return 1
}

// opening collects what recovery finds in a directory.
type opening struct {
	*metaLog
	checkpoints []checkpointID
	images      map[checkpointID]*Image
	levels      map[string]int16 // finalised by a format of Kafka, for a log that has no records yet
	refusal     error            // a snapshot that must be readable and is not
}

// openMetaLog recovers the log of o.Dir up to the point where this node leads and every entry of
// former terms is applied.
func openMetaLog(o Options) (*metaLog, map[string]int16, error) {
	op := &opening{metaLog: &metaLog{o: o, dir: filepath.Join(o.Dir, metadataDir), raftID: raftIDOf(o.DirectoryID)}, images: map[checkpointID]*Image{}}
	if err := op.recover(); err != nil {
		return nil, nil, errors.Join(err, op.close())
	}
	return op.metaLog, op.levels, nil
}

// close lets go of the files.
func (l *metaLog) close() error {
	var errs []error
	if l.wal != nil {
		errs = append(errs, l.wal.close())
	}
	if l.kafka != nil {
		errs = append(errs, l.kafka.close())
	}
	return errors.Join(errs...)
}

func (op *opening) recover() error {
	wals := filepath.Join(op.dir, raftDir)
	if err := op.o.FS.MkdirAll(wals); err != nil {
		return &WALError{wals, -1, "create directory", err}
	}
	var err error
	if op.checkpoints, err = listCheckpoints(op.o.FS, op.dir); err != nil {
		return err
	}
	if op.kafka, err = openKraftLog(op.o.FS, op.dir); err != nil {
		return err
	}
	op.kafka.segmentBytes = op.o.Config.Long("metadata.log.segment.bytes")
	state, w, err := recoverWAL(op.o.FS, wals, op.usable)
	op.wal = w
	if op.refusal != nil {
		return op.refusal
	}
	if err != nil {
		return err
	}
	if state, err = op.reconcile(state); err != nil {
		return err
	}
	if err := op.startRaft(state); err != nil {
		return err
	}
	return op.campaign()
}

// usable says whether the checkpoint of a WAL file's base can be read, and keeps its image.
func (op *opening) usable(base walBase) bool {
	for _, id := range op.checkpoints {
		if id.end == base.nextOffset && (id.epoch == base.epoch || base.epoch < 0) {
			return op.load(id) != nil
		}
	}
	return false
}

// load reads a checkpoint, nil when it is damaged: then it is set aside, and an older one with the
// WAL behind it must do.
func (op *opening) load(id checkpointID) *Image {
	if img, ok := op.images[id]; ok {
		return img
	}
	img, err := readCheckpoint(op.o.FS, op.dir, id, op.o.ClusterID)
	var unknown *ReplayError
	var unread *fs.PathError
	switch {
	case errors.As(err, &unknown) || errors.As(err, &unread):
		op.refusal = err // not damaged, but written by a newer version, or the disk does not let us read
		img = nil
	case err != nil:
		op.o.Logger.Error("a metadata snapshot cannot be read; it is set aside and an older one tried", "file", filepath.Join(op.dir, id.name()), "error", err)
		op.setAside(id)
		img = nil
	}
	op.images[id] = img
	return img
}

// setAside renames a damaged snapshot, so that it is not counted among those that are kept.
func (op *opening) setAside(id checkpointID) {
	name := filepath.Join(op.dir, id.name())
	if err := op.o.FS.Rename(name, name+".damaged"); err != nil {
		op.o.Logger.Error("a damaged metadata snapshot cannot be renamed", "file", name, "error", err)
	}
}

// reconcile compares the WAL with the Kafka log beside it and returns the state to start raft from.
func (op *opening) reconcile(state *walState) (*walState, error) {
	empty := len(op.kafka.segments) == 0 && len(op.checkpoints) == 0
	switch {
	case state == nil && empty:
		return op.fresh()
	case state == nil:
		return op.takeOver(nil)
	}
	if err := op.checkIdentity(state.base); err != nil {
		return nil, err
	}
	op.image = NewImage(op.o.ClusterID)
	if state.base.nextOffset > 0 {
		op.image = op.baseImage(state.base)
	}
	foreign, err := op.heal(state)
	if err != nil {
		return nil, err
	}
	if foreign {
		return op.takeOver(state)
	}
	return state, nil
}

func (op *opening) baseImage(base walBase) *Image {
	for _, id := range op.checkpoints {
		if img := op.images[id]; img != nil && id.end == base.nextOffset {
			return img
		}
	}
	return nil // recoverWAL accepts only bases whose image was loaded
}

func (op *opening) checkIdentity(base walBase) error {
	switch {
	case base.nodeID != op.o.NodeID:
		return &IdentityError{op.dir, fmt.Sprintf("it was written by node %d, this is node %d. Start with node.id=%d, or with another data directory", base.nodeID, op.o.NodeID, base.nodeID)}
	case base.clusterID != op.o.ClusterID:
		return &IdentityError{op.dir, fmt.Sprintf("it belongs to cluster %s, meta.properties says %s", base.clusterID, op.o.ClusterID)}
	case base.raftID != op.raftID:
		return &IdentityError{op.dir, "it was written under another directory.id than meta.properties has now; a copied directory cannot vote in place of the original"}
	}
	return nil
}

// fresh begins a new log. Offset 0 is the first; raft's log begins behind index 1, so that a voter
// that joins later starts from a snapshot, which tells it the voters.
func (op *opening) fresh() (*walState, error) {
	base := walBase{nodeID: op.o.NodeID, raftID: op.raftID, clusterID: op.o.ClusterID, index: 1, epoch: -1, hard: hardState{commit: 1}}
	op.image = NewImage(op.o.ClusterID)
	if err := op.wal.create(1, base, op.dir, op.o.Dir); err != nil {
		return nil, err
	}
	return &walState{base: base, hard: base.hard}, op.kafka.restart(0)
}

// heal makes the Kafka log agree with the WAL: a missing or damaged part is written when raft
// applies the entries again. It reports whether the Kafka log goes on where the WAL ends: then
// Apache Kafka has run on this directory.
func (op *opening) heal(state *walState) (foreign bool, err error) {
	want, err := state.batches()
	if err != nil {
		return false, err
	}
	from := state.base.nextOffset
	end := from
	if len(op.checkpoints) > 0 && op.checkpoints[0].end > from+want.count() && op.load(op.checkpoints[0]) != nil {
		return true, nil
	}
	if op.refusal != nil {
		return false, op.refusal
	}
	err = op.kafka.batches(from, func(have record.Batch) (bool, error) {
		switch {
		case have.LastOffset() < from:
			return true, nil
		case have.BaseOffset() != end:
			return false, nil // the log has no boundary at the base: it starts anew
		case len(want) == 0:
			foreign = true
			return false, nil
		case !slices.Equal(have, want[0]): // intact, so nothing that Klamm wrote
			return false, op.conflict(end, have.PartitionLeaderEpoch())
		}
		end, want = have.LastOffset()+1, want[1:]
		return true, nil
	})
	if err != nil || foreign {
		return foreign, err
	}
	return false, op.kafka.cutAt(end)
}

// conflict: Kafka ran on the directory although the Kafka log lacked records of the WAL (after a
// power cut), and went on from there. Either side may hold acknowledged changes, so a person decides.
func (op *opening) conflict(offset int64, epoch int32) error {
	return &KraftLogError{op.dir, "compare with the write-ahead log", fmt.Errorf(
		"from offset %d on, Apache Kafka wrote other records (epoch %d) than Klamm had acknowledged. To keep Kafka's, move %s away; to keep Klamm's, move the .log and .checkpoint files in %s away",
		offset, epoch, filepath.Join(op.dir, raftDir), op.dir)}
}

// batchList is a run of batches with consecutive offsets.
type batchList []record.Batch

// count is the number of offsets the batches take.
func (l batchList) count() (n int64) {
	for _, b := range l {
		n += int64(b.LastOffsetDelta()) + 1
	}
	return n
}

// batches returns the batches that applying the entries will give, in order.
func (s *walState) batches() (list batchList, err error) {
	next := s.base.nextOffset
	for _, e := range s.entries {
		if len(e.GetData()) == 0 {
			continue
		}
		batches, err := decodeProposal(e.GetData(), e.GetTerm(), next)
		if err != nil {
			return nil, &ReplayError{next, "raft entry", err}
		}
		if err := forEachBatch(batches, next, int32(e.GetTerm()), func(b record.Batch) error {
			list, next = append(list, b), b.LastOffset()+1
			return nil
		}); err != nil {
			return nil, &ReplayError{next, "raft entry", err}
		}
	}
	return list, nil
}

func (s *walState) maxTerm() uint64 { return max(s.lastTerm(), s.hard.term, s.base.term) }

// takeOver imports a log that Apache Kafka wrote, as a whole (state is nil) or behind our own end.
// With one voter every record of it is committed. The result is a snapshot that the WAL goes on from.
func (op *opening) takeOver(state *walState) (*walState, error) {
	img, err := op.kafkaImage()
	if err != nil {
		return nil, err
	}
	if err := op.checkVoters(img); err != nil {
		return nil, err
	}
	term := uint64(max(img.epoch, op.kafkaEpoch(), 0))
	next := &walState{base: walBase{
		nodeID: op.o.NodeID, raftID: op.raftID, clusterID: op.o.ClusterID, index: 1, term: term,
		nextOffset: img.offset + 1, epoch: img.epoch, hard: hardState{term: term, commit: 1},
	}}
	seq := uint64(1)
	if state != nil {
		term = max(term, state.maxTerm())
		next.base.index, next.base.term, next.base.hard = state.lastIndex()+1, term, hardState{term: term, commit: state.lastIndex() + 1}
		seq = op.wal.seq + 1
		if err := op.wal.close(); err != nil {
			return nil, err
		}
	}
	next.hard = next.base.hard
	if next.base.nextOffset == 0 { // formatted, never started
		op.levels, img = img.levels, NewImage(op.o.ClusterID)
	} else if _, err := writeCheckpoint(op.o.FS, op.dir, img, op.o.Now().UnixMilli()); err != nil {
		return nil, err
	}
	if err := op.wal.create(seq, next.base, op.dir, op.o.Dir); err != nil {
		return nil, err
	}
	op.o.Logger.Info("took over the metadata that Apache Kafka wrote", "dir", op.dir, "endOffset", next.base.nextOffset, "epoch", img.epoch)
	op.image = img
	return next, op.kafka.cutAt(next.base.nextOffset)
}

// kafkaImage is the newest readable checkpoint with the batches behind it applied. An unfinished
// metadata transaction at the end never became visible and is left out.
func (op *opening) kafkaImage() (*Image, error) {
	img := NewImage(op.o.ClusterID)
	for _, id := range op.checkpoints {
		found := op.load(id)
		if op.refusal != nil {
			return nil, op.refusal
		}
		if found != nil {
			img = found
			break
		}
	}
	from := img.offset + 1
	if start := op.kafka.start(); start > from {
		return nil, &KraftLogError{op.dir, "read", fmt.Errorf("the log begins at offset %d, and no snapshot reaches that far", start)}
	}
	whole := img
	err := op.kafka.batches(from, func(b record.Batch) (bool, error) {
		if b.LastOffset() < from {
			return true, nil
		}
		if b.BaseOffset() != img.offset+1 {
			return false, nil
		}
		d := newDraft(img)
		if err := d.replayBatch(&op.dec, b); err != nil {
			return false, err
		}
		if img = d.finish(); img.pending == nil {
			whole = img
		}
		return true, nil
	})
	if err == nil {
		err = op.kafka.checkTornEnd(img.offset + 1)
	}
	return whole, err
}

// checkVoters refuses the log of a quorum with other members.
func (op *opening) checkVoters(img *Image) error {
	if img.voters == nil {
		return nil
	}
	for _, v := range img.voters.Voters {
		if v.VoterID != op.o.NodeID || v.VoterDirectoryID != op.o.DirectoryID {
			return &IdentityError{op.dir, fmt.Sprintf("its quorum includes node %d with directory %s, this is node %d with directory %s. Klamm takes over a log of one voter only, and only as that voter",
				v.VoterID, kafkarecord.FormatUUID(v.VoterDirectoryID), op.o.NodeID, kafkarecord.FormatUUID(op.o.DirectoryID))}
		}
	}
	return nil
}

// kafkaEpoch is the newest epoch Kafka's quorum-state file knows, 0 when there is none.
func (op *opening) kafkaEpoch() int32 {
	data, err := vfs.ReadFile(op.o.FS, filepath.Join(op.dir, "quorum-state"), 1<<16)
	var q quorumState
	if err != nil || json.Unmarshal(data, &q) != nil {
		return 0
	}
	return q.LeaderEpoch
}
