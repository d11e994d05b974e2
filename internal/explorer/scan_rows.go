package explorer

import (
	"bytes"
	"slices"

	"klamm/internal/explorer/serde"
	"klamm/internal/record"
)

// rowTaker makes rows of records: previews, or whole copies.
func rowTaker(q ScanRequest) func(int32, record.Batch, record.Record) (RecordRow, bool) {
	limit := q.PreviewBytes
	if limit <= 0 {
		limit = 200
	}
	return func(partition int32, b record.Batch, r record.Record) (RecordRow, bool) {
		if q.Range == RangeTime && q.Cursor == nil && r.Timestamp < q.Timestamp {
			return RecordRow{}, false
		}
		row := RecordRow{
			Partition: partition, Offset: r.Offset, Timestamp: r.Timestamp, TimestampType: timestampType(b, r.Timestamp), Headers: int32(len(r.Headers)),
			Bytes: recordBytes(r), LeaderEpoch: b.PartitionLeaderEpoch(), Transactional: b.IsTransactional(), Compression: b.Codec().String(),
		}
		if q.Raw {
			row.Raw = copyRecord(r)
			return row, true
		}
		row.Key, row.Value = preview(r.Key, limit), preview(r.Value, limit)
		return row, true
	}
}

func timestampType(b record.Batch, ms int64) string {
	switch {
	case ms == record.NoTimestamp:
		return "none"
	case b.IsLogAppendTime():
		return "LogAppendTime"
	}
	return "CreateTime"
}

func recordBytes(r record.Record) int64 {
	n := int64(len(r.Key) + len(r.Value))
	for _, h := range r.Headers {
		n += int64(len(h.Key) + len(h.Value))
	}
	return n
}

func copyRecord(r record.Record) *RawRecord {
	raw := &RawRecord{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value), Headers: slices.Clone(r.Headers)}
	for i := range raw.Headers {
		raw.Headers[i].Value = bytes.Clone(raw.Headers[i].Value)
	}
	return raw
}

func preview(data []byte, limit int) Preview {
	p := serde.Look(data, limit)
	return Preview{Kind: string(p.Kind), Text: p.Text, Truncated: p.Truncated, Bytes: int64(len(data)), Format: p.Format, Reason: p.Reason}
}
