package files

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

// fill makes the broker write every kind of file: rolled segments of each codec with index entries,
// producer snapshots, metadata records of many types, group records and tombstones. It returns the
// number of records produced.
func fill(t *testing.T, target *harness.Target) int {
	t.Helper()
	addr, total := target.At("127.0.0.1"), 0
	admin := harness.Admin(t, addr)
	for codec, compression := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		topic := "files-" + codec
		harness.CreateTopic(t, admin, topic, 2, map[string]string{"segment.bytes": "1048576"})
		total += produce(t, addr, topic, kgo.ProducerBatchCompression(compression), kgo.ProducerBatchMaxBytes(20_000))
	}
	harness.CreateTopic(t, admin, "files-append-time", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	total += produce(t, addr, "files-append-time", kgo.DisableIdempotentWrite())
	consume(t, addr, "files-zstd")
	changeMetadata(t, admin)
	return total
}

func produce(t *testing.T, addr, topic string, opts ...kgo.Opt) int {
	t.Helper()
	const count = 3000
	client := harness.Client(t, addr, append(opts, kgo.DefaultProduceTopic(topic))...)
	ctx, random := harness.Context(t), rand.New(rand.NewSource(1))
	for i := range count {
		value := make([]byte, random.Intn(2000)) // incompressible, so that every codec rolls
		_, _ = random.Read(value)
		record := &kgo.Record{Key: fmt.Append(nil, i), Value: value, Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}}
		client.Produce(ctx, record, func(r *kgo.Record, err error) {
			if err != nil {
				t.Errorf("%s, record %d: %v", topic, i, err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return count
}

func consume(t *testing.T, addr, topic string) {
	t.Helper()
	ctx := harness.Context(t)
	client := harness.Client(t, addr, kgo.ConsumerGroup("files-group"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for range 3 {
		fetches := client.PollRecords(ctx, 100)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
			t.Fatal(err)
		}
	}
	client.Close()
}

func changeMetadata(t *testing.T, admin *kadm.Client) {
	t.Helper()
	ctx := harness.Context(t)
	harness.CreateTopic(t, admin, "files-short-lived", 3, nil)
	_, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("60000")}}, "files-short-lived")
	if err != nil {
		t.Fatal(err)
	}
	if responses, err := admin.UpdatePartitions(ctx, 4, "files-short-lived"); err != nil || responses.Error() != nil {
		t.Fatal(err, responses.Error())
	}
	if _, err := admin.DeleteTopic(ctx, "files-short-lived"); err != nil {
		t.Fatal(err)
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("files-zstd", 0, 1, -1)
	if _, err := admin.CommitOffsets(ctx, "files-gone", offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteGroup(ctx, "files-gone"); err != nil {
		t.Fatal(err)
	}
}
