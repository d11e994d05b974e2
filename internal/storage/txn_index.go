package storage

import (
	"encoding/binary"
	"fmt"

	"klamm/internal/record"
)

const txnEntrySize = 34

// AbortedTxn is one aborted transaction that overlaps a read (an entry of a .txnindex file).
type AbortedTxn struct {
	ProducerID              int64
	FirstOffset, LastOffset int64 // LastOffset is the abort marker's
	LastStableOffset        int64 // when the marker was written
}

// AppendAbortedTxn writes one .txnindex entry: version int16 0, then the four fields.
func AppendAbortedTxn(dst []byte, t AbortedTxn) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, 0)
	dst = be.AppendUint64(dst, uint64(t.ProducerID))
	dst = be.AppendUint64(dst, uint64(t.FirstOffset))
	dst = be.AppendUint64(dst, uint64(t.LastOffset))
	return be.AppendUint64(dst, uint64(t.LastStableOffset))
}

// ParseTxnIndex reads a .txnindex file; a malformed one is a *FormatError.
func ParseTxnIndex(file string, data []byte) ([]AbortedTxn, error) {
	if len(data)%txnEntrySize != 0 {
		return nil, &FormatError{file, fmt.Sprintf("its size %d is not a multiple of %d", len(data), txnEntrySize)}
	}
	be := binary.BigEndian
	out := make([]AbortedTxn, 0, len(data)/txnEntrySize)
	for ; len(data) > 0; data = data[txnEntrySize:] {
		if v := be.Uint16(data); v != 0 {
			return nil, &FormatError{file, fmt.Sprintf("version %d of an entry is not 0", v)}
		}
		out = append(out, AbortedTxn{
			ProducerID:       int64(be.Uint64(data[2:])),
			FirstOffset:      int64(be.Uint64(data[10:])),
			LastOffset:       int64(be.Uint64(data[18:])),
			LastStableOffset: int64(be.Uint64(data[26:])),
		})
	}
	return out, nil
}

// parseEndTxnMarker reads the one record of a transaction marker.
func parseEndTxnMarker(b record.Batch) (commit bool, coordinatorEpoch int32, ok bool) {
	var d record.Decompressor
	err := d.Walk(b, func(r record.Record) error {
		kind, err := record.ParseControlKey(r.Key)
		if err != nil {
			return err
		}
		commit, ok = kind == record.ControlCommit, kind == record.ControlCommit || kind == record.ControlAbort
		if coordinatorEpoch, err = record.ParseEndTxnMarker(r.Value); err != nil {
			return err
		}
		return record.ErrStop
	})
	return commit, coordinatorEpoch, ok && err == nil
}
