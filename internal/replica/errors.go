package replica

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Error is a refusal with the code a client gets.
type Error struct {
	Code    int16 // Kafka's error code
	Message string
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KafkaCode is the error code for the client.
func (e *Error) KafkaCode() int16 { return e.Code }

func errUnknownPartition(topic string, partition int32) *Error {
	return &Error{Code: kerr.UnknownTopicOrPartition.Code, Message: fmt.Sprintf("there is no partition %s-%d", topic, partition)}
}

func errNotLeader(p *Partition) *Error {
	return &Error{Code: kerr.NotLeaderForPartition.Code, Message: fmt.Sprintf("this broker does not lead partition %s", p.name())}
}

func errStorage(p *Partition, cause error) *Error {
	return &Error{Code: kerr.KafkaStorageError.Code, Message: fmt.Sprintf("the log of partition %s cannot be used", p.name()), Cause: cause}
}

// codeOf is the code of err for a client; errors without one are the disk's.
func codeOf(err error) int16 {
	var coded interface{ KafkaCode() int16 }
	if errors.As(err, &coded) {
		return coded.KafkaCode()
	}
	return kerr.KafkaStorageError.Code
}
