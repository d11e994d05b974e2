// Package metadata holds the cluster's state: a Controller that turns requests into metadata
// records (pure), an immutable Image built only by replaying those records, and a MetaLog that
// commits them through raft, keeps them in a small checksummed write-ahead log and derives
// Kafka's own __cluster_metadata-0 files from it.
//
// The broker sees two things: a Channel to send Kafka's controller RPCs to, and an Observer that is
// told of every change before the request that caused it is answered.
package metadata
