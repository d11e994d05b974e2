package replica

import (
	"context"
	"errors"
	"io"

	"klamm/internal/record"
	"klamm/internal/storage"
)

// Append writes a batch of a coordinator as the partition's leader; it is not committed yet.
func (m *Manager) Append(ctx context.Context, topic string, partition int32, batch record.Batch) (lastOffset int64, err error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	p, err := m.Partition(topic, partition)
	if err != nil {
		return -1, err
	}
	info, err := p.AppendAsLeader(batch, AppendOptions{RequiredAcks: -1, LeaderEpoch: AnyEpoch, Internal: true})
	if err != nil {
		return -1, err
	}
	return info.LastOffset, nil
}

// WaitCommitted calls done once: with nil as soon as the high watermark is above offset.
func (m *Manager) WaitCommitted(topic string, partition int32, offset int64, done func(error)) {
	p, err := m.Partition(topic, partition)
	if err != nil {
		done(err)
		return
	}
	p.WaitCommitted(offset, done)
}

// Read returns whole batches from an offset up to the end of the log, committed or not, for a
// coordinator that loads its state. An offset below the log's start reads from its start.
func (m *Manager) Read(topic string, partition int32, from int64, maxBytes int) (batches []byte, next int64, err error) {
	p, err := m.Partition(topic, partition)
	if err != nil {
		return nil, from, err
	}
	log, state, err := p.readable(FetchPartition{LeaderEpoch: AnyEpoch})
	if err != nil {
		return nil, from, err
	}
	from = max(from, state.LogStartOffset)
	if from >= state.LogEndOffset {
		return nil, from, nil
	}
	slice, err := log.Read(from, maxBytes, state.LogEndOffset, true)
	if err != nil {
		return nil, from, err
	}
	next, err = endOf(slice, state.LogEndOffset)
	return slice.Bytes, next, err
}

// endOf is the offset after the last batch of a slice; an empty one ends where the log does.
func endOf(slice storage.Slice, logEnd int64) (int64, error) {
	next := logEnd
	for rest := slice.Bytes; ; {
		b, r, err := record.Next(rest)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return next, nil
			}
			return next, err
		}
		next, rest = b.LastOffset()+1, r
	}
}
