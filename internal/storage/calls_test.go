package storage

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/vfs"
)

var update = flag.Bool("update", false, "write testdata/calls.txt anew")

// recorder writes down the calls that change a disk, in order.
type recorder struct {
	mu  sync.Mutex
	out bytes.Buffer
}

var randomID = regexp.MustCompile(`[0-9a-f]{32}`)

func (r *recorder) inject(op vfs.Op) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := randomID.ReplaceAllString(strings.TrimPrefix(filepath.ToSlash(op.Name), testDir), "UUID")
	switch op.Kind {
	case vfs.OpOpen:
		if op.Flag&os.O_CREATE != 0 {
			fmt.Fprintf(&r.out, "  create   %s\n", name)
		}
	case vfs.OpWrite:
		fmt.Fprintf(&r.out, "  write    %s at %d, %d bytes\n", name, op.Offset, op.Length)
	case vfs.OpTruncate:
		fmt.Fprintf(&r.out, "  truncate %s to %d\n", name, op.Length)
	case vfs.OpRename:
		fmt.Fprintf(&r.out, "  rename   %s -> %s\n", name, randomID.ReplaceAllString(filepath.Base(op.Target), "UUID"))
	case vfs.OpMkdir, vfs.OpRemove, vfs.OpSync, vfs.OpSyncDir, vfs.OpLock:
		fmt.Fprintf(&r.out, "  %-8s %s\n", op.Kind, name)
	}
	return nil
}

func (r *recorder) step(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.out, "%s\n", name)
}

// TestCallOrder compares every change made to the disk, in order, with testdata/calls.txt: what is
// durable when is a matter of this order.
func TestCallOrder(t *testing.T) {
	r := &recorder{}
	mem := vfs.NewMem()
	process := []byte("/data/klamm/.klamm-process")
	w := newWorld(t, vfs.Fault{FS: mem, Inject: func(op vfs.Op) error {
		if strings.HasSuffix(op.Name, string(process)) && op.Kind == vfs.OpWrite {
			op.Length = 0 // the process id differs
		}
		return r.inject(op)
	}})
	w.cfg.SegmentBytes = 1000
	r.step("open a new directory")
	w.openManager()
	r.step("create a partition")
	var err error
	if w.l, err = w.m.GetOrCreate("t", testTopicID, 0, w.cfg); err != nil {
		t.Fatal(err)
	}
	r.step("create 50 partitions")
	mark := r.out.Len()
	for p := range int32(50) {
		if _, err := w.m.GetOrCreate("many", testTopicID, p, w.cfg); err != nil {
			t.Fatal(err)
		}
	}
	r.out.Truncate(mark + bytes.Index(r.out.Bytes()[mark:], []byte("  mkdir    /many-1\n")))
	r.step("  ... and so on, without a sync")
	r.step("append")
	w.append(batchSpec{size: 300, pid: 1, seq: 0})
	r.step("append")
	w.append(batchSpec{size: 300, pid: 1, seq: 1})
	r.step("sync")
	w.sync()
	r.step("append, sync")
	w.append(batchSpec{size: 100, pid: 1, seq: 2})
	w.sync()
	r.step("append that rolls")
	w.append(batchSpec{size: 300, pid: 1, seq: 3})
	r.step("sync")
	w.sync()
	r.step("checkpoint timer")
	w.timers.fire()
	r.step("checkpoint timer with nothing new")
	w.timers.fire()
	r.step("retention deletes the first segment")
	w.cfg.RetentionBytes = 300
	w.l.UpdateConfig(w.cfg)
	if _, err := w.l.DeleteOldSegments(w.now, 4); err != nil {
		t.Fatal(err)
	}
	r.step("file.delete.delay.ms and checkpoint timers")
	w.timers.fire()
	r.step("truncate")
	w.append(batchSpec{size: 50, pid: 1, seq: 4})
	if err := w.l.TruncateTo(4); err != nil {
		t.Fatal(err)
	}
	r.step("append, clean close")
	w.append(batchSpec{size: 50, pid: 1, seq: 4})
	w.closeClean()
	r.step("open after a clean close")
	w.timers = timers{}
	w.open()
	r.step("clean close without changes")
	w.closeClean()
	r.step("open, append, crash with a torn end, open")
	w.timers = timers{}
	w.open()
	w.append(batchSpec{size: 200, pid: 1, seq: 5})
	w.sync()
	w.append(batchSpec{size: 200, pid: 1, seq: 6})
	w.corrupt(fileStem(3)+logSuffix, w.l.Size()-50, make([]byte, 50))
	w.fs = vfs.Fault{FS: mem.Crash(nil), Inject: r.inject}
	w.m.Close(false, -1)
	w.timers = timers{}
	r.step("open")
	w.open()
	r.step("delete the partition")
	if err := w.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	r.step("file.delete.delay.ms and checkpoint timers")
	w.now = w.now.Add(time.Hour)
	w.timers.fire()
	w.m.Close(false, -1)

	name := filepath.Join("testdata", "calls.txt")
	got := regexp.MustCompile(`(klamm-process at 0), \d+ bytes`).ReplaceAllString(r.out.String(), "$1")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the order of calls changed (-want +got); look whether it is still safe, then run with -update\n%s", diff)
	}
}
