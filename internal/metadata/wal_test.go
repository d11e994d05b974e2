package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"pgregory.net/rapid"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

func entry(index, term uint64, data string) *pb.Entry {
	kind := pb.EntryNormal
	e := &pb.Entry{Index: &index, Term: &term, Type: &kind}
	if data != "" {
		e.Data = []byte(data)
	}
	return e
}

func newBase() walBase {
	return walBase{nodeID: 1, raftID: 7, clusterID: "c", index: 1, epoch: -1, hard: hardState{commit: 1}}
}

// newWAL makes a WAL with groups of one to three entries each.
func newWAL(t testing.TB, fsys vfs.FS, groups int) *wal {
	t.Helper()
	if err := fsys.MkdirAll("/w"); err != nil {
		t.Fatal(err)
	}
	w := &wal{fs: fsys, dir: "/w"}
	if err := w.create(1, newBase()); err != nil {
		t.Fatal(err)
	}
	next := uint64(2)
	for g := range groups {
		var entries []*pb.Entry
		for range 1 + g%3 {
			entries = append(entries, entry(next, 1, strings.Repeat(fmt.Sprintf("%d.", next), 20)))
			next++
		}
		if err := w.append(entries, hardState{1, 7, next - 2}.message()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func recoverAll(fsys vfs.FS) (*walState, error) {
	state, w, err := recoverWAL(fsys, "/w", func(walBase) bool { return true })
	if w != nil {
		err = errors.Join(err, w.close())
	}
	return state, err
}

func TestWALKeepsEntriesOverFiles(t *testing.T) {
	fsys := vfs.NewMem()
	w := newWAL(t, fsys, 3) // entries 2 to 7
	base := newBase()
	base.index, base.term, base.nextOffset = 7, 1, 100
	if err := w.rotate(base); err != nil {
		t.Fatal(err)
	}
	if err := w.append([]*pb.Entry{entry(8, 2, "x")}, hardState{2, 7, 7}.message()); err != nil {
		t.Fatal(err)
	}
	for _, usable := range []bool{true, false} {
		state, again, err := recoverWAL(fsys, "/w", func(walBase) bool { return usable })
		if err != nil {
			t.Fatal(err)
		}
		wantBase, wantCount := uint64(7), 1
		if !usable {
			wantBase, wantCount = 1, 7
		}
		if state.base.index != wantBase || len(state.entries) != wantCount || state.hard != (hardState{2, 7, 7}) || state.lastIndex() != 8 || state.lastTerm() != 2 {
			t.Errorf("usable %t: %+v", usable, state)
		}
		if err := again.append([]*pb.Entry{entry(9, 2, "y")}, nil); err != nil {
			t.Error(err)
		}
		if err := again.close(); err != nil {
			t.Error(err)
		}
		if state, err = recoverAll(fsys); err != nil || state.lastIndex() != 9 {
			t.Errorf("after another entry: %+v, %v", state, err)
		}
		fsys = vfs.NewMem()
		w = newWAL(t, fsys, 3)
		if err := errors.Join(w.rotate(base), w.append([]*pb.Entry{entry(8, 2, "x")}, hardState{2, 7, 7}.message())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWALCutsATornEnd cuts the file at every byte: what is left are whole groups, and the WAL can go
// on.
func TestWALCutsATornEnd(t *testing.T) {
	disk := vfs.NewMem()
	w := newWAL(t, disk, 4)
	full, err := vfs.ReadFile(disk, w.name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int]bool{}
	for cut := range full {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll("/w"); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(fsys, w.name, full[:cut]); err != nil {
			t.Fatal(err)
		}
		state, again, err := recoverWAL(fsys, "/w", func(walBase) bool { return true })
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if state == nil { // not even the header
			counts[-1] = true
			continue
		}
		counts[len(state.entries)] = true
		if err := again.append([]*pb.Entry{entry(state.lastIndex()+1, 3, "more")}, nil); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if after, err := recoverAll(fsys); err != nil || after.lastTerm() != 3 || len(after.entries) != len(state.entries)+1 {
			t.Fatalf("cut at %d: %+v, %v", cut, after, err)
		}
	}
	for _, want := range []int{-1, 0, 1, 3, 6} { // groups of 1, 2, 3 and 1 entries; the last is never whole
		if !counts[want] {
			t.Errorf("no cut left %d entries: %v", want, counts)
		}
	}
	if len(counts) != 5 {
		t.Errorf("cuts left %v entries: groups are not atomic", counts)
	}
}

// TestWALTellsDamageFromATornEnd flips each byte of each but the last group: recovery must refuse.
func TestWALTellsDamageFromATornEnd(t *testing.T) {
	disk := vfs.NewMem()
	w := newWAL(t, disk, 3)
	full, err := vfs.ReadFile(disk, w.name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	last := lastGroup(t, full)
	for at := range last {
		broken := bytes.Clone(full)
		broken[at] ^= 0x55
		fsys := vfs.NewMem()
		if err := errors.Join(fsys.MkdirAll("/w"), vfs.WriteFileAtomic(fsys, w.name, broken)); err != nil {
			t.Fatal(err)
		}
		state, err := recoverAll(fsys)
		var damage *WALError
		if !errors.As(err, &damage) {
			// The header's group and the first one behind it: damage to the latter leaves one intact
			// group, as a crash could, unless a later one is there.
			t.Errorf("byte %d of %d flipped: state %+v, %v", at, len(full), state, err)
		}
	}
}

// lastGroup is the position at which the last group begins.
func lastGroup(t *testing.T, data []byte) (start int) {
	t.Helper()
	group := uint64(0)
	for pos := 0; pos < len(data); {
		r, err := parseWALRecord(data[pos:])
		if err != nil {
			t.Fatal(err)
		}
		if r.group != group {
			group, start = r.group, pos
		}
		pos += r.size
	}
	return start
}

func TestWALRefusesANewerFormat(t *testing.T) {
	fsys := vfs.NewMem()
	w := newWAL(t, fsys, 1)
	w.begin()
	w.add(9, []byte("from the future"))
	if err := w.write(); err != nil {
		t.Fatal(err)
	}
	if _, err := recoverAll(fsys); err == nil || !strings.Contains(err.Error(), "type 9") {
		t.Errorf("a record of an unknown type gave %v", err)
	}
}

// TestWALIsAListOfEntries compares random groups, with overwritten entries as raft may write them,
// with a plain list.
func TestWALIsAListOfEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll("/w"); err != nil {
			t.Fatal(err)
		}
		w := &wal{fs: fsys, dir: "/w"}
		if err := w.create(1, newBase()); err != nil {
			t.Fatal(err)
		}
		var model []string
		for range rapid.IntRange(0, 8).Draw(t, "groups") {
			from := rapid.IntRange(0, len(model)).Draw(t, "overwrite from")
			model = model[:from]
			var entries []*pb.Entry
			for range rapid.IntRange(1, 4).Draw(t, "entries") {
				data := rapid.StringN(0, 50, 200).Draw(t, "data")
				model = append(model, data)
				entries = append(entries, entry(uint64(len(model)+1), 1, data))
			}
			if err := w.append(entries, nil); err != nil {
				t.Fatal(err)
			}
		}
		state, err := recoverAll(fsys)
		if err != nil || len(state.entries) != len(model) {
			t.Fatalf("recovered %+v, %v, want %d entries", state, err, len(model))
		}
		for i, e := range state.entries {
			if string(e.GetData()) != model[i] || e.GetIndex() != uint64(i+2) {
				t.Fatalf("entry %d is %v, want %q", i, e, model[i])
			}
		}
	})
}

// FuzzWAL: any file is an error or a state from which the WAL goes on.
func FuzzWAL(f *testing.F) {
	disk := vfs.NewMem()
	w := newWAL(f, disk, 3)
	full, err := vfs.ReadFile(disk, w.name, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add(full[:len(full)-5])
	real, err := os.ReadFile("testdata/after-kafka/klamm-raft/0000000000000002.wal")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(real)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealWAL(data)
		fsys := vfs.NewMem()
		if err := errors.Join(fsys.MkdirAll("/w"), vfs.WriteFileAtomic(fsys, "/w/0000000000000001.wal", data)); err != nil {
			t.Fatal(err)
		}
		state, w, err := recoverWAL(fsys, "/w", func(walBase) bool { return true })
		if err != nil || state == nil {
			return
		}
		if _, err := state.batches(); err != nil {
			var replay *ReplayError
			if !errors.As(err, &replay) {
				t.Fatalf("batches: %v", err)
			}
		}
		if err := w.append([]*pb.Entry{entry(state.lastIndex()+1, state.lastTerm(), "z")}, nil); err != nil {
			t.Fatal(err)
		}
		again, err := recoverAll(fsys)
		if err != nil || again.lastIndex() != state.lastIndex()+1 {
			t.Fatalf("after appending entry %d: %+v, %v", state.lastIndex()+1, again, err)
		}
	})
}

// FuzzCheckpoint: any file is an error or an image whose snapshot reads back the same.
func FuzzCheckpoint(f *testing.F) {
	for _, name := range []string{
		"kafka/00000000000000000000-0000000000.checkpoint", "kafka/00000000000000000130-0000000001.checkpoint",
		"after-kafka/00000000000000000036-0000000001.checkpoint",
	} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealBatches(data)
		fsys := vfs.NewMem()
		id := checkpointID{130, 1}
		if err := errors.Join(fsys.MkdirAll("/d"), vfs.WriteFileAtomic(fsys, "/d/"+id.name(), data)); err != nil {
			t.Fatal(err)
		}
		img, err := readCheckpoint(fsys, "/d", id, "c")
		if err != nil {
			var damaged *SnapshotError
			if !errors.As(err, &damaged) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if img.pending != nil {
			t.Fatal("a snapshot ends inside a transaction")
		}
		if _, err := writeCheckpoint(fsys, "/d", img, 1); err != nil {
			t.Fatal(err)
		}
		again, err := readCheckpoint(fsys, "/d", id, "c")
		if err != nil || imageText(t, img) != imageText(t, again) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}

// sealWAL makes the checksums of whole records right, so that fuzzing reaches what is behind them.
// Every second record keeps a wrong one.
func sealWAL(data []byte) []byte {
	w := wal{buf: bytes.Clone(data)}
	for pos, n := 0, 0; pos+walHeaderSize <= len(w.buf); n++ {
		length := int(w.buf[pos+10])<<8 | int(w.buf[pos+11])
		if w.buf[pos+8] != 0 || w.buf[pos+9] != 0 || pos+walHeaderSize+length > len(w.buf) {
			break
		}
		if n%7 != 6 {
			w.seal(pos)
		}
		pos += walHeaderSize + length
	}
	return w.buf
}

// sealBatches makes the checksums of whole batches right.
func sealBatches(data []byte) []byte {
	data = bytes.Clone(data)
	for rest := data; ; {
		b, next, err := record.Next(rest)
		if err != nil {
			return data
		}
		b.SetMaxTimestamp(b.MaxTimestamp())
		rest = next
	}
}
