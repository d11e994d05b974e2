package broker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Limits bound what clients may take of the broker.
type Limits struct {
	MaxRequestBytes     int32         // socket.request.max.bytes
	MaxConnections      int           // max.connections
	MaxConnectionsPerIP int           // max.connections.per.ip
	MaxIdle             time.Duration // connections.max.idle.ms; 0 or less: never closed
}

// longestWait is how long a request that asks for so many milliseconds may wait. Kafka closes the
// connection of a longer one as idle; here nobody would see meanwhile that the client has gone.
func (l Limits) longestWait(asked int32) time.Duration {
	wait := time.Duration(asked) * time.Millisecond
	if l.MaxIdle > 0 {
		wait = min(wait, l.MaxIdle)
	}
	return wait
}

// SocketServer accepts connections and serves each on its own goroutine (Kafka's SocketServer).
type SocketServer struct {
	dispatcher dispatcher
	limits     Limits
	logger     *slog.Logger
	now        func() time.Time
	buffers    bufferPool
	outputs    sync.Pool

	// running ends when shutdown begins: waiting handlers answer with what they have. patience ends
	// when shutdown has waited long enough.
	running  context.Context
	stop     context.CancelFunc
	patience context.Context
	giveUp   context.CancelFunc

	mu       sync.Mutex
	conns    map[*connection]struct{}
	perIP    map[string]int
	closing  bool
	handlers sync.WaitGroup
}

func newSocketServer(d dispatcher, limits Limits, logger *slog.Logger, now func() time.Time) *SocketServer {
	s := &SocketServer{
		dispatcher: d, limits: limits, logger: logger, now: now,
		conns: map[*connection]struct{}{}, perIP: map[string]int{},
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.patience, s.giveUp = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections of l until l is closed or the server shuts down. It returns nil then,
// and the error of the listener otherwise.
func (s *SocketServer) Serve(l net.Listener, name string) error {
	for {
		c, err := l.Accept()
		if err == nil {
			s.start(c, name)
			continue
		}
		if errors.Is(err, net.ErrClosed) || s.running.Err() != nil {
			return nil
		}
		if !isTemporary(err) {
			return err
		}
		s.logger.Warn("cannot accept a connection: raise the limit of open files (ulimit -n) or lower max.connections", "error", err)
		if !sleep(s.running, acceptPause) {
			return nil
		}
	}
}

// acceptPause is how long accepting rests when the process is out of file descriptors.
const acceptPause = 100 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// start serves a connection on its own goroutine, or closes it when a limit is reached.
func (s *SocketServer) start(n net.Conn, listener string) {
	c := &connection{net: n, server: s, listener: listener}
	c.frames = newFrameReader(n, s.limits.MaxRequestBytes, &s.buffers)
	c.answers = newResponseQueue(&answerWriter{net: n, limit: s.limits.MaxIdle}, &s.outputs, func(error) { n.Close() })
	ip := hostOf(n.RemoteAddr())
	if reason := s.admit(c, ip); reason != "" {
		s.logger.Warn("connection refused", "client", n.RemoteAddr().String(), "reason", reason)
		n.Close()
		return
	}
	go func() {
		defer s.forget(c, ip)
		c.serve(s.running)
	}()
}

func (s *SocketServer) admit(c *connection, ip string) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return "the broker is shutting down"
	case len(s.conns) >= s.limits.MaxConnections:
		return "max.connections is reached"
	case s.perIP[ip] >= s.limits.MaxConnectionsPerIP:
		return "max.connections.per.ip is reached"
	}
	s.conns[c] = struct{}{}
	s.perIP[ip]++
	s.handlers.Add(1)
	return ""
}

func (s *SocketServer) forget(c *connection, ip string) {
	s.mu.Lock()
	delete(s.conns, c)
	if s.perIP[ip]--; s.perIP[ip] <= 0 {
		delete(s.perIP, ip)
	}
	s.mu.Unlock()
	s.handlers.Done()
}

// shutdown lets every connection finish what it is doing until ctx ends, then closes it. Reading
// stops at once.
func (s *SocketServer) shutdown(ctx context.Context) {
	s.stop()
	s.mu.Lock()
	s.closing = true
	for c := range s.conns {
		_ = c.net.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.giveUp()
	s.mu.Lock()
	for c := range s.conns {
		c.answers.close(net.ErrClosed)
		c.net.Close()
	}
	s.mu.Unlock()
	<-done
}

func hostOf(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return a.String()
}
