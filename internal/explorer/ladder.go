package explorer

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ladderTimeout bounds a whole connection test, whatever hangs; rungTimeout one step of it.
const (
	ladderTimeout = 10 * time.Second
	rungTimeout   = 3 * time.Second
)

// TestSettings climbs the ladder with settings that are not saved.
func (e *Explorer) TestSettings(ctx context.Context, s ClusterSettings) (TestReport, error) {
	c, err := Connect(s, ConnectOptions{Logger: e.log, Now: e.now})
	if err != nil {
		return TestReport{}, err
	}
	defer c.Close()
	return c.Test(ctx), nil
}

// TestCluster climbs the ladder of a saved cluster, with connections of its own.
func (e *Explorer) TestCluster(ctx context.Context, id string) (TestReport, error) {
	e.mu.Lock()
	s, err := e.find(id)
	if err != nil {
		e.mu.Unlock()
		return TestReport{}, err
	}
	settings := s.settings
	e.mu.Unlock()
	return e.TestSettings(ctx, settings)
}

// ladder is one connection test being climbed.
type ladder struct {
	c      *Connection
	report TestReport
}

// Test climbs from the address to the metadata and to every advertised address, in ladderTimeout at
// most. A rung that fails ends it, except that one bootstrap address may fail while another works.
func (c *Connection) Test(ctx context.Context) TestReport {
	ctx, cancel := context.WithTimeout(ctx, ladderTimeout)
	defer cancel()
	l := &ladder{c: c, report: TestReport{Rungs: []Rung{}}}
	started := time.Now()
	l.climb(ctx)
	l.report.OK = true
	for _, r := range l.report.Rungs {
		if r.State == "failed" {
			l.report.OK = false
		}
	}
	l.report.Millis = int32(time.Since(started).Milliseconds())
	if len(c.security.ignored) > 0 {
		l.report.Ignored = c.security.ignored
	}
	return l.report
}

func (l *ladder) climb(ctx context.Context) {
	working := l.bootstrap(ctx)
	if working == "" {
		return
	}
	cl, err := l.c.newClient(kgo.SeedBrokers(working), kgo.RequestRetries(0), kgo.RetryTimeout(rungTimeout))
	if err != nil {
		l.add(Rung{Step: "apiVersions", Target: working, State: "failed", Text: err.Error()})
		return
	}
	defer cl.Close()
	if !l.apiVersions(ctx, cl, working) {
		return
	}
	l.advertised(ctx, l.metadata(ctx, cl, working))
}

func (l *ladder) add(r Rung) { l.report.Rungs = append(l.report.Rungs, r) }

// failed adds a rung for err.
func (l *ladder) failed(step, target string, started time.Time, err error) {
	p := l.c.connectProblem(err, "")
	text := p.Title
	if p.Detail != "" && p.Code == "CONNECTION_FAILED" {
		text += " " + p.Detail
	}
	l.add(Rung{Step: step, Target: target, State: "failed", Millis: since(started), Text: text, Code: p.Code, Help: p.Help})
}

func since(t time.Time) int32 { return int32(time.Since(t).Milliseconds()) }

// bootstrap resolves and dials all addresses at once and gives the first that works; when one works,
// the failures of the others become warnings.
func (l *ladder) bootstrap(ctx context.Context) string {
	branches := make([]*ladder, len(l.c.bootstrap))
	reached := make([]bool, len(l.c.bootstrap))
	var wg sync.WaitGroup
	for i, address := range l.c.bootstrap {
		branches[i] = &ladder{c: l.c}
		wg.Go(func() { reached[i] = branches[i].reach(ctx, address) })
	}
	wg.Wait()
	working := ""
	for i := range branches {
		l.report.Rungs = append(l.report.Rungs, branches[i].report.Rungs...)
		if reached[i] && working == "" {
			working = l.c.bootstrap[i]
		}
	}
	if working != "" {
		for i := range l.report.Rungs {
			if l.report.Rungs[i].State == "failed" {
				l.report.Rungs[i].State = "warning"
			}
		}
	}
	return working
}

func (l *ladder) reach(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, rungTimeout)
	defer cancel()
	host, _, _ := net.SplitHostPort(address)
	started := time.Now()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		l.failed("resolve", address, started, err)
		return false
	}
	if net.ParseIP(host) == nil {
		l.add(Rung{Step: "resolve", Target: address, State: "ok", Millis: since(started), Text: host + " is " + strings.Join(addrs, ", ")})
	}
	started = time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		l.failed("connect", address, started, err)
		return false
	}
	defer conn.Close()
	l.add(Rung{Step: "connect", Target: address, State: "ok", Millis: since(started), Text: conn.RemoteAddr().String() + " accepts connections"})
	if l.c.security.tls == nil {
		return true
	}
	return l.handshake(ctx, conn, host, address)
}

func (l *ladder) handshake(ctx context.Context, conn net.Conn, host, address string) bool {
	conf := l.c.security.tls.Clone()
	conf.ServerName = host
	started := time.Now()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		l.failed("tls", address, started, err)
		return false
	}
	state := t.ConnectionState()
	text := tls.VersionName(state.Version)
	if len(state.PeerCertificates) > 0 {
		leaf := state.PeerCertificates[0]
		text += fmt.Sprintf(" · %s, issued by %s · names: %s · expires %s", leaf.Subject, leaf.Issuer, strings.Join(leaf.DNSNames, ", "), leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	l.add(Rung{Step: "tls", Target: address, State: "ok", Millis: since(started), Text: text})
	return true
}

// apiVersions is the first request, so SASL happens in it.
func (l *ladder) apiVersions(ctx context.Context, cl *kgo.Client, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, rungTimeout)
	defer cancel()
	started := time.Now()
	a, err := l.c.versions(ctx, cl)
	if err != nil {
		l.firstFailed(ctx, address, started, l.c.connectProblem(err, ""))
		return false
	}
	if l.c.security.sasl != nil {
		l.add(Rung{Step: "sasl", Target: address, State: "ok", Millis: since(started), Text: l.c.security.mechanism + ": authenticated"})
	}
	l.add(Rung{Step: "apiVersions", Target: address, State: "ok", Millis: since(started), Text: fmt.Sprintf("%s · %d keys", a.product.Name, a.product.Keys)})
	return true
}

// firstFailed says why the first request failed. Brokers tell little when they close a connection, so
// a plain one is tried with TLS, and one that has SASL is taken for refused.
func (l *ladder) firstFailed(ctx context.Context, address string, started time.Time, p *Problem) {
	step := "apiVersions"
	if p.Code == "CONNECTION_LOST" { // a reset instead of a clean end: the same to a first request
		p = closedAtOnce(l.c.security.tls != nil)
	}
	switch {
	case p.Code == kerr.SaslAuthenticationFailed.Message:
		step = "sasl"
	case p.Code != "CLOSED_AT_ONCE":
	case l.c.security.tls == nil && speaksTLS(ctx, address):
		p = &Problem{Code: "PLAIN_ON_TLS_PORT", Title: "The port speaks TLS, but the connection is plain.", Help: "Set security.protocol to SSL or SASL_SSL."}
	case l.c.security.sasl != nil:
		step = "sasl"
		p = &Problem{Code: "CLOSED_AT_ONCE", Title: "The broker closed the connection during authentication.", Help: "Check user and password, sasl.mechanism, and whether this is the SASL port."}
	}
	l.failed(step, address, started, p)
}

// speaksTLS tries a handshake without checking the certificate; nothing is sent over it.
func speaksTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, rungTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil
}

func (l *ladder) metadata(ctx context.Context, cl *kgo.Client, address string) []kmsg.MetadataResponseBroker {
	ctx, cancel := context.WithTimeout(ctx, rungTimeout)
	defer cancel()
	started := time.Now()
	m, err := l.c.metadata(ctx, cl, nil)
	if err != nil {
		l.failed("metadata", address, started, err)
		return nil
	}
	l.add(Rung{Step: "metadata", Target: address, State: "ok", Millis: since(started), Text: fmt.Sprintf("%s · %s visible to this user", count(len(m.Brokers), "broker"), count(len(m.Topics), "topic"))})
	return m.Brokers
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// advertised dials every broker where the metadata says it is, all at once.
func (l *ladder) advertised(ctx context.Context, brokers []kmsg.MetadataResponseBroker) {
	rungs := make([]Rung, len(brokers))
	var wg sync.WaitGroup
	for i, b := range brokers {
		wg.Go(func() { rungs[i] = l.dialAdvertised(ctx, b) })
	}
	wg.Wait()
	for _, r := range rungs {
		l.add(r)
	}
}

func (l *ladder) dialAdvertised(ctx context.Context, b kmsg.MetadataResponseBroker) Rung {
	ctx, cancel := context.WithTimeout(ctx, rungTimeout)
	defer cancel()
	address := net.JoinHostPort(b.Host, fmt.Sprint(b.Port))
	r := Rung{Step: "advertised", Target: fmt.Sprintf("broker %d (%s)", b.NodeID, address), State: "ok"}
	started := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	r.Millis = since(started)
	if err == nil {
		conn.Close()
		r.Text = fmt.Sprintf("broker %d advertises %s: reachable", b.NodeID, address)
		return r
	}
	p := dialProblem(err, false)
	r.State, r.Code = "failed", p.Code
	r.Text = fmt.Sprintf("broker %d advertises %s: %s", b.NodeID, address, p.Title)
	r.Help = "The bootstrap address works, but clients are sent to this one. Correct advertised.listeners of the broker, make the name resolvable from here, or use the listener meant for clients outside."
	return r
}
