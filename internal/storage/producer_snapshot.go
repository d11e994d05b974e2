package storage

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// A producer snapshot is: version int16, CRC-32C uint32 of all that follows, count int32, then
// entries of 46 bytes (Kafka's ProducerSnapshot.json).
const (
	snapshotVersion    = 1
	snapshotHeaderSize = 10
	snapshotEntrySize  = 46
	snapshotMaxBytes   = 1 << 30
)

// castagnoli is the polynomial of all checksums in Kafka's log files.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ProducerSnapshotEntry is the state of one producer in a .snapshot file: its last batch only.
type ProducerSnapshotEntry struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // -1 when no batch is known
	LastOffset       int64 // -1 when no batch is known
	OffsetDelta      int32
	Timestamp        int64 // ms
	CoordinatorEpoch int32 // -1 when no transaction ended
	TxnFirstOffset   int64 // of the open transaction, -1 without one
}

// AppendProducerSnapshot writes a .snapshot file with entries in the order of their producer id.
func AppendProducerSnapshot(dst []byte, entries []ProducerSnapshotEntry) []byte {
	slices.SortFunc(entries, func(a, b ProducerSnapshotEntry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint16(dst, snapshotVersion)
	dst = be.AppendUint32(dst, 0)
	dst = be.AppendUint32(dst, uint32(len(entries)))
	for _, e := range entries {
		dst = be.AppendUint64(dst, uint64(e.ProducerID))
		dst = be.AppendUint16(dst, uint16(e.Epoch))
		dst = be.AppendUint32(dst, uint32(e.LastSequence))
		dst = be.AppendUint64(dst, uint64(e.LastOffset))
		dst = be.AppendUint32(dst, uint32(e.OffsetDelta))
		dst = be.AppendUint64(dst, uint64(e.Timestamp))
		dst = be.AppendUint32(dst, uint32(e.CoordinatorEpoch))
		dst = be.AppendUint64(dst, uint64(e.TxnFirstOffset))
	}
	be.PutUint32(dst[start+2:], crc32.Checksum(dst[start+6:], castagnoli))
	return dst
}

// ParseProducerSnapshot reads a .snapshot file; a damaged one is a *FormatError.
func ParseProducerSnapshot(file string, data []byte) ([]ProducerSnapshotEntry, error) {
	be := binary.BigEndian
	if len(data) < snapshotHeaderSize {
		return nil, &FormatError{file, "it is too short"}
	}
	if v := be.Uint16(data); v != snapshotVersion {
		return nil, &FormatError{file, fmt.Sprintf("version %d is not %d", v, snapshotVersion)}
	}
	if crc32.Checksum(data[6:], castagnoli) != be.Uint32(data[2:]) {
		return nil, &FormatError{file, "the checksum does not match"}
	}
	count := int64(be.Uint32(data[6:]))
	if count*snapshotEntrySize != int64(len(data)-snapshotHeaderSize) {
		return nil, &FormatError{file, fmt.Sprintf("%d entries do not fit its size", count)}
	}
	out := make([]ProducerSnapshotEntry, count)
	for i := range out {
		e := data[snapshotHeaderSize+i*snapshotEntrySize:]
		out[i] = ProducerSnapshotEntry{
			ProducerID:       int64(be.Uint64(e)),
			Epoch:            int16(be.Uint16(e[8:])),
			LastSequence:     int32(be.Uint32(e[10:])),
			LastOffset:       int64(be.Uint64(e[14:])),
			OffsetDelta:      int32(be.Uint32(e[22:])),
			Timestamp:        int64(be.Uint64(e[26:])),
			CoordinatorEpoch: int32(be.Uint32(e[34:])),
			TxnFirstOffset:   int64(be.Uint64(e[38:])),
		}
	}
	return out, nil
}
