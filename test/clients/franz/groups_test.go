package franz

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

// member is a group member that hands over every value it reads.
func (s suite) member(t *testing.T, group, topic string, read chan<- string) *kgo.Client {
	t.Helper()
	client := harness.Client(t, s.addr, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitMarks())
	go func() {
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(func(r *kgo.Record) {
				client.MarkCommitRecords(r)
				read <- string(r.Value)
			})
		}
	}()
	return client
}

// groupOfTwo reads with one member, then two, then one again; what is committed is not read twice.
func (s suite) groupOfTwo(t *testing.T) {
	const round = 400
	topic, group := s.topic(t, "group", 4, nil), s.prefix+"-franz"
	producer := harness.Client(t, s.addr, kgo.DefaultProduceTopic(topic))
	read := make(chan string, 10*round)
	want, got := map[string]int{}, map[string]int{}
	produceAndRead := func(from int) {
		t.Helper()
		ctx := harness.Context(t)
		for i := from; i < from+round; i++ {
			want[fmt.Sprint(i)]++
			producer.Produce(ctx, &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)}, nil)
		}
		for range round {
			select {
			case value := <-read:
				got[value]++
			case <-ctx.Done():
				t.Fatalf("the group read %d of %d records", len(got), len(want))
			}
		}
	}
	first := s.member(t, group, topic, read)
	produceAndRead(0)
	second := s.member(t, group, topic, read)
	s.waitForMembers(t, group, 2)
	produceAndRead(round)
	first.Close()
	s.waitForMembers(t, group, 1)
	produceAndRead(2 * round)
	second.Close()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times each value was read (-want +got):\n%.2000s", diff)
	}
	var committed int64
	for _, offset := range harness.Committed(t, s.addr, group, topic) {
		committed += offset
	}
	if committed != 3*round {
		t.Errorf("committed %d in all, want %d", committed, 3*round)
	}
}

func (s suite) waitForMembers(t *testing.T, group string, members int) {
	t.Helper()
	admin := harness.Admin(t, s.addr)
	harness.WaitFor(t, fmt.Sprintf("%d stable members of %s", members, group), func() bool {
		groups, err := admin.DescribeGroups(harness.Context(t), group)
		if err != nil {
			t.Fatal(err)
		}
		return groups[group].State == "Stable" && len(groups[group].Members) == members
	})
}

func (s suite) groupAdmin(t *testing.T) {
	topic, group := s.topic(t, "group-admin", 2, nil), s.prefix+"-admin"
	admin, ctx := harness.Admin(t, s.addr), harness.Context(t)
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 7, 3)
	offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 9, LeaderEpoch: -1, Metadata: "where I was"})
	if _, err := admin.CommitOffsets(ctx, group, offsets); err != nil {
		t.Fatal(err)
	}
	fetched, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(offsets, fetched.Offsets(), cmpopts.IgnoreFields(kadm.Offset{}, "TopicID")); diff != "" {
		t.Errorf("offsets (-committed +fetched):\n%s", diff)
	}
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if listed[group].State != "Empty" || listed[group].Coordinator != 1 {
		t.Errorf("listed as %+v, want Empty on broker 1", listed[group])
	}
	if _, err := admin.DeleteGroup(ctx, group); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteGroup(ctx, group); !errors.Is(err, kerr.GroupIDNotFound) {
		t.Errorf("deleting it again: %v, want GROUP_ID_NOT_FOUND", err)
	}
	if again, err := admin.FetchOffsets(ctx, group); err != nil || len(again) != 0 {
		t.Errorf("after deletion: %v, %v; want no offsets", again, err)
	}
}

func (s suite) topicAdmin(t *testing.T) {
	admin, ctx := harness.Admin(t, s.addr), harness.Context(t)
	topic := s.topic(t, "topic-admin", 1, nil)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("creating it again: %v, want TOPIC_ALREADY_EXISTS", err)
	}
	for name, want := range map[string]error{"a/b": kerr.InvalidTopicException, "..": kerr.InvalidTopicException} {
		if _, err := admin.CreateTopic(ctx, 1, 1, nil, name); !errors.Is(err, want) {
			t.Errorf("topic %q: %v, want %v", name, err, want)
		}
	}
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, topic+"-3"); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("replication factor 3 on one broker: %v, want INVALID_REPLICATION_FACTOR", err)
	}
	if responses, err := admin.UpdatePartitions(ctx, 3, topic); err != nil || responses[topic].Err != nil {
		t.Fatalf("to 3 partitions: %v, %v", err, responses[topic].Err)
	}
	if responses, err := admin.UpdatePartitions(ctx, 2, topic); err != nil || !errors.Is(responses[topic].Err, kerr.InvalidPartitions) {
		t.Errorf("back to 2 partitions: %v, %v; want INVALID_PARTITIONS", err, responses[topic].Err)
	}
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteTopic(ctx, topic); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("deleting it again: %v, want UNKNOWN_TOPIC_OR_PARTITION", err)
	}
}
