package crash

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/history"
)

// askCommits records what the broker knows of the group's offsets.
func askCommits(ctx context.Context, addr string, record *history.Recorder) error {
	client, err := kgo.NewClient(impatient(addr)...)
	if err != nil {
		return err
	}
	defer client.Close()
	asked := record.Now()
	offsets, err := kadm.NewClient(client).FetchOffsetsForTopics(ctx, group, topic)
	if err != nil {
		return fmt.Errorf("offsets of group %s: %w", group, err)
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil {
			record.FetchedCommit(asked, o.Partition, o.At)
		}
	})
	return offsets.Error()
}

// readBack reads the whole topic, small piece by small piece so that indexes are used, and the list
// of topics.
func readBack(ctx context.Context, addr string, fetchBytes int32, record *history.Recorder) error {
	client, err := kgo.NewClient(append(impatient(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(fetchBytes), kgo.KeepControlRecords())...)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	left := map[int32]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, end.Partition)
		record.FinalStart(end.Partition, start.Offset)
		if end.Offset > start.Offset {
			left[end.Partition] = end.Offset
		}
	})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			record.Unreadable(fmt.Sprintf("still to read up to (partition:offset) %v: %v", left, err))
			return nil
		}
		fetches.EachRecord(func(r *kgo.Record) {
			record.Final(place(r), decode(r))
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	record.ListedNames(topics.Names())
	return nil
}
