package kafkarecord

import (
	"encoding/base64"
	"fmt"
)

// UUID is Kafka's 128-bit id. The zero value means "none".
type UUID = [16]byte

// FormatUUID writes an id as Kafka prints it: 22 characters of unpadded URL-safe base64.
func FormatUUID(id UUID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseUUID reads what FormatUUID writes.
func ParseUUID(s string) (id UUID, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is not a Kafka id: 22 characters of URL-safe base64 are expected", s)
	}
	copy(id[:], b)
	return id, nil
}

// Kind says where a message appears.
type Kind string

// Kinds of messages.
const (
	KindMetadata Kind = "metadata" // framed record of __cluster_metadata-0
	KindKey      Kind = "key"      // record key of a coordinator topic
	KindValue    Kind = "value"    // record value of a coordinator topic
	KindData     Kind = "data"     // control record values and binary files
)

// Schema describes a message type.
type Schema struct {
	Name       string // Kafka's name
	Kind       Kind
	Key        int16 // api key of a metadata record, type of a coordinator record, else -1
	MinVersion int16
	MaxVersion int16
}

// Message is one generated message.
type Message interface {
	// Schema describes the message's type.
	Schema() Schema
	// AppendTo appends the message in the given version to dst. It fails when the version is not
	// known, a length does not fit its length field, or a field that the version lacks and that
	// may not be dropped is set. dst is returned unchanged then.
	AppendTo(dst []byte, version int16) ([]byte, error)
	// ReadFrom fills the message from src, which must hold nothing else. Nothing in the message
	// points into src. Errors are *DecodeError.
	ReadFrom(src []byte, version int16) error
	// Fields lists the fields that exist in the version, for printing.
	Fields(version int16) []Field
}

// MetadataRecord is a record of the metadata log.
type MetadataRecord interface {
	Message
	metadataRecord()
}

// Tag is a tagged field this build does not know. Decoding keeps it, encoding writes it back.
type Tag struct {
	Number uint32
	Value  []byte
}

// Structure is a nested structure of a message, as Fields returns it.
type Structure interface {
	Fields(version int16) []Field
}

// Field is one field of a message for printing. Value is nil (null), bool, an integer type,
// float64, string, []byte, UUID, a slice of int8, int16, int32, int64, string or UUID, a Structure
// or a []Structure. A nil slice in a non-nil Value is an empty list.
type Field struct {
	Name  string // Kafka's name, first letter in lower case
	Value any
}

// DecodeError says why bytes are not the message they should be.
type DecodeError struct {
	Message string // Kafka's name of the message, or what was expected
	Version int16
	Offset  int // bytes from the start of the message
	Reason  string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s version %d is malformed at byte %d: %s", e.Message, e.Version, e.Offset, e.Reason)
}

// EncodeError says why a message cannot be written.
type EncodeError struct {
	Message string
	Version int16
	Reason  string
}

func (e *EncodeError) Error() string {
	return fmt.Sprintf("%s version %d cannot be written: %s", e.Message, e.Version, e.Reason)
}

// UnknownRecordError is a record type or version this build does not know, most likely written by a
// newer version of Kafka or Klamm.
type UnknownRecordError struct {
	What    string // "metadata record", "group record key", ...
	Key     int64
	Version int64 // -1 when the key itself is unknown
}

func (e *UnknownRecordError) Error() string {
	if e.Version < 0 {
		return fmt.Sprintf("%s type %d is not known to this version of Klamm", e.What, e.Key)
	}
	return fmt.Sprintf("version %d of %s type %d is not known to this version of Klamm", e.Version, e.What, e.Key)
}

func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func optionalList[T any](list []T) any {
	if list == nil {
		return nil
	}
	return list
}

func structures[T any, P interface {
	*T
	Structure
}](list []T) []Structure {
	out := make([]Structure, len(list))
	for i := range list {
		out[i] = P(&list[i])
	}
	return out
}
