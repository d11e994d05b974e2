package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"klamm/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a dispatcher whose handlers do what a test wants.
type script struct {
	onRequest func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	onProduce func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error
}

func (s *script) handle(ctx context.Context, _ *request, req kmsg.Request) (kmsg.Response, error) {
	if s.onRequest == nil {
		return req.ResponseKind(), nil
	}
	return s.onRequest(ctx, req)
}

func (s *script) produce(_ context.Context, _ *request, req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
	if s.onProduce == nil {
		reply(req.ResponseKind())
		return nil
	}
	return s.onProduce(req, reply)
}

func (s *script) parse(frame []byte) (protocol.RequestHeader, kmsg.Request, error) {
	return protocol.ParseRequest(frame)
}

func (s *script) unsupportedApiVersions() kmsg.Response {
	return protocol.Kafka44().UnsupportedAPIVersions()
}

// rig is a server without a listener: connections are pipes.
type rig struct {
	t      *testing.T
	server *SocketServer
	log    lockedBuffer
}

// lockedBuffer collects log lines of several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func testLimits() Limits {
	return Limits{MaxRequestBytes: 1 << 20, MaxConnections: 100, MaxConnectionsPerIP: 100}
}

func newRig(t *testing.T, d dispatcher, limits Limits) *rig {
	r := &rig{t: t}
	r.server = newSocketServer(d, limits, slog.New(slog.NewTextHandler(&r.log, nil)), time.Now)
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r.server.shutdown(ctx)
}

// limit is how long a test waits for what must happen; it only ever passes in a failing test.
const limit = 20 * time.Second

// client is the other end of a connection.
type client struct {
	t           *testing.T
	net         net.Conn
	correlation int32
}

func (r *rig) connect() *client {
	ours, theirs := net.Pipe()
	r.server.start(theirs, defaultListener)
	r.t.Cleanup(func() { ours.Close() })
	return &client{t: r.t, net: ours}
}

func frameOf(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).AppendRequest(nil, req, correlation)
}

func produceRequest(acks int16) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, acks
	return req
}

func metadataRequest() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return req
}

func (c *client) send(reqs ...kmsg.Request) {
	var out []byte
	for _, req := range reqs {
		c.correlation++
		out = append(out, frameOf(req, c.correlation)...)
	}
	c.write(out)
}

// write may be called from any goroutine: a pipe has no buffer, so the test reads meanwhile.
func (c *client) write(b []byte) {
	if _, err := c.net.Write(b); err != nil {
		c.t.Errorf("writing: %v", err)
	}
}

// receive returns the correlation ids of the next n answers.
func (c *client) receive(n int) []int32 {
	c.t.Helper()
	var ids []int32
	for range n {
		if err := c.net.SetReadDeadline(time.Now().Add(limit)); err != nil {
			c.t.Fatal(err)
		}
		frame, err := protocol.ReadFrame(c.net, 1<<20, nil)
		if err != nil {
			c.t.Fatalf("after answers %v: %v", ids, err)
		}
		ids = append(ids, int32(binary.BigEndian.Uint32(frame)))
	}
	return ids
}

// closed waits until the server has closed the connection.
func (c *client) closed() {
	c.t.Helper()
	read := make(chan error, 1)
	go func() {
		n, err := c.net.Read(make([]byte, 1))
		if n != 0 {
			err = errors.New("an answer instead of the end")
		}
		read <- err
	}()
	if err := receive(c.t, "the end of the connection", read); !errors.Is(err, io.EOF) {
		c.t.Fatalf("%v; want a closed connection", err)
	}
}

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("waited in vain for %s", what)
		panic("not reached")
	}
}

// A Produce that waits does not keep the next one from being appended; answers keep the order.
func TestProducePipelines(t *testing.T) {
	replies := make(chan func(), 10)
	d := &script{onProduce: func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
		replies <- func() { reply(req.ResponseKind()) }
		return nil
	}}
	c := newRig(t, d, testLimits()).connect()
	go c.send(produceRequest(-1), produceRequest(-1), produceRequest(-1))
	first, second, third := receive(t, "1st", replies), receive(t, "2nd", replies), receive(t, "3rd", replies)
	third()
	second()
	first()
	if diff := cmp.Diff([]int32{1, 2, 3}, c.receive(3)); diff != "" {
		t.Error(diff)
	}
}

// Any other request is handled when all before it are answered.
func TestOthersWaitTheirTurn(t *testing.T) {
	replies := make(chan func(), 10)
	handled := make(chan struct{}, 10)
	d := &script{
		onProduce: func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
			replies <- func() { reply(req.ResponseKind()) }
			return nil
		},
		onRequest: func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
			handled <- struct{}{}
			return req.ResponseKind(), nil
		},
	}
	synctest.Test(t, func(t *testing.T) {
		replies, handled = make(chan func(), 10), make(chan struct{}, 10)
		r := newRig(t, d, testLimits())
		c := r.connect()
		go c.send(produceRequest(-1), metadataRequest(), produceRequest(-1))
		first := <-replies
		synctest.Wait()
		if len(handled) != 0 || len(replies) != 0 {
			t.Fatalf("handled %d and appended %d before the first answer", len(handled), len(replies))
		}
		first()
		ids := c.receive(2)
		(<-replies)()
		if diff := cmp.Diff([]int32{1, 2, 3}, append(ids, c.receive(1)...)); diff != "" {
			t.Error(diff)
		}
		c.net.Close()
		r.stop()
	})
}

// acks=0 gets no answer, and does not disturb the order of the others.
func TestNoAnswerToAcksZero(t *testing.T) {
	d := &script{onProduce: func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
		if req.Acks == 0 {
			reply(nil)
		} else {
			reply(req.ResponseKind())
		}
		return nil
	}}
	c := newRig(t, d, testLimits()).connect()
	go c.send(produceRequest(0), produceRequest(1), produceRequest(0), metadataRequest(), produceRequest(0), produceRequest(-1))
	if diff := cmp.Diff([]int32{2, 4, 6}, c.receive(3)); diff != "" {
		t.Error(diff)
	}
}

// A refused acks=0 closes the connection: there is no other way to tell.
func TestRefusedProduceCloses(t *testing.T) {
	d := &script{onProduce: func(*kmsg.ProduceRequest, func(kmsg.Response)) error { return errors.New("refused") }}
	r := newRig(t, d, testLimits())
	c := r.connect()
	go c.send(produceRequest(0))
	c.closed()
	r.stop()
	if got := r.log.String(); !strings.Contains(got, "refused") || !strings.Contains(got, "client_id=tester") {
		t.Errorf("the log does not name the client and the reason: %s", got)
	}
}

// A queue of answers is bounded: the reader stops, and goes on when there is room.
func TestPendingAnswersAreBounded(t *testing.T) {
	const n = maxPendingResponses + 50
	replies := make(chan func(), n)
	d := &script{onProduce: func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
		replies <- func() { reply(req.ResponseKind()) }
		return nil
	}}
	c := newRig(t, d, testLimits()).connect()
	go func() {
		for i := range int32(n) {
			if _, err := c.net.Write(frameOf(produceRequest(-1), i+1)); err != nil {
				return
			}
		}
	}()
	var held []func()
	for range maxPendingResponses {
		held = append(held, receive(t, "an append", replies))
	}
	go func() {
		for _, f := range held {
			f()
		}
		for range n - maxPendingResponses {
			(<-replies)()
		}
	}()
	ids := c.receive(n)
	for i, id := range ids {
		if id != int32(i+1) {
			t.Fatalf("answer %d has id %d", i+1, id)
		}
	}
}

// Bytes that are no request close their connection and no other, with one line in the log.
func TestMalformedFramesCloseOneConnection(t *testing.T) {
	unknownVersion := frameOf(metadataRequest(), 1)
	binary.BigEndian.PutUint16(unknownVersion[6:], 99)
	for name, b := range map[string][]byte{
		"negative size":   {255, 255, 255, 255},
		"too large":       {127, 255, 255, 255},
		"empty":           {0, 0, 0, 0},
		"short":           {0, 0, 0, 3, 0, 3, 0},
		"HTTP":            []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"TLS":             {22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3},
		"unknown key":     {0, 0, 0, 10, 3, 231, 0, 0, 0, 0, 0, 1, 255, 255},
		"unknown version": unknownVersion,
		"cut body":        {0, 0, 0, 13, 0, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &script{}, testLimits())
			other := r.connect()
			go other.send(metadataRequest())
			other.receive(1)
			c := r.connect()
			go c.net.Write(b)
			c.closed()
			go other.send(metadataRequest())
			other.receive(1)
			other.net.Close()
			r.stop()
			if lines := strings.Count(r.log.String(), "\n"); lines != 1 {
				t.Errorf("%d log lines: %s", lines, r.log.String())
			}
		})
	}
}

// An ApiVersions request of a version nobody knows is answered in version 0 (KIP-511), and the
// connection goes on.
func TestApiVersionsFallback(t *testing.T) {
	c := newRig(t, &script{}, testLimits()).connect()
	b := frameOf(kmsg.NewPtrApiVersionsRequest(), 7)
	binary.BigEndian.PutUint16(b[6:], 77)
	go c.write(b)
	frame, err := protocol.ReadFrame(c.net, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := resp.ReadFrom(frame[4:]); err != nil {
		t.Fatal(err)
	}
	if resp.ErrorCode != protocol.CodeUnsupportedVersion || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].ApiKey != apiVersionsKey {
		t.Errorf("error %d, keys %v", resp.ErrorCode, resp.ApiKeys)
	}
	go c.send(metadataRequest())
	c.receive(1)
}

// A handler that panics costs its connection and one line in the log that says so.
func TestPanicClosesOneConnection(t *testing.T) {
	d := &script{onRequest: func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.Fetch.Int16() {
			panic("a mistake")
		}
		return req.ResponseKind(), nil
	}}
	r := newRig(t, d, testLimits())
	c, other := r.connect(), r.connect()
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 12
	go c.send(fetch)
	c.closed()
	go other.send(metadataRequest())
	other.receive(1)
	if got := r.log.String(); !strings.Contains(got, "bug in Klamm") || !strings.Contains(got, "a mistake") {
		t.Errorf("log: %s", got)
	}
}

func TestConnectionLimits(t *testing.T) {
	limits := testLimits()
	limits.MaxConnections = 2
	r := newRig(t, &script{}, limits)
	first, second, third := r.connect(), r.connect(), r.connect()
	third.closed()
	first.net.Close()
	for deadline := time.Now().Add(limit); ; { // the server notices the closed connection in its own time
		fourth := r.connect()
		go fourth.net.Write(frameOf(metadataRequest(), 1))
		if _, err := protocol.ReadFrame(fourth.net, 1<<20, nil); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no connection is let in after another was closed")
		}
	}
	go second.send(metadataRequest())
	second.receive(1)
}

// connections.max.idle.ms closes silent connections only.
func TestIdleConnectionsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := testLimits()
		limits.MaxIdle = time.Minute
		r := newRig(t, &script{}, limits)
		silent, busy := r.connect(), r.connect()
		for range 10 {
			go busy.send(metadataRequest())
			busy.receive(1)
			time.Sleep(20 * time.Second)
		}
		if _, err := silent.net.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the silent connection: %v", err)
		}
		go busy.send(metadataRequest())
		busy.receive(1)
		busy.net.Close()
		r.stop()
		if got := r.log.String(); got != "" {
			t.Errorf("log: %s", got)
		}
	})
}

// Shutdown answers what waits, in order, and then closes.
func TestShutdownAnswersFirst(t *testing.T) {
	replies := make(chan func(), 10)
	d := &script{onProduce: func(req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
		replies <- func() { reply(req.ResponseKind()) }
		return nil
	}}
	r := newRig(t, d, testLimits())
	c, idle := r.connect(), r.connect()
	go c.send(produceRequest(-1), produceRequest(-1))
	first, second := receive(t, "1st", replies), receive(t, "2nd", replies)
	stopped := make(chan struct{})
	go func() {
		r.stop()
		close(stopped)
	}()
	idle.closed()
	second()
	first()
	if diff := cmp.Diff([]int32{1, 2}, c.receive(2)); diff != "" {
		t.Error(diff)
	}
	c.closed()
	receive(t, "the shutdown", stopped)
}

// A shutdown whose time is over cuts connections whose answers never come.
func TestShutdownEndsInTime(t *testing.T) {
	d := &script{onProduce: func(*kmsg.ProduceRequest, func(kmsg.Response)) error { return nil }}
	r := newRig(t, d, testLimits())
	c := r.connect()
	sent := make(chan struct{})
	go func() {
		c.send(produceRequest(-1))
		close(sent)
	}()
	receive(t, "the request", sent)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := make(chan struct{})
	go func() {
		r.server.shutdown(over)
		close(stopped)
	}()
	receive(t, "the shutdown", stopped)
	c.closed()
}

// A handler that waits is told of the shutdown.
func TestShutdownWakesHandlers(t *testing.T) {
	waiting := make(chan struct{})
	d := &script{onRequest: func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
		close(waiting)
		<-ctx.Done()
		return req.ResponseKind(), nil
	}}
	r := newRig(t, d, testLimits())
	c := r.connect()
	go c.send(metadataRequest())
	receive(t, "the handler", waiting)
	go r.stop()
	if diff := cmp.Diff([]int32{1}, c.receive(1)); diff != "" {
		t.Error(diff)
	}
	c.closed()
}
