package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/broker"
	"klamm/internal/cli"
	"klamm/internal/config"
	"klamm/internal/vfs"
)

// produceNumbers writes n records whose value is their number.
func produceNumbers(t testing.TB, c *kgo.Client, topic string, n int) {
	t.Helper()
	records := make([]*kgo.Record, 0, n)
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, i%7), Value: fmt.Append(nil, i), Headers: []kgo.RecordHeader{{Key: "n", Value: []byte{byte(i)}}}})
	}
	if err := c.ProduceSync(within(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// checkNumbers wants every number once, and those of one partition in order.
func checkNumbers(t testing.TB, records []*kgo.Record, n int) {
	t.Helper()
	seen := make([]bool, n)
	last := map[int32]int{}
	for _, r := range records {
		var i int
		if _, err := fmt.Sscan(string(r.Value), &i); err != nil || i < 0 || i >= n || seen[i] {
			t.Fatalf("record %q of partition %d at %d", r.Value, r.Partition, r.Offset)
		}
		if before, ok := last[r.Partition]; ok && before >= i {
			t.Fatalf("partition %d: %d after %d", r.Partition, i, before)
		}
		seen[i], last[r.Partition] = true, i
		if string(r.Key) != fmt.Sprint(i%7) || len(r.Headers) != 1 || r.Headers[0].Value[0] != byte(i) {
			t.Fatalf("record %d came back with key %q and headers %v", i, r.Key, r.Headers)
		}
	}
	if slices.Contains(seen, false) {
		t.Fatal("a record is missing")
	}
}

func TestProduceAndConsume(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0", "num.partitions", "3")
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			const count = 3000
			produceNumbers(t, n.client(t, kgo.ProducerBatchCompression(codec)), "codec-"+name, count)
			c := n.client(t, kgo.ConsumeTopics("codec-"+name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			checkNumbers(t, consume(t, c, count), count)
		})
	}
	for name, acks := range map[string]kgo.Acks{"leader": kgo.LeaderAck(), "none": kgo.NoAck()} {
		t.Run("acks "+name, func(t *testing.T) {
			const count = 500
			produceNumbers(t, n.client(t, kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite()), "acks-"+name, count)
			c := n.client(t, kgo.ConsumeTopics("acks-"+name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			checkNumbers(t, consume(t, c, count), count)
		})
	}
}

// Records, committed offsets and topic configurations are there after a restart.
func TestRestart(t *testing.T) {
	disk := vfs.NewMem()
	n := start(t, disk, "localhost:0", "num.partitions", "3")
	const count = 1000
	producer := n.client(t)
	produceNumbers(t, producer, "kept", count)
	group := n.client(t, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	checkNumbers(t, consume(t, group, count), count)
	if err := group.CommitUncommittedOffsets(within(t)); err != nil {
		t.Fatal(err)
	}
	group.Close()
	producer.Close()
	n.stop(t, true)

	n = start(t, disk, "localhost:0", "num.partitions", "3")
	all := n.client(t, kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	checkNumbers(t, consume(t, all, count), count)
	lags, err := kadm.NewClient(n.client(t)).Lag(within(t), "g")
	if err != nil || lags.Error() != nil || lags["g"].Lag.Total() != 0 {
		t.Errorf("lag %d (%v, %v), want 0", lags["g"].Lag.Total(), err, lags.Error())
	}
}

// Two members share the partitions of a topic; when one leaves, the other has them all.
func TestGroupRebalances(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	n.create(t, "shared", 4)
	join := func() *kgo.Client {
		return n.client(t, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("shared"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(100*time.Millisecond))
	}
	admin := kadm.NewClient(n.client(t))
	wantMembers := func(sizes ...int) {
		t.Helper()
		slices.Sort(sizes)
		for ctx := within(t); ; {
			groups, err := admin.DescribeGroups(ctx, "g")
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, m := range groups["g"].Members {
				if a, ok := m.Assigned.AsConsumer(); ok {
					count := 0
					for _, topic := range a.Topics {
						count += len(topic.Partitions)
					}
					got = append(got, count)
				}
			}
			slices.Sort(got)
			if groups["g"].State == "Stable" && slices.Equal(got, sizes) {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("members have %v partitions, want %v", got, sizes)
			}
		}
	}
	first, second := join(), join()
	polling, stopPolling := context.WithCancel(context.Background())
	for _, c := range []*kgo.Client{first, second} {
		go func() {
			for polling.Err() == nil {
				c.PollFetches(polling)
			}
		}()
	}
	wantMembers(2, 2)
	second.LeaveGroup()
	wantMembers(4)
	stopPolling()
}

// A node stops in time whatever its clients wait for, and tells them to look elsewhere.
func TestStopWithWaitingClients(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	n.create(t, "a", 1)
	poll := dial(t, n.Addr())
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes, fetch.SessionEpoch = 12, 3_600_000, 1, 1000, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = "a"
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.PartitionMaxBytes, fp.CurrentLeaderEpoch, fp.LastFetchedEpoch = 1000, -1, -1
	ft.Partitions = append(ft.Partitions, fp)
	fetch.Topics = append(fetch.Topics, ft)
	poll.send(fetch)

	first, second := dial(t, n.Addr()), dial(t, n.Addr())
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = 3, "g", 300_000, 300_000, "consumer"
	proto := kmsg.NewJoinGroupRequestProtocol()
	proto.Name = "range"
	join.Protocols = append(join.Protocols, proto)
	coordinatorOf(t, n, "g")
	ask[*kmsg.JoinGroupResponse](first, join)
	second.send(join) // waits until the first member joins again, which it never does
	waitFor(t, "replica.(*fetchWaiter).wait(", 1)
	waitFor(t, "broker.(*Broker).group(", 1)

	n.stop(t, true)
	if got := receive[*kmsg.FetchResponse](poll, fetch); len(got.Topics) != 1 {
		t.Errorf("the long poll got %d topics", len(got.Topics))
	}
	if got := receive[*kmsg.JoinGroupResponse](second, join); got.ErrorCode != kerr.NotCoordinator.Code {
		t.Errorf("the waiting member got error %d, want NOT_COORDINATOR", got.ErrorCode)
	}
	poll.mustClose()
}

// waitFor waits until so many goroutines are in a function.
func waitFor(t testing.TB, function string, count int) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for ctx := within(t); ; runtime.Gosched() {
		if strings.Count(string(stacks[:runtime.Stack(stacks, true)]), function) >= count {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("nobody waits in %s", function)
		}
	}
}

func coordinatorOf(t testing.TB, n *node, group string) *kmsg.FindCoordinatorResponse {
	t.Helper()
	r := dial(t, n.Addr())
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKey = 3, group
	return ask[*kmsg.FindCoordinatorResponse](r, req)
}

// Topics are made on demand only when both the client and the broker agree.
func TestAutoCreation(t *testing.T) {
	for _, c := range []struct {
		broker string
		client bool
		want   bool
	}{{"true", true, true}, {"true", false, false}, {"false", true, false}} {
		t.Run(fmt.Sprint(c.broker, c.client), func(t *testing.T) {
			n := start(t, vfs.NewMem(), "localhost:0", "auto.create.topics.enable", c.broker)
			req := kmsg.NewPtrMetadataRequest()
			req.Version, req.AllowAutoTopicCreation = 9, c.client
			topic, name := kmsg.NewMetadataRequestTopic(), "new"
			topic.Topic = &name
			req.Topics = append(req.Topics, topic)
			got := ask[*kmsg.MetadataResponse](dial(t, n.Addr()), req).Topics[0]
			if made := got.ErrorCode == 0 && len(got.Partitions) == 1; made != c.want {
				t.Errorf("made: %v (error %d)", made, got.ErrorCode)
			}
			if !c.want && got.ErrorCode != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("error %d", got.ErrorCode)
			}
		})
	}
}

// Clients of a transactional producer learn at once that there is none.
func TestTransactionsAreRefused(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	r := dial(t, n.Addr())
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{"t"}
	if got := ask[*kmsg.FindCoordinatorResponse](r, find).Coordinators[0]; got.ErrorCode != kerr.UnsupportedVersion.Code || got.ErrorMessage == nil {
		t.Errorf("FindCoordinator: error %d", got.ErrorCode)
	}
	init, id := kmsg.NewPtrInitProducerIDRequest(), "t"
	init.Version, init.TransactionalID, init.TransactionTimeoutMillis = 4, &id, 1000
	if got := ask[*kmsg.InitProducerIDResponse](r, init); got.ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("InitProducerId: error %d", got.ErrorCode)
	}
}

// Producer ids are never given twice, over blocks and restarts.
func TestProducerIDsAreUnique(t *testing.T) {
	disk := vfs.NewMem()
	seen := map[int64]bool{}
	for range 3 {
		n := start(t, disk, "localhost:0")
		r := dial(t, n.Addr())
		for range 1100 {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version, req.TransactionTimeoutMillis = 4, 1000
			got := ask[*kmsg.InitProducerIDResponse](r, req)
			if got.ErrorCode != 0 || got.ProducerEpoch != 0 || seen[got.ProducerID] {
				t.Fatalf("error %d, id %d, seen %v", got.ErrorCode, got.ProducerID, seen[got.ProducerID])
			}
			seen[got.ProducerID] = true
		}
		n.stop(t, true)
	}
}

// Three nodes in one process do not know of each other.
func TestThreeNodesInOneProcess(t *testing.T) {
	var nodes []*node
	for i := range 3 {
		n := start(t, vfs.NewMem(), "localhost:0")
		produceNumbers(t, n.client(t), fmt.Sprint("topic-", i), 10)
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		topics, err := kadm.NewClient(n.client(t)).ListTopics(within(t))
		if err != nil || len(topics) != 1 || !topics.Has(fmt.Sprint("topic-", i)) {
			t.Errorf("node %d has %v (%v)", i, topics.Names(), err)
		}
	}
}

// A port in use is told before anything on the disk is touched.
func TestPortInUse(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	c, err := config.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewMem()
	_, err = cli.StartNode(cli.NodeOptions{FS: disk, DataDir: "/data", Listen: n.Addr(), Config: c, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	var inUse *broker.AddressInUseError
	if !errors.As(err, &inUse) {
		t.Errorf("%v", err)
	}
	if _, err := disk.Stat("/data"); err == nil {
		t.Error("the data directory was made")
	}
}

// The controller is what DescribeQuorum says; asking for another log is an error of that log only.
func TestQuorum(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	for version := int16(0); version <= 2; version++ {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.SetVersion(version)
		for _, topic := range []string{"__cluster_metadata", "other"} {
			req.Topics = append(req.Topics, kmsg.DescribeQuorumRequestTopic{Topic: topic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}})
		}
		resp := ask[*kmsg.DescribeQuorumResponse](dial(t, n.Addr()), req)
		if resp.ErrorCode != 0 || len(resp.Topics) != 2 {
			t.Fatalf("v%d: %+v", version, resp)
		}
		own, other := resp.Topics[0].Partitions[0], resp.Topics[1].Partitions[0]
		if own.ErrorCode != 0 || own.LeaderID != 1 || own.LeaderEpoch < 1 || own.HighWatermark < 1 || len(own.CurrentVoters) != 1 {
			t.Errorf("v%d: the metadata log: %+v", version, own)
		}
		if other.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("v%d: a log that does not exist: %+v", version, other)
		}
	}
}
