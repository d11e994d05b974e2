package metadata

import (
	"context"
	"log/slog"
	"math/rand"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

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
	start := time.Now()
	n, err := Open(testOptions(t, vfs.OS(), dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %s", time.Since(start))
	epoch := register(t, n, 1, -1)
	t.Logf("registered in %s", time.Since(start))
	if got := createTopic(t, n, "orders", 3); got.ErrorCode != 0 {
		t.Fatalf("create gave %d %s", got.ErrorCode, *got.ErrorMessage)
	}
	before := n.Image()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	n, err = Open(testOptions(t, vfs.OS(), dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("reopened in %s", time.Since(start))
	defer n.Close()
	if n.Image().Topic("orders").ID != before.Topic("orders").ID {
		t.Error("the topic has another id after the restart")
	}
	register(t, n, 2, epoch)
	if p := n.Image().Topic("orders").Partitions[2]; p.Leader != 1 || len(p.ISR) != 1 || p.LeaderEpoch != 2 {
		t.Errorf("partition after the restart: %+v", p)
	}
}
