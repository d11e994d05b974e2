// Package replica holds this broker's replicas: the Manager follows the metadata image and keeps
// one Partition per replica over a storage.Log, a Partition appends as leader, decides what is
// committed and wakes who waits for it, and the read paths (Fetch, ListOffsets,
// OffsetForLeaderEpoch) never show a consumer more than the high watermark.
//
// Lock order: Manager.mu, then Partition.mu. A Partition's lock is never held while the disk is
// synced, and callbacks of waiters are called without any lock.
package replica
