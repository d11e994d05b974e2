package harness

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Context ends with the test or after a time no single step should need.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Client is a franz-go client on the given address, closed with the test.
func Client(t testing.TB, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Admin is an admin client on the given address, closed with the test.
func Admin(t testing.TB, addr string) *kadm.Client {
	t.Helper()
	return kadm.NewClient(Client(t, addr))
}

// CreateTopic creates a topic with replication factor 1 and waits until the broker leads it: a
// KRaft broker hears of a new topic a moment after the controller has answered.
func CreateTopic(t testing.TB, admin *kadm.Client, topic string, partitions int32, configs map[string]string) {
	t.Helper()
	values := map[string]*string{}
	for name, value := range configs {
		values[name] = &value
	}
	response, err := admin.CreateTopic(Context(t), partitions, 1, values, topic)
	if err != nil {
		t.Fatalf("create topic %s: %v (%s)", topic, err, response.ErrMessage)
	}
	WaitFor(t, "the broker to lead "+topic, func() bool {
		topics, err := admin.ListTopics(Context(t), topic)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range topics[topic].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
		return len(topics[topic].Partitions) == int(partitions)
	})
}

// ReadAll reads the topic from the beginning to the end it has now, in offset order per partition.
func ReadAll(t testing.TB, addr, topic string) []*kgo.Record {
	t.Helper()
	ends, err := Admin(t, addr).ListEndOffsets(Context(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			t.Fatalf("end offset of %s-%d: %v", topic, o.Partition, o.Err)
		}
		if o.Offset > 0 {
			want[o.Partition] = o.Offset
		}
	})
	client := Client(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx := Context(t)
	var records []*kgo.Record
	for len(want) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v (still missing %v)", topic, err, want)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if r.Offset+1 >= want[r.Partition] {
				delete(want, r.Partition)
			}
		})
	}
	return records
}

// WaitForEnd waits until the topic's end offsets add up to count. A record that was acknowledged with
// acks=1 may still be on its way to the disk, and consumers are shown it only then.
func WaitForEnd(t testing.TB, addr, topic string, count int64) {
	t.Helper()
	admin := Admin(t, addr)
	WaitFor(t, "the end of "+topic, func() bool {
		ends, err := admin.ListEndOffsets(Context(t), topic)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		return sum >= count
	})
}

// Committed is the group's stored offset per partition of the topic; -1 for none.
func Committed(t testing.TB, addr, group, topic string) map[int32]int64 {
	t.Helper()
	offsets, err := Admin(t, addr).FetchOffsetsForTopics(Context(t), group, topic)
	if err != nil {
		t.Fatalf("offsets of group %s: %v", group, err)
	}
	out := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Err != nil {
			t.Fatalf("offset of group %s, partition %d: %v", group, o.Partition, o.Err)
		}
		out[o.Partition] = o.At
	})
	return out
}
