package explorer

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Limits of time for one request to one broker, and for keeping an unused client.
const (
	dialTimeout    = 3 * time.Second
	requestTimeout = 10 * time.Second
	askTimeout     = 4 * time.Second // of one broker, for a page that can do without it
	retryTimeout   = 5 * time.Second
	retryPause     = 100 * time.Millisecond
	idleTimeout    = 2 * time.Minute
	// maxAnswerBytes bounds one answer of a broker: a record batch may be as large as the topic allows.
	maxAnswerBytes = 512 << 20
)

// ConnectOptions wires a Connection. The zero value works.
type ConnectOptions struct {
	Logger *slog.Logger
	Now    func() time.Time
}

// Connection is one cluster. It dials when first used; its one shared client (for metadata, admin
// calls and single records) closes after some unused minutes, so an idle explorer does nothing.
// Scans have clients of their own, because brokers answer a connection in order.
type Connection struct {
	settings  ClusterSettings
	security  *security
	bootstrap []string
	log       *slog.Logger
	now       func() time.Time
	// report and view tie the connection to a saved cluster; both may be nil.
	report func(Health)
	view   func() Cluster

	mu     sync.Mutex
	client *kgo.Client
	using  int
	idle   *time.Timer
	closed bool
	apis   *apiVersions
}

// Connect prepares a connection without contacting the cluster. Errors say which setting is wrong.
func Connect(s ClusterSettings, o ConnectOptions) (*Connection, error) {
	sec, err := parseSecurity(s.Properties)
	if err != nil {
		return nil, err
	}
	bootstrap, err := parseBootstrap(s.Bootstrap)
	if err != nil {
		return nil, err
	}
	c := &Connection{settings: s, security: sec, bootstrap: bootstrap, log: o.Logger, now: o.Now}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

// parseBootstrap splits lists and adds the default port.
func parseBootstrap(addresses []string) ([]string, error) {
	var out []string
	for _, entry := range addresses {
		for a := range strings.SplitSeq(entry, ",") {
			a = strings.TrimSpace(a)
			if _, rest, ok := strings.Cut(a, "://"); ok {
				a = rest // PLAINTEXT://host:port, as in listeners
			}
			if a == "" {
				continue
			}
			host, port, err := net.SplitHostPort(a)
			if err != nil {
				host, port = strings.Trim(a, "[]"), "9092"
			}
			if host == "" || strings.ContainsAny(host, " /?#@") {
				return nil, &Problem{Code: "INVALID_SETTINGS", Title: "The address " + entry + " is not HOST:PORT.", Help: "Write host:port, several with commas between."}
			}
			out = append(out, net.JoinHostPort(host, port))
		}
	}
	if len(out) == 0 {
		return nil, &Problem{Code: "INVALID_SETTINGS", Title: "No address is given.", Help: "Write host:port of at least one broker."}
	}
	return out, nil
}

// Settings are those the connection was made with.
func (c *Connection) Settings() ClusterSettings { return c.settings }

// newClient makes a client with its own connections. It dials nothing yet.
func (c *Connection) newClient(extra ...kgo.Opt) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap...), kgo.ClientID("klamm-explorer"), kgo.SoftwareNameAndVersion("klamm", "1"),
		kgo.DialTimeout(dialTimeout), kgo.RequestTimeoutOverhead(requestTimeout), kgo.RetryTimeout(retryTimeout), kgo.RequestRetries(2),
		kgo.RetryBackoffFn(func(int) time.Duration { return retryPause }),
		kgo.BrokerMaxReadBytes(maxAnswerBytes), kgo.DisableClientMetrics(), kgo.MetadataMinAge(10 * time.Millisecond), kgo.MetadataMaxAge(time.Hour),
		kgo.MaxVersions(newestVersions()),
	}
	opts = append(opts, c.security.options()...)
	return kgo.NewClient(append(opts, extra...)...)
}

// acquire gives the shared client; release must be called.
func (c *Connection) acquire() (cl *kgo.Client, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, &Problem{Code: "CONNECTION_CLOSED", Title: "The connection was closed: the cluster was changed or removed.", Retriable: true}
	}
	if c.idle != nil {
		c.idle.Stop()
	}
	if c.client == nil {
		if c.client, err = c.newClient(); err != nil {
			return nil, nil, &Problem{Code: "INVALID_SETTINGS", Title: "The settings make no usable client.", Detail: err.Error(), cause: err}
		}
	}
	c.using++
	cl = c.client
	return cl, sync.OnceFunc(c.release), nil
}

func (c *Connection) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.using--
	if c.using > 0 {
		return
	}
	if c.closed {
		c.closeClient()
		return
	}
	c.idle = time.AfterFunc(idleTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.using == 0 {
			c.closeClient()
		}
	})
}

// closeClient needs mu.
func (c *Connection) closeClient() {
	if c.client != nil {
		c.client.Close()
		c.client, c.apis = nil, nil
	}
}

// Close ends the connection; calls still running finish first. Scans end by their contexts.
func (c *Connection) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.idle != nil {
		c.idle.Stop()
	}
	if c.using == 0 {
		c.closeClient()
	}
}

// changeable refuses changes on a read-only cluster.
func (c *Connection) changeable(operation string) error {
	if !c.settings.ReadOnly {
		return nil
	}
	return &Problem{Code: "READ_ONLY", Title: "This cluster is read-only here.", Operation: operation, Help: "Switch read-only off in the cluster's settings."}
}

func metadataRequest(topics []string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{} // empty is no topic, nil is all
	}
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// metadata asks for the given topics (nil: all, empty: only the brokers) and remembers the brokers in
// the client.
func (c *Connection) metadata(ctx context.Context, cl *kgo.Client, topics []string) (*kmsg.MetadataResponse, error) {
	started := c.now()
	resp, err := anyBroker(ctx, cl, func() kmsg.Request { return metadataRequest(topics) })
	if err != nil {
		p := c.connectProblem(err, "Metadata")
		c.tell(Health{State: "down", At: c.now().UnixMilli(), Problem: p})
		return nil, p
	}
	m := resp.(*kmsg.MetadataResponse)
	if m.ErrorCode != 0 {
		return nil, codeProblem(m.ErrorCode, nil, "Metadata", "")
	}
	if topics == nil {
		c.tell(Health{
			State: "up", At: c.now().UnixMilli(), Millis: int32(c.now().Sub(started).Milliseconds()),
			Brokers: int32(len(m.Brokers)), Topics: int32(len(m.Topics)), Product: c.knownProduct(),
		})
	}
	return m, nil
}

// anyBroker asks one broker after the other (the client goes round) with more patience each time: the
// first may hang, or the answer may be large.
func anyBroker(ctx context.Context, cl *kgo.Client, req func() kmsg.Request) (resp kmsg.Response, err error) {
	for _, patience := range []time.Duration{1500 * time.Millisecond, 3 * time.Second, requestTimeout} {
		limited, cancel := context.WithTimeout(ctx, patience)
		resp, err = cl.Request(limited, req())
		cancel()
		if err == nil || ctx.Err() != nil || !isTimeout(err) {
			return resp, err
		}
	}
	return resp, err
}

func (c *Connection) tell(h Health) {
	if c.report != nil {
		c.report(h)
	}
}

func (c *Connection) knownProduct() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apis == nil {
		return ""
	}
	return c.apis.product.Name
}

// apiVersions is what a cluster offers, asked once per client.
type apiVersions struct {
	max     map[int16]int16 // key -> highest version
	product Product
}

// offers tells whether key is offered at version or a later one.
func (a *apiVersions) offers(key, version int16) bool {
	got, ok := a.max[key]
	return ok && got >= version
}

// versions gives what the cluster offers.
func (c *Connection) versions(ctx context.Context, cl *kgo.Client) (*apiVersions, error) {
	c.mu.Lock()
	known := c.apis
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	resp, err := anyBroker(ctx, cl, func() kmsg.Request {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "klamm", "1"
		return req
	})
	if err != nil {
		return nil, c.connectProblem(err, "ApiVersions")
	}
	v := resp.(*kmsg.ApiVersionsResponse)
	if v.ErrorCode != 0 {
		return nil, codeProblem(v.ErrorCode, nil, "ApiVersions", "")
	}
	a := newAPIVersions(v)
	c.mu.Lock()
	c.apis = a
	c.mu.Unlock()
	return a, nil
}

func newAPIVersions(v *kmsg.ApiVersionsResponse) *apiVersions {
	a := &apiVersions{max: make(map[int16]int16, len(v.ApiKeys))}
	for _, k := range v.ApiKeys {
		a.max[k.ApiKey] = k.MaxVersion
	}
	a.product = guessProduct(a.max)
	return a
}

// guessProduct names the Kafka release whose highest versions agree with the most keys offered.
func guessProduct(offered map[int16]int16) Product {
	p := Product{Keys: int32(len(offered)), Name: "unknown API"}
	best := 0
	for _, name := range kversion.VersionStrings() {
		same := 0
		kversion.FromString(name).EachMaxKeyVersion(func(k, v int16) {
			if got, ok := offered[k]; ok && got == v {
				same++
			}
		})
		if same >= best && same > 0 { // later releases come later and win a tie
			best = same
			p.Name = "Kafka " + strings.TrimPrefix(name, "v") + " API"
		}
	}
	p.Explain = "The versions it offers agree with this release of Kafka best; brokers do not tell their name."
	return p
}

// newestVersions is what we may send: all of franz-go's, except that OffsetFetch stays at version 9,
// the last that names topics: ids would hide offsets of topics that no longer exist.
func newestVersions() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	return v
}
