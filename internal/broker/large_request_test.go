package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/record"
	"klamm/internal/replica"
)

// Only Produce may fill socket.request.max.bytes: the others are refused by their first bytes.
func TestLargeRequestsWithoutRecords(t *testing.T) {
	frame := func(key int16, size uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, size)
		return binary.BigEndian.AppendUint16(b, uint16(key))
	}
	for _, c := range []struct {
		name    string
		key     int16
		size    uint32
		refused bool
	}{
		{"Metadata", kmsg.Metadata.Int16(), maxPlainFrame + 1, true},
		{"Metadata that fits", kmsg.Metadata.Int16(), maxPlainFrame, false},
		{"Produce", produceKey, maxPlainFrame + 1, false},
	} {
		_, err := newFrameReader(bytes.NewReader(frame(c.key, c.size)), 100<<20, &bufferPool{}).next()
		var refusal *plainSizeError
		if errors.As(err, &refusal) != c.refused {
			t.Errorf("%s of %d bytes: %v", c.name, c.size, err)
		}
		if !c.refused && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s of %d bytes: %v; want the rest to be missed", c.name, c.size, err)
		}
	}
}

// A topic asked for more than once is answered once, also when there are so many that comparing each
// with each would take minutes.
func TestDistinctTopics(t *testing.T) {
	named := func(s string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &s} }
	byID := func(b byte) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{TopicID: [16]byte{b}} }
	unnamed := named("")
	got := distinctTopics([]kmsg.MetadataRequestTopic{named("b"), byID(1), named("a"), named("b"), byID(1), byID(2), unnamed, byID(0), unnamed})
	want := []kmsg.MetadataRequestTopic{named("b"), byID(1), named("a"), byID(2), unnamed, byID(0)}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
	var many []kmsg.MetadataRequestTopic
	for i := range 500_000 {
		many = append(many, named(fmt.Sprintf("topic-%06d", i)))
	}
	if got := distinctTopics(append(many, many...)); len(got) != len(many) {
		t.Errorf("%d of %d topics", len(got), len(many))
	}
}

// Of many resources, each is described in full once, however often it is asked for.
func TestDistinctResources(t *testing.T) {
	resource := func(name string, configs ...string) kmsg.DescribeConfigsRequestResource {
		return kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name, ConfigNames: configs}
	}
	broker := resource("a")
	broker.ResourceType = kmsg.ConfigResourceTypeBroker
	asked := []kmsg.DescribeConfigsRequestResource{
		resource("a", "retention.ms"), resource("a"), resource("b"), resource("a"), resource("a", "segment.ms"), broker, broker,
	}
	if got := distinctResources(asked); len(got) != len(asked) {
		t.Errorf("%d of %d few resources", len(got), len(asked))
	}
	for range repeatableResources {
		asked = append(asked, resource("a"))
	}
	got := distinctResources(asked)
	want := []kmsg.DescribeConfigsRequestResource{resource("a", "retention.ms"), resource("a"), resource("b"), resource("a", "segment.ms"), broker}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionsWithoutRecords(t *testing.T) {
	request := func(partitions, bytes int) *kmsg.ProduceRequest {
		req := kmsg.NewPtrProduceRequest()
		topic := kmsg.NewProduceRequestTopic()
		topic.Partitions = make([]kmsg.ProduceRequestTopicPartition, partitions)
		for i := range topic.Partitions {
			topic.Partitions[i].Records = make([]byte, bytes)
		}
		req.Topics = append(req.Topics, topic)
		return req
	}
	for _, c := range []struct {
		partitions, bytes int
		refused           bool
	}{
		{0, 0, false},
		{fewPartitions, 0, false},
		{fewPartitions + 1, 0, true},
		{fewPartitions + 1, record.HeaderSize - 1, true},
		{fewPartitions + 1, record.HeaderSize, false},
	} {
		if err := checkPartitions(request(c.partitions, c.bytes)); (err != nil) != c.refused {
			t.Errorf("%d partitions of %d bytes: %v", c.partitions, c.bytes, err)
		}
	}
}

// All large frames together have a bound; beyond it a connection is closed, and room comes back when
// frames are handled or their connections end.
func TestLargeFramesShareMemory(t *testing.T) {
	pool := &bufferPool{}
	const size = 4 * maxPooledFrame
	frame := framed(make([]byte, size))
	large := func() *frameReader { return newFrameReader(bytes.NewReader(append(frame, frame...)), 1<<30, pool) }
	if !pool.reserve(0, largeFrameBytes-size) {
		t.Fatal("no room at the start")
	}
	first, second := large(), large()
	if _, err := first.next(); err != nil {
		t.Fatal(err)
	}
	var full *frameMemoryError
	if _, err := second.next(); !errors.As(err, &full) || full.size != size {
		t.Errorf("beside another: %v", err)
	}
	second.close()
	if _, err := first.next(); err != nil {
		t.Errorf("the next of the same connection: %v", err)
	}
	first.close()
	if _, err := large().next(); err != nil {
		t.Errorf("when the other has ended: %v", err)
	}
	if in := pool.large.Load(); in != largeFrameBytes {
		t.Errorf("%d bytes are counted, want %d", in, largeFrameBytes)
	}
}

// A frame larger than the bound is taken when it is alone.
func TestOneLargeFrameIsAlwaysTaken(t *testing.T) {
	pool := &bufferPool{}
	if !pool.reserve(0, largeFrameBytes) || !pool.reserve(largeFrameBytes, 1) || pool.reserve(0, 1) {
		t.Error("one alone may grow, and no other comes beside it")
	}
}

// Any name is a group, so their number is bounded.
func TestManyGroupConfigs(t *testing.T) {
	c, err := config.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{replicas: replica.NewManager(replica.Options{Config: c})}
	asked := kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: "g"}
	if _, refused := b.configEntries(asked, maxDescribedGroups+1); refused == nil || refused.KafkaCode() != kerr.InvalidRequest.Code {
		t.Errorf("one group too many: %v", refused)
	}
}

// A client cannot have a request wait for weeks: its connection would outlive it.
func TestWaitsAreBounded(t *testing.T) {
	for _, c := range []struct {
		idle  time.Duration
		asked int32
		want  time.Duration
	}{
		{10 * time.Minute, 500, 500 * time.Millisecond},
		{10 * time.Minute, math.MaxInt32, 10 * time.Minute},
		{0, math.MaxInt32, math.MaxInt32 * time.Millisecond},
		{10 * time.Minute, -1, -time.Millisecond},
	} {
		if got := (Limits{MaxIdle: c.idle}).longestWait(c.asked); got != c.want {
			t.Errorf("%d ms with %v: %v, want %v", c.asked, c.idle, got, c.want)
		}
	}
}
