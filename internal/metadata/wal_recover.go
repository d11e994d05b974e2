package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/raft/v3/raftpb"

	"klamm/internal/vfs"
)

// walState is what the WAL files say.
type walState struct {
	base    walBase
	hard    hardState
	entries []*pb.Entry // contiguous from base.index+1
}

// lastIndex and lastTerm are those of the newest entry, or of the base.
func (s *walState) lastIndex() uint64 { return s.base.index + uint64(len(s.entries)) }

func (s *walState) lastTerm() uint64 {
	if n := len(s.entries); n > 0 {
		return s.entries[n-1].GetTerm()
	}
	return s.base.term
}

// listWAL returns the sequence numbers of the WAL files of a directory, ascending.
func listWAL(fsys vfs.FS, dir string) ([]uint64, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &WALError{dir, -1, "list", err}
	}
	var seqs []uint64
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), walSuffix)
		if seq, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && !e.IsDir() {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

// walFile is one file as read at recovery.
type walFile struct {
	seq  uint64
	name string
	data []byte
}

// recoverWAL reads the WAL of a directory: nil when there is none. usable says whether a base can be
// started from, that is whether its checkpoint is there. An incomplete last group is cut off.
func recoverWAL(fsys vfs.FS, dir string, usable func(walBase) bool) (*walState, *wal, error) {
	seqs, err := listWAL(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	w := &wal{fs: fsys, dir: dir}
	var chain []walFile // oldest first
	var state *walState
	for i := len(seqs) - 1; i >= 0 && state == nil; i-- {
		f := walFile{seq: seqs[i], name: walName(dir, seqs[i])}
		if f.data, err = vfs.ReadFile(fsys, f.name, maxWALFile); err != nil {
			return nil, nil, &WALError{f.name, -1, "read", err}
		}
		base, err := f.header()
		var torn *tornError
		switch {
		case errors.As(err, &torn) && i == len(seqs)-1 && !f.intactBehind(0, 0):
			// The newest file was being made when the node died: nothing in it was acknowledged.
			if err := fsys.Remove(f.name); err != nil {
				return nil, nil, &WALError{f.name, -1, "remove", err}
			}
			seqs = seqs[:i]
			continue
		case err != nil:
			return nil, nil, &WALError{f.name, 0, "read", err}
		}
		chain = append([]walFile{f}, chain...)
		if base.nextOffset == 0 || usable(base) {
			state = &walState{base: base, hard: base.hard}
		}
	}
	if state == nil {
		if len(chain) == 0 {
			return nil, w, nil
		}
		return nil, nil, &WALError{chain[0].name, -1, "recover", errors.New("the checkpoint it continues is missing or damaged")}
	}
	return state, w, w.readChain(state, chain)
}

// readChain replays the files into the state and opens the newest one for appending.
func (w *wal) readChain(state *walState, chain []walFile) error {
	for i, f := range chain {
		good, err := w.readFile(state, f, i > 0)
		var torn *tornError
		switch {
		case errors.As(err, &torn) && i < len(chain)-1:
			return &WALError{f.name, good, "read", fmt.Errorf("damaged, although newer files follow: %w", err)}
		case err != nil && !errors.As(err, &torn):
			return &WALError{f.name, good, "read", err}
		}
		if i == len(chain)-1 {
			return w.reopen(f, good)
		}
	}
	return nil
}

// reopen continues the newest file behind its last good byte. The cut is made durable at once:
// otherwise leftovers could pass for records of a later group after another crash.
func (w *wal) reopen(f walFile, good int64) error {
	file, err := w.fs.OpenFile(f.name, os.O_RDWR)
	if err != nil {
		return &WALError{f.name, -1, "open", err}
	}
	w.file, w.name, w.seq, w.size = file, f.name, f.seq, good
	if good == int64(len(f.data)) {
		return nil
	}
	if err := file.Truncate(good); err != nil {
		return &WALError{f.name, good, "cut off an incomplete write", err}
	}
	if err := file.Sync(); err != nil {
		return &WALError{f.name, good, "sync", err}
	}
	return nil
}

// tornError is a record that was not written whole.
type tornError struct{ reason string }

func (e *tornError) Error() string { return e.reason }

// header reads the file header, which is the first group.
func (f walFile) header() (walBase, error) {
	r, err := parseWALRecord(f.data)
	if err != nil {
		return walBase{}, err
	}
	if r.kind != walFileHeader || !r.end {
		return walBase{}, errors.New("the file does not begin with a header")
	}
	return parseBase(r.payload)
}

// walRecord is one parsed record.
type walRecord struct {
	kind    byte
	end     bool // last of its group
	group   uint64
	payload []byte
	size    int // of the whole record
}

// parseWALRecord reads the record at the start of data. Anything that is not a whole valid record is
// a *tornError.
func parseWALRecord(data []byte) (walRecord, error) {
	if len(data) < walHeaderSize {
		return walRecord{}, &tornError{"the file ends inside a record header"}
	}
	if binary.BigEndian.Uint16(data) != walMagic {
		return walRecord{}, &tornError{"no record begins here"}
	}
	length := uint64(binary.BigEndian.Uint32(data[8:]))
	if length > uint64(len(data)-walHeaderSize) {
		return walRecord{}, &tornError{"the file ends inside a record"}
	}
	size := walHeaderSize + int(length)
	if walCRC(data[:size]) != binary.BigEndian.Uint32(data[4:]) {
		return walRecord{}, &tornError{"a checksum does not match"}
	}
	return walRecord{data[2], data[3]&walGroupEnd != 0, binary.BigEndian.Uint64(data[12:]), data[walHeaderSize:size], size}, nil
}

// readFile applies the complete groups of a file and returns the position behind the last one. The
// error is a *tornError when something incomplete follows it. continues says that another file was
// read before.
func (w *wal) readFile(state *walState, f walFile, continues bool) (good int64, err error) {
	var pending []walRecord
	for pos := int64(0); pos < int64(len(f.data)); {
		r, err := parseWALRecord(f.data[pos:])
		if err == nil && pos == 0 && !continues {
			w.group = r.group - 1
		}
		if err == nil && r.group != w.group+1 {
			err = &tornError{fmt.Sprintf("group %d does not follow group %d", r.group, w.group)}
		}
		if err != nil {
			// The damage belongs to the group after the last whole one. An intact record of a group
			// behind that one proves that it had been synced, so it was not torn by a crash.
			if f.intactBehind(pos, w.group+1) {
				err = fmt.Errorf("damaged in the middle (%w): later writes are intact. Restore the file from a backup; or move the directory away to start from the last checkpoint and the Kafka log beside it", errors.New(err.Error()))
			}
			return good, err
		}
		pending = append(pending, r)
		pos += int64(r.size)
		if r.end {
			if err := state.apply(pending, good > 0 || continues); err != nil {
				return good, err
			}
			w.group, pending, good = r.group, nil, pos
		}
	}
	if len(pending) > 0 {
		return good, &tornError{"the last group is incomplete"}
	}
	return good, nil
}

// intactBehind looks behind a position for a whole record of a group later than the given one.
func (f walFile) intactBehind(pos int64, group uint64) bool {
	for at := pos + 1; at+walHeaderSize <= int64(len(f.data)); at++ {
		if binary.BigEndian.Uint16(f.data[at:]) != walMagic {
			continue
		}
		if r, err := parseWALRecord(f.data[at:]); err == nil && r.group > group {
			return true
		}
	}
	return false
}

// apply takes over a whole group.
func (s *walState) apply(group []walRecord, started bool) error {
	for i, r := range group {
		switch r.kind {
		case walFileHeader:
			base, err := parseBase(r.payload)
			if err != nil {
				return err
			}
			if i != 0 || started && (base.index != s.lastIndex() || base.term != s.lastTerm()) {
				return fmt.Errorf("the file continues entry %d of term %d, the one before ends with entry %d of term %d", base.index, base.term, s.lastIndex(), s.lastTerm())
			}
		case walEntry:
			e, err := parseEntry(r.payload)
			if err != nil {
				return err
			}
			if e.GetIndex() <= s.base.index || e.GetIndex() > s.lastIndex()+1 {
				return fmt.Errorf("entry %d follows entry %d", e.GetIndex(), s.lastIndex())
			}
			s.entries = append(s.entries[:e.GetIndex()-s.base.index-1], e)
		case walHardState:
			h, err := parseHardState(r.payload)
			if err != nil {
				return err
			}
			s.hard = h
		default:
			return fmt.Errorf("record type %d is not known to this version of Klamm", r.kind)
		}
	}
	return nil
}

// readWALBase reads the header of one file.
func readWALBase(fsys vfs.FS, name string) (walBase, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return walBase{}, &WALError{name, -1, "open", err}
	}
	defer f.Close()
	head := make([]byte, walHeaderSize+walBaseSize+maxClusterID)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return walBase{}, &WALError{name, 0, "read", err}
	}
	base, err := walFile{data: head[:n]}.header()
	if err != nil {
		return walBase{}, &WALError{name, 0, "read", err}
	}
	return base, nil
}
