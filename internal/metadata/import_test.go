package metadata

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

// kafkaOptions are those of the node that wrote testdata/kafka.
func kafkaOptions(t *testing.T, fsys vfs.FS) Options {
	t.Helper()
	o := testOptions(t, fsys, "/data", nil)
	var err error
	if o.DirectoryID, err = kafkarecord.ParseUUID("DtWhkYEJSQmkIJtlNCS5XQ"); err != nil {
		t.Fatal(err)
	}
	o.ClusterID = "dTzGXtO_SdW39o77TiRAgw"
	return o
}

// TestTakesOverKafkasDirectory starts on a directory that only Apache Kafka ever wrote.
func TestTakesOverKafkasDirectory(t *testing.T) {
	fsys := vfs.NewMem()
	copyDir(t, "testdata/kafka", fsys, "/data/"+metadataDir)
	o := kafkaOptions(t, fsys)
	want := replayLog(t, fsys, "/data/"+metadataDir, NewImage(o.ClusterID))
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	img := n.Image()
	if img.epoch != want.epoch+1 || img.offset <= want.offset {
		t.Errorf("the log goes on at offset %d in epoch %d, Kafka's ended at %d in %d", img.offset, img.epoch, want.offset, want.epoch)
	}
	if diff := cmp.Diff(withoutControllers(imageText(t, want)), withoutControllers(imageText(t, img))); diff != "" {
		t.Errorf("(-Kafka +ours):\n%s", diff)
	}
	if got := createTopic(t, n, "gone", 2); got.ErrorCode != 38 { // its broker is fenced
		t.Errorf("create gave %d", got.ErrorCode)
	}
	if diff := cmp.Diff(map[string]int16{"metadata.version": 33, "eligible.leader.replicas.version": 1, "kraft.version": 1}, img.Features()); diff != "" {
		t.Errorf("features shown, although Kafka finalised more (-want +got):\n%s", diff)
	}
	again := registrationRequest(1, 7, img.Broker(1).Epoch)
	again.ClusterID, again.LogDirs = o.ClusterID, [][16]byte{o.DirectoryID}
	if resp := request[*kmsg.BrokerRegistrationResponse](t, n, again); resp.ErrorCode != 0 {
		t.Fatalf("registration gave %d", resp.ErrorCode)
	}
	request[*kmsg.BrokerHeartbeatResponse](t, n, heartbeatRequest(n.Image().Broker(1), false, false))
	if p := n.Image().Topic("wide").Partitions[99]; p.Leader != 1 || p.Recovering {
		t.Errorf("after the registration: %+v", p)
	}
	if got := createTopic(t, n, "gone", 2); got.ErrorCode != 0 {
		t.Errorf("create gave %d", got.ErrorCode)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	checkAgreement(t, fsys, "/data", o.ClusterID)
	if n, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if got, err := n.Image(), n.Close(); got.Topic("wide").ID != want.Topic("wide").ID || err != nil {
		t.Errorf("after a restart topic wide is %v, %v", got.Topic("wide"), err)
	}
}

func withoutControllers(text string) string {
	var keep []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "REGISTER_CONTROLLER") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

// TestTakesOverKafkasTail starts on a directory of ours on which Apache Kafka ran afterwards.
func TestTakesOverKafkasTail(t *testing.T) {
	fsys := vfs.NewMem()
	copyDir(t, "testdata/after-kafka", fsys, "/data/"+metadataDir)
	o := testOptions(t, fsys, "/data", nil)
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if topic := n.Image().Topic("fromkafka"); topic == nil || len(topic.Partitions) != 2 {
		t.Errorf("the topic that Kafka created is %+v", topic)
	}
	if topic := n.Image().Topic("orders"); topic == nil || len(topic.Partitions) != 3 {
		t.Errorf("the topic from before is %+v", topic)
	}
	if _, epoch := n.Image().Offset(); epoch != 4 {
		t.Errorf("the epoch is %d, Kafka's was 3", epoch)
	}
	b := n.Image().Broker(1)
	if b.Epoch <= 85 || !b.Fenced { // 85 was the end of our own log
		t.Errorf("broker %+v", b)
	}
	register(t, n, 9, b.Epoch)
	if p := n.Image().Topic("fromkafka").Partitions[1]; p.Leader != 1 {
		t.Errorf("after registration: %+v", p)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	checkAgreement(t, fsys, "/data", o.ClusterID)
}

// TestKafkasDamagedLogIsNotCut: a torn end is cut off, damage in the middle stops the start.
func TestKafkasDamagedLogIsNotCut(t *testing.T) {
	segment := segmentName(healDir, 0)
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		damage bool
	}{
		{"torn end", func(b []byte) []byte { return b[:len(b)-9] }, false},
		{"garbage behind the end", func(b []byte) []byte {
			return append(b, "some rubbish that is no batch, but long enough to look at twice...."...)
		}, false},
		{"flipped byte", flip(12000), true},
	} {
		fsys := vfs.NewMem()
		copyDir(t, "testdata/kafka", fsys, healDir)
		patch(t, fsys, segment, c.change)
		n, err := Open(kafkaOptions(t, fsys))
		var damage *KraftLogError
		switch {
		case c.damage && (!errors.As(err, &damage) || !strings.Contains(err.Error(), "intact")):
			t.Errorf("%s: %v", c.name, err)
		case !c.damage && err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRefusesTheLogOfAnotherNode names what differs.
func TestRefusesTheLogOfAnotherNode(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"cluster":   func(o *Options) { o.ClusterID = "anotherClusterAnother1" },
		"node":      func(o *Options) { o.NodeID = 2 },
		"directory": func(o *Options) { o.DirectoryID[0]++ },
	} {
		for _, files := range []string{"kafka", "after-kafka"} {
			if files == "kafka" && name == "cluster" {
				continue // Kafka's log does not hold the cluster id; meta.properties does
			}
			fsys := vfs.NewMem()
			copyDir(t, "testdata/"+files, fsys, "/data/"+metadataDir)
			o := testOptions(t, fsys, "/data", nil)
			if files == "kafka" {
				o = kafkaOptions(t, fsys)
			}
			change(&o)
			var identity *IdentityError
			if _, err := Open(o); !errors.As(err, &identity) {
				t.Errorf("%s, other %s: %v", files, name, err)
			}
		}
	}
}

// TestStartsFromKafkasFormat uses the levels that kafka-storage chose, as far as they are supported.
func TestStartsFromKafkasFormat(t *testing.T) {
	fsys := vfs.NewMem()
	data, err := os.ReadFile("testdata/kafka/00000000000000000000-0000000000.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll("/data/" + metadataDir); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(fsys, filepath.Join("/data", metadataDir, checkpointID{}.name()), data); err != nil {
		t.Fatal(err)
	}
	n, err := Open(kafkaOptions(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int16{"metadata.version": 33, "eligible.leader.replicas.version": 1, "kraft.version": 1}
	if diff := cmp.Diff(want, n.Image().Features()); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkAgreement proves that the Kafka log and the WAL say the same: every batch the WAL holds is in
// the Kafka log byte by byte, which ends with it, and both give the image of a start.
func checkAgreement(t testing.TB, fsys vfs.FS, dir, clusterID string) {
	t.Helper()
	kafkaDir := filepath.Join(dir, metadataDir)
	ids, err := listCheckpoints(fsys, kafkaDir)
	if err != nil {
		t.Fatal(err)
	}
	usable := func(b walBase) bool {
		_, err := readCheckpoint(fsys, kafkaDir, checkpointID{b.nextOffset, b.epoch}, clusterID)
		return err == nil
	}
	state, w, err := recoverWAL(fsys, filepath.Join(kafkaDir, raftDir), usable)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	fromWAL := NewImage(clusterID)
	if state.base.nextOffset > 0 {
		if fromWAL, err = readCheckpoint(fsys, kafkaDir, checkpointID{state.base.nextOffset, state.base.epoch}, clusterID); err != nil {
			t.Fatal(err)
		}
	}
	want, err := state.batches()
	if err != nil {
		t.Fatal(err)
	}
	d := newDraft(fromWAL)
	l := metaLog{}
	for _, b := range want {
		if err := d.replayBatch(&l.dec, b); err != nil {
			t.Fatal(err)
		}
	}
	fromWAL = d.finish()
	compareWithKafkaLog(t, fsys, kafkaDir, state.base.nextOffset, want)
	log, err := openKraftLog(fsys, kafkaDir)
	if err != nil {
		t.Fatal(err)
	}
	start := NewImage(clusterID)
	for _, id := range ids { // newest first: the oldest from which the log goes on
		if log.start() > 0 && id.end >= log.start() {
			if start, err = readCheckpoint(fsys, kafkaDir, id, clusterID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(imageText(t, fromWAL), imageText(t, replayLog(t, fsys, kafkaDir, start))); diff != "" {
		t.Errorf("state (-WAL +Kafka log):\n%s", diff)
	}
}

func compareWithKafkaLog(t testing.TB, fsys vfs.FS, dir string, from int64, want batchList) {
	t.Helper()
	l, err := openKraftLog(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.batches(from, func(b record.Batch) (bool, error) {
		switch {
		case b.LastOffset() < from:
		case len(want) == 0:
			t.Errorf("the Kafka log goes on behind the WAL with offset %d", b.BaseOffset())
			return false, nil
		case !bytes.Equal(b, want[0]):
			t.Errorf("the Kafka log differs from the WAL at offset %d", want[0].BaseOffset())
			return false, nil
		default:
			want = want[1:]
		}
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 {
		t.Errorf("the Kafka log lacks the WAL's records from offset %d on", want[0].BaseOffset())
	}
}
