package replica_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/metadata"
	"klamm/internal/protocol"
	"klamm/internal/record"
	"klamm/internal/replica"
	"klamm/internal/storage"
	"klamm/internal/vfs"
)

const nodeID = 1

// host is one broker without a network: log directory, controller and replicas.
type host struct {
	t        *testing.T
	fs       vfs.FS
	disk     *disk
	logs     *storage.LogManager
	metadata *metadata.Node
	replicas *replica.Manager
	epoch    int64
	led      *ledger
	gates    []*gate
	closed   bool
}

// disk stops or fails calls on files of the data directory.
type disk struct {
	mu     sync.Mutex
	inject func(vfs.Op) error
}

func (d *disk) set(f func(vfs.Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inject = f
}

func (d *disk) call(op vfs.Op) error {
	d.mu.Lock()
	f := d.inject
	d.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(op)
}

// gate holds the syncs of one partition's segments until it is opened.
type gate struct {
	entered chan struct{}
	leave   chan struct{}
	opened  sync.Once
}

// open lets every sync through from now on.
func (g *gate) open() { g.opened.Do(func() { close(g.leave) }) }

func isSegment(op vfs.Op, partition string) bool {
	return strings.Contains(op.Name, "/"+partition+"/") && strings.HasSuffix(op.Name, ".log")
}

// holdSyncs makes every sync of a partition wait for one value of leave.
func (h *host) holdSyncs(partition string) *gate {
	g := &gate{entered: make(chan struct{}, 100), leave: make(chan struct{}, 100)}
	h.disk.set(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && isSegment(op, partition) {
			g.entered <- struct{}{}
			<-g.leave
		}
		return nil
	})
	h.gates = append(h.gates, g)
	return g
}

// ledger remembers what the replicas told of leadership.
type ledger struct {
	mu  sync.Mutex
	log []string
}

func (l *ledger) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, s)
}

func (l *ledger) Leading(topic string, _, _ int32)  { l.add("leading " + topic) }
func (l *ledger) Resigned(topic string, _, _ int32) { l.add("resigned " + topic) }
func (l *ledger) TopicsDeleted(names []string)      { l.add("deleted " + strings.Join(names, ",")) }

func (l *ledger) entries() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.log...)
}

func newHost(t *testing.T, fsys vfs.FS, properties ...string) *host {
	t.Helper()
	h := &host{t: t, disk: &disk{}, led: &ledger{}}
	h.fs = vfs.Fault{FS: fsys, Inject: h.disk.call}
	set := map[string]string{}
	for i := 0; i < len(properties); i += 2 {
		set[properties[i]] = properties[i+1]
	}
	c, err := config.New(nil, set)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	h.logs, err = storage.OpenLogManager(storage.LogManagerOptions{FS: h.fs, Dir: "/data", Config: c, Logger: quiet, Now: time.Now, NodeID: nodeID})
	if err != nil {
		t.Fatal(err)
	}
	var incarnation [16]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		t.Fatal(err)
	}
	h.replicas = replica.NewManager(replica.Options{NodeID: nodeID, Incarnation: incarnation, Logs: h.logs, Config: c, Now: time.Now, Logger: quiet, Leadership: h.led})
	h.metadata, err = metadata.Open(metadata.Options{
		FS: fsys, Dir: "/data", Config: c, NodeID: nodeID, ClusterID: h.logs.ClusterID(), DirectoryID: h.logs.DirectoryID(),
		Now: time.Now, Rand: rand.Reader, Logger: quiet, Observers: []metadata.Observer{h.replicas},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close(true) })
	h.register(incarnation)
	return h
}

func (h *host) close(clean bool) {
	if h.closed {
		return
	}
	h.closed = true
	h.disk.set(nil)
	for _, g := range h.gates {
		g.open()
	}
	if err := h.replicas.Close(clean, h.epoch); err != nil && clean && h.logs.Offline() == nil {
		h.t.Errorf("closing the replicas: %v", err)
	}
	if err := h.metadata.Close(); err != nil && clean {
		h.t.Errorf("closing the controller: %v", err)
	}
}

func request[R kmsg.Response](h *host, req kmsg.Request) R {
	h.t.Helper()
	resp, err := h.metadata.Request(context.Background(), req)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.(R)
}

func (h *host) register(incarnation [16]byte) {
	h.t.Helper()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID, req.IncarnationID = 4, nodeID, h.logs.ClusterID(), incarnation
	req.PreviousBrokerEpoch = h.replicas.PreviousBrokerEpoch()
	req.LogDirs = [][16]byte{h.logs.DirectoryID()}
	for name, span := range metadata.SupportedFeatures() {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, span.Min, span.Max
		req.Features = append(req.Features, f)
	}
	resp := request[*kmsg.BrokerRegistrationResponse](h, req)
	if resp.ErrorCode != 0 {
		h.t.Fatalf("registration: error %d", resp.ErrorCode)
	}
	h.epoch = resp.BrokerEpoch
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.BrokerID, beat.BrokerEpoch = nodeID, h.epoch
	beat.CurrentMetadataOffset, _ = h.replicas.Image().Offset()
	if resp := request[*kmsg.BrokerHeartbeatResponse](h, beat); resp.ErrorCode != 0 || resp.IsFenced {
		h.t.Fatalf("heartbeat: error %d, fenced %v", resp.ErrorCode, resp.IsFenced)
	}
}

// topic makes a topic and returns its first partition.
func (h *host) topic(name string, partitions int32, configs ...string) *replica.Partition {
	h.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	if got := request[*kmsg.CreateTopicsResponse](h, req).Topics[0]; got.ErrorCode != 0 {
		h.t.Fatalf("creating %s: error %d", name, got.ErrorCode)
	}
	return h.partition(name, 0)
}

func (h *host) partition(name string, id int32) *replica.Partition {
	h.t.Helper()
	p, err := h.replicas.Partition(name, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *host) deleteTopic(name string) {
	h.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{name}
	if got := request[*kmsg.DeleteTopicsResponse](h, req).Topics[0]; got.ErrorCode != 0 {
		h.t.Fatalf("deleting %s: error %d", name, got.ErrorCode)
	}
}

func (h *host) setTopicConfig(name, key, value string) {
	h.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, &value
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	if got := request[*kmsg.IncrementalAlterConfigsResponse](h, req).Resources[0]; got.ErrorCode != 0 {
		h.t.Fatalf("altering %s: error %d", name, got.ErrorCode)
	}
}

// batch builds a batch of n records of about size bytes each.
func batch(t *testing.T, n, size int, options ...func(*record.BatchOptions)) record.Batch {
	t.Helper()
	o := record.Plain()
	for _, change := range options {
		change(&o)
	}
	b := record.NewBuilder(o)
	for range n {
		b.Append(time.Now().UnixMilli(), []byte("k"), make([]byte, size), nil)
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func appendTo(t *testing.T, p *replica.Partition, b record.Batch) replica.AppendInfo {
	t.Helper()
	info, err := p.AppendAsLeader(b, replica.AppendOptions{RequiredAcks: -1, LeaderEpoch: replica.AnyEpoch})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// committed returns a channel that gets the outcome of waiting for an offset.
func committed(p *replica.Partition, offset int64) <-chan error {
	done := make(chan error, 2)
	p.WaitCommitted(offset, func(err error) { done <- err })
	return done
}

// limit is how long a test waits for what must happen; it only ever passes in a failing test.
const limit = 20 * time.Second

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

func mustBeOpen[T any](t *testing.T, what string, c <-chan T) {
	t.Helper()
	select {
	case <-c:
		t.Fatalf("%s too early", what)
	default:
	}
}

// fetchOne reads one partition without waiting.
func fetchOne(h *host, f replica.FetchPartition) replica.FetchResult {
	f.LeaderEpoch, f.LastFetchedEpoch = replica.AnyEpoch, replica.AnyEpoch
	if f.MaxBytes == 0 {
		f.MaxBytes = 1 << 20
	}
	return h.replicas.Fetch(context.Background(), replica.FetchParams{MinBytes: 1, MaxBytes: 1 << 20}, []replica.FetchPartition{f})[0]
}

func wantCode(t *testing.T, err error, code int16) {
	t.Helper()
	if got := protocol.CodeOf(err); got != code {
		t.Fatalf("error code %d (%v), want %d", got, err, code)
	}
}

// offsetsOf lists the base offsets of fetched batches.
func offsetsOf(t *testing.T, records []byte) []int64 {
	t.Helper()
	var offsets []int64
	for len(records) > 0 {
		b, rest, err := record.Next(records)
		if err != nil {
			t.Fatal(err)
		}
		offsets, records = append(offsets, b.BaseOffset()), rest
	}
	return offsets
}
