package broker

import (
	"io"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// maxPendingResponses bounds how many Produce requests of one connection may wait for their
// answer; the next one is read when the oldest is answered.
const maxPendingResponses = 1000

// flushBytes is how much of encoded answers may be held back while more requests are at hand.
const flushBytes = 64 << 10

// maxPooledOutput bounds the encoding buffers that are kept for reuse, in bytes.
const maxPooledOutput = 1 << 20

// pendingResponse is the place of one answer in the order of its connection.
type pendingResponse struct {
	correlationID int32
	response      kmsg.Response // nil when the request wants no answer
	done          bool
}

// responseQueue writes the answers of one connection in the order of the requests, though they
// may be completed in any order and by any goroutine.
//
// While the reader is busy it writes what is complete itself, before it waits for the client
// again; only an answer completed later, by a sync for instance, starts a writer goroutine, which
// ends when the head of the queue is not complete. An idle connection has no writer.
type responseQueue struct {
	w       io.Writer
	buffers *sync.Pool
	failed  func(error) // closes the connection; called once

	mu         sync.Mutex
	changed    sync.Cond // on mu: an answer was written or the queue failed
	pending    []*pendingResponse
	readerBusy bool // the reader promises to call flush
	writing    bool // one goroutine at a time writes
	err        error
}

func newResponseQueue(w io.Writer, buffers *sync.Pool, failed func(error)) *responseQueue {
	q := &responseQueue{w: w, buffers: buffers, failed: failed}
	q.changed.L = &q.mu
	return q
}

// begin is called by the reader when it has read a request; flush ends it.
func (q *responseQueue) begin() {
	q.mu.Lock()
	q.readerBusy = true
	q.mu.Unlock()
}

// reserve takes the next place in the order. It waits while too many answers are pending.
func (q *responseQueue) reserve(correlationID int32) *pendingResponse {
	p := &pendingResponse{correlationID: correlationID}
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pending) >= maxPendingResponses && q.err == nil {
		if !q.writing && q.pending[0].done {
			q.writeCompleted()
			continue
		}
		q.readerBusy = false
		q.changed.Wait()
		q.readerBusy = true
	}
	q.pending = append(q.pending, p)
	return p
}

// complete fills a place; resp nil means that the client gets no answer to this request.
func (q *responseQueue) complete(p *pendingResponse, resp kmsg.Response) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.response, p.done = resp, true
	if q.readerBusy || q.writing || q.err != nil || !q.pending[0].done {
		return
	}
	q.writing = true
	go func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.writing = false
		q.writeCompleted()
	}()
}

// flush writes every answer that is complete and in turn. The reader calls it before it waits for
// the client; from then on completions write themselves.
func (q *responseQueue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readerBusy = false
	q.writeCompleted()
}

// drain writes what is complete and waits until every answer is written. Requests other than
// Produce are handled only then, as Kafka handles one request of a connection at a time.
func (q *responseQueue) drain() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 && !q.writing {
		return q.err
	}
	q.readerBusy = false
	q.writeCompleted()
	for (len(q.pending) > 0 || q.writing) && q.err == nil {
		q.changed.Wait()
	}
	q.readerBusy = true
	return q.err
}

// writeCompleted writes completed answers from the head of the queue until one is not complete.
// mu is held, and released while bytes are written.
func (q *responseQueue) writeCompleted() {
	if q.writing {
		return
	}
	q.writing = true
	out := q.lend()
	for q.err == nil {
		*out = q.takeCompleted((*out)[:0])
		if len(*out) == 0 {
			break
		}
		q.mu.Unlock()
		_, err := q.w.Write(*out)
		q.mu.Lock()
		if err != nil {
			q.fail(err)
		}
		q.changed.Broadcast()
	}
	q.writing = false
	q.changed.Broadcast()
	q.giveBack(out)
}

// takeCompleted moves completed answers from the head of the queue, encoded, to dst.
func (q *responseQueue) takeCompleted(dst []byte) []byte {
	n := 0
	for n < len(q.pending) && q.pending[n].done && len(dst) < flushBytes {
		if p := q.pending[n]; p.response != nil {
			dst = protocol.AppendResponse(dst, p.correlationID, p.response)
		}
		n++
	}
	if n == len(q.pending) {
		q.pending = q.pending[:0]
		return dst
	}
	rest := copy(q.pending, q.pending[n:])
	clear(q.pending[rest:])
	q.pending = q.pending[:rest]
	return dst
}

// sized is a response that knows about how many bytes it takes, so that its buffer need not grow.
type sized interface{ size() int }

// write encodes and writes one answer out of the queue's turn-taking: the queue must be drained.
func (q *responseQueue) write(correlationID int32, resp kmsg.Response) error {
	out := q.lend()
	defer q.giveBack(out)
	if large, ok := resp.(sized); ok {
		*out = slices.Grow((*out)[:0], large.size())
	}
	*out = protocol.AppendResponse((*out)[:0], correlationID, resp)
	_, err := q.w.Write(*out)
	return err
}

// close drops what is pending; later completions have no effect.
func (q *responseQueue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.changed.Broadcast()
}

func (q *responseQueue) fail(err error) {
	if q.err == nil {
		q.err = err
		q.failed(err)
	}
}

func (q *responseQueue) lend() *[]byte {
	if b, ok := q.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 4<<10)
	return &b
}

func (q *responseQueue) giveBack(b *[]byte) {
	if cap(*b) <= maxPooledOutput {
		q.buffers.Put(b)
	}
}
