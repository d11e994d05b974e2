package metadata

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/vfs"
)

// crashWorld runs one node over and over on a disk that loses its unsynced bytes and directory
// entries at a random call, and checks that each start shows the acknowledged state.
type crashWorld struct {
	t           *testing.T
	rnd         *rand.Rand
	disk        *vfs.Mem
	left        int // changing calls until the crash
	after       *vfs.Mem
	now         time.Time
	incarnation byte
	// allowed are the states a start may show: the acknowledged one, and the one that was being
	// committed when the disk crashed.
	allowed map[string]allowedState
	crashes int
	cleans  int
}

// TestCrashLosesNothing: whatever call the power cut hits, no acknowledged change is lost, none is
// half there, and the Kafka log equals the write-ahead log.
func TestCrashLosesNothing(t *testing.T) {
	seeds := 250
	if testing.Short() {
		seeds = 40
	}
	crashes, cleans := 0, 0
	for seed := range seeds {
		w := &crashWorld{t: t, rnd: rand.New(rand.NewSource(int64(seed))), disk: vfs.NewMem(), now: time.UnixMilli(1_700_000_000_000)}
		w.allowed = map[string]allowedState{"nothing": {}}
		for range 8 {
			if w.life(); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		crashes, cleans = crashes+w.crashes, cleans+w.cleans
	}
	t.Logf("%d seeds, %d crashes, %d clean stops", seeds, crashes, cleans)
	if crashes < seeds || cleans < seeds {
		t.Errorf("only %d crashes and %d clean stops happened", crashes, cleans)
	}
}

var errPowerCut = errors.New("power cut")

// inject crashes the disk in front of a call that would change it.
func (w *crashWorld) inject(op vfs.Op) error {
	if w.after != nil {
		return errPowerCut
	}
	if op.Kind == vfs.OpRead || op.Kind == vfs.OpReadDir || op.Kind == vfs.OpStat || op.Kind == vfs.OpClose {
		return nil
	}
	if w.left--; w.left > 0 {
		return nil
	}
	rnd := w.rnd
	if w.rnd.Intn(3) == 0 {
		rnd = nil // nothing unsynced survives
	}
	w.after = w.disk.Crash(rnd)
	return errPowerCut
}

func (w *crashWorld) options() Options {
	o := testOptions(w.t, vfs.Fault{FS: w.disk, Inject: w.inject}, "/data", map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "4000", "metadata.log.max.snapshot.interval.ms": "0",
	})
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	o.Rand = w.rnd
	o.Now = func() time.Time { w.now = w.now.Add(time.Second); return w.now }
	return o
}

// life opens the node, checks it, works until the crash or a clean stop, and leaves the disk to the
// next life.
func (w *crashWorld) life() {
	w.left = 1 + w.rnd.Intn(120)
	if w.rnd.Intn(4) == 0 {
		w.left = 1 << 30
	}
	if err := w.disk.MkdirAll("/data"); err != nil {
		w.t.Fatal(err)
	}
	_ = w.disk.SyncDir("/") // the parent of the data directory is not this package's business
	n, err := newNode(w.options())
	switch {
	case err != nil && w.after == nil:
		w.t.Errorf("start: %v", err)
		return
	case err == nil:
		w.checkState(n)
		w.work(n)
		if err := n.stop(); err != nil && w.after == nil {
			w.t.Errorf("stop: %v", err)
		}
	}
	if w.after == nil {
		w.cleans++
		checkAgreement(w.t, w.disk, "/data", "testClusterTestCluster")
		return
	}
	w.crashes++
	w.disk, w.after = w.after, nil
}

// checkState compares the state after a start with the allowed ones.
func (w *crashWorld) checkState(n *Node) {
	got := w.state(n.log.image)
	for _, want := range w.allowed {
		if want.bytes == got.bytes || want.bytes == "" {
			w.allowed = map[string]allowedState{"acknowledged": got}
			return
		}
	}
	for name, want := range w.allowed {
		w.t.Errorf("the start does not show the %s state (-want +got):\n%s", name, cmp.Diff(imageText(w.t, want.img), imageText(w.t, got.img)))
	}
}

// allowedState is one state a start may show.
type allowedState struct {
	bytes string
	img   *Image
}

func (w *crashWorld) state(img *Image) allowedState { return allowedState{imageBytes(w.t, img), img} }

// work sends requests and writes snapshots until the disk crashes or there is enough.
func (w *crashWorld) work(n *Node) {
	var write func() snapshotResult
	defer func() { n.writing = false }() // a snapshot begun and not written dies with this life
	for range 5 + w.rnd.Intn(25) {
		base := n.log.image
		speculative, records := base, []Record(nil)
		for range 1 + w.rnd.Intn(3) {
			speculative, records = n.decide(&call{req: w.request(n, speculative)}, speculative, records)
		}
		w.allowed["in flight"] = w.state(speculative)
		if err := n.commit(base, records); err != nil {
			if w.after == nil {
				w.t.Errorf("commit: %v", err)
			}
			return
		}
		got := w.state(n.log.image)
		if got.bytes != w.allowed["in flight"].bytes {
			w.t.Errorf("the committed state differs from the decided one (-decided +committed):\n%s", cmp.Diff(imageText(w.t, speculative), imageText(w.t, n.log.image)))
		}
		w.allowed = map[string]allowedState{"acknowledged": got}
		if write == nil && n.snapshotDue() {
			write = n.beginSnapshot()
		}
		if write != nil && w.rnd.Intn(3) == 0 {
			n.snapshotDone(write())
			write = nil
		}
	}
}

// request draws a request; most of them change something.
func (w *crashWorld) request(n *Node, img *Image) kmsg.Request {
	broker := img.Broker(1)
	name := fmt.Sprintf("topic-%d", w.rnd.Intn(12))
	switch roll := w.rnd.Intn(12); {
	case broker == nil || roll == 0:
		w.incarnation++
		return registrationRequest(1, w.incarnation, []int64{-1, epochOf(broker)}[w.rnd.Intn(2)])
	case roll <= 2:
		return heartbeatRequest(broker, w.rnd.Intn(5) == 0, w.rnd.Intn(6) == 0)
	case roll <= 6:
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(w.rnd.Intn(8)), 1
		value := fmt.Sprint(w.rnd.Intn(1000))
		topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: &value}}
		req.Version, req.Topics = 7, []kmsg.CreateTopicsRequestTopic{topic}
		return req
	case roll <= 8:
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.Topics = 6, []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
		return req
	case roll == 9:
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		value := fmt.Sprint(1 + w.rnd.Intn(3))
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.insync.replicas", Value: &value}},
		}}
		return req
	case roll == 10:
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: int32(w.rnd.Intn(12))}}
		return req
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = 1, broker.Epoch
	return req
}

func epochOf(b *Broker) int64 {
	if b == nil {
		return -1
	}
	return b.Epoch
}

func registrationRequest(id int32, incarnation byte, previous int64) *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID, req.IncarnationID = 4, id, "testClusterTestCluster", [16]byte{incarnation}
	dir := testDirectory
	dir[14] += byte(id - 1)
	req.LogDirs, req.PreviousBrokerEpoch = [][16]byte{dir}, previous
	req.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: "localhost", Port: 9092}}
	for _, name := range sortedKeys(SupportedFeatures()) {
		r := SupportedFeatures()[name]
		req.Features = append(req.Features, kmsg.BrokerRegistrationRequestFeature{Name: name, MinSupportedVersion: r.Min, MaxSupportedVersion: r.Max})
	}
	return req
}

func heartbeatRequest(b *Broker, fence, shutdown bool) *kmsg.BrokerHeartbeatRequest {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = 1, b.ID, b.Epoch, b.Epoch
	req.WantFence, req.WantShutdown = fence, shutdown
	return req
}

// TestCrashCheckerSeesALostChange proves the checker of this file: with a disk whose syncs do nothing
// it must fail.
func TestCrashCheckerSeesALostChange(t *testing.T) {
	lost := false
	for seed := 0; seed < 50 && !lost; seed++ {
		disk := vfs.NewMem()
		o := testOptions(t, noSync{disk}, "/data", nil)
		if err := disk.MkdirAll("/data"); err != nil {
			t.Fatal(err)
		}
		n, err := newNode(o)
		if err != nil {
			t.Fatal(err)
		}
		_, records := n.decide(&call{req: registrationRequest(1, 1, -1)}, n.log.image, nil)
		if err := n.commit(n.log.image, records); err != nil {
			t.Fatal(err)
		}
		o.FS = disk.Crash(rand.New(rand.NewSource(int64(seed))))
		again, err := newNode(o)
		lost = err != nil || again.log.image.Broker(1) == nil
	}
	if !lost {
		t.Error("50 power cuts on a disk without sync lost nothing: the crashing disk does not crash")
	}
}

// noSync forgets syncs.
type noSync struct{ vfs.FS }

func (f noSync) SyncDir(string) error { return nil }

func (f noSync) OpenFile(name string, flag int) (vfs.File, error) {
	file, err := f.FS.OpenFile(name, flag)
	return noSyncFile{file}, err
}

type noSyncFile struct{ vfs.File }

func (noSyncFile) Sync() error { return nil }
