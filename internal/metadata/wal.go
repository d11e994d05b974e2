package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	pb "go.etcd.io/raft/v3/raftpb"

	"klamm/internal/vfs"
)

// The write-ahead log holds what raft must not forget: entries and hard state. It is the truth;
// __cluster_metadata-0 is derived from it. docs/format/metadata-wal.md draws the bytes.
//
// A file is a sequence of records. Records written by one call form a group: the last one carries a
// flag, and each group is synced before the next is written. So an incomplete last group was never
// acknowledged and is cut off, while damage in front of a later group is corruption.
const (
	walMagic      = 0x4b57 // "KW"
	walHeaderSize = 20     // of a record: magic 2, type 1, flags 1, CRC-32C 4, length 4, group 8
	walVersion    = 1
	walSuffix     = ".wal"
	maxWALFile    = 1 << 31 // bytes; far beyond what a file grows to between two snapshots
)

// Types and flags of WAL records.
const (
	walFileHeader byte = 1
	walEntry      byte = 2
	walHardState  byte = 3

	walGroupEnd byte = 1
)

// walBase is the state a WAL file starts from. A file can be the first one of a recovery when the
// checkpoint of its base exists, or when the base is the beginning.
type walBase struct {
	nodeID     int32
	raftID     uint64
	clusterID  string
	index      uint64 // last raft entry before the file
	term       uint64 // of that entry
	nextOffset int64  // first metadata offset after the base
	epoch      int32  // of the last metadata batch before the file
	hard       hardState
}

// hardState is raft's durable state without protobuf's pointers.
type hardState struct{ term, vote, commit uint64 }

// WALError is a failed read or write of the write-ahead log, or damage found in it. After a failed
// write the controller refuses every change until the node is restarted: what is on disk is unknown.
type WALError struct {
	File string
	At   int64 // byte position, -1 when the whole file is meant
	Op   string
	Err  error
}

func (e *WALError) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("metadata write-ahead log %s: %s: %v", e.File, e.Op, e.Err)
	}
	return fmt.Sprintf("metadata write-ahead log %s at byte %d: %s: %v", e.File, e.At, e.Op, e.Err)
}

func (e *WALError) Unwrap() error { return e.Err }

func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// wal appends to the newest file.
type wal struct {
	fs     vfs.FS
	dir    string
	file   vfs.File
	name   string
	seq    uint64 // of the newest file
	size   int64
	group  uint64 // of the last group written
	buf    []byte
	last   int // position in buf of the last record begun
	failed error
}

func walName(dir string, seq uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d%s", seq, walSuffix))
}

// create starts file seq and makes it durable, with the entries of dirs that lead to it.
func (w *wal) create(seq uint64, base walBase, dirs ...string) error {
	name := walName(w.dir, seq)
	f, err := w.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return w.fail(&WALError{name, -1, "create", err})
	}
	w.file, w.name, w.seq, w.size = f, name, seq, 0
	w.begin()
	w.add(walFileHeader, base.append(nil))
	if err := w.write(); err != nil {
		return err
	}
	for _, dir := range append([]string{w.dir}, dirs...) {
		if err := w.fs.SyncDir(dir); err != nil {
			return w.fail(&WALError{dir, -1, "sync directory", err})
		}
	}
	return nil
}

func (w *wal) fail(err error) error {
	if w.failed == nil {
		w.failed = err
	}
	return w.failed
}

func (w *wal) begin() {
	w.buf, w.last = w.buf[:0], -1
	w.group++
}

// add puts a record of the current group into the buffer.
func (w *wal) add(kind byte, payload []byte) {
	w.last = len(w.buf)
	w.buf = binary.BigEndian.AppendUint16(w.buf, walMagic)
	w.buf = append(w.buf, kind, 0, 0, 0, 0, 0)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = binary.BigEndian.AppendUint64(w.buf, w.group)
	w.buf = append(w.buf, payload...)
	w.seal(w.last)
}

// seal computes the checksum of the record at position at.
func (w *wal) seal(at int) {
	binary.BigEndian.PutUint32(w.buf[at+4:], walCRC(w.buf[at:]))
}

// walCRC covers everything of a record but magic and the checksum itself.
func walCRC(rec []byte) uint32 {
	length := int(binary.BigEndian.Uint32(rec[8:]))
	crc := crc32.Update(0, crcTable(), rec[2:4])
	return crc32.Update(crc, crcTable(), rec[8:walHeaderSize+length])
}

// write ends the group and makes it durable. A failed sync is never retried.
func (w *wal) write() error {
	if w.failed != nil {
		return w.failed
	}
	w.buf[w.last+3] |= walGroupEnd
	w.seal(w.last)
	if _, err := w.file.WriteAt(w.buf, w.size); err != nil {
		return w.fail(&WALError{w.name, w.size, "write", err})
	}
	if err := w.file.Sync(); err != nil {
		return w.fail(&WALError{w.name, w.size, "sync", err})
	}
	w.size += int64(len(w.buf))
	return nil
}

// append makes entries and hard state durable as one group; hard may be nil.
func (w *wal) append(entries []*pb.Entry, hard *pb.HardState) error {
	if w.failed != nil {
		return w.failed
	}
	w.begin()
	for _, e := range entries {
		w.add(walEntry, appendEntry(nil, e))
	}
	if hard != nil {
		w.add(walHardState, hardStateOf(hard).append(nil))
	}
	if w.last < 0 {
		w.group--
		return nil
	}
	return w.write()
}

// rotate begins the next file at a base. The former files stay until removeBefore.
func (w *wal) rotate(base walBase) error {
	if w.failed != nil {
		return w.failed
	}
	old := w.file
	if err := w.create(w.seq+1, base); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return w.fail(&WALError{walName(w.dir, w.seq-1), -1, "close", err})
	}
	return nil
}

// removeBefore deletes the files in front of seq. A file that stays behind is only ignored later.
func (w *wal) removeBefore(seq uint64) error {
	names, err := listWAL(w.fs, w.dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n < seq {
			if err := w.fs.Remove(walName(w.dir, n)); err != nil {
				return &WALError{walName(w.dir, n), -1, "remove", err}
			}
		}
	}
	return nil
}

func (w *wal) close() error {
	if w.file == nil {
		return nil
	}
	if err := w.file.Close(); err != nil {
		return &WALError{w.name, -1, "close", err}
	}
	return nil
}

// Payloads.

func (b walBase) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, walVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.nodeID))
	dst = binary.BigEndian.AppendUint64(dst, b.raftID)
	dst = binary.BigEndian.AppendUint64(dst, b.index)
	dst = binary.BigEndian.AppendUint64(dst, b.term)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.nextOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.epoch))
	dst = b.hard.append(dst)
	return append(dst, b.clusterID...)
}

const walBaseSize = 2 + 4 + 8 + 8 + 8 + 8 + 4 + hardStateSize

// maxClusterID is the longest cluster id in bytes; Kafka makes 22.
const maxClusterID = 256

func parseBase(p []byte) (b walBase, err error) {
	if len(p) < walBaseSize {
		return b, errors.New("the file header is cut short")
	}
	if v := binary.BigEndian.Uint16(p); v != walVersion {
		return b, fmt.Errorf("the file has format version %d, this version of Klamm reads %d", v, walVersion)
	}
	b.nodeID = int32(binary.BigEndian.Uint32(p[2:]))
	b.raftID = binary.BigEndian.Uint64(p[6:])
	b.index = binary.BigEndian.Uint64(p[14:])
	b.term = binary.BigEndian.Uint64(p[22:])
	b.nextOffset = int64(binary.BigEndian.Uint64(p[30:]))
	b.epoch = int32(binary.BigEndian.Uint32(p[38:]))
	b.hard, err = parseHardState(p[42:walBaseSize])
	b.clusterID = string(p[walBaseSize:])
	return b, err
}

const hardStateSize = 24

func (h hardState) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, h.term)
	dst = binary.BigEndian.AppendUint64(dst, h.vote)
	return binary.BigEndian.AppendUint64(dst, h.commit)
}

func parseHardState(p []byte) (h hardState, err error) {
	if len(p) != hardStateSize {
		return h, fmt.Errorf("a hard state of %d bytes, it has %d", len(p), hardStateSize)
	}
	return hardState{binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(p[8:]), binary.BigEndian.Uint64(p[16:])}, nil
}

func hardStateOf(h *pb.HardState) hardState {
	return hardState{h.GetTerm(), h.GetVote(), h.GetCommit()}
}

func (h hardState) message() *pb.HardState {
	return &pb.HardState{Term: &h.term, Vote: &h.vote, Commit: &h.commit}
}

const entryHeaderSize = 17 // index 8, term 8, type 1

func appendEntry(dst []byte, e *pb.Entry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, e.GetIndex())
	dst = binary.BigEndian.AppendUint64(dst, e.GetTerm())
	dst = append(dst, byte(e.GetType()))
	return append(dst, e.GetData()...)
}

func parseEntry(p []byte) (*pb.Entry, error) {
	if len(p) < entryHeaderSize {
		return nil, fmt.Errorf("an entry of %d bytes, it needs %d", len(p), entryHeaderSize)
	}
	index, term, kind := binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(p[8:]), pb.EntryType(p[16])
	e := &pb.Entry{Index: &index, Term: &term, Type: &kind}
	if len(p) > entryHeaderSize {
		e.Data = append([]byte(nil), p[entryHeaderSize:]...)
	}
	return e, nil
}
