package broker_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// batchOf builds a batch of n records of an idempotent producer.
func batchOf(t testing.TB, n int, size int, producer int64, sequence int32) []byte {
	t.Helper()
	o := record.Plain()
	if producer >= 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = producer, 0, sequence
	}
	b := record.NewBuilder(o)
	for range n {
		b.Append(1_700_000_000_000, nil, make([]byte, size), nil)
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func produce(topic string, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, 60_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func only(resp *kmsg.ProduceResponse) kmsg.ProduceResponseTopicPartition {
	return resp.Topics[0].Partitions[0]
}

// slowDisk holds the syncs of the segments of topic "a" and counts writes to them.
type slowDisk struct {
	entered chan struct{}
	leave   chan struct{}
	held    atomic.Bool
	writes  chan struct{}
}

func newSlowDisk() *slowDisk {
	return &slowDisk{entered: make(chan struct{}, 100), leave: make(chan struct{}), writes: make(chan struct{}, 100)}
}

func (d *slowDisk) inject(op vfs.Op) error {
	if !strings.Contains(op.Name, "/a-0/") || !strings.HasSuffix(op.Name, ".log") {
		return nil
	}
	switch op.Kind {
	case vfs.OpSync:
		if d.held.Load() {
			d.entered <- struct{}{}
			<-d.leave
		}
	case vfs.OpWrite:
		d.writes <- struct{}{}
	}
	return nil
}

// While one Produce with acks=all waits for the disk, the next of the same connection is appended;
// both are answered in order by one later sync. Sequences of one producer stay in order.
func TestPipelinedProduceSharesSync(t *testing.T) {
	disk := newSlowDisk()
	n := start(t, vfs.Fault{FS: vfs.NewMem(), Inject: disk.inject}, "localhost:0")
	n.create(t, "a", 1)
	r := dial(t, n.Addr())
	disk.held.Store(true)
	for i := range 5 {
		r.send(produce("a", -1, batchOf(t, 1, 10, 7, int32(i))))
		<-disk.writes // it is in the log though the first has not been answered
	}
	<-disk.entered
	disk.held.Store(false)
	disk.leave <- struct{}{}
	for i := range int64(5) {
		if got := only(receive[*kmsg.ProduceResponse](r, produce("a", -1, nil))); got.ErrorCode != 0 || got.BaseOffset != i {
			t.Fatalf("answer %d: error %d, offset %d", i, got.ErrorCode, got.BaseOffset)
		}
	}
}

// acks=1 is answered before the sync, but keeps its place behind an acks=all that waits.
func TestAnswersKeepTheirOrder(t *testing.T) {
	disk := newSlowDisk()
	n := start(t, vfs.Fault{FS: vfs.NewMem(), Inject: disk.inject}, "localhost:0")
	n.create(t, "a", 1)
	disk.held.Store(true)
	alone := dial(t, n.Addr())
	if got := only(ask[*kmsg.ProduceResponse](alone, produce("a", 1, batchOf(t, 1, 10, -1, 0)))); got.ErrorCode != 0 {
		t.Fatalf("acks=1: error %d", got.ErrorCode)
	}
	<-disk.entered // the answer came while the sync is held
	r := dial(t, n.Addr())
	r.send(produce("a", -1, batchOf(t, 1, 10, -1, 0)))
	r.send(produce("a", 1, batchOf(t, 1, 10, -1, 0)))
	r.send(kmsg.NewPtrApiVersionsRequest())
	disk.held.Store(false)
	disk.leave <- struct{}{}
	if got := only(receive[*kmsg.ProduceResponse](r, produce("a", -1, nil))); got.BaseOffset != 1 {
		t.Errorf("first answer: offset %d", got.BaseOffset)
	}
	if got := only(receive[*kmsg.ProduceResponse](r, produce("a", 1, nil))); got.BaseOffset != 2 {
		t.Errorf("second answer: offset %d", got.BaseOffset)
	}
	if got := receive[*kmsg.ApiVersionsResponse](r, kmsg.NewPtrApiVersionsRequest()); len(got.ApiKeys) == 0 {
		t.Error("third answer: no keys")
	}
}

// A Produce whose commit does not come in its own time is REQUEST_TIMED_OUT, not lost.
func TestProduceTimesOut(t *testing.T) {
	disk := newSlowDisk()
	n := start(t, vfs.Fault{FS: vfs.NewMem(), Inject: disk.inject}, "localhost:0")
	n.create(t, "a", 1)
	disk.held.Store(true)
	req := produce("a", -1, batchOf(t, 1, 10, -1, 0))
	req.TimeoutMillis = 1
	r := dial(t, n.Addr())
	if got := only(ask[*kmsg.ProduceResponse](r, req)); got.ErrorCode != 7 || got.BaseOffset != -1 {
		t.Errorf("error %d, offset %d; want REQUEST_TIMED_OUT", got.ErrorCode, got.BaseOffset)
	}
	<-disk.entered
	disk.held.Store(false)
	disk.leave <- struct{}{}
	if got := only(ask[*kmsg.ProduceResponse](r, produce("a", -1, batchOf(t, 1, 10, -1, 0)))); got.BaseOffset != 1 {
		t.Errorf("the next batch is at %d, want 1", got.BaseOffset)
	}
}
