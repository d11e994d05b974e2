package storage

import (
	"errors"
	"fmt"
	"time"

	"klamm/internal/record"
)

// AppendAsFollower appends whole batches that carry their offsets and leader epochs already, as a
// follower gets them or a replicated state machine makes them. Offsets must increase and start at
// EndOffset or later; producer sequences are taken as the leader's decision.
func (l *Log) AppendAsFollower(data []byte, now time.Time) (AppendInfo, error) {
	info := AppendInfo{FirstOffset: -1, LastOffset: -1, LogAppendTime: noTimestamp}
	l.appendMu.Lock()
	rolled := len(l.pending)
	err := l.usable()
	for err == nil && len(data) > 0 {
		var n int
		n, err = l.appendReplicated(data, now.UnixMilli(), &info)
		data = data[n:]
	}
	rolled = len(l.pending) - rolled
	info.LogStartOffset = l.start.Load()
	l.appendMu.Unlock()
	if rolled > 0 {
		l.sealSoon()
	}
	return info, err
}

// appendReplicated writes as many whole batches of data as fit into one segment and returns their
// length in bytes.
func (l *Log) appendReplicated(data []byte, nowMs int64, info *AppendInfo) (int, error) {
	cfg := l.config.Load()
	next := l.end.Load()
	l.undoStates = l.undoStates[:0]
	length := int64(0)
	for rest := data; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if err != nil {
			return 0, errors.Join(&InvalidAppend{"the bytes are not whole batches"}, err)
		}
		if b.BaseOffset() < next {
			l.undoProducers()
			return 0, &InvalidAppend{fmt.Sprintf("offset %d does not follow %d", b.BaseOffset(), next-1)}
		}
		if l.mustRoll(cfg, length, b, b.LastOffset(), nowMs) {
			if length > 0 {
				break
			}
			if err := l.roll(b.BaseOffset(), nowMs); err != nil {
				return 0, err
			}
		}
		l.noteProducer(b)
		if info.FirstOffset < 0 {
			info.FirstOffset = b.BaseOffset()
		}
		length += int64(len(b))
		next = b.LastOffset() + 1
		rest = after
	}
	if err := l.write(data[:length]); err != nil {
		l.undoProducers()
		return 0, err
	}
	l.commitAppend(data[:length])
	info.LastOffset = l.end.Load() - 1
	return int(length), nil
}
