package metadata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

// Options configures a Node.
type Options struct {
	FS          vfs.FS
	Dir         string // metadata log directory (Kafka's metadata.log.dir): holds __cluster_metadata-0
	Config      *config.Broker
	NodeID      int32
	ClusterID   string
	DirectoryID [16]byte // directory.id of meta.properties
	// Endpoint is the address of this controller as voters and tools see it. Nothing listens there
	// yet; the zero value stands for CONTROLLER at localhost:9093.
	Endpoint  Listener
	Now       func() time.Time
	Rand      io.Reader // topic ids, incarnation ids
	Logger    *slog.Logger
	Observers []Observer
}

// ErrClosed is the answer to requests that reach a closed Node.
var ErrClosed = &UnavailableError{Err: errors.New("the node is shutting down")}

// UnavailableError says that the controller cannot change anything. Reading the image goes on.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the controller refuses changes: %v", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// KafkaCode is the error code clients see.
func (e *UnavailableError) KafkaCode() int16 { return protocol.CodeKafkaStorageError }

// Node is one controller with one voter: it implements Channel. One goroutine handles requests in
// the order they come; those that wait together are committed together.
type Node struct {
	o          Options
	controller *Controller
	log        *metaLog // used by the loop only
	image      atomic.Pointer[Image]

	mu     sync.Mutex
	queue  []*call
	closed bool
	wake   chan struct{} // capacity 1: the queue is not empty, or closed is set

	done      chan struct{} // the loop has ended
	snapshots chan snapshotResult
	writing   bool // a snapshot is being written
	dirtyAt   <-chan time.Time
	timer     *time.Timer
	closeErr  error
}

// call is one request in the queue.
type call struct {
	req    kmsg.Request
	resp   kmsg.Response
	err    error
	answer chan struct{}
}

type snapshotResult struct {
	id  checkpointID
	err error
}

// Open recovers the metadata log of o.Dir (creating it when missing), elects this node and
// publishes the whole state once to the observers.
func Open(o Options) (*Node, error) {
	n, err := newNode(o)
	if err != nil {
		return nil, err
	}
	n.snapshotIfDue()
	go n.loop()
	return n, nil
}

// newNode is Open without the loop.
func newNode(o Options) (*Node, error) {
	if o.Endpoint == (Listener{}) {
		o.Endpoint = Listener{Name: "CONTROLLER", Host: "localhost", Port: 9093}
	}
	log, levels, err := openMetaLog(o)
	if err != nil {
		return nil, err
	}
	n := &Node{
		o: o, controller: &Controller{NodeID: o.NodeID, Config: o.Config}, log: log,
		wake: make(chan struct{}, 1), done: make(chan struct{}), snapshots: make(chan snapshotResult, 1),
	}
	if err := n.activate(levels); err != nil {
		return nil, errors.Join(err, log.close())
	}
	all := newDraft(log.image)
	all.touchAll(log.image)
	n.publish(all.diff(NewImage(o.ClusterID), log.image))
	return n, nil
}

// Image returns the newest committed and published image.
func (n *Node) Image() *Image { return n.image.Load() }

// Request implements Channel. The request must not be changed until it returns. When ctx ends
// first, the request may still be carried out.
func (n *Node) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	c := &call{req: req, answer: make(chan struct{})}
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil, ErrClosed
	}
	n.queue = append(n.queue, c)
	n.mu.Unlock()
	n.signal()
	select {
	case <-c.answer:
		return c.resp, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *Node) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Close answers what is queued, waits for a snapshot that is being written, syncs the log and stops
// the node. Later requests get ErrClosed.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.signal()
	<-n.done
	return n.closeErr
}

// take empties the queue; more is false when the node is closed and nothing is left.
func (n *Node) take() (calls []*call, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	calls, n.queue = n.queue, nil
	return calls, len(calls) > 0 || !n.closed
}

// loop is the node's only goroutine besides a snapshot being written. It sleeps until there is
// something to do.
func (n *Node) loop() {
	defer close(n.done)
	for {
		select {
		case <-n.wake:
			calls, more := n.take()
			if !more {
				n.closeErr = n.stop()
				return
			}
			n.handle(calls)
			n.snapshotIfDue()
			n.signalIfClosed()
		case r := <-n.snapshots:
			n.snapshotDone(r)
			n.snapshotIfDue()
		case <-n.dirtyAt:
			n.dirtyAt = nil
			n.startSnapshot()
		}
	}
}

// signalIfClosed wakes the loop once more to end it.
func (n *Node) signalIfClosed() {
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed {
		n.signal()
	}
}

func (n *Node) stop() error {
	if n.timer != nil {
		n.timer.Stop()
	}
	if n.writing {
		n.snapshotDone(<-n.snapshots)
	}
	return n.log.close()
}

// maxGroupRecords bounds how many records are committed together, so that one entry stays small.
const maxGroupRecords = 2000

// handle decides the requests one after the other, each on the state the former ones lead to, and
// commits their records together.
func (n *Node) handle(calls []*call) {
	for len(calls) > 0 {
		group := calls
		base := n.log.image
		speculative := base
		var records []Record
		for i, c := range calls {
			speculative, records = n.decide(c, speculative, records)
			if len(records) >= maxGroupRecords {
				group = calls[:i+1]
				break
			}
		}
		calls = calls[len(group):]
		if err := n.commit(base, records); err != nil {
			for _, c := range group {
				if _, read := c.req.(*kmsg.DescribeQuorumRequest); !read {
					c.resp, c.err = nil, &UnavailableError{err}
				}
			}
		}
		for _, c := range group {
			close(c.answer)
		}
	}
}

// decide fills in one answer, and returns the state and the records after it.
func (n *Node) decide(c *call, img *Image, records []Record) (*Image, []Record) {
	if q, ok := c.req.(*kmsg.DescribeQuorumRequest); ok {
		c.resp = n.describeQuorum(q)
		return img, records
	}
	if n.log.failed != nil {
		c.err = &UnavailableError{n.log.failed}
		return img, records
	}
	d, err := n.ask(img, c.req)
	if err != nil {
		c.err = err
		return img, records
	}
	c.resp = d.Response
	return d.Image, append(records, d.Records...)
}

// ask runs the controller. A mistake in a handler fails its request, not the node.
func (n *Node) ask(img *Image, req kmsg.Request) (d Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			n.o.Logger.Error("a controller request failed", "request", kmsg.NameForKey(req.Key()), "error", r)
			err = fmt.Errorf("the controller failed to handle a %s request: %v", kmsg.NameForKey(req.Key()), r)
		}
	}()
	return n.controller.Handle(img, req, n.o.Now(), n.o.Rand)
}

// commit makes records durable, applies them and tells the observers.
func (n *Node) commit(base *Image, records []Record) error {
	if len(records) == 0 {
		return nil // a lone voter leads as long as it runs, so its image is never stale
	}
	next := base.offset + 1
	batches, err := encodeBatches(records, next, int32(n.log.currentTerm()), n.o.Now().UnixMilli())
	if err != nil {
		return err // nothing is written yet, so later requests may do better
	}
	delta, err := n.log.commit(next, batches)
	if err == nil && n.log.image.offset != base.offset+int64(len(records)) {
		err = fmt.Errorf("%d records were proposed at offset %d, the log ends at %d", len(records), next, n.log.image.offset)
	}
	if err != nil {
		n.o.Logger.Error("metadata cannot be committed; the controller refuses changes until a restart", "error", err)
		n.log.failed = cmp.Or(n.log.failed, err)
		return err
	}
	n.publish(delta)
	return nil
}

func (n *Node) publish(delta *Delta) {
	n.image.Store(delta.New)
	for _, obs := range n.o.Observers {
		obs.Publish(delta)
	}
}

// snapshotIfDue starts a snapshot when enough was written since the last one, and otherwise sets the
// one timer that does it later. A log with nothing new has no timer.
func (n *Node) snapshotIfDue() {
	if n.snapshotDue() {
		n.startSnapshot()
	}
	if n.dirtyAt == nil && !n.writing && n.log.failed == nil && n.log.sinceSnapshot > 0 {
		if ms := n.o.Config.Long("metadata.log.max.snapshot.interval.ms"); ms > 0 {
			n.timer = time.NewTimer(time.Duration(ms) * time.Millisecond)
			n.dirtyAt = n.timer.C
		}
	}
}

func (n *Node) snapshotDue() bool {
	return !n.writing && n.log.sinceSnapshot >= n.o.Config.Long("metadata.log.max.record.bytes.between.snapshots")
}

// startSnapshot writes the present image in the background.
func (n *Node) startSnapshot() {
	if write := n.beginSnapshot(); write != nil {
		go func() { n.snapshots <- write() }()
	}
}

// beginSnapshot fixes the state to write and returns what writes it, nil when there is nothing to do.
func (n *Node) beginSnapshot() (write func() snapshotResult) {
	if n.writing || n.log.failed != nil || n.log.sinceSnapshot == 0 {
		return nil
	}
	img, err := n.log.startSnapshot()
	if err != nil {
		n.o.Logger.Error("a metadata snapshot cannot be started", "error", err)
	}
	if img == nil {
		return nil
	}
	if n.timer != nil {
		n.timer.Stop()
		n.dirtyAt = nil
	}
	n.writing = true
	now := n.o.Now().UnixMilli()
	return func() snapshotResult {
		id, err := writeCheckpoint(n.o.FS, n.log.dir, img, now)
		return snapshotResult{id, err}
	}
}

// snapshotDone removes what the snapshot replaces. A failed one leaves everything as it was: the WAL
// and the former snapshot still hold the state.
func (n *Node) snapshotDone(r snapshotResult) {
	n.writing = false
	err := r.err
	if err == nil {
		err = n.log.finishSnapshot()
	}
	if err != nil {
		n.o.Logger.Error("writing a metadata snapshot failed; the write-ahead log is kept", "error", err)
		return
	}
	n.o.Logger.Debug("wrote a metadata snapshot", "file", r.id.name())
}
