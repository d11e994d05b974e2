package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func write(t testing.TB, fsys FS, name string, off int64, data string) File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(data), off); err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t testing.TB, fsys FS, name string) string {
	t.Helper()
	b, err := ReadFile(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	m := NewMem()
	if err := m.MkdirAll("/d/sub"); err != nil {
		t.Fatal(err)
	}
	synced := write(t, m, "/d/synced", 0, "abcdef")
	if err := synced.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", "/d"} {
		if err := m.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := synced.WriteAt([]byte("XY"), 4); err != nil { // overwrites and grows, unsynced
		t.Fatal(err)
	}
	if err := write(t, m, "/d/entry-not-synced", 0, "x").Sync(); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/d/sub/in-unsynced-dir", 0, "x")

	after := m.Crash(nil)
	if got := content(t, after, "/d/synced"); got != "abcdef" {
		t.Errorf("synced file after the crash: %q", got)
	}
	for _, name := range []string{"/d/entry-not-synced", "/d/sub/in-unsynced-dir"} {
		if got := content(t, after, name); got != "missing" {
			t.Errorf("%s survived with %q", name, got)
		}
	}
	if _, err := synced.WriteAt([]byte("z"), 0); !errors.Is(err, ErrCrashed) {
		t.Errorf("a handle from before the crash still writes: %v", err)
	}
}

func TestCrashUndoesUnsyncedRenameAndRemove(t *testing.T) {
	m := NewMem()
	for _, name := range []string{"/a", "/b", "/c"} {
		if err := write(t, m, name, 0, name).Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	if err := m.Remove("/c"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, m, "/a") + content(t, m, "/b") + content(t, m, "/c"); got != "missing/amissing" {
		t.Fatalf("before the crash: %s", got)
	}
	after := m.Crash(nil)
	if got := content(t, after, "/a") + content(t, after, "/b") + content(t, after, "/c"); got != "/a/b/c" {
		t.Errorf("after the crash: %s", got)
	}
}

func TestWriteFileAtomicLeavesOldOrNew(t *testing.T) {
	for failAt := 1; ; failAt++ {
		m := NewMem()
		if err := WriteFileAtomic(m, "/f", []byte("old")); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := WriteFileAtomic(Fault{m, func(Op) error {
			if calls++; calls == failAt {
				return io.ErrClosedPipe
			}
			return nil
		}}, "/f", []byte("new"))
		want := map[bool][]string{true: {"new"}, false: {"old", "new"}}[err == nil]
		got := content(t, m.Crash(rand.New(rand.NewSource(int64(failAt)))), "/f")
		if got != want[0] && got != want[len(want)-1] {
			t.Fatalf("failed at call %d (%v): content %q", failAt, err, got)
		}
		if err == nil {
			return
		}
	}
}

func TestShortWriteLetsAPrefixThrough(t *testing.T) {
	m := NewMem()
	full := errors.New("no space left")
	f := write(t, Fault{m, func(op Op) error { return nil }}, "/f", 0, "start")
	_ = f
	g, err := Fault{m, func(op Op) error {
		if op.Kind == OpWrite {
			return &ShortWrite{N: 2, Err: full}
		}
		return nil
	}}.OpenFile("/f", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	n, err := g.WriteAt([]byte("END"), 5)
	if n != 2 || !errors.Is(err, full) || content(t, m, "/f") != "startEN" {
		t.Errorf("n=%d err=%v content=%q", n, err, content(t, m, "/f"))
	}
}

func TestLockIsExclusive(t *testing.T) {
	for name, fsys := range map[string]FS{"os": OS(), "mem": NewMem()} {
		lock := filepath.Join(t.TempDir(), ".lock")
		if err := fsys.MkdirAll(filepath.Dir(lock)); err != nil {
			t.Fatal(err)
		}
		first, err := fsys.Lock(lock)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := fsys.Lock(lock); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: second lock: %v", name, err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := fsys.Lock(lock)
		if err != nil {
			t.Fatalf("%s: after release: %v", name, err)
		}
		again.Close()
	}
}

// Random calls give the same content on Mem as on the machine, and what Crash leaves of a file is
// its content at the last Sync.
func TestMemAgreesWithTheMachine(t *testing.T) {
	root := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		name := filepath.Join(root, string(rune('a'+run%26))+"f")
		os.Remove(name)
		m := NewMem()
		if err := m.MkdirAll(root); err != nil {
			t.Fatal(err)
		}
		open := func(fsys FS) File {
			f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		real, mem := open(OS()), open(m)
		defer real.Close()
		for dir := root; ; dir = filepath.Dir(dir) {
			if err := m.SyncDir(dir); err != nil {
				t.Fatal(err)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		var synced []byte
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				data := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(t, "data")
				off := rapid.Int64Range(0, 5000).Draw(t, "off")
				_, err1 := real.WriteAt(data, off)
				_, err2 := mem.WriteAt(data, off)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
			case 2:
				size := rapid.Int64Range(0, 6000).Draw(t, "size")
				if err1, err2 := real.Truncate(size), mem.Truncate(size); err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
			case 3:
				if err := mem.Sync(); err != nil {
					t.Fatal(err)
				}
				synced, _ = ReadFile(m, name, 1<<20)
			}
		}
		want, err1 := ReadFile(OS(), name, 1<<20)
		got, err2 := ReadFile(m, name, 1<<20)
		if err1 != nil || err2 != nil || !bytes.Equal(want, got) {
			t.Fatalf("content differs: %v %v", err1, err2)
		}
		if left, err := ReadFile(m.Crash(nil), name, 1<<20); err != nil || !bytes.Equal(left, synced) {
			t.Fatalf("after the crash %d bytes, synced %d (%v)", len(left), len(synced), err)
		}
	})
}
