package broker

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeLogDirs (key 35): the log directory of this broker and the size of every replica in it.
//
// Behaviours
//   - Null topics means all. A directory that is offline is KAFKA_STORAGE_ERROR without topics.
//   - TotalBytes and UsableBytes are -1 where the system does not tell.
//
// Versions: 2 flexible; 3 top-level error; 4 size of the volume; 5 cordoned (never here).
func (b *Broker) describeLogDirs(_ context.Context, _ *request, req *kmsg.DescribeLogDirsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.TotalBytes, dir.UsableBytes = b.logDir, -1, -1
	if err := b.replicas.Offline(); err != nil {
		dir.ErrorCode = kerr.KafkaStorageError.Code
		resp.Dirs = append(resp.Dirs, dir)
		return resp, nil
	}
	sizes := map[string][]kmsg.DescribeLogDirsResponseDirTopicPartition{}
	asked := askedPartitions(req)
	for _, u := range b.replicas.Usage() {
		if asked != nil && !asked[topicPartition{u.Topic, u.Partition}] {
			continue
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = u.Partition, u.Size
		sizes[u.Topic] = append(sizes[u.Topic], p)
	}
	for topic, partitions := range sizes {
		slices.SortFunc(partitions, func(x, y kmsg.DescribeLogDirsResponseDirTopicPartition) int { return int(x.Partition - y.Partition) })
		dt := kmsg.NewDescribeLogDirsResponseDirTopic()
		dt.Topic, dt.Partitions = topic, partitions
		dir.Topics = append(dir.Topics, dt)
	}
	slices.SortFunc(dir.Topics, func(x, y kmsg.DescribeLogDirsResponseDirTopic) int { return strings.Compare(x.Topic, y.Topic) })
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}

// askedPartitions is the set of partitions a request names, nil when it means all.
func askedPartitions(req *kmsg.DescribeLogDirsRequest) map[topicPartition]bool {
	if req.Topics == nil {
		return nil
	}
	asked := map[topicPartition]bool{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			asked[topicPartition{t.Topic, p}] = true
		}
	}
	return asked
}
