// Package conformance asks a broker the same requests, in every version of every API key, and
// renders the answers so that two brokers can be compared. The answers of Apache Kafka are kept in
// testdata (recorded by the program in record/), those of Klamm must be the same.
package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// answerLimit is how long a broker may take for one answer.
const answerLimit = 30 * time.Second

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 20

// session is one raw connection: no retries, no version negotiation, nothing is hidden.
type session struct {
	address     string
	conn        net.Conn
	correlation int32
}

func dial(address string) (*session, error) {
	s := &session{address: address}
	return s, s.reconnect()
}

func (s *session) reconnect() error {
	if s.conn != nil {
		s.conn.Close()
	}
	conn, err := net.DialTimeout("tcp", s.address, answerLimit)
	s.conn = conn
	return err
}

func (s *session) close() { s.conn.Close() }

// errClosed says that the broker closed the connection instead of an answer.
var errClosed = errors.New("connection closed")

// ask sends a request and reads its answer. When the broker closes the connection, errClosed is
// returned and the session connects anew.
func (s *session) ask(req kmsg.Request) (kmsg.Response, error) {
	if err := s.send(req); err != nil {
		return nil, err
	}
	body, err := s.receive()
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("the response header has tagged fields")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d: %w", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp, nil
}

func (s *session) send(req kmsg.Request) error {
	s.correlation++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("conformance")).AppendRequest(nil, req, s.correlation)
	return s.sendRaw(frame)
}

func (s *session) sendRaw(frame []byte) error {
	if err := s.conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	_, err := s.conn.Write(frame)
	return err
}

// receive returns the next answer without its size and correlation id.
func (s *session) receive() ([]byte, error) {
	frame, err := protocol.ReadFrame(s.conn, maxAnswer, nil)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) {
		return nil, errors.Join(errClosed, s.reconnect())
	}
	if err != nil {
		return nil, err
	}
	if len(frame) < 4 {
		return nil, fmt.Errorf("an answer of %d bytes", len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != s.correlation {
		return nil, fmt.Errorf("the answer has correlation id %d, the request had %d", got, s.correlation)
	}
	return frame[4:], nil
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}
