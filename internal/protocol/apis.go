package protocol

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// APIRange is the span of versions served for one API key, both ends inclusive.
type APIRange struct{ Key, Min, Max int16 }

// APITable is a set of served API keys, sorted by key. It is a plain value: nobody changes one
// after it was made.
type APITable []APIRange

// Kafka44 is what a broker of Apache Kafka 4.4.0 serves, as its ApiVersions response says. The
// broker takes from it the keys it has handlers for. Produce is advertised from version 0
// although 0-2 are refused: librdkafka gives up compression otherwise (KAFKA-18659).
func Kafka44() APITable {
	return APITable{
		{0, 0, 13}, // Produce
		{1, 4, 18}, // Fetch
		{2, 1, 11}, // ListOffsets
		{3, 0, 13}, // Metadata
		{8, 2, 10}, // OffsetCommit
		{9, 1, 10}, // OffsetFetch
		{10, 0, 6}, // FindCoordinator
		{11, 0, 9}, // JoinGroup
		{12, 0, 4}, // Heartbeat
		{13, 0, 5}, // LeaveGroup
		{14, 0, 5}, // SyncGroup
		{15, 0, 6}, // DescribeGroups
		{16, 0, 5}, // ListGroups
		{17, 0, 1}, // SaslHandshake
		{18, 0, 5}, // ApiVersions
		{19, 2, 7}, // CreateTopics
		{20, 1, 6}, // DeleteTopics
		{21, 0, 2}, // DeleteRecords
		{22, 0, 5}, // InitProducerId
		{23, 2, 4}, // OffsetForLeaderEpoch
		{24, 0, 5}, // AddPartitionsToTxn
		{25, 0, 4}, // AddOffsetsToTxn
		{26, 0, 5}, // EndTxn
		{27, 1, 2}, // WriteTxnMarkers
		{28, 0, 6}, // TxnOffsetCommit
		{29, 1, 3}, // DescribeAcls
		{30, 1, 3}, // CreateAcls
		{31, 1, 3}, // DeleteAcls
		{32, 1, 4}, // DescribeConfigs
		{33, 0, 2}, // AlterConfigs
		{34, 1, 2}, // AlterReplicaLogDirs
		{35, 1, 5}, // DescribeLogDirs
		{36, 0, 2}, // SaslAuthenticate
		{37, 0, 3}, // CreatePartitions
		{38, 1, 3}, // CreateDelegationToken
		{39, 1, 2}, // RenewDelegationToken
		{40, 1, 2}, // ExpireDelegationToken
		{41, 1, 3}, // DescribeDelegationToken
		{42, 0, 3}, // DeleteGroups
		{43, 0, 2}, // ElectLeaders
		{44, 0, 1}, // IncrementalAlterConfigs
		{45, 0, 1}, // AlterPartitionReassignments
		{46, 0, 0}, // ListPartitionReassignments
		{47, 0, 0}, // OffsetDelete
		{48, 0, 1}, // DescribeClientQuotas
		{49, 0, 1}, // AlterClientQuotas
		{50, 0, 0}, // DescribeUserScramCredentials
		{51, 0, 0}, // AlterUserScramCredentials
		{55, 0, 2}, // DescribeQuorum
		{57, 0, 2}, // UpdateFeatures
		{60, 0, 2}, // DescribeCluster
		{61, 0, 0}, // DescribeProducers
		{64, 0, 0}, // UnregisterBroker
		{65, 0, 0}, // DescribeTransactions
		{66, 0, 2}, // ListTransactions
		{68, 0, 1}, // ConsumerGroupHeartbeat
		{69, 0, 1}, // ConsumerGroupDescribe
		{74, 0, 1}, // ListConfigResources
		{75, 0, 0}, // DescribeTopicPartitions
		{76, 1, 1}, // ShareGroupHeartbeat
		{77, 1, 1}, // ShareGroupDescribe
		{78, 1, 2}, // ShareFetch
		{79, 1, 2}, // ShareAcknowledge
		{80, 0, 1}, // AddRaftVoter
		{81, 0, 0}, // RemoveRaftVoter
		{83, 0, 0}, // InitializeShareGroupState
		{84, 0, 0}, // ReadShareGroupState
		{85, 0, 1}, // WriteShareGroupState
		{86, 0, 0}, // DeleteShareGroupState
		{87, 0, 1}, // ReadShareGroupStateSummary
		{88, 0, 1}, // StreamsGroupHeartbeat
		{89, 0, 1}, // StreamsGroupDescribe
		{90, 0, 1}, // DescribeShareGroupOffsets
		{91, 0, 0}, // AlterShareGroupOffsets
		{92, 0, 0}, // DeleteShareGroupOffsets
		{93, 0, 0}, // StreamsGroupTopologyDescriptionUpdate
		{94, 0, 0}, // UnregisterController
	}
}

// minProduce is the oldest Produce version that is served, whatever is advertised (KIP-896).
const minProduce = 3

// Range finds a key.
func (t APITable) Range(key int16) (APIRange, bool) {
	i, ok := slices.BinarySearchFunc(t, key, func(r APIRange, key int16) int { return int(r.Key) - int(key) })
	if !ok {
		return APIRange{}, false
	}
	return t[i], true
}

// Serves tells whether requests of this key and version are handled.
func (t APITable) Serves(key, version int16) bool {
	r, ok := t.Range(key)
	if !ok || version < r.Min || version > r.Max {
		return false
	}
	return key != kmsg.Produce.Int16() || version >= minProduce
}

// Only returns a new table with the keys for which built returns true.
func (t APITable) Only(built func(key int16) bool) APITable {
	var out APITable
	for _, r := range t {
		if built(r.Key) {
			out = append(out, r)
		}
	}
	return out
}

// ApiKeys lists the table for an ApiVersions response.
func (t APITable) ApiKeys() []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(t))
	for _, r := range t {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = r.Key, r.Min, r.Max
		keys = append(keys, k)
	}
	return keys
}

// UnsupportedAPIVersions answers an ApiVersions request of a version that is not served: version 0,
// UNSUPPORTED_VERSION and only the range of ApiVersions, so that the client can ask again (KIP-511).
func (t APITable) UnsupportedAPIVersions() *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = 0
	resp.ErrorCode = CodeUnsupportedVersion
	key := kmsg.ApiVersions.Int16()
	resp.ApiKeys = t.Only(func(k int16) bool { return k == key }).ApiKeys()
	return resp
}
