// Package storage keeps partitions on disk in Apache Kafka's own files: segments of record batches
// with their offset and time index, leader epochs, producer snapshots and the checkpoints of the log
// directory. A LogManager owns one log directory, a Log one partition.
//
// Concurrency. Appends to one Log are serialised by appendMu, which is held for one pwrite and no
// other slow call. Reads take no Log lock: the list of segments is replaced as a whole, and a
// segment publishes its size after the bytes are written. Sync (the group commit) runs beside both.
//
// Lock order: Log.sealMu, Log.syncMu, Log.appendMu, LogManager.checkpointMu, LogManager.mu; and the
// leaves ProducerStateManager, LeaderEpochCache, segmentFile.mu, LogSegment.idxMu, openFiles.mu. A
// later lock may be taken while an earlier one is held, never the reverse. LogManager.mu guards maps
// only: no Log is called under it.
package storage
