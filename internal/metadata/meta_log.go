package metadata

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
)

// metaLog commits metadata records through raft. Its pieces, in the order in which a record passes
// them: raft entry in the WAL (synced) -> applied to the image -> written to the Kafka log.
// It is used by one goroutine.
type metaLog struct {
	o       Options
	dir     string // of __cluster_metadata-0
	raftID  uint64
	raw     *raft.RawNode
	storage *raft.MemoryStorage
	wal     *wal
	kafka   *kraftLog
	dec     record.Decompressor
	image   *Image
	applied uint64 // raft index
	term    uint64 // raft term of the newest applied entry

	sinceSnapshot int64 // bytes of batches applied since the newest snapshot
	failed        error
}

// Entry data: version 1, proposer's term, expected offset, record batches. An entry is applied only
// when the proposer's term is the entry's and the expected offset is the next one; every voter
// drops it otherwise. So a batch that was built on a state that did not come to be has no effect.
const (
	entryVersion    = 1
	entryPrefixSize = 1 + 8 + 8
)

func encodeProposal(term uint64, expected int64, batches []byte) []byte {
	data := make([]byte, 0, entryPrefixSize+len(batches))
	data = append(data, entryVersion)
	data = binary.BigEndian.AppendUint64(data, term)
	data = binary.BigEndian.AppendUint64(data, uint64(expected))
	return append(data, batches...)
}

// decodeProposal returns the batches of an entry, nil when the entry is to be dropped.
func decodeProposal(data []byte, term uint64, next int64) ([]byte, error) {
	if len(data) < entryPrefixSize {
		return nil, fmt.Errorf("a raft entry of %d bytes is too short", len(data))
	}
	if data[0] != entryVersion {
		return nil, fmt.Errorf("raft entry format %d is not known to this version of Klamm", data[0])
	}
	if binary.BigEndian.Uint64(data[1:]) != term || int64(binary.BigEndian.Uint64(data[9:])) != next {
		return nil, nil
	}
	return data[entryPrefixSize:], nil
}

// forEachBatch splits concatenated batches and checks that they follow offset next in epoch.
func forEachBatch(batches []byte, next int64, epoch int32, fn func(record.Batch) error) error {
	for len(batches) > 0 {
		b, rest, err := record.Next(batches)
		if err != nil {
			return err
		}
		if b.BaseOffset() != next || b.PartitionLeaderEpoch() != epoch {
			return fmt.Errorf("a batch has offset %d and epoch %d, expected %d and %d", b.BaseOffset(), b.PartitionLeaderEpoch(), next, epoch)
		}
		if err := fn(b); err != nil {
			return err
		}
		next, batches = b.LastOffset()+1, rest
	}
	return nil
}

// startRaft makes the raft node from what the WAL holds.
func (l *metaLog) startRaft(state *walState) error {
	l.storage = raft.NewMemoryStorage()
	// What the only voter has on disk is committed, whatever the last commit index it wrote down.
	hard := hardState{state.hard.term, state.hard.vote, state.lastIndex()}
	err := l.storage.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		ConfState: &pb.ConfState{Voters: []uint64{l.raftID}}, Index: &state.base.index, Term: &state.base.term,
	}})
	if err = errors.Join(err, l.storage.SetHardState(hard.message()), l.storage.Append(state.entries)); err != nil {
		return err
	}
	l.applied, l.term = state.base.index, state.base.term
	l.raw, err = raft.NewRawNode(&raft.Config{
		ID: l.raftID, ElectionTick: 10, HeartbeatTick: 1, Storage: l.storage, Applied: l.applied,
		MaxSizePerMsg: math.MaxUint64, MaxInflightMsgs: 256, PreVote: true, CheckQuorum: true,
		DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: raftLogger{l.o.Logger},
	})
	return err
}

// campaign applies every entry of former terms and makes the lone voter leader. Nothing ticks
// afterwards: with one voter there is nobody to hear from. It returns before the first entry of the
// new term is written, so that what the leader proposes first shares that write.
func (l *metaLog) campaign() error {
	if err := l.raw.Campaign(); err != nil {
		return err
	}
	for !l.leader() && l.raw.HasReady() {
		if err := l.step(nil); err != nil {
			return err
		}
	}
	if l.leader() {
		return nil
	}
	return errors.New("the only voter of the metadata quorum could not elect itself")
}

func (l *metaLog) leader() bool { return l.raw.BasicStatus().RaftState == raft.StateLeader }

// currentTerm is raft's term, which is the epoch of the batches proposed now.
func (l *metaLog) currentTerm() uint64 { return l.raw.BasicStatus().GetTerm() }

// propose hands batches that begin at offset expected to raft. They count once process returns.
func (l *metaLog) propose(expected int64, batches []byte) error {
	return l.raw.Propose(encodeProposal(l.currentTerm(), expected, batches))
}

// commit proposes batches and processes them.
func (l *metaLog) commit(expected int64, batches []byte) (*Delta, error) {
	if err := l.propose(expected, batches); err != nil {
		return nil, err
	}
	return l.process()
}

// process does raft's work until there is none left and returns what changed in the image. After an
// error the log is failed: the state on disk is unknown, and nothing more is written.
func (l *metaLog) process() (*Delta, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	before := l.image
	changed := newDraft(before)
	for l.raw.HasReady() {
		if err := l.step(changed); err != nil {
			l.failed = err
			return nil, err
		}
	}
	if l.image == before {
		return nil, nil
	}
	return changed.diff(before, l.image), nil
}

// step handles one Ready in raft's stated order: make entries and hard state durable, then apply
// what is committed, then advance. What records touched is collected in changed when not nil.
func (l *metaLog) step(changed *draft) error {
	rd := l.raw.Ready()
	if len(rd.Messages) > 0 {
		return fmt.Errorf("raft wants to send %d messages, but there is one voter only", len(rd.Messages))
	}
	if rd.MustSync {
		// A hard state of which only the commit index moved need not be kept: a lone voter commits
		// all its entries again.
		if err := l.wal.append(rd.Entries, rd.HardState); err != nil {
			return err
		}
	}
	if err := l.storage.Append(rd.Entries); err != nil {
		return err
	}
	if rd.HardState != nil {
		if err := l.storage.SetHardState(rd.HardState); err != nil {
			return err
		}
	}
	for _, e := range rd.CommittedEntries {
		if err := l.apply(e, changed); err != nil {
			return err
		}
	}
	l.raw.Advance(rd)
	if n := len(rd.CommittedEntries); n > 0 {
		return l.storage.Compact(l.applied) // the WAL has them; nobody else asks
	}
	return nil
}

// apply applies a committed entry.
func (l *metaLog) apply(e *pb.Entry, changed *draft) error {
	if e.GetType() != pb.EntryNormal {
		return fmt.Errorf("raft entry %d changes the configuration, which this version of Klamm does not support", e.GetIndex())
	}
	l.applied, l.term = e.GetIndex(), e.GetTerm()
	if len(e.GetData()) == 0 {
		return nil // a new leader's empty entry: no offset
	}
	next := l.image.offset + 1
	batches, err := decodeProposal(e.GetData(), e.GetTerm(), next)
	if err != nil {
		return &ReplayError{next, "raft entry", err}
	}
	if batches == nil {
		l.o.Logger.Debug("dropped a metadata entry built on another state", "index", e.GetIndex(), "term", e.GetTerm())
		return nil
	}
	d := newDraft(l.image)
	if err := forEachBatch(batches, next, int32(e.GetTerm()), func(b record.Batch) error { return d.replayBatch(&l.dec, b) }); err != nil {
		return err
	}
	if changed != nil {
		changed.touch(d)
	}
	l.image = d.finish()
	l.sinceSnapshot += int64(len(batches))
	if next < l.kafka.end { // at start the Kafka log has it already
		return nil
	}
	return l.kafka.append(batches)
}

// touch takes over what another draft touched.
func (d *draft) touch(other *draft) {
	for id := range other.touched {
		d.touched[id] = true
	}
	for r := range other.configs {
		d.configs[r] = true
	}
	for id := range other.brokers {
		d.brokers[id] = true
	}
}

// encodeBatches writes records as batches that begin at offset next, in epoch, at time now (ms).
func encodeBatches(records []Record, next int64, epoch int32, now int64) ([]byte, error) {
	s := &snapshotBuilder{next: next, epoch: epoch, now: now}
	b := s.batch(false)
	for _, r := range records {
		value, err := kafkarecord.EncodeMetadata(r.Message, r.Version)
		if err != nil {
			return nil, err
		}
		b.Append(now, nil, value, nil)
		if b.Count() >= maxBatchRecords || b.Size() >= maxBatchBytes {
			if err := s.finish(b); err != nil {
				return nil, err
			}
			b = s.batch(false)
		}
	}
	err := s.finish(b)
	return s.out, err
}

// Bounds of one batch in the log; Kafka refuses to read batches over 8 MiB.
const (
	maxBatchRecords = 10_000
	maxBatchBytes   = 4 << 20
)

// base describes the state after the last applied entry, as the next WAL file starts from it.
func (l *metaLog) base() walBase {
	st := l.raw.BasicStatus()
	return walBase{
		nodeID: l.o.NodeID, raftID: l.raftID, clusterID: l.o.ClusterID, index: l.applied, term: l.term,
		nextOffset: l.image.offset + 1, epoch: l.image.epoch,
		hard: hardState{st.GetTerm(), st.GetVote(), l.applied},
	}
}

// startSnapshot begins a new WAL file and a new segment at the present state. What the snapshot of
// this state makes superfluous is removed by finishSnapshot, once it is durable.
func (l *metaLog) startSnapshot() (*Image, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	if l.image.pending != nil {
		return nil, nil // inside a metadata transaction there is no state to write
	}
	if err := l.wal.rotate(l.base()); err != nil {
		l.failed = err
		return nil, err
	}
	if err := l.kafka.roll(); err != nil {
		l.failed = err
		return nil, err
	}
	l.sinceSnapshot = 0
	return l.image, nil
}

// keptCheckpoints is how many snapshots stay: the newest, and one more in case it is damaged.
const keptCheckpoints = 2

// finishSnapshot removes what lies in front of the oldest snapshot that is kept.
func (l *metaLog) finishSnapshot() error {
	ids, err := listCheckpoints(l.o.FS, l.dir)
	if err != nil || len(ids) <= keptCheckpoints {
		return err
	}
	oldest := ids[keptCheckpoints-1]
	for _, id := range ids[keptCheckpoints:] {
		name := filepath.Join(l.dir, id.name())
		if err := l.o.FS.Remove(name); err != nil {
			return &SnapshotError{name, -1, "remove", err}
		}
	}
	if err := l.kafka.removeBefore(oldest.end); err != nil {
		return err
	}
	seq, err := l.walFileFor(oldest)
	if err != nil || seq == 0 {
		return err
	}
	return l.wal.removeBefore(seq)
}

// walFileFor finds the newest WAL file whose base is a snapshot, 0 when there is none.
func (l *metaLog) walFileFor(id checkpointID) (uint64, error) {
	seqs, err := listWAL(l.o.FS, l.wal.dir)
	if err != nil {
		return 0, err
	}
	for i := len(seqs) - 1; i >= 0; i-- {
		base, err := readWALBase(l.o.FS, walName(l.wal.dir, seqs[i]))
		if err != nil {
			return 0, err
		}
		if base.nextOffset == id.end {
			return seqs[i], nil
		}
	}
	return 0, nil
}

// quorumState is Kafka's quorum-state file (data_version 1).
type quorumState struct {
	LeaderID         int32  `json:"leaderId"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	VotedID          int32  `json:"votedId"`
	VotedDirectoryID string `json:"votedDirectoryId"`
	DataVersion      int16  `json:"data_version"`
}

func (l *metaLog) writeQuorumState() error {
	data, err := json.Marshal(quorumState{l.o.NodeID, int32(l.currentTerm()), -1, kafkarecord.FormatUUID([16]byte{}), 1})
	if err != nil {
		return err
	}
	return l.kafka.writeSmall("quorum-state", data)
}

// raftLogger sends raft's log lines to slog; its everyday ones are for debugging only.
type raftLogger struct{ log *slog.Logger }

func (r raftLogger) Debug(v ...any) { r.log.Debug("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Debugf(format string, v ...any) {
	r.log.Debug("raft: " + fmt.Sprintf(format, v...))
}
func (r raftLogger) Info(v ...any)                 { r.Debug(v...) }
func (r raftLogger) Infof(format string, v ...any) { r.Debugf(format, v...) }
func (r raftLogger) Warning(v ...any)              { r.log.Warn("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Warningf(format string, v ...any) {
	r.log.Warn("raft: " + fmt.Sprintf(format, v...))
}
func (r raftLogger) Error(v ...any) { r.log.Error("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Errorf(format string, v ...any) {
	r.log.Error("raft: " + fmt.Sprintf(format, v...))
}
func (r raftLogger) Fatal(v ...any)                 { panic("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Fatalf(format string, v ...any) { panic("raft: " + fmt.Sprintf(format, v...)) }
func (r raftLogger) Panic(v ...any)                 { panic("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Panicf(format string, v ...any) { panic("raft: " + fmt.Sprintf(format, v...)) }
