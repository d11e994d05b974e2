package metadata

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

// imageText writes the whole state of an image as text, for comparison.
func imageText(t testing.TB, img *Image) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range img.records() {
		b.Write(kafkarecord.AppendJSON(nil, r.Message, r.Version))
		b.WriteByte('\n')
	}
	if img.voters != nil {
		b.Write(kafkarecord.AppendJSON(nil, img.voters, 0))
	}
	return b.String()
}

// imageBytes is imageText in a form that is cheaper to make.
func imageBytes(t testing.TB, img *Image) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range img.records() {
		if _, controller := r.Message.(*kafkarecord.RegisterControllerRecord); controller {
			continue // new at each start
		}
		value, err := kafkarecord.EncodeMetadata(r.Message, r.Version)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(value)
	}
	return b.String()
}

// copyDir copies a directory tree of this machine into a file system.
func copyDir(t testing.TB, from string, fsys vfs.FS, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if e.IsDir() {
			return fsys.MkdirAll(filepath.Join(to, rel))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return vfs.WriteFileAtomic(fsys, filepath.Join(to, rel), data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replayLog builds an image from a Kafka log, starting from an image.
func replayLog(t testing.TB, fsys vfs.FS, dir string, img *Image) *Image {
	t.Helper()
	l, err := openKraftLog(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	var dec record.Decompressor
	if err := l.batches(img.offset+1, func(b record.Batch) (bool, error) {
		if b.LastOffset() <= img.offset {
			return true, nil
		}
		d := newDraft(img)
		if err := d.replayBatch(&dec, b); err != nil {
			return false, err
		}
		img = d.finish()
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return img
}

// TestKafkasSnapshotIsKafkasLog: the log of a real node, and its snapshot with the log behind it,
// give the same state.
func TestKafkasSnapshotIsKafkasLog(t *testing.T) {
	fsys := vfs.NewMem()
	copyDir(t, "testdata/kafka", fsys, "/d")
	fromLog := replayLog(t, fsys, "/d", NewImage("c"))
	ids, err := listCheckpoints(fsys, "/d")
	if err != nil || len(ids) != 2 {
		t.Fatalf("checkpoints %v, %v", ids, err)
	}
	snapshot, err := readCheckpoint(fsys, "/d", ids[0], "c")
	if err != nil {
		t.Fatal(err)
	}
	fromSnapshot := replayLog(t, fsys, "/d", snapshot)
	if fromLog.offset != fromSnapshot.offset || fromLog.offset < 240 {
		t.Errorf("the log ends at %d, with the snapshot at %d", fromLog.offset, fromSnapshot.offset)
	}
	if diff := cmp.Diff(imageText(t, fromLog), imageText(t, fromSnapshot)); diff != "" {
		t.Errorf("(-log +snapshot):\n%s", diff)
	}
	if p := fromLog.Topic("wide").Partitions; len(p) != 100 || p[99].Leader != NoLeader || !slices.Equal(p[99].ELR, []int32{1}) {
		t.Errorf("topic wide has %d partitions, the last is %+v", len(p), p[len(p)-1])
	}
	if fromLog.Topic("gone") != nil || len(fromLog.Topic("orders").Partitions) != 5 || fromLog.Features()["kraft.version"] != 1 {
		t.Errorf("topics %v, features %v", fromLog.Topics(), fromLog.Features())
	}
	if len(fromLog.scram) != 1 || len(fromLog.quotas) != 1 {
		t.Errorf("%d credentials and %d quotas, one each was set", len(fromLog.scram), len(fromLog.quotas))
	}
}

// TestOurSnapshotOfKafkasState: what we write as a snapshot reads back the same, and its records are
// those of Kafka's own snapshot.
func TestOurSnapshotOfKafkasState(t *testing.T) {
	fsys := vfs.NewMem()
	copyDir(t, "testdata/kafka", fsys, "/d")
	ids, err := listCheckpoints(fsys, "/d")
	if err != nil {
		t.Fatal(err)
	}
	img, err := readCheckpoint(fsys, "/d", ids[0], "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll("/ours"); err != nil {
		t.Fatal(err)
	}
	id, err := writeCheckpoint(fsys, "/ours", img, 1)
	if err != nil || id != ids[0] {
		t.Fatalf("wrote %v, want %v: %v", id, ids[0], err)
	}
	again, err := readCheckpoint(fsys, "/ours", id, "c")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(imageText(t, img), imageText(t, again)); diff != "" {
		t.Errorf("(-Kafka +ours):\n%s", diff)
	}
	theirs, ours := snapshotValues(t, fsys, "/d", id), snapshotValues(t, fsys, "/ours", id)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("record values, sorted (-Kafka +ours):\n%s", diff)
	}
}

// snapshotValues returns the record values of a snapshot as JSON, sorted: Kafka's order follows its
// hash maps. The order of features inside a registration too, and is normalised.
func snapshotValues(t *testing.T, fsys vfs.FS, dir string, id checkpointID) []string {
	t.Helper()
	f, err := fsys.OpenFile(filepath.Join(dir, id.name()), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := batchReader{file: f}
	var dec record.Decompressor
	var values []string
	for {
		b, err := r.next()
		if err != nil {
			break
		}
		if b.IsControl() {
			continue
		}
		if err := dec.Walk(b, func(r record.Record) error {
			m, v, err := kafkarecord.DecodeMetadata(r.Value)
			if err != nil {
				return err
			}
			switch m := m.(type) {
			case *kafkarecord.RegisterBrokerRecord:
				slices.SortFunc(m.Features, func(a, b kafkarecord.RegisterBrokerRecordBrokerFeature) int { return compareNames(a.Name, b.Name) })
			}
			values = append(values, string(kafkarecord.AppendJSON(nil, m, v)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(values)
	return values
}
