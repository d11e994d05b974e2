package coordinator

// OffsetsTopic is the topic that holds groups and their committed offsets.
const OffsetsTopic = "__consumer_offsets"

// PartitionFor returns the partition of an internal topic with n partitions that owns a group or
// a transactional id. Clients never compute it, but a log directory of Apache Kafka is only read
// right with the same choice: the absolute value of Java's String.hashCode, 0 for the one value
// without a positive counterpart, modulo n (Kafka's Utils.abs, GroupCoordinatorService).
func PartitionFor(name string, n int32) int32 {
	hash := javaHash(name)
	switch {
	case hash == -1<<31:
		hash = 0
	case hash < 0:
		hash = -hash
	}
	return hash % n
}
