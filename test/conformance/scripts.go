package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

// servedKeys are the API keys that the scripts compare.
var servedKeys = map[kmsg.Key]bool{
	kmsg.Produce: true, kmsg.Fetch: true, kmsg.ListOffsets: true, kmsg.Metadata: true,
	kmsg.OffsetCommit: true, kmsg.OffsetFetch: true, kmsg.FindCoordinator: true, kmsg.JoinGroup: true,
	kmsg.Heartbeat: true, kmsg.LeaveGroup: true, kmsg.SyncGroup: true, kmsg.DescribeGroups: true,
	kmsg.ListGroups: true, kmsg.ApiVersions: true, kmsg.CreateTopics: true, kmsg.DeleteTopics: true,
	kmsg.InitProducerID: true, kmsg.OffsetForLeaderEpoch: true, kmsg.DescribeConfigs: true,
	kmsg.DescribeLogDirs: true, kmsg.CreatePartitions: true, kmsg.DeleteGroups: true,
	kmsg.IncrementalAlterConfigs: true, kmsg.OffsetDelete: true, kmsg.DescribeCluster: true, kmsg.DescribeTopicPartitions: true,
}

// Scripts lists all scripts in the order in which they must run.
func Scripts() []Script {
	return []Script{
		{"versions", scriptVersions},
		{"topics", scriptTopics},
		{"cluster", scriptCluster},
		{"produce", scriptProduce},
		{"fetch", scriptFetch},
		{"list_offsets", scriptListOffsets},
		{"leader_epochs", scriptLeaderEpochs},
		{"producer_ids", scriptProducerIDs},
		{"groups", scriptGroups},
		{"offset_delete", scriptOffsetDelete},
	}
}
