package record

import (
	"encoding/binary"
	"fmt"
)

// ControlType is what a control record means (Kafka's ControlRecordType).
type ControlType int16

// Control records: ends of transactions, and the frame of KRaft's log and snapshots.
const (
	ControlAbort ControlType = iota
	ControlCommit
	ControlLeaderChange
	ControlSnapshotHeader
	ControlSnapshotFooter
	ControlKRaftVersion
	ControlKRaftVoters
)

// String names the type.
func (t ControlType) String() string {
	names := [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("UNKNOWN(%d)", int16(t))
}

// ParseControlKey reads the type from a control record's key: int16 version, int16 type.
func ParseControlKey(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("a control record's key has %d bytes, it needs 4", len(key))
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("a control record's key has the invalid version %d", version)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ControlKey is the key of a control record of this type.
func ControlKey(t ControlType) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
}

// EndTxnMarker is the value of ABORT and COMMIT records: int16 version 0, int32 coordinator epoch.
func EndTxnMarker(coordinatorEpoch int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(coordinatorEpoch))
}

// ParseEndTxnMarker reads the coordinator epoch of an ABORT or COMMIT record.
func ParseEndTxnMarker(value []byte) (coordinatorEpoch int32, err error) {
	if len(value) < 6 {
		return 0, fmt.Errorf("a transaction marker has %d bytes, it needs 6", len(value))
	}
	return int32(binary.BigEndian.Uint32(value[2:])), nil
}
