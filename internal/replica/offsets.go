package replica

import "klamm/internal/storage"

// Special timestamps of ListOffsets.
const (
	TimestampLatest         int64 = -1
	TimestampEarliest       int64 = -2
	TimestampMax            int64 = -3 // KIP-734
	TimestampEarliestLocal  int64 = -4 // KIP-405
	TimestampLatestTiered   int64 = -5 // KIP-1005
	TimestampEarliestUpload int64 = -6 // KIP-1023
)

// ListedOffset answers ListOffsets for one partition. Offset -1 means that nothing was found,
// which is not an error.
type ListedOffset struct {
	Timestamp   int64 // ms, -1 for the offsets that have no time
	Offset      int64
	LeaderEpoch int32 // -1 when unknown
}

var noOffset = ListedOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}

// ListOffset finds the first record at or after a time in ms, or one of the special offsets.
// Nothing at or above the high watermark (the last stable offset with readCommitted) is shown.
func (p *Partition) ListOffset(timestamp int64, clientEpoch int32, readCommitted bool) (ListedOffset, error) {
	p.mu.Lock()
	if err := p.checkLeader(clientEpoch); err != nil {
		p.mu.Unlock()
		return noOffset, err
	}
	state, log := p.snapshot(), p.log
	p.mu.Unlock()

	bound := state.HighWatermark
	if readCommitted {
		bound = state.LastStableOffset
	}
	switch timestamp {
	case TimestampLatest:
		return ListedOffset{Timestamp: -1, Offset: bound, LeaderEpoch: state.LeaderEpoch}, nil
	case TimestampEarliest, TimestampEarliestLocal:
		epoch, ok := log.LeaderEpochs().EpochFor(state.LogStartOffset)
		if !ok {
			epoch = -1
		}
		return ListedOffset{Timestamp: -1, Offset: state.LogStartOffset, LeaderEpoch: epoch}, nil
	case TimestampLatestTiered, TimestampEarliestUpload:
		return noOffset, nil // there is no tiered storage here
	}
	return p.listByTime(log, timestamp, bound)
}

func (p *Partition) listByTime(log *storage.Log, timestamp, bound int64) (ListedOffset, error) {
	find := func() (storage.TimestampOffset, bool, error) { return log.OffsetForTimestamp(timestamp) }
	if timestamp == TimestampMax {
		find = log.MaxTimestamp
	}
	at, ok, err := find()
	if err != nil {
		return noOffset, p.readError(err)
	}
	if !ok || at.Offset >= bound {
		return noOffset, nil
	}
	return ListedOffset{Timestamp: at.Timestamp, Offset: at.Offset, LeaderEpoch: at.LeaderEpoch}, nil
}

// EpochEndOffset answers OffsetForLeaderEpoch: where an epoch ends in this log (KIP-101). An
// unknown later epoch gives (-1, -1) without an error.
func (p *Partition) EpochEndOffset(epoch, clientEpoch int32) (EpochEnd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkLeader(clientEpoch); err != nil {
		return EpochEnd{Epoch: -1, EndOffset: -1}, err
	}
	return epochEnd(p.log, epoch, p.log.EndOffset()), nil
}

// Usage is what DescribeLogDirs tells of a partition.
type Usage struct {
	Topic     string
	Partition int32
	Size      int64 // bytes on disk
}

// Usage lists the size of every replica here, in no order.
func (m *Manager) Usage() []Usage {
	var all []Usage
	for _, p := range m.all() {
		p.mu.Lock()
		if p.log != nil {
			all = append(all, Usage{Topic: p.Topic, Partition: p.ID, Size: p.log.Size()})
		}
		p.mu.Unlock()
	}
	return all
}
