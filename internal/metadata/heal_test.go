package metadata

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

const healDir = "/data/" + metadataDir

// workedNode leaves a directory with two snapshots and some log behind them, and the state it had.
func workedNode(t *testing.T) (*vfs.Mem, string) {
	t.Helper()
	fsys := vfs.NewMem()
	n, err := newNode(testOptions(t, fsys, "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	commit := func(name string) {
		decided, records := n.decide(&call{req: createRequest(false, topicOf(name, 2, 1))}, n.log.image, nil)
		if err := n.commit(n.log.image, records); err != nil || decided.Topic(name) == nil {
			t.Fatalf("topic %s: %v", name, err)
		}
	}
	_, records := n.decide(&call{req: registrationRequest(1, 1, -1)}, n.log.image, nil)
	if err := n.commit(n.log.image, records); err != nil {
		t.Fatal(err)
	}
	_, records = n.decide(&call{req: heartbeatRequest(n.log.image.Broker(1), false, false)}, n.log.image, nil)
	if err := n.commit(n.log.image, records); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		commit(name)
		n.snapshotDone(n.beginSnapshot()())
	}
	commit("last")
	state := imageBytes(t, n.log.image)
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	return fsys, state
}

// reopened starts a node, checks its state and stops it.
func reopened(t *testing.T, fsys vfs.FS, want string) {
	t.Helper()
	o := testOptions(t, fsys, "/data", nil)
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) // it complains about the damage
	n, err := newNode(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := imageBytes(t, n.log.image); got != want {
		t.Errorf("the state differs:\n%s", imageText(t, n.log.image))
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	checkAgreement(t, fsys, "/data", "testClusterTestCluster")
}

func files(t *testing.T, fsys vfs.FS, dir, suffix string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

func patch(t *testing.T, fsys vfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := vfs.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(fsys, name, change(data)); err != nil {
		t.Fatal(err)
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 0x40
		return b
	}
}

// TestKeepsTwoSnapshots: the older ones and what only they needed are gone.
func TestKeepsTwoSnapshots(t *testing.T) {
	fsys, state := workedNode(t)
	checkpoints, segments, wals := files(t, fsys, healDir, ".checkpoint"), files(t, fsys, healDir, ".log"), files(t, fsys, filepath.Join(healDir, raftDir), ".wal")
	if len(checkpoints) != 2 || len(segments) != 2 || len(wals) != 2 {
		t.Errorf("%d snapshots, %d segments, %d WAL files are kept: %v %v %v", len(checkpoints), len(segments), len(wals), checkpoints, segments, wals)
	}
	reopened(t, fsys, state)
}

// TestDamagedSnapshotFallsBack: with the newest snapshot damaged, the one before and the WAL behind
// it give the same state, and the damaged file is set aside.
func TestDamagedSnapshotFallsBack(t *testing.T) {
	for _, at := range []int{10, 70, 300, -3} {
		fsys, state := workedNode(t)
		newest := files(t, fsys, healDir, ".checkpoint")[1]
		patch(t, fsys, newest, flip(at))
		reopened(t, fsys, state)
		if left := files(t, fsys, healDir, ".damaged"); len(left) != 1 || left[0] != newest+".damaged" {
			t.Errorf("byte %d: set aside are %v", at, left)
		}
	}
}

// TestTwoDamagedSnapshotsStopTheNode: nothing is skipped silently.
func TestTwoDamagedSnapshotsStopTheNode(t *testing.T) {
	fsys, _ := workedNode(t)
	for _, name := range files(t, fsys, healDir, ".checkpoint") {
		patch(t, fsys, name, flip(200))
	}
	var damaged *WALError
	o := testOptions(t, fsys, "/data", nil)
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	if _, err := Open(o); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("the start gave %v", err)
	}
}

// TestSnapshotOfANewerVersionIsKept: a snapshot with a record we do not know stops the start and is
// not renamed.
func TestSnapshotOfANewerVersionIsKept(t *testing.T) {
	fsys, _ := workedNode(t)
	newest := files(t, fsys, healDir, ".checkpoint")[1]
	patch(t, fsys, newest, func(b []byte) []byte {
		head, rest, err := record.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		data, foot, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		o := record.Plain()
		o.BaseOffset = data.BaseOffset()
		later := record.NewBuilder(o)
		later.AppendAt(data.LastOffset(), 1, nil, []byte{1, 99, 0, 0}, nil)
		batch, err := later.Build()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(head, batch, foot)
	})
	var unknown *kafkarecord.UnknownRecordError
	if _, err := Open(testOptions(t, fsys, "/data", nil)); !errors.As(err, &unknown) || !strings.Contains(err.Error(), filepath.Base(newest)) {
		t.Errorf("the start gave %v", err)
	}
	if left := files(t, fsys, healDir, ".damaged"); len(left) != 0 {
		t.Errorf("set aside: %v", left)
	}
}

// TestKafkaLogIsHealed damages the derived log in every way; it is written again from the WAL.
func TestKafkaLogIsHealed(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, fsys vfs.FS){
		"torn end": func(t *testing.T, fsys vfs.FS) {
			patch(t, fsys, files(t, fsys, healDir, ".log")[1], func(b []byte) []byte { return b[:len(b)-7] })
		},
		"flipped byte": func(t *testing.T, fsys vfs.FS) { patch(t, fsys, files(t, fsys, healDir, ".log")[1], flip(80)) },
		"history gone": func(t *testing.T, fsys vfs.FS) {
			if err := fsys.Remove(files(t, fsys, healDir, ".log")[0]); err != nil {
				t.Fatal(err)
			}
		},
		"all gone": func(t *testing.T, fsys vfs.FS) {
			for _, f := range files(t, fsys, healDir, ".log") {
				if err := fsys.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		},
		"empty": func(t *testing.T, fsys vfs.FS) {
			for _, f := range files(t, fsys, healDir, ".log") {
				patch(t, fsys, f, func([]byte) []byte { return nil })
			}
		},
		"zeroes behind the end": func(t *testing.T, fsys vfs.FS) {
			patch(t, fsys, files(t, fsys, healDir, ".log")[1], func(b []byte) []byte { return append(b, make([]byte, 500)...) })
		},
		"epochs unreadable": func(t *testing.T, fsys vfs.FS) {
			patch(t, fsys, filepath.Join(healDir, "leader-epoch-checkpoint"), func([]byte) []byte { return []byte("0\n1\nx y\n") })
		},
		"small files gone": func(t *testing.T, fsys vfs.FS) {
			for _, f := range []string{"leader-epoch-checkpoint", "quorum-state", "partition.metadata"} {
				if err := fsys.Remove(filepath.Join(healDir, f)); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, state := workedNode(t)
			damage(t, fsys)
			reopened(t, fsys, state)
			for _, f := range []string{"leader-epoch-checkpoint", "quorum-state", "partition.metadata"} {
				if _, err := fsys.Stat(filepath.Join(healDir, f)); err != nil {
					t.Error(err)
				}
			}
			reopened(t, fsys, state)
		})
	}
}

// TestLostWALIsTakenOverFromTheKafkaLog: without the WAL the Kafka log says everything.
func TestLostWALIsTakenOverFromTheKafkaLog(t *testing.T) {
	fsys, state := workedNode(t)
	if err := fsys.RemoveAll(filepath.Join(healDir, raftDir)); err != nil {
		t.Fatal(err)
	}
	reopened(t, fsys, state)
	reopened(t, fsys, state)
}

// TestConflictingTailsNeedAPerson: Kafka went on from an older end than ours.
func TestConflictingTailsNeedAPerson(t *testing.T) {
	fsys, _ := workedNode(t)
	patch(t, fsys, files(t, fsys, healDir, ".log")[1], func(b []byte) []byte {
		first, _, err := record.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		o := record.Plain()
		o.BaseOffset, o.PartitionLeaderEpoch = first.BaseOffset(), 9
		other := record.NewBuilder(o)
		other.Append(1, nil, []byte{1, 20, 0, 0}, nil)
		batch, err := other.Build()
		if err != nil {
			t.Fatal(err)
		}
		return batch
	})
	var conflict *KraftLogError
	if _, err := Open(testOptions(t, fsys, "/data", nil)); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "epoch 9") {
		t.Errorf("the start gave %v", err)
	}
}

// TestUnknownRecordStopsTheNode names the record and where it is.
func TestUnknownRecordStopsTheNode(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll(healDir); err != nil {
		t.Fatal(err)
	}
	o := record.Plain()
	o.PartitionLeaderEpoch = 1
	b := record.NewBuilder(o)
	b.Append(1, nil, []byte{1, 99, 0, 0}, nil)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(fsys, segmentName(healDir, 0), batch); err != nil {
		t.Fatal(err)
	}
	var replay *ReplayError
	if _, err := Open(testOptions(t, fsys, "/data", nil)); !errors.As(err, &replay) || replay.Offset != 0 || !strings.Contains(err.Error(), "type 99 is not known") {
		t.Errorf("the start gave %v", err)
	}
}

// TestSegmentsRollBySize: the Kafka log is cut into files, and read and healed over them.
func TestSegmentsRollBySize(t *testing.T) {
	fsys := vfs.NewMem()
	n, err := newNode(testOptions(t, fsys, "/data", map[string]string{"metadata.log.segment.bytes": "8388608"}))
	if err != nil {
		t.Fatal(err)
	}
	n.log.kafka.segmentBytes = 700 // below what the property allows
	for i := range 20 {
		value := strings.Repeat("x", 50+i)
		records := []Record{{&kafkarecord.ConfigRecord{ResourceType: 4, ResourceName: "1", Name: value, Value: &value}, 0}}
		if err := n.commit(n.log.image, records); err != nil {
			t.Fatal(err)
		}
	}
	state := imageBytes(t, n.log.image)
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, fsys, healDir, ".log"); len(got) < 5 {
		t.Errorf("segments: %v", got)
	}
	reopened(t, fsys, state)
	patch(t, fsys, files(t, fsys, healDir, ".log")[2], flip(100))
	reopened(t, fsys, state)
}
