package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/protocol"
)

// windowsRefused is WSAECONNREFUSED, which syscall names only for Unix.
const windowsRefused = syscall.Errno(10061)

// explain turns what a client reports into one sentence that names address and cause.
func (cl *client) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	var broker *kerr.Error
	if errors.As(err, &broker) {
		return &failure{kafkaWords(broker.Code, ""), err}
	}
	cause := cl.cause(err)
	if cause == "" {
		return err
	}
	where := strings.Join(cl.addresses, ",")
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil && !strings.Contains(where, ",") {
		if tcp, ok := op.Addr.(*net.TCPAddr); ok && !strings.HasSuffix(where, fmt.Sprintf(":%d", tcp.Port)) {
			where = op.Addr.String() // a broker that the first one named
		}
	}
	return &failure{fmt.Sprintf("cannot reach %s: %s", where, cause), err}
}

// failure is a sentence for a person with the error behind it.
type failure struct {
	message string
	cause   error
}

func (e *failure) Error() string { return e.message }
func (e *failure) Unwrap() error { return e.cause }

// cause names what keeps the network from working, empty when that is not the matter.
func (cl *client) cause(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the name %s is not known; is it spelled right?", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s could not be looked up: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, windowsRefused):
		return "connection refused; is a broker running there?"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to it; check network, VPN or firewall"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %v; a firewall may drop the packets, the broker is overloaded, or this is a port of something else than Kafka", cl.timeout)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF):
		return "the other side closed the connection; is it a Kafka listener without encryption?"
	}
	return ""
}

// kafkaWords says what a Kafka error code means, with the broker's own message when it sent one.
func kafkaWords(code int16, message string) string {
	words := map[int16]string{
		protocol.CodeUnknownTopicOrPartition:    "there is no such topic or partition",
		protocol.CodeTopicAlreadyExists:         "a topic of this name exists already",
		protocol.CodeInvalidTopicException:      "this is not a legal topic name: use letters, digits, '.', '_' and '-', 249 characters at most",
		protocol.CodeMessageTooLarge:            "the record is larger than the topic allows (max.message.bytes)",
		protocol.CodeRecordListTooLarge:         "the record is larger than a segment of the topic (segment.bytes)",
		protocol.CodeInvalidReplicationFactor:   "the cluster has not enough brokers for this replication factor",
		protocol.CodeInvalidPartitions:          "this number of partitions is not possible",
		protocol.CodeGroupIDNotFound:            "there is no such group",
		protocol.CodeTopicAuthorizationFailed:   "this user may not do that with the topic",
		protocol.CodeGroupAuthorizationFailed:   "this user may not do that with the group",
		protocol.CodeClusterAuthorizationFailed: "this user may not do that with the cluster",
		protocol.CodeUnsupportedVersion:         "the cluster does not offer this call",
		protocol.CodeKafkaStorageError:          "the broker cannot use the files of this partition: they are damaged, or its disk failed; the broker's log names the file",
		protocol.CodeLeaderNotAvailable:         "the partition has no leader at the moment",
	}[code]
	if message == "" {
		message = words
	} else if words != "" && !strings.Contains(message, words) {
		message = words + ": " + message
	}
	if message == "" {
		var k *kerr.Error
		if errors.As(kerr.ErrorForCode(code), &k) {
			message = k.Description
		}
	}
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(message, "."), protocol.CodeName(code))
}

// about says what a Kafka error of one item means. message is the broker's own, may be empty.
func about(item string, err error, message string) error {
	var k *kerr.Error
	if errors.As(err, &k) {
		return &failure{item + ": " + kafkaWords(k.Code, message), err}
	}
	return &failure{fmt.Sprintf("%s: %v", item, err), err}
}
