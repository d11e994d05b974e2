// Package storage keeps partitions on disk in Apache Kafka's own files: segments of record batches
// with their offset and time index, leader epochs, producer snapshots and the checkpoints of the log
// directory. A LogManager owns one log directory, a Log one partition.
//
// Concurrency. Appends to one Log are serialised by appendMu, which is held for one pwrite and no
// other slow call. Reads take no Log lock: the list of segments is replaced as a whole, and a
// segment publishes its size after the bytes are written. Sync (the group commit) runs beside both.
//
// Lock order: LogManager.mu, Log.syncMu, Log.appendMu, ProducerStateManager and LeaderEpochCache,
// LogSegment.mu, the manager's open-file list. A later lock may be taken while an earlier one is
// held, never the reverse.
package storage
