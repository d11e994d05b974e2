package badinput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
	"klamm/test/harness"
)

const perTopic = 4000

// TestCorruptSegment damages a segment in the middle, not at its tail: batches that were synced and
// acknowledged lie behind the damage. Nothing may be cut off or passed over in silence, and every
// other topic is served.
func TestCorruptSegment(t *testing.T) {
	for name, c := range map[string]struct {
		clean bool
		at    func(size int64) int64
	}{
		"a record, after a clean stop":            {true, middle},
		"a record, after kill -9":                 {false, middle},
		"the first batch's length, after a stop":  {true, func(int64) int64 { return 9 }},
		"the first batch's length, after kill -9": {false, func(int64) int64 { return 9 }},
	} {
		t.Run(name, func(t *testing.T) { corrupt(t, c.clean, c.at) })
	}
}

func middle(size int64) int64 { return size / 2 }

func corrupt(t *testing.T, clean bool, at func(int64) int64) {
	dir := t.TempDir()
	k := harness.Start(t, harness.Options{DataDir: dir})
	admin := harness.Admin(t, k.Addr)
	for _, topic := range []string{"damaged", "healthy"} {
		harness.CreateTopic(t, admin, topic, 1, map[string]string{"segment.bytes": "1048576"})
		fill(t, k.Addr, topic)
	}
	if clean {
		k.Stop(t)
	} else {
		k.Kill()
	}
	segment := lastSegment(t, filepath.Join(dir, "damaged-0"), clean)
	size := flip(t, segment, at)

	k = harness.Start(t, harness.Options{DataDir: dir})
	if got := len(harness.ReadAll(t, k.Addr, "healthy")); got != perTopic {
		t.Errorf("healthy: %d records, want %d", got, perTopic)
	}
	read, err := readUntilError(t, k.Addr, "damaged")
	t.Logf("damaged: %d records, then: %v", read, err)
	if err == nil {
		t.Errorf("damaged: %d of %d records and no error", read, perTopic)
	}
	if !clean { // recovery has met the damage and must tell the operator
		for _, pattern := range []string{regexp.QuoteMeta(segment), "level=ERROR"} {
			if !regexp.MustCompile(pattern).MatchString(k.Stderr.String()) {
				t.Errorf("the broker's log does not tell %s:\n%s", pattern, k.Stderr)
			}
		}
	}
	out, errs, failed := harness.Run(t, "", harness.Binary(t), "consume", "damaged", "--exit", "-o", "key", "--timeout", "10s", "-b", k.Addr)
	if harness.ExitCode(t, failed) != 1 {
		t.Errorf("consume: exit %v after %d lines, want 1", failed, strings.Count(out, "\n"))
	}
	plain(t, errs, "damaged", "corrupt|damaged|checksum|storage")
	if info, err := os.Stat(segment); err != nil || info.Size() != size {
		t.Errorf("the damaged segment was changed: %d bytes before, now %v, %v", size, info.Size(), err)
	}
	k.Stop(t)
}

func fill(t *testing.T, addr, topic string) {
	t.Helper()
	client := harness.Client(t, addr, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(10_000))
	for i := range perTopic {
		client.Produce(context.Background(), &kgo.Record{Key: fmt.Append(nil, i), Value: []byte(strings.Repeat("v", 400))}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := client.Flush(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
}

// lastSegment is the active segment, which recovery reads after kill -9; after a clean stop the
// first one, which nobody reads until a consumer does.
func lastSegment(t *testing.T, dir string, first bool) string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(segments) < 2 {
		t.Fatalf("want at least two segments in %s: %v, %v", dir, segments, err)
	}
	slices.Sort(segments)
	if first {
		return segments[0]
	}
	return segments[len(segments)-1]
}

// flip changes one byte and returns the file's size.
func flip(t *testing.T, file string, at func(int64) int64) int64 {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[at(int64(len(content)))] ^= 0x10
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return int64(len(content))
}

// readUntilError reads until the end or the first error, whichever comes first. It sends the requests
// itself: a client takes KAFKA_STORAGE_ERROR for a reason to try again for ever.
func readUntilError(t *testing.T, addr, topic string) (int, error) {
	t.Helper()
	client := harness.Client(t, addr)
	topics, err := kadm.NewClient(client).ListTopics(harness.Context(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	var decompressor record.Decompressor
	offset := int64(0)
	for offset < perTopic {
		response, err := fetch(harness.Context(t), client, topics[topic].ID, offset)
		if err != nil {
			return int(offset), err
		}
		before := offset
		for rest := response.RecordBatches; len(rest) > 0; {
			batch, after, err := record.Next(rest)
			if err != nil {
				break // the last batch is cut off by the size of the answer
			}
			if err := batch.VerifyCRC(); err != nil {
				return int(offset), err
			}
			if err := decompressor.Walk(batch, func(r record.Record) error { offset = r.Offset + 1; return nil }); err != nil {
				return int(offset), err
			}
			rest = after
		}
		if offset == before {
			return int(offset), errors.New("an answer without a whole batch")
		}
	}
	return int(offset), nil
}

func fetch(ctx context.Context, client *kgo.Client, id [16]byte, offset int64) (kmsg.FetchResponseTopicPartition, error) {
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MaxBytes, request.SessionEpoch = 1000, 1<<20, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID = id
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes = offset, 1<<20
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	answer, err := client.Broker(1).Request(ctx, request)
	if err != nil {
		return kmsg.FetchResponseTopicPartition{}, err
	}
	response := answer.(*kmsg.FetchResponse)
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return kmsg.FetchResponseTopicPartition{}, errors.New("no answer for the partition")
	}
	got := response.Topics[0].Partitions[0]
	return got, kerr.ErrorForCode(got.ErrorCode)
}
