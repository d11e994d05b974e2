// Package protocol turns bytes of a Kafka connection into requests and responses. It is the only
// package that knows request and response header versions; bodies are kmsg's.
package protocol

import (
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// RequestHeader precedes every request.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      *string // nil when the client sent null
}

// ParseRequest reads a frame (without its size). It never panics.
func ParseRequest(frame []byte) (RequestHeader, kmsg.Request, error) {
	return RequestHeader{}, nil, errors.New("stub")
}

// AppendResponse appends size, header and body of a response to dst.
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte { return dst }

// ReadFrame reads one size-prefixed frame of at most max bytes into buf, growing it when needed.
func ReadFrame(r io.Reader, max int32, buf []byte) ([]byte, error) { return nil, errors.New("stub") }

// UnsupportedVersionError is a request whose key or version is not served.
type UnsupportedVersionError struct{ Key, Version int16 }

func (e *UnsupportedVersionError) Error() string { return "unsupported version" }

// APIRange is the span of versions served for one API key, both inclusive.
type APIRange struct{ Key, Min, Max int16 }

// APITable is the set of served API keys.
type APITable []APIRange

// Kafka44 is what Apache Kafka 4.4 serves for the keys Klamm knows, by key.
func Kafka44() APITable { return nil }

// Range finds a key.
func (t APITable) Range(key int16) (APIRange, bool) { return APIRange{}, false }

// Only keeps the keys for which built returns true.
func (t APITable) Only(built func(key int16) bool) APITable { return t }
