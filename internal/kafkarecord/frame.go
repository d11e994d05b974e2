package kafkarecord

import (
	"encoding/binary"
	"fmt"
	"math"
)

// frameVersion is the only version of the frame around metadata records (Kafka's
// AbstractApiMessageSerde).
const frameVersion = 1

// DecodeMetadata reads the value of a record of the metadata log: frame version, api key and record
// version as unsigned varints, then the record. A type or version that is not known gives an
// *UnknownRecordError: such a record may not be skipped.
func DecodeMetadata(value []byte) (MetadataRecord, int16, error) {
	var head [3]uint64
	pos := 0
	for i := range head {
		v, n := binary.Uvarint(value[pos:])
		if n <= 0 || v > math.MaxInt32 {
			return nil, 0, &DecodeError{Message: "metadata record frame", Offset: pos, Reason: "a variable-length integer is cut short or too large"}
		}
		head[i] = v
		pos += n
	}
	if head[0] != frameVersion {
		return nil, 0, &DecodeError{Message: "metadata record frame", Reason: fmt.Sprintf("frame version %d is not known", head[0])}
	}
	if head[1] > math.MaxInt16 {
		return nil, 0, &UnknownRecordError{What: "metadata record", Key: int64(head[1]), Version: -1}
	}
	r := newMetadataRecord(int16(head[1]))
	if r == nil {
		return nil, 0, &UnknownRecordError{What: "metadata record", Key: int64(head[1]), Version: -1}
	}
	if s := r.Schema(); head[2] > uint64(s.MaxVersion) || int16(head[2]) < s.MinVersion {
		return nil, 0, &UnknownRecordError{What: "metadata record", Key: int64(head[1]), Version: int64(head[2])}
	}
	version := int16(head[2])
	if err := r.ReadFrom(value[pos:], version); err != nil {
		return nil, 0, err
	}
	return r, version, nil
}

// EncodeMetadata writes the value of a record of the metadata log.
func EncodeMetadata(r MetadataRecord, version int16) ([]byte, error) {
	b := binary.AppendUvarint(make([]byte, 0, 64), frameVersion)
	b = binary.AppendUvarint(b, uint64(r.Schema().Key))
	b = binary.AppendUvarint(b, uint64(version))
	return r.AppendTo(b, version)
}

// CoordinatorRecord is a decoded record of a coordinator topic.
type CoordinatorRecord struct {
	Key          Message
	Value        Message // nil for a tombstone
	ValueVersion int16
}

// DecodeGroup reads a record of __consumer_offsets. A nil value is a tombstone.
func DecodeGroup(key, value []byte) (CoordinatorRecord, error) {
	return decodeCoordinator("group record", newGroupKey, newGroupValue, key, value)
}

// DecodeTransaction reads a record of __transaction_state. A nil value is a tombstone.
func DecodeTransaction(key, value []byte) (CoordinatorRecord, error) {
	return decodeCoordinator("transaction record", newTransactionKey, newTransactionValue, key, value)
}

// DecodeShare reads a record of __share_group_state. A nil value is a tombstone.
func DecodeShare(key, value []byte) (CoordinatorRecord, error) {
	return decodeCoordinator("share group record", newShareKey, newShareValue, key, value)
}

func decodeCoordinator(what string, newKey, newValue func(int16) Message, key, value []byte) (r CoordinatorRecord, err error) {
	kind, body, err := leadingInt16(what+" key", key)
	if err != nil {
		return r, err
	}
	if r.Key = newKey(kind); r.Key == nil {
		return r, &UnknownRecordError{What: what + " key", Key: int64(kind), Version: -1}
	}
	if err := r.Key.ReadFrom(body, 0); err != nil {
		return CoordinatorRecord{}, err
	}
	if value == nil {
		return r, nil
	}
	version, body, err := leadingInt16(what+" value", value)
	if err != nil {
		return CoordinatorRecord{}, err
	}
	r.Value, r.ValueVersion = newValue(kind), version
	if s := r.Value.Schema(); version < s.MinVersion || version > s.MaxVersion {
		return CoordinatorRecord{}, &UnknownRecordError{What: what + " value", Key: int64(kind), Version: int64(version)}
	}
	if err := r.Value.ReadFrom(body, version); err != nil {
		return CoordinatorRecord{}, err
	}
	return r, nil
}

func leadingInt16(what string, b []byte) (int16, []byte, error) {
	if len(b) < 2 {
		return 0, nil, &DecodeError{Message: what, Reason: fmt.Sprintf("2 bytes are needed, %d are there", len(b))}
	}
	return int16(binary.BigEndian.Uint16(b)), b[2:], nil
}

// EncodeKey writes the key of a coordinator record: its type, then the message. Keys have only
// version 0.
func EncodeKey(key Message) ([]byte, error) {
	return key.AppendTo(binary.BigEndian.AppendUint16(make([]byte, 0, 64), uint16(key.Schema().Key)), 0)
}

// EncodeValue writes the value of a coordinator record: its version, then the message.
func EncodeValue(value Message, version int16) ([]byte, error) {
	return value.AppendTo(binary.BigEndian.AppendUint16(make([]byte, 0, 128), uint16(version)), version)
}
