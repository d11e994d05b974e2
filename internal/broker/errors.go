package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// codedError is a refusal with the code and the words a client gets.
type codedError struct {
	kind    *kerr.Error
	message string
}

func refusal(kind *kerr.Error, format string, args ...any) *codedError {
	return &codedError{kind: kind, message: fmt.Sprintf(format, args...)}
}

func (e *codedError) Error() string { return e.message }

// KafkaCode is the error code for the client.
func (e *codedError) KafkaCode() int16 { return e.kind.Code }
