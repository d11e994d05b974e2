package explorer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// codeWords are the Kafka errors a person meets most, in words; others keep Kafka's description.
func codeWords(code string) (title, help string) {
	switch code {
	case "UNKNOWN_TOPIC_OR_PARTITION":
		return "This topic or partition does not exist here, or this user may not see it.", ""
	case "TOPIC_ALREADY_EXISTS":
		return "A topic of this name exists already.", ""
	case "INVALID_TOPIC_EXCEPTION":
		return "This is not a legal topic name.", "Use letters, digits, '.', '_' and '-', 249 characters at most."
	case "LEADER_NOT_AVAILABLE":
		return "The partition has no leader.", "Its replicas' brokers are down; it comes back with one of them."
	case "NOT_LEADER_FOR_PARTITION":
		return "Another broker leads the partition now.", ""
	case "REPLICA_NOT_AVAILABLE":
		return "A replica is not available.", ""
	case "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE":
		return "The record is larger than the topic allows.", "Raise max.message.bytes of the topic, or send less."
	case "INVALID_REPLICATION_FACTOR":
		return "The cluster has not enough brokers for this replication factor.", "Choose a smaller replication factor."
	case "INVALID_PARTITIONS":
		return "This number of partitions is not possible.", ""
	case "INVALID_CONFIG":
		return "A configuration value is refused.", ""
	case "POLICY_VIOLATION":
		return "A policy of the cluster forbids this.", ""
	case "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
		return "This user is not authorised.", "Ask for an ACL that allows the operation on the resource."
	case "SASL_AUTHENTICATION_FAILED":
		return "The cluster refuses this user or password.", "Check sasl.mechanism, user and password."
	case "UNSUPPORTED_VERSION":
		return "This cluster does not offer the call.", ""
	case "NON_EMPTY_GROUP":
		return "The group still has members.", "Stop its consumers first."
	case "GROUP_ID_NOT_FOUND":
		return "This group does not exist here.", ""
	case "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS":
		return "The group's coordinator is not available at the moment.", "Try again in a few seconds."
	case "OFFSET_OUT_OF_RANGE":
		return "The offset is not in the log any more.", ""
	case "KAFKA_STORAGE_ERROR":
		return "The broker cannot use the files of this partition: they are damaged, or its disk failed.", "The broker's log names the file."
	case "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND":
		return "Fewer replicas are in sync than min.insync.replicas asks for.", ""
	case "REQUEST_TIMED_OUT":
		return "The broker could not do this in time.", ""
	case "SECURITY_DISABLED":
		return "The cluster has no authorizer.", ""
	}
	return "", ""
}

// codeProblem makes a Problem of a Kafka error code; message is what the broker said, if anything.
func codeProblem(code int16, message *string, operation, resource string) *Problem {
	err := kerr.ErrorForCode(code)
	if err == nil {
		return nil
	}
	ke := kerr.TypedErrorForCode(code)
	p := &Problem{Code: ke.Message, Retriable: ke.Retriable, Operation: operation, Resource: resource, cause: err}
	p.Title, p.Help = codeWords(ke.Message)
	switch {
	case p.Title == "":
		p.Title = sentence(ke.Description)
	case strings.HasSuffix(p.Code, "_AUTHORIZATION_FAILED"):
		p.Title = "Not authorised: " + operation
		if resource != "" {
			p.Title += " on " + resource
		}
		p.Title += "."
	}
	if message != nil {
		p.Detail = *message
	}
	return p
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// connectProblem says in words why the cluster, or one broker of it, could not be asked.
func (c *Connection) connectProblem(err error, operation string) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return codeProblem(ke.Code, nil, operation, "")
	}
	p = dialProblem(err, c.security.tls != nil)
	p.Operation = operation
	if p.Resource == "" {
		p.Resource = strings.Join(c.bootstrap, ",")
	}
	return p
}

// dialProblem classifies errors of name resolution, dialling, TLS and the first bytes read.
func dialProblem(err error, usesTLS bool) *Problem {
	p := &Problem{Code: "CONNECTION_FAILED", Title: "The cluster could not be asked.", Detail: err.Error(), Retriable: true, cause: err}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		p.Resource = op.Addr.String()
	}
	if tlsProblem(p, err) || plainProblem(p, err, usesTLS) {
		return p
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		p.Code, p.Resource = "UNRESOLVABLE", dns.Name
		p.Title = "The name " + dns.Name + " cannot be resolved."
		p.Help = "Check the spelling; inside containers and VPNs names differ from outside."
	case isErrno(err, syscall.ECONNREFUSED, winRefused):
		p.Code, p.Title = "CONNECTION_REFUSED", "Nothing listens at "+at(p.Resource)+": connection refused."
		p.Help = "Start the broker, or correct the port."
	case isErrno(err, syscall.EHOSTUNREACH, winHostUnreachable), isErrno(err, syscall.ENETUNREACH, winNetUnreachable):
		p.Code, p.Title = "UNREACHABLE", "There is no route to "+at(p.Resource)+"."
		p.Help = "Check the network, VPN or firewall."
	case errors.Is(err, context.Canceled):
		p.Code, p.Title = "CANCELLED", "The call was cancelled."
	case isTimeout(err):
		p.Code, p.Title = "TIMEOUT", "No answer from "+at(p.Resource)+" in time."
		p.Help = "A firewall may drop the packets, or the broker is overloaded."
	}
	return p
}

// Windows has numbers of its own (WSAE...), which package syscall does not map.
const (
	winNetUnreachable  syscall.Errno = 10051
	winReset           syscall.Errno = 10054
	winRefused         syscall.Errno = 10061
	winHostUnreachable syscall.Errno = 10065
)

func isErrno(err error, unix, windows syscall.Errno) bool {
	return errors.Is(err, unix) || errors.Is(err, windows)
}

func at(address string) string {
	if address == "" {
		return "the address"
	}
	return address
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &n) && n.Timeout())
}

// tlsProblem fills p for certificate and handshake errors.
func tlsProblem(p *Problem, err error) bool {
	var (
		header  tls.RecordHeaderError
		name    x509.HostnameError
		ca      x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		alert   tls.AlertError
	)
	switch {
	case errors.As(err, &header):
		p.Code, p.Title = "TLS_ON_PLAIN_PORT", "The port does not speak TLS."
		p.Help = "Use security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or the port of the TLS listener."
	case errors.As(err, &name):
		p.Code, p.Title = "TLS_WRONG_NAME", "The certificate is not for "+name.Host+"."
		p.Help = "Add the name to the certificate, or set ssl.endpoint.identification.algorithm to empty to skip this check."
	case errors.As(err, &ca):
		p.Code, p.Title = "TLS_UNKNOWN_CA", "The certificate is signed by an authority that is not trusted."
		p.Help = "Set ssl.truststore.location to a PEM file with the authority's certificate."
	case errors.As(err, &invalid):
		p.Code, p.Title = "TLS_INVALID_CERTIFICATE", "The certificate is not valid: "+invalid.Error()+"."
	case errors.As(err, &alert):
		p.Code, p.Title = "TLS_REFUSED", "The broker refused the TLS handshake."
		p.Help = "It may ask for a client certificate: set ssl.keystore.location."
	default:
		return false
	}
	p.Retriable = false
	return true
}

func closedAtOnce(usesTLS bool) *Problem {
	p := &Problem{
		Code: "CLOSED_AT_ONCE", Title: "The broker closed the connection at the first request.",
		Help: "It probably expects TLS or SASL: check security.protocol.", Retriable: true,
	}
	if usesTLS {
		p.Help = "Check that this is the TLS port, and whether it asks for a client certificate or SASL."
	}
	return p
}

// plainProblem fills p when the first bytes show another protocol than Kafka's.
func plainProblem(p *Problem, err error, usesTLS bool) bool {
	text := err.Error()
	var first *kgo.ErrFirstReadEOF
	switch {
	case strings.Contains(text, "appear to be a tls alert"):
		p.Code, p.Title = "PLAIN_ON_TLS_PORT", "The port speaks TLS, but the connection is plain."
		p.Help = "Set security.protocol to SSL or SASL_SSL."
	case strings.Contains(text, "'HTTP' in ascii"):
		p.Code, p.Title = "NOT_KAFKA", "The port answers with HTTP: this is not a Kafka broker."
		p.Help = "Use the port of the Kafka listener, usually 9092."
	case errors.As(err, &first):
		q := closedAtOnce(usesTLS)
		p.Code, p.Title, p.Help = q.Code, q.Title, q.Help
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isErrno(err, syscall.ECONNRESET, winReset), isErrno(err, syscall.EPIPE, winReset):
		p.Code, p.Title = "CONNECTION_LOST", "The connection broke off."
		p.Help = "The broker may have stopped or restarted: try again."
	default:
		return false
	}
	return true
}
