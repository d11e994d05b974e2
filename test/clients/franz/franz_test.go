// Package franz drives the broker with franz-go, a client written in Go from the protocol up.
package franz

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

func TestFranz(t *testing.T) {
	target := harness.StartTarget(t, harness.KeptDir(t, "franz"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		s := suite{addr: addr, prefix: prefix}
		for name, codec := range map[string]kgo.CompressionCodec{
			"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
		} {
			t.Run("round trip "+name, func(t *testing.T) { s.roundTrip(t, name, codec) })
			t.Run("round trip without idempotence "+name, func(t *testing.T) {
				s.roundTrip(t, "plain-"+name, codec, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
			})
		}
		t.Run("no acknowledgement", s.noAck)
		t.Run("order over many batches in flight", s.manyBatches)
		t.Run("record too large", s.tooLarge)
		t.Run("unknown topic", s.unknownTopic)
		t.Run("long poll is woken", s.longPoll)
		t.Run("offset out of range", s.outOfRange)
		t.Run("offsets by time", s.offsetsByTime)
		t.Run("log append time", s.logAppendTime)
		t.Run("group of two shares and hands over", s.groupOfTwo)
		t.Run("group admin", s.groupAdmin)
		t.Run("topic admin", s.topicAdmin)
		t.Run("cluster admin", s.clusterAdmin)
	})
	target.Stop(t)
}

type suite struct{ addr, prefix string }

func (s suite) topic(t *testing.T, name string, partitions int32, configs map[string]string) string {
	t.Helper()
	topic := s.prefix + "-" + name
	harness.CreateTopic(t, harness.Admin(t, s.addr), topic, partitions, configs)
	return topic
}

// sample makes records that differ in every nullable part.
func sample(topic string, n int) []*kgo.Record {
	var records []*kgo.Record
	for i := range n {
		r := &kgo.Record{Topic: topic, Partition: 0, Key: fmt.Appendf(nil, "key-%d", i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i))}
		switch i % 4 {
		case 0:
			r.Value = []byte(strings.Repeat("body ", i%200))
		case 1:
			r.Value, r.Headers = []byte{}, []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}, {Key: "null"}}
		case 2:
			r.Key = nil
			r.Value = []byte{0, 0xff, 0xfe, 0}
		case 3:
			r.Key, r.Value = []byte{}, nil
		}
		records = append(records, r)
	}
	return records
}

// shape is what a record must keep from producer to consumer.
type shape struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []kgo.RecordHeader
	Time       int64
}

func shapes(records []*kgo.Record) (out []shape) {
	for _, r := range records {
		out = append(out, shape{r.Partition, r.Offset, r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli()})
	}
	return out
}

func (s suite) producer(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return harness.Client(t, s.addr, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

func (s suite) roundTrip(t *testing.T, name string, codec kgo.CompressionCodec, opts ...kgo.Opt) {
	topic := s.topic(t, name, 1, nil)
	sent := sample(topic, 1000)
	producer := s.producer(t, append(opts, kgo.ProducerBatchCompression(codec))...)
	if err := producer.ProduceSync(harness.Context(t), sent...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	harness.WaitForEnd(t, s.addr, topic, int64(len(sent)))
	if diff := cmp.Diff(shapes(sent), shapes(harness.ReadAll(t, s.addr, topic))); diff != "" {
		t.Errorf("(-acknowledged +consumed):\n%.2000s", diff)
	}
}

func (s suite) noAck(t *testing.T) {
	topic := s.topic(t, "no-ack", 1, nil)
	producer := s.producer(t, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.NoAck()))
	if err := producer.ProduceSync(harness.Context(t), sample(topic, 10)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "10 unacknowledged records", func() bool { return len(harness.ReadAll(t, s.addr, topic)) == 10 })
}

func (s suite) manyBatches(t *testing.T) {
	const count = 20_000
	topic := s.topic(t, "many", 1, nil)
	producer := s.producer(t, kgo.ProducerBatchMaxBytes(2_000))
	for i := range count {
		producer.Produce(context.Background(), &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}, func(r *kgo.Record, err error) {
			if err != nil || r.Offset != int64(i) {
				t.Errorf("record %d: offset %d, %v", i, r.Offset, err)
			}
		})
	}
	if err := producer.Flush(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	records := harness.ReadAll(t, s.addr, topic)
	if len(records) != count {
		t.Fatalf("%d records, want %d", len(records), count)
	}
	for i, r := range records {
		if r.Offset != int64(i) || string(r.Value) != fmt.Sprint(i) {
			t.Fatalf("offset %d holds %s, want %d in order", r.Offset, r.Value, i)
		}
	}
}

func (s suite) tooLarge(t *testing.T) {
	topic := s.topic(t, "large", 1, map[string]string{"max.message.bytes": "1000"})
	producer := s.producer(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	err := producer.ProduceSync(harness.Context(t), &kgo.Record{Topic: topic, Value: []byte(strings.Repeat("x", 5000))}).FirstErr()
	if !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("got %v, want MESSAGE_TOO_LARGE", err)
	}
	if err := s.producer(t).ProduceSync(harness.Context(t), &kgo.Record{Topic: topic, Value: []byte("small")}).FirstErr(); err != nil {
		t.Errorf("the next record: %v", err)
	}
}

func (s suite) unknownTopic(t *testing.T) {
	client := harness.Client(t, s.addr, kgo.UnknownTopicRetries(1))
	err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: s.prefix + "-nowhere", Value: []byte("x")}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v, want UNKNOWN_TOPIC_OR_PARTITION: the client did not allow automatic creation", err)
	}
}

// A consumer that waits for data at the end must get a new record long before its wait is over.
func (s suite) longPoll(t *testing.T) {
	topic := s.topic(t, "poll", 1, nil)
	consumer := harness.Client(t, s.addr, kgo.ConsumeTopics(topic), kgo.FetchMaxWait(60*time.Second))
	ctx := harness.Context(t)
	if err := s.producer(t).ProduceSync(ctx, sample(topic, 1)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := consumer.PollFetches(ctx).NumRecords(); got != 1 {
		t.Fatalf("%d records, want 1", got)
	}
	woken := make(chan int, 1)
	go func() { woken <- consumer.PollFetches(ctx).NumRecords() }()
	if err := s.producer(t).ProduceSync(ctx, sample(topic, 1)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-woken:
		if got != 1 {
			t.Errorf("%d records, want 1", got)
		}
	case <-time.After(30 * time.Second):
		t.Error("the waiting fetch was not answered when data came")
	}
}

func (s suite) outOfRange(t *testing.T) {
	topic := s.topic(t, "range", 1, nil)
	ctx := harness.Context(t)
	if err := s.producer(t).ProduceSync(ctx, sample(topic, 3)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	consumer := harness.Client(t, s.addr, kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(99)}}))
	if err := consumer.PollFetches(ctx).Err(); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Errorf("reading at 99 of 3: %v, want OFFSET_OUT_OF_RANGE", err)
	}
}

func (s suite) offsetsByTime(t *testing.T) {
	topic := s.topic(t, "time", 1, nil)
	ctx := harness.Context(t)
	if err := s.producer(t).ProduceSync(ctx, sample(topic, 100)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	admin := harness.Admin(t, s.addr)
	for after, want := range map[int64]int64{0: 0, 1_700_000_000_000: 0, 1_700_000_000_042: 42, 1_700_000_000_099: 99, 1_700_000_000_100: 100} {
		offsets, err := admin.ListOffsetsAfterMilli(ctx, after, topic)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := offsets.Lookup(topic, 0); got.Err != nil || got.Offset != want {
			t.Errorf("first record at or after %d: %d (%v), want %d", after, got.Offset, got.Err, want)
		}
	}
}

func (s suite) logAppendTime(t *testing.T) {
	topic := s.topic(t, "append-time", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	before := time.Now().Add(-time.Second)
	sent := sample(topic, 3)
	if err := s.producer(t).ProduceSync(harness.Context(t), sent...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, r := range harness.ReadAll(t, s.addr, topic) {
		if r.Timestamp.Before(before) || r.Attrs.TimestampType() != 1 {
			t.Errorf("record %d: time %v of type %d, want the broker's own time", r.Offset, r.Timestamp, r.Attrs.TimestampType())
		}
	}
}

func (s suite) clusterAdmin(t *testing.T) {
	admin := harness.Admin(t, s.addr)
	meta, err := admin.BrokerMetadata(harness.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if meta.Cluster == "" || meta.Controller != 1 || len(meta.Brokers) != 1 || meta.Brokers[0].NodeID != 1 {
		t.Errorf("got %+v, want one broker 1 that is the controller of a named cluster", meta)
	}
	configs, err := admin.DescribeBrokerConfigs(harness.Context(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	_, err = configs.On("1", func(c *kadm.ResourceConfig) error {
		for _, config := range c.Configs {
			found = found || config.Key == "node.id" && config.MaybeValue() == "1"
		}
		return c.Err
	})
	if err != nil || !found {
		t.Errorf("broker configs: node.id=1 found=%t, %v", found, err)
	}
}
