package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// request is one request of a client while it is handled.
type request struct {
	conn     *connection
	header   protocol.RequestHeader
	received time.Time
}

// clientID is what the client calls itself, "" when it does not say.
func (r *request) clientID() string { return r.header.ClientName() }

// dispatcher handles requests; Broker is one.
type dispatcher interface {
	// handle answers a request. A nil response without an error means that the client gets none.
	// An error closes the connection.
	handle(ctx context.Context, r *request, req kmsg.Request) (kmsg.Response, error)
	// produce appends and calls reply once, now or later, from any goroutine; reply(nil) means
	// that the client gets no answer. An error closes the connection.
	produce(ctx context.Context, r *request, req *kmsg.ProduceRequest, reply func(kmsg.Response)) error
	// parse reads a frame; errors are those of protocol.APITable.ParseRequest.
	parse(frame []byte) (protocol.RequestHeader, kmsg.Request, error)
	// unsupportedApiVersions answers an ApiVersions request of an unknown version.
	unsupportedApiVersions() kmsg.Response
}

// connection serves one client: one goroutine reads, handles and answers.
type connection struct {
	net     net.Conn
	server  *SocketServer
	frames  *frameReader
	answers *responseQueue

	listener string // name of the listener the client came in on
	client   string // last client id seen, for the log

	idleFrom time.Time // when the read deadline was set last
}

// clientHost is the address of the client without its port, in the form Kafka shows it.
func (c *connection) clientHost() string {
	if a, ok := c.net.RemoteAddr().(*net.TCPAddr); ok {
		return "/" + a.IP.String()
	}
	return "/" + c.net.RemoteAddr().String()
}

// serve runs until the client leaves, breaks the protocol, or the server stops.
func (c *connection) serve(ctx context.Context) {
	defer c.frames.close()
	defer c.net.Close()
	err := c.loop(ctx)
	if ctx.Err() != nil {
		_ = c.answers.drain() // a failed write is the client's loss only: it has gone
	}
	c.answers.close(io.ErrClosedPipe)
	if c.isOrdinaryEnd(ctx, err) {
		return
	}
	c.server.logger.LogAttrs(ctx, slog.LevelWarn, "connection closed",
		slog.String("client", c.net.RemoteAddr().String()),
		slog.String("client_id", c.client),
		slog.String("reason", err.Error()))
}

// isOrdinaryEnd tells the ways a connection ends every day from those an operator should see.
func (c *connection) isOrdinaryEnd(ctx context.Context, err error) bool {
	var timeout net.Error
	return err == nil || ctx.Err() != nil ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || isReset(err) ||
		(errors.As(err, &timeout) && timeout.Timeout())
}

func (c *connection) loop(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.server.logger.Error("this is a bug in Klamm: a request made its handler panic; only its connection is closed",
				"client", c.net.RemoteAddr().String(), "client_id", c.client,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = nil
		}
	}()
	for ctx.Err() == nil {
		if !c.frames.whole() {
			c.answers.flush()
			c.frames.release()
			if err := c.extendIdleDeadline(ctx); err != nil {
				return err
			}
		}
		frame, err := c.frames.next()
		if err != nil {
			return err
		}
		c.answers.begin()
		if err := c.serveFrame(ctx, frame); err != nil {
			return err
		}
	}
	return nil
}

// extendIdleDeadline arms connections.max.idle.ms. The deadline is moved only when an eighth of
// it has passed, to keep busy connections cheap.
func (c *connection) extendIdleDeadline(ctx context.Context) error {
	limit := c.server.limits.MaxIdle
	if limit <= 0 {
		return nil
	}
	now := time.Now()
	if now.Sub(c.idleFrom) < limit/8 {
		return nil
	}
	c.idleFrom = now
	if err := c.net.SetReadDeadline(now.Add(limit)); err != nil {
		return err
	}
	return ctx.Err() // shutdown may have set its own deadline just before
}

// produceKey is the one API key whose requests overtake the answers before them.
const produceKey = 0

func (c *connection) serveFrame(ctx context.Context, frame []byte) error {
	if len(frame) >= 2 && (frame[0] != 0 || frame[1] != produceKey) {
		// Handlers of other keys may keep parts of the request, and wait for long.
		frame = bytes.Clone(frame)
		c.frames.release()
	}
	header, req, err := c.server.dispatcher.parse(frame)
	c.client = header.ClientName()
	r := &request{conn: c, header: header, received: c.server.now()}
	if err != nil {
		return c.refuse(r, err)
	}
	if p, ok := req.(*kmsg.ProduceRequest); ok {
		return c.serveProduce(ctx, r, p)
	}
	if err := c.answers.drain(); err != nil {
		return err
	}
	resp, err := c.server.dispatcher.handle(ctx, r, req)
	if err != nil {
		return fmt.Errorf("%s v%d: %w", kmsg.NameForKey(header.Key), header.Version, err)
	}
	if resp == nil {
		return nil
	}
	if held, ok := resp.(releaser); ok {
		defer held.release()
	}
	return c.answers.write(header.CorrelationID, resp)
}

// releaser is a response that holds lent memory until it is written.
type releaser interface{ release() }

func (c *connection) serveProduce(ctx context.Context, r *request, req *kmsg.ProduceRequest) error {
	place := c.answers.reserve(r.header.CorrelationID)
	return c.server.dispatcher.produce(ctx, r, req, func(resp kmsg.Response) {
		c.answers.complete(place, resp)
	})
}

// refuse answers what can be answered though it cannot be read (an ApiVersions request of an
// unknown version, KIP-511) and returns the reason to close the connection otherwise.
func (c *connection) refuse(r *request, reason error) error {
	var unsupported *protocol.UnsupportedVersionError
	if errors.As(reason, &unsupported) && unsupported.Key == apiVersionsKey {
		if err := c.answers.drain(); err != nil {
			return err
		}
		return c.answers.write(r.header.CorrelationID, c.server.dispatcher.unsupportedApiVersions())
	}
	return reason
}
