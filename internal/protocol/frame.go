// Package protocol turns the bytes of a Kafka connection into requests and responses. It is the
// only package that knows the versions of request and response headers; bodies are kmsg's.
package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// RequestHeader precedes every request.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      *string // nil when the client sent null
}

// ClientName is the client id, empty when the client sent none.
func (h RequestHeader) ClientName() string {
	if h.ClientID == nil {
		return ""
	}
	return *h.ClientID
}

// UnsupportedVersionError is a request whose key or version is not served. Every such connection
// is closed, except that ApiVersions is answered (APITable.UnsupportedAPIVersions).
type UnsupportedVersionError struct{ Key, Version int16 }

func (e *UnsupportedVersionError) Error() string {
	return fmt.Sprintf("requests of type %s (API key %d) in version %d are not served", kmsg.NameForKey(e.Key), e.Key, e.Version)
}

// KafkaCode is UNSUPPORTED_VERSION.
func (e *UnsupportedVersionError) KafkaCode() int16 { return CodeUnsupportedVersion }

// MalformedError is a frame that is not a request.
type MalformedError struct{ Reason string }

func (e *MalformedError) Error() string { return "malformed request: " + e.Reason }

// KafkaCode is INVALID_REQUEST.
func (e *MalformedError) KafkaCode() int16 { return CodeInvalidRequest }

// ParseRequest reads a frame (without its size) of any key and version that Apache Kafka 4.4
// serves. See APITable.ParseRequest.
func ParseRequest(frame []byte) (RequestHeader, kmsg.Request, error) {
	return Kafka44().ParseRequest(frame)
}

// ParseRequest reads a frame (without its size). It never panics. Byte slices of the request
// (records, group metadata) alias the frame, strings do not. The error is a *MalformedError, or an
// *UnsupportedVersionError for a key or version not in the table; the header is then filled.
func (t APITable) ParseRequest(frame []byte) (RequestHeader, kmsg.Request, error) {
	h, body, err := parseHeader(frame)
	if err != nil {
		return h, nil, err
	}
	if !t.Serves(h.Key, h.Version) {
		return h, nil, &UnsupportedVersionError{h.Key, h.Version}
	}
	req := kmsg.RequestForKey(h.Key)
	if req == nil || h.Version > req.MaxVersion() {
		return h, nil, &UnsupportedVersionError{h.Key, h.Version}
	}
	req.SetVersion(h.Version)
	if body, err = h.parseRest(body, req.IsFlexible()); err != nil {
		return h, nil, err
	}
	if err := readBody(req, body); err != nil {
		return h, nil, &MalformedError{Reason: fmt.Sprintf("%s version %d: %v", kmsg.NameForKey(h.Key), h.Version, err)}
	}
	return h, req, nil
}

// readBody decodes with kmsg. Its generated code is large and not ours, so a panic in it becomes
// an error: bytes of one client must not end the broker.
func readBody(req kmsg.Request, body []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return req.ReadFrom(body)
}

// parseHeader reads the part that all header versions share.
func parseHeader(frame []byte) (RequestHeader, []byte, error) {
	if len(frame) < 8 {
		return RequestHeader{}, nil, &MalformedError{Reason: fmt.Sprintf("a frame of %d bytes cannot hold a request header", len(frame))}
	}
	return RequestHeader{
		Key:           int16(binary.BigEndian.Uint16(frame)),
		Version:       int16(binary.BigEndian.Uint16(frame[2:])),
		CorrelationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}, frame[8:], nil
}

// parseRest reads the client id, which stays a non-compact nullable string even in flexible
// headers (KIP-482), and skips the tagged fields of header version 2.
func (h *RequestHeader) parseRest(body []byte, flexible bool) ([]byte, error) {
	if len(body) < 2 {
		return nil, &MalformedError{Reason: "the frame ends before the client id"}
	}
	n := int16(binary.BigEndian.Uint16(body))
	body = body[2:]
	if n > 0 && int(n) > len(body) {
		return nil, &MalformedError{Reason: "the frame ends inside the client id"}
	}
	if n >= 0 {
		id := string(body[:n])
		h.ClientID = &id
		body = body[n:]
	} else if n != -1 {
		return nil, &MalformedError{Reason: fmt.Sprintf("the client id has the length %d", n)}
	}
	if flexible {
		return skipTags(body)
	}
	return body, nil
}

func skipTags(body []byte) ([]byte, error) {
	count, body, err := takeUvarint(body)
	if err != nil {
		return nil, err
	}
	// Each tag takes at least two bytes.
	if count > uint64(len(body))/2 {
		return nil, &MalformedError{Reason: fmt.Sprintf("the header claims %d tagged fields", count)}
	}
	for range count {
		if _, body, err = takeUvarint(body); err != nil {
			return nil, err
		}
		var size uint64
		if size, body, err = takeUvarint(body); err != nil {
			return nil, err
		}
		if size > uint64(len(body)) {
			return nil, &MalformedError{Reason: "the frame ends inside a tagged field of the header"}
		}
		body = body[size:]
	}
	return body, nil
}

func takeUvarint(body []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(body)
	if n <= 0 || n > 5 {
		return 0, nil, &MalformedError{Reason: "a number in the header is cut or too long"}
	}
	return v, body[n:], nil
}

// AppendResponse appends a response to dst: size, header and body. The header has tagged fields
// when the body is flexible, except for ApiVersions, whose readers do not know yet what the other
// side speaks (KIP-511).
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// FrameSizeError is a frame whose size is negative or above the limit (socket.request.max.bytes).
type FrameSizeError struct{ Size, Max int32 }

func (e *FrameSizeError) Error() string {
	if e.Size < 0 {
		return fmt.Sprintf("a request claims the size %d; is the client speaking TLS or HTTP?", e.Size)
	}
	return fmt.Sprintf("a request of %d bytes is larger than socket.request.max.bytes, %d", e.Size, e.Max)
}

// readStep is how many bytes are allocated at most before they arrive.
const readStep = 1 << 20

// ReadFrame reads one size-prefixed frame of at most max bytes and returns it without the size. It
// uses the room of buf when that is enough, else memory that grows as the bytes really arrive. It
// returns io.EOF when the connection ends between frames, io.ErrUnexpectedEOF inside one.
func ReadFrame(r io.Reader, max int32, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], 4)
	if _, err := io.ReadFull(r, buf[:4]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(buf[:4]))
	if size < 0 || size > max {
		return nil, &FrameSizeError{Size: size, Max: max}
	}
	for len(buf) < int(size) {
		room := cap(buf)
		if room-len(buf) == 0 {
			room = len(buf) + min(readStep+len(buf), int(size)-len(buf))
			buf = slices.Grow(buf, room-len(buf))
		}
		n, err := io.ReadFull(r, buf[len(buf):min(room, int(size))])
		buf = buf[:len(buf)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return buf, nil
}
