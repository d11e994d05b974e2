package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"klamm/internal/vfs"
)

func TestDirectoryIdentity(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	m := w.openManager()
	if clean, epoch := m.CleanShutdown(); clean || epoch != -1 {
		t.Fatalf("a new directory: clean %v, epoch %d", clean, epoch)
	}
	id := m.DirectoryID()
	if id == [16]byte{} || m.ClusterID() != "FtmRHpMyRyWuSOw4eVth_A" {
		t.Fatalf("directory %v, cluster %s", id, m.ClusterID())
	}
	var locked *LockedError
	if _, err := OpenLogManager(w.options()); !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), "--data-dir") {
		t.Fatalf("opened twice: %v", err)
	}
	w.closeClean()
	for _, c := range []struct {
		change   func(*LogManagerOptions)
		property string
	}{
		{func(o *LogManagerOptions) { o.ClusterID = "other" }, "cluster.id"},
		{func(o *LogManagerOptions) { o.NodeID = 2 }, "node.id"},
	} {
		o := w.options()
		c.change(&o)
		var wrong *WrongIdentityError
		if _, err := OpenLogManager(o); !errors.As(err, &wrong) || wrong.Property != c.property {
			t.Fatalf("wrong %s: %v", c.property, err)
		}
	}
	o := w.options()
	o.ClusterID = "" // takes what is there
	m, err := OpenLogManager(o)
	if err != nil || m.DirectoryID() != id || m.ClusterID() != "FtmRHpMyRyWuSOw4eVth_A" {
		t.Fatalf("%v", err)
	}
	if clean, epoch := m.CleanShutdown(); !clean || epoch != 7 {
		t.Fatalf("a refused open must change nothing: clean %v, epoch %d", clean, epoch)
	}
	if err := m.Close(false, -1); err != nil {
		t.Fatal(err)
	}
	meta := filepath.Join(w.dir, metaPropertiesFile)
	if err := writeSynced(w.fs, meta, []byte("version=2\ncluster.id=x\nnode.id=1\n")); err != nil {
		t.Fatal(err)
	}
	var newer *NewerVersionError
	if _, err := OpenLogManager(w.options()); !errors.As(err, &newer) || newer.Found != 2 {
		t.Fatalf("newer version: %v", err)
	}
	if err := writeSynced(w.fs, meta, []byte("version=1\nnode.id=x\n")); err != nil {
		t.Fatal(err)
	}
	var bad *FormatError
	if _, err := OpenLogManager(w.options()); !errors.As(err, &bad) {
		t.Fatalf("damaged: %v", err)
	}
}

func TestNewClusterID(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	o := w.options()
	o.ClusterID = ""
	m, err := OpenLogManager(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseUUID(m.ClusterID()); err != nil || strings.HasPrefix(m.ClusterID(), "-") {
		t.Fatalf("cluster id %q: %v", m.ClusterID(), err)
	}
	m.Close(false, -1)
}

func TestUnwritableDirectory(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpMkdir, vfs.OpLock, vfs.OpWrite, vfs.OpRename} {
		w := newWorld(t, vfs.Fault{FS: vfs.NewMem(), Inject: func(op vfs.Op) error {
			if op.Kind == kind {
				return syscall.EACCES
			}
			return nil
		}})
		var refused *NotWritableError
		if _, err := OpenLogManager(w.options()); !errors.As(err, &refused) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s refused: %v", kind, err)
		}
	}
}

// TestManyPartitions: creating partitions costs no sync, and a log without records no file.
func TestManyPartitions(t *testing.T) {
	syncs := 0
	w := newWorld(t, vfs.Fault{FS: vfs.NewMem(), Inject: func(op vfs.Op) error {
		if op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir {
			syncs++
		}
		return nil
	}})
	m := w.openManager()
	syncs = 0
	specs := make([]LogSpec, 500)
	for p := range specs {
		specs[p] = LogSpec{TopicPartition{"many", int32(p)}, testTopicID, w.cfg}
	}
	if failed := m.Recover(specs); len(failed) > 0 || syncs > 0 {
		t.Fatalf("%d syncs, failed %v", syncs, failed)
	}
	entries, err := w.fs.ReadDir(filepath.Join(w.dir, "many-7"))
	if err != nil || len(entries) != 1 || entries[0].Name() != partitionMetadataFile {
		t.Fatalf("%v %v", entries, err)
	}
	// The first sync of one makes all of it durable.
	l := m.Get("many", 7)
	if _, err := l.AppendAsLeader(makeBatch(t, batchSpec{}), 0, w.now); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	w.kill(nil)
	m = w.openManager()
	if failed := m.Recover(specs); len(failed) > 0 {
		t.Fatalf("%v", failed)
	}
	if end := m.Get("many", 7).EndOffset(); end != 1 {
		t.Fatalf("the log ends at %d", end)
	}
	m.Close(false, -1)
}

func TestFewOpenFiles(t *testing.T) {
	open, most := 0, 0
	w := newWorld(t, vfs.Fault{FS: vfs.NewMem(), Inject: func(op vfs.Op) error {
		if strings.HasSuffix(op.Name, logSuffix) {
			switch op.Kind {
			case vfs.OpOpen:
				open++
			case vfs.OpClose:
				open--
			}
			most = max(most, open)
		}
		return nil
	}})
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = 800, 0
	o := w.options()
	o.MaxOpenFiles = 4
	m, err := OpenLogManager(o)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(10) {
		l, err := m.GetOrCreate("t", testTopicID, p, w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := l.AppendAsLeader(makeBatch(t, batchSpec{size: 300}), 0, w.now); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		readAll(t, l)
	}
	for p := range int32(10) {
		readAll(t, m.Get("t", p))
	}
	if most > 6 {
		t.Errorf("%d files open at once", most)
	}
	if err := m.Close(true, 1); err != nil || open != 0 {
		t.Errorf("%d files open after close: %v", open, err)
	}
}

func TestDeleteAndCreateAgain(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	for range 10 {
		w.append(batchSpec{})
	}
	w.sync()
	if err := l.AdvanceStartOffset(4); err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(8)
	if err := w.m.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if err := w.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		second(l.AppendAsLeader(makeBatch(t, batchSpec{}), 0, w.now)), second(l.Sync()), second(l.Read(4, 100, 10, true)), w.m.Delete("t", 0),
	} {
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("after delete: %v", err)
		}
	}
	newID := testTopicID
	newID[0]++
	fresh, err := w.m.GetOrCreate("t", newID, 0, w.cfg)
	if err != nil || fresh.EndOffset() != 0 || fresh.StartOffset() != 0 || fresh.HighWatermark() != 0 {
		t.Fatalf("a new topic of the same name: %v", err)
	}
	w.l = fresh
	w.append(batchSpec{})
	w.sync()
	w.kill(nil) // the checkpoint files must not say anything about the old one
	w.openManager()
	again, err := w.m.GetOrCreate("t", newID, 0, w.cfg)
	if err != nil || again.EndOffset() != 1 || again.StartOffset() != 0 {
		t.Fatalf("after a crash: %v", err)
	}
	names := rootNames(t, w)
	if n := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, deleteDirSuffix) }); n < 0 {
		t.Fatalf("no deleted directory waits: %v", names)
	}
	w.timers.fire()
	if n := slices.IndexFunc(rootNames(t, w), func(n string) bool { return strings.HasSuffix(n, deleteDirSuffix) }); n >= 0 {
		t.Fatalf("the deleted directory was forgotten: %v", rootNames(t, w))
	}
	w.m.Close(false, -1)
}

func second[T any](_ T, err error) error { return err }

func rootNames(t *testing.T, w *world) []string {
	t.Helper()
	entries, err := w.fs.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStrayAndForeignDirectories(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.open()
	w.append(batchSpec{})
	w.closeClean()
	m := w.openManager()
	if stray, err := m.Stray(); err != nil || !slices.Equal(stray, []TopicPartition{{"t", 0}}) {
		t.Fatalf("stray %v %v", stray, err)
	}
	newID := testTopicID
	newID[0]++
	l, err := m.GetOrCreate("t", newID, 0, w.cfg)
	if err != nil || l.EndOffset() != 0 || l.TopicID() != newID {
		t.Fatalf("%v", err)
	}
	names := rootNames(t, w)
	if n := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "t-0.") && strings.HasSuffix(n, strayDirSuffix) }); n < 0 {
		t.Fatalf("the old records are gone: %v", names)
	}
	if stray, err := m.Stray(); err != nil || len(stray) > 0 {
		t.Fatalf("stray %v %v", stray, err)
	}
	var wrong *InconsistentTopicID
	if _, err := m.GetOrCreate("t", testTopicID, 0, w.cfg); !errors.As(err, &wrong) {
		t.Fatalf("another id of an open log: %v", err)
	}
	m.Close(false, -1)
}

func TestHighWatermarkCheckpoint(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	l := w.open()
	for range 10 {
		w.append(batchSpec{})
	}
	w.sync()
	l.SetHighWatermark(7)
	w.closeClean()
	if l := w.open(); l.HighWatermark() != 7 {
		t.Fatalf("high watermark %d", l.HighWatermark())
	}
}

func TestDirectoryNames(t *testing.T) {
	for name, want := range map[string]TopicPartition{
		"a-0": {"a", 0}, "a-b.c_d-12": {"a-b.c_d", 12}, "a--1": {"a-", 1}, "x-0.0123-delete-3": {"x-0.0123-delete", 3},
	} {
		if tp, ok := parseDirName(name); !ok || tp != want || tp.String() != name {
			t.Errorf("%s: %v %v", name, tp, ok)
		}
	}
	for _, name := range []string{"a", "-0", "a-", "a-x", "a-0.0123-delete", "a-+1", "a-99999999999"} {
		if tp, ok := parseDirName(name); ok {
			t.Errorf("%s: %v", name, tp)
		}
	}
	w := newWorld(t, vfs.NewMem())
	m := w.openManager()
	long := TopicPartition{strings.Repeat("x", 249), 0}
	name, err := m.asideName(long, deleteDirSuffix)
	if err != nil || len(filepath.Base(name)) != maxNameLength || !strings.HasSuffix(name, deleteDirSuffix) {
		t.Errorf("%s %v", name, err)
	}
	m.Close(false, -1)
}

// TestEveryErrorSpeaks checks that what a person may see says where and what to do.
func TestEveryErrorSpeaks(t *testing.T) {
	cause := errors.New("the cause")
	for _, c := range []struct {
		err   error
		words []string
	}{
		{&OfflineError{"/d", "sync", cause}, []string{"/d", "sync", "check the disk", "the cause"}},
		{&NoSpaceError{"/d", cause}, []string{"/d", "no space", "retention", "the cause"}},
		{&CorruptionError{"/d/t-0", "x.log", 5, 70, cause}, []string{"/d/t-0/x.log", "70", "5", "restore", "delete", "the cause"}},
		{&LockedError{"/d", 12}, []string{"/d", "12", "--data-dir"}},
		{&LockedError{"/d", 0}, []string{"another process"}},
		{&NotWritableError{"/d", cause}, []string{"/d", "--data-dir", "the cause"}},
		{&NewerVersionError{"/d/f", 2, 1}, []string{"/d/f", "2", "newer"}},
		{&WrongIdentityError{"/d/f", "node.id", "1", "2"}, []string{"/d/f", "node.id=1", "2"}},
		{&FormatError{"/d/f", "because"}, []string{"/d/f", "because"}},
		{&ReadError{"/d/f", cause}, []string{"/d/f", "the cause"}},
		{&InconsistentTopicID{"/d", "a", "b"}, []string{"/d", "a", "b"}},
		{&OutOfOrderSequence{1, 2, 3, 4}, []string{"producer 1", "sequence 2", "offset 4", "3"}},
		{&InvalidProducerEpoch{1, 2, 3}, []string{"producer 1", "2", "3"}},
		{&RecordTooLarge{5, 4}, []string{"5", "segment.bytes=4"}},
		{&InvalidAppend{"because"}, []string{"because"}},
		{&OffsetOutOfRange{9, 1, 5}, []string{"9", "1", "5"}},
	} {
		for _, word := range c.words {
			if !strings.Contains(filepath.ToSlash(c.err.Error()), word) {
				t.Errorf("%T %q does not say %q", c.err, c.err, word)
			}
		}
		if strings.Contains(fmt.Sprint(c.words), "cause") && slices.Contains(c.words, "the cause") && !errors.Is(c.err, cause) {
			t.Errorf("%T hides its cause", c.err)
		}
	}
}
