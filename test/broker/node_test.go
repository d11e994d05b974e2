// Package broker_test drives whole nodes in this process over a file system in memory.
package broker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"klamm/internal/cli"
	"klamm/internal/config"
	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long a test waits for what must happen; it only ever passes in a failing test.
const limit = 30 * time.Second

// node is one broker of a test.
type node struct {
	*cli.Node
	log  *lockedBuffer
	once sync.Once
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

func start(t testing.TB, fsys vfs.FS, listen string, properties ...string) *node {
	t.Helper()
	return startIn(t, fsys, "/data", listen, properties...)
}

func startIn(t testing.TB, fsys vfs.FS, dir, listen string, properties ...string) *node {
	t.Helper()
	set := map[string]string{}
	for i := 0; i < len(properties); i += 2 {
		set[properties[i]] = properties[i+1]
	}
	c, err := config.New(nil, set)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{log: &lockedBuffer{}}
	n.Node, err = cli.StartNode(cli.NodeOptions{
		FS: fsys, DataDir: dir, Listen: listen, Config: c, Now: time.Now, Logger: slog.New(slog.NewTextHandler(n.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.stop(t, true) })
	return n
}

func (n *node) stop(t testing.TB, clean bool) {
	t.Helper()
	n.once.Do(func() {
		if err := n.Stop(clean); err != nil && clean {
			t.Errorf("stop: %v", err)
		}
		if log := n.log.String(); strings.Contains(log, "bug in Klamm") {
			t.Error(log)
		}
	})
}

func (n *node) client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(n.Addr()), kgo.AllowAutoTopicCreation()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (n *node) create(t testing.TB, topic string, partitions int32) {
	t.Helper()
	admin := kadm.NewClient(n.client(t))
	if _, err := admin.CreateTopic(context.Background(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// consume reads n records of a topic from the start, in the order of each partition.
func consume(t testing.TB, c *kgo.Client, n int) []*kgo.Record {
	t.Helper()
	ctx := within(t)
	var out []*kgo.Record
	for len(out) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(out), n, err)
		}
		out = append(out, fetches.Records()...)
	}
	if len(out) > n {
		t.Fatalf("%d records, want %d", len(out), n)
	}
	return out
}

// raw is a connection without a client in between.
type raw struct {
	t testing.TB
	net.Conn
	correlation int32
}

func dial(t testing.TB, address string) *raw {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t: t, Conn: c}
}

func (r *raw) send(req kmsg.Request) {
	r.t.Helper()
	r.correlation++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, r.correlation)
	if _, err := r.Write(frame); err != nil {
		r.t.Fatal(err)
	}
}

// receive reads the next answer, which must be that of req.
func receive[R kmsg.Response](r *raw, req kmsg.Request) R {
	r.t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(limit)); err != nil {
		r.t.Fatal(err)
	}
	frame, err := protocol.ReadFrame(r, 1<<30, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	body := frame[4:]
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		r.t.Fatalf("answer %d: %v", binary.BigEndian.Uint32(frame), err)
	}
	return resp.(R)
}

func ask[R kmsg.Response](r *raw, req kmsg.Request) R {
	r.t.Helper()
	r.send(req)
	return receive[R](r, req)
}

// mustClose waits until the broker has closed the connection.
func (r *raw) mustClose() {
	r.t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(limit)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil && strings.Contains(err.Error(), "timeout") {
		r.t.Fatal("the connection stays open")
	}
}
