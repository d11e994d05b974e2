package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

// brokenDisk fails calls on files that match, once it is told to.
type brokenDisk struct {
	on    atomic.Bool
	match func(vfs.Op) bool
	err   error
	hits  atomic.Int32
}

func (b *brokenDisk) inject(op vfs.Op) error {
	if b.on.Load() && b.match(op) {
		b.hits.Add(1)
		return b.err
	}
	return nil
}

func faultyNode(t *testing.T, b *brokenDisk, sets map[string]string) (*Node, *vfs.Mem) {
	t.Helper()
	disk := vfs.NewMem()
	o := testOptions(t, vfs.Fault{FS: disk, Inject: b.inject}, "/data", sets)
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	register(t, n, 1, -1)
	createTopic(t, n, "before", 1)
	return n, disk
}

// TestBrokenWALRefusesChanges: after a failed write the controller says why it changes nothing,
// tells clients a storage error, never writes again, and reading goes on.
func TestBrokenWALRefusesChanges(t *testing.T) {
	onWAL := func(kind vfs.Kind) func(vfs.Op) bool {
		return func(op vfs.Op) bool { return op.Kind == kind && strings.HasSuffix(op.Name, walSuffix) }
	}
	for name, b := range map[string]*brokenDisk{
		"EIO on write":                  {match: onWAL(vfs.OpWrite), err: syscall.EIO},
		"ENOSPC on write":               {match: onWAL(vfs.OpWrite), err: syscall.ENOSPC},
		"full in the middle of a write": {match: onWAL(vfs.OpWrite), err: &vfs.ShortWrite{N: 30, Err: syscall.ENOSPC}},
		"EIO on sync":                   {match: onWAL(vfs.OpSync), err: syscall.EIO},
		"EIO on the Kafka log":          {match: func(op vfs.Op) bool { return op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, ".log") }, err: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			n, disk := faultyNode(t, b, nil)
			b.on.Store(true)
			for range 3 {
				_, err := n.Request(context.Background(), createRequest(false, topicOf("after", 1, 1)))
				var refused *UnavailableError
				if !errors.As(err, &refused) || protocol.CodeOf(err) != protocol.CodeKafkaStorageError {
					t.Fatalf("create gave %v (code %d)", err, protocol.CodeOf(err))
				}
				if !errors.As(err, ptr(new(WALError))) && !errors.As(err, ptr(new(KraftLogError))) {
					t.Errorf("the error does not name the file: %v", err)
				}
				b.on.Store(false) // the disk works again, but what is on it is unknown
			}
			if hits := b.hits.Load(); hits != 1 {
				t.Errorf("%d calls failed: a failed write was tried again", hits)
			}
			if n.Image().Topic("before") == nil || n.Image().Topic("after") != nil {
				t.Error("the image does not show the last acknowledged state")
			}
			if _, err := n.Request(context.Background(), kmsg.NewPtrDescribeQuorumRequest()); err != nil {
				t.Errorf("reading gave %v", err)
			}
			if err := n.Close(); err != nil && name != "EIO on sync" {
				t.Errorf("close: %v", err)
			}
			restarted, err := Open(testOptions(t, disk, "/data", nil))
			if err != nil {
				t.Fatal(err)
			}
			defer restarted.Close()
			if restarted.Image().Topic("before") == nil {
				t.Error("an acknowledged topic is gone after the restart")
			}
			checkCreates(t, restarted)
		})
	}
}

func checkCreates(t *testing.T, n *Node) {
	t.Helper()
	if n.Image().Broker(1).Fenced {
		register(t, n, 2, n.Image().Broker(1).Epoch)
	}
	if got := createTopic(t, n, "again", 1); got.ErrorCode != 0 {
		t.Errorf("create gave %d %s", got.ErrorCode, *got.ErrorMessage)
	}
}

// TestFailedSnapshotKeepsTheLog: a snapshot that cannot be written costs nothing; later ones work.
func TestFailedSnapshotKeepsTheLog(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpOpen, vfs.OpWrite, vfs.OpSync, vfs.OpRename} {
		t.Run(string(kind), func(t *testing.T) {
			b := &brokenDisk{err: syscall.ENOSPC, match: func(op vfs.Op) bool { return op.Kind == kind && strings.HasSuffix(op.Name, ".checkpoint.part") }}
			b.on.Store(true)
			n, disk := faultyNode(t, b, map[string]string{"metadata.log.max.record.bytes.between.snapshots": "500"})
			for _, name := range []string{"a", "b", "c"} {
				if got := createTopic(t, n, name, 10); got.ErrorCode != 0 {
					t.Fatalf("create gave %d", got.ErrorCode)
				}
			}
			waitFor(t, "a snapshot to fail", func() bool { return b.hits.Load() > 0 })
			b.on.Store(false)
			for i := 0; len(files(t, disk, healDir, ".checkpoint")) < 2; i++ { // one failed attempt may still be under way
				createTopic(t, n, fmt.Sprintf("later-%d", i), 10)
			}
			want := imageBytes(t, n.Image())
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			reopened(t, disk, want)
		})
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestOpenSaysWhatIsWrong: errors of the start name the file and keep their cause.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpMkdir, vfs.OpReadDir, vfs.OpOpen, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRename, vfs.OpTruncate} {
		b := &brokenDisk{err: syscall.EACCES, match: func(op vfs.Op) bool { return op.Kind == kind }}
		b.on.Store(true)
		o := testOptions(t, vfs.Fault{FS: vfs.NewMem(), Inject: b.inject}, "/data", nil)
		if _, err := Open(o); !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "/data") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
