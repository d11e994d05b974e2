package metadata

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"klamm/internal/config"
	"klamm/internal/vfs"
)

var testDirectory = [16]byte{0: 7, 6: 0x40, 8: 0x80, 15: 9}

func testConfig(t testing.TB, sets map[string]string) *config.Broker {
	t.Helper()
	c, err := config.New(nil, sets)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testOptions(t testing.TB, fsys vfs.FS, dir string, sets map[string]string, observers ...Observer) Options {
	t.Helper()
	return Options{
		FS: fsys, Dir: dir, Config: testConfig(t, sets), NodeID: 1, ClusterID: "testClusterTestCluster",
		DirectoryID: testDirectory, Now: time.Now, Rand: rand.New(rand.NewSource(1)),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Observers: observers,
	}
}

func request[R kmsg.Response](t testing.TB, n *Node, req kmsg.Request) R {
	t.Helper()
	resp, err := n.Request(context.Background(), req)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

func register(t testing.TB, n *Node, incarnation byte, previous int64) int64 {
	t.Helper()
	req := registrationRequest(1, incarnation, previous)
	resp := request[*kmsg.BrokerRegistrationResponse](t, n, req)
	if resp.ErrorCode != 0 {
		t.Fatalf("registration gave error %d", resp.ErrorCode)
	}
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.Version, beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset = 1, 1, resp.BrokerEpoch, resp.BrokerEpoch
	if alive := request[*kmsg.BrokerHeartbeatResponse](t, n, beat); alive.ErrorCode != 0 || alive.IsFenced {
		t.Fatalf("heartbeat gave %+v", alive)
	}
	return resp.BrokerEpoch
}

func createTopic(t testing.TB, n *Node, name string, partitions int32) kmsg.CreateTopicsResponseTopic {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, -1
	req.Version, req.Topics = 7, []kmsg.CreateTopicsRequestTopic{topic}
	return request[*kmsg.CreateTopicsResponse](t, n, req).Topics[0]
}

func TestNodeKeepsTopicsOverRestart(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(testOptions(t, vfs.OS(), dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	epoch := register(t, n, 1, -1)
	if got := createTopic(t, n, "orders", 3); got.ErrorCode != 0 {
		t.Fatalf("create gave %d %s", got.ErrorCode, *got.ErrorMessage)
	}
	before := n.Image()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n, err = Open(testOptions(t, vfs.OS(), dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if n.Image().Topic("orders").ID != before.Topic("orders").ID {
		t.Error("the topic has another id after the restart")
	}
	register(t, n, 2, epoch)
	if p := n.Image().Topic("orders").Partitions[2]; p.Leader != 1 || len(p.ISR) != 1 || p.LeaderEpoch != 2 {
		t.Errorf("partition after the restart: %+v", p)
	}
}

// recorder is an Observer that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	deltas []*Delta
}

func (r *recorder) Publish(d *Delta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deltas = append(r.deltas, d)
}

func (r *recorder) newest() *Image {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deltas[len(r.deltas)-1].New
}

// TestObserversKnowBeforeTheAnswer: when a create is answered, the observers have the topic; their
// deltas form one chain from the empty image.
func TestObserversKnowBeforeTheAnswer(t *testing.T) {
	defer goleak.VerifyNone(t)
	seen := &recorder{}
	n, err := Open(testOptions(t, vfs.NewMem(), "/data", map[string]string{"metadata.log.max.record.bytes.between.snapshots": "3000"}, seen))
	if err != nil {
		t.Fatal(err)
	}
	if seen.newest() != n.Image() {
		t.Error("the observers were not told the state at the start")
	}
	register(t, n, 1, -1)
	var group sync.WaitGroup
	for i := range 40 {
		group.Add(1)
		go func() {
			defer group.Done()
			name := fmt.Sprintf("topic-%d", i)
			if got := createTopic(t, n, name, 3); got.ErrorCode != 0 {
				t.Errorf("create gave %d", got.ErrorCode)
			}
			if seen.newest().Topic(name) == nil || n.Image().Topic(name) == nil {
				t.Errorf("%s was acknowledged before it was published", name)
			}
		}()
	}
	group.Wait()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	created := 0
	for i, d := range seen.deltas {
		created += len(d.TopicsCreated)
		if i > 0 && d.Old != seen.deltas[i-1].New {
			t.Errorf("delta %d does not continue the one before", i)
		}
	}
	if created != 40 {
		t.Errorf("deltas tell of %d created topics", created)
	}
}

// TestWaitingRequestsShareAWrite: requests that wait while one is being written are committed with
// one sync.
func TestWaitingRequestsShareAWrite(t *testing.T) {
	defer goleak.VerifyNone(t)
	hold, syncs := make(chan struct{}), atomic.Int32{}
	held := atomic.Bool{}
	inject := func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, walSuffix) && held.Load() {
			syncs.Add(1)
			<-hold
		}
		return nil
	}
	n, err := Open(testOptions(t, vfs.Fault{FS: vfs.NewMem(), Inject: inject}, "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	register(t, n, 1, -1)
	held.Store(true)
	var group sync.WaitGroup
	for i := range 21 {
		group.Add(1)
		go func() {
			defer group.Done()
			createTopic(t, n, fmt.Sprintf("topic-%d", i), 1)
		}()
		if i == 0 {
			waitFor(t, "the first write", func() bool { return syncs.Load() == 1 })
		}
	}
	waitFor(t, "all requests to queue", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.queue) == 20
	})
	close(hold)
	group.Wait()
	if got := syncs.Load(); got != 2 {
		t.Errorf("21 topics took %d syncs, want 2", got)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestClosedNodeAnswers: requests queued at Close are answered, later ones refused.
func TestClosedNodeAnswers(t *testing.T) {
	defer goleak.VerifyNone(t)
	n, err := Open(testOptions(t, vfs.NewMem(), "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	register(t, n, 1, -1)
	var group sync.WaitGroup
	for i := range 50 {
		group.Add(1)
		go func() {
			defer group.Done()
			_, err := n.Request(context.Background(), createRequest(false, topicOf(fmt.Sprintf("t%d", i), 1, 1)))
			if err != nil && err != ErrClosed {
				t.Errorf("request %d: %v", i, err)
			}
		}()
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if _, err := n.Request(context.Background(), kmsg.NewPtrCreateTopicsRequest()); err != ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// TestUnknownRequestIsRefused names the kind; the node lives on.
func TestUnknownRequestIsRefused(t *testing.T) {
	n, err := Open(testOptions(t, vfs.NewMem(), "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.Request(context.Background(), kmsg.NewPtrFetchRequest()); err == nil || !strings.Contains(err.Error(), "Fetch") {
		t.Errorf("a Fetch request gave %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.Request(ctx, kmsg.NewPtrDescribeQuorumRequest()); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request gave %v", err)
	}
	register(t, n, 1, -1)
}

func TestDescribeQuorum(t *testing.T) {
	n, err := Open(testOptions(t, vfs.NewMem(), "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}}}
	resp := request[*kmsg.DescribeQuorumResponse](t, n, req)
	p := resp.Topics[0].Partitions[0]
	offset, _ := n.Image().Offset()
	if p.LeaderID != 1 || p.LeaderEpoch != 1 || p.HighWatermark != offset+1 || len(p.CurrentVoters) != 1 || p.CurrentVoters[0].ReplicaDirectoryID != testDirectory || len(resp.Nodes) != 1 {
		t.Errorf("%+v", resp)
	}
	req.Topics[0].Topic = "orders"
	if got := request[*kmsg.DescribeQuorumResponse](t, n, req).Topics[0].Partitions[0].ErrorCode; got != 3 {
		t.Errorf("another topic gave %d", got)
	}
}

// TestProducerIDsAreBlocks hands out blocks of 1000, also over a restart.
func TestProducerIDsAreBlocks(t *testing.T) {
	disk := vfs.NewMem()
	for restart := range 3 {
		n, err := Open(testOptions(t, disk, "/data", nil))
		if err != nil {
			t.Fatal(err)
		}
		epoch := register(t, n, byte(restart+1), -1)
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = 1, epoch
		if resp := request[*kmsg.AllocateProducerIDsResponse](t, n, req); resp.ErrorCode != 0 || resp.ProducerIDStart != int64(restart)*1000 || resp.ProducerIDLen != 1000 {
			t.Errorf("block %d: %+v", restart, resp)
		}
		req.BrokerEpoch--
		if resp := request[*kmsg.AllocateProducerIDsResponse](t, n, req); resp.ErrorCode != 77 {
			t.Errorf("a stale epoch gave %+v", resp)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSnapshotAfterTheInterval: a log with something new gets a snapshot when the interval is over,
// without further requests, and no second one while nothing happens.
func TestSnapshotAfterTheInterval(t *testing.T) {
	defer goleak.VerifyNone(t)
	disk := vfs.NewMem()
	n, err := Open(testOptions(t, disk, "/data", map[string]string{"metadata.log.max.snapshot.interval.ms": "5"}))
	if err != nil {
		t.Fatal(err)
	}
	register(t, n, 1, -1)
	createTopic(t, n, "orders", 1)
	offset, epoch := n.Image().Offset()
	waitFor(t, "the snapshot", func() bool {
		_, err := readCheckpoint(disk, healDir, checkpointID{offset + 1, epoch}, "testClusterTestCluster")
		return err == nil
	})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n.log.sinceSnapshot != 0 || n.dirtyAt != nil {
		t.Errorf("after the snapshot %d bytes count as new, timer %v", n.log.sinceSnapshot, n.dirtyAt)
	}
}

// BenchmarkOpenNew is the start on a new directory, up to a registered broker.
func BenchmarkOpenNew(b *testing.B) {
	for b.Loop() {
		n, err := Open(testOptions(b, vfs.OS(), b.TempDir(), nil))
		if err != nil {
			b.Fatal(err)
		}
		register(b, n, 1, -1)
		if err := n.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImageTopic is a lookup among 10,000 topics.
func BenchmarkImageTopic(b *testing.B) {
	d := newDraft(NewImage("c"))
	for i := range 10_000 {
		d.putTopic(&Topic{Name: fmt.Sprintf("topic-%d", i), ID: [16]byte{byte(i), byte(i >> 8)}})
	}
	img := d.finish()
	for b.Loop() {
		if img.Topic("topic-77") == nil {
			b.Fatal("no topic")
		}
	}
}

// BenchmarkCreateTopic is one topic more among 10,000, without disk.
func BenchmarkCreateTopic(b *testing.B) {
	c := &Controller{NodeID: 1, Config: testConfig(b, nil)}
	d := newDraft(singleBrokerImage(b, c))
	for i := range 10_000 {
		d.putTopic(&Topic{Name: fmt.Sprintf("topic-%d", i), ID: [16]byte{byte(i), byte(i >> 8)}})
	}
	img := d.finish()
	rnd := rand.New(rand.NewSource(1))
	for b.Loop() {
		if _, err := c.Handle(img, createRequest(false, topicOf("one-more", 1, 1)), time.UnixMilli(1), rnd); err != nil {
			b.Fatal(err)
		}
	}
}
