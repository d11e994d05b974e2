package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"klamm/internal/protocol"
	"klamm/internal/record"
)

// call is one request on its way through a runner. done is called exactly once.
type call struct {
	body   any
	client client
	done   func(body any, err error)
}

// phase says what a runner does with new calls.
type phase uint8

const (
	idle    phase = iota // not the leader: NOT_COORDINATOR
	loading              // COORDINATOR_LOAD_IN_PROGRESS
	active
	broken // the log failed again soon after loading: a later call tries once more
)

// reloadPause keeps a partition whose log cannot be read or written from being loaded over and over.
const reloadPause = time.Second

// runner runs the machine of one partition: it loads it from the log, gives it one event at a
// time, appends what it writes, and holds answers back until what they show is committed. A
// goroutine exists only while there is something to do.
type runner struct {
	shared    *shared
	partition int32

	mu      sync.Mutex
	phase   phase
	epoch   int32
	life    int64 // grows with every load and unload: events of an earlier life are void
	queue   []func()
	running bool
	stopped *sync.Cond // running has become false
	timer   *time.Timer
	timerAt time.Time
	retryAt time.Time // in phase broken: when the next call may start loading

	loadedAt time.Time // start of the newest load

	// Used by the goroutine of the moment only.
	machine   machine
	open      map[*call]struct{} // given to the machine and not answered
	waiting   []heldReply
	appended  int64 // records of the machine that are in the log
	committed int64 // records of the machine that are committed
	units     [][]Record
	unitBytes int
}

// heldReply is an answer that shows records not yet committed.
type heldReply struct {
	call  *call
	body  any
	after int64
}

// shared is what all runners of a coordinator have in common.
type shared struct {
	log           PartitionLog
	topic         string
	newMachine    func() machine
	now           func() time.Time
	logger        *slog.Logger
	maxBatchBytes int
	loadBytes     int
}

func newRunner(s *shared, partition int32) *runner {
	r := &runner{shared: s, partition: partition, epoch: -1}
	r.stopped = sync.NewCond(&r.mu)
	return r
}

// waitStopped returns when nothing is left to do.
func (r *runner) waitStopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.running {
		r.stopped.Wait()
	}
}

// submit hands a call to the machine, or answers it with the reason why not.
func (r *runner) submit(c *call) {
	r.mu.Lock()
	var code int16
	switch r.phase {
	case active:
		life := r.life
		r.enqueue(func() { r.handle(life, c) })
	case idle:
		code = protocol.CodeNotCoordinator
	case broken:
		code = protocol.CodeCoordinatorLoadInProgress
		if !r.shared.now().Before(r.retryAt) {
			r.startLoading()
		}
	case loading:
		code = protocol.CodeCoordinatorLoadInProgress
	}
	r.mu.Unlock()
	if code != protocol.CodeNone {
		c.done(nil, r.refusal(code))
	}
}

// submitAfterLoad hands a call to the machine now or when it is loaded; a runner that does not lead
// drops it.
func (r *runner) submitAfterLoad(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == active || r.phase == loading {
		life := r.life
		r.enqueue(func() { r.handle(life, c) })
	}
}

func (r *runner) refusal(code int16) error {
	return &protocol.CodeError{Code: code, Message: fmt.Sprintf("%s of %s-%d", protocol.CodeName(code), r.shared.topic, r.partition)}
}

// lead starts loading for a new leader epoch.
func (r *runner) lead(epoch int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch <= r.epoch {
		return
	}
	r.epoch = epoch
	r.unload(protocol.CodeNotCoordinator)
	r.startLoading()
}

// resign stops serving as of an epoch.
func (r *runner) resign(epoch int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch < r.epoch {
		return
	}
	r.epoch = epoch
	r.unload(protocol.CodeNotCoordinator)
	r.phase = idle
}

// unload voids the current life; what waits is answered with code. The caller holds mu.
func (r *runner) unload(code int16) {
	r.life++
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.enqueue(func() { r.abandon(r.refusal(code)) })
}

// startLoading begins a life. The caller holds mu.
func (r *runner) startLoading() {
	r.life++
	r.phase = loading
	r.loadedAt = r.shared.now()
	life := r.life
	r.enqueue(func() { r.load(life) })
}

// enqueue adds work in order and makes sure that somebody does it. The caller holds mu.
func (r *runner) enqueue(work func()) {
	r.queue = append(r.queue, work)
	if !r.running {
		r.running = true
		go r.run()
	}
}

// later enqueues work of a life from anywhere.
func (r *runner) later(life int64, work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life == life {
		r.enqueue(func() {
			if r.alive(life) {
				work()
			}
		})
	}
}

// alive tells whether a life has not ended.
func (r *runner) alive(life int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life == life
}

// run works the queue off. What the events of one round write goes to the log together.
func (r *runner) run() {
	for {
		r.mu.Lock()
		round := r.queue
		r.queue = nil
		life := r.life
		if len(round) == 0 {
			r.running = false
			r.stopped.Broadcast()
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		for _, work := range round {
			work()
		}
		r.flush(life)
		r.arm(life)
	}
}

// handle gives a call to the machine.
func (r *runner) handle(life int64, c *call) {
	if !r.alive(life) {
		c.done(nil, r.refusal(protocol.CodeNotCoordinator))
		return
	}
	r.open[c] = struct{}{}
	r.step(life, func(now time.Time) result {
		return r.machine.handle(now, request{body: c.body, client: c.client, ticket: c})
	})
}

// step lets the machine do one thing. A mistake in it must not end the broker, whatever bytes brought
// it about: the machine is thrown away and loaded from the log, and who waits is told to come back.
func (r *runner) step(life int64, do func(now time.Time) result) {
	res, err := recovered(func() result { return do(r.shared.now()) })
	if err != nil {
		r.fail(life, fmt.Errorf("this is a bug in Klamm: a group request made its handler panic: %w", err))
		return
	}
	r.apply(life, res)
}

func recovered(do func() result) (res result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	return do(), nil
}

// apply takes over what a step of the machine wants done.
func (r *runner) apply(life int64, res result) {
	for _, problem := range res.problems {
		r.shared.logger.Warn("group coordinator", "partition", r.partition, "problem", problem)
	}
	for _, reply := range res.replies {
		if c, ok := reply.ticket.(*call); ok {
			delete(r.open, c)
			r.waiting = append(r.waiting, heldReply{call: c, body: reply.body, after: reply.after})
		}
	}
	for _, unit := range res.units {
		size := 0
		for _, rec := range unit {
			size += recordSize(rec)
		}
		if r.unitBytes+size > r.shared.maxBatchBytes {
			r.flush(life)
		}
		r.units = append(r.units, unit)
		r.unitBytes += size
	}
	r.release()
}

// release sends the answers that show nothing uncommitted.
func (r *runner) release() {
	r.waiting = slices.DeleteFunc(r.waiting, func(h heldReply) bool {
		if h.after > r.committed {
			return false
		}
		h.call.done(h.body, nil)
		return true
	})
}

// flush appends the collected units as one batch.
func (r *runner) flush(life int64) {
	if len(r.units) == 0 {
		return
	}
	units := r.units
	r.units, r.unitBytes = nil, 0
	if !r.alive(life) {
		return
	}
	// The machine may be ahead of what is appended here, never behind.
	r.appended += int64(countRecords(units))
	upTo := r.appended
	batch, err := r.encode(units)
	var last int64
	if err == nil {
		last, err = r.shared.log.Append(context.Background(), r.shared.topic, r.partition, batch)
	}
	if err != nil {
		r.fail(life, fmt.Errorf("cannot append to %s-%d: %w", r.shared.topic, r.partition, err))
		return
	}
	r.await(life, last, upTo)
}

// await has the answers released that show the first upTo records, once offset is committed.
func (r *runner) await(life, offset, upTo int64) {
	r.shared.log.WaitCommitted(r.shared.topic, r.partition, offset, func(err error) {
		r.later(life, func() {
			if err != nil {
				r.fail(life, fmt.Errorf("%s-%d is not committed up to offset %d: %w", r.shared.topic, r.partition, offset, err))
				return
			}
			r.committed = max(r.committed, upTo)
			r.release()
		})
	})
}

func countRecords(units [][]Record) int {
	n := 0
	for _, unit := range units {
		n += len(unit)
	}
	return n
}

func (r *runner) encode(units [][]Record) (record.Batch, error) {
	builder := record.NewBuilder(record.Plain())
	now := r.shared.now().UnixMilli()
	for _, unit := range units {
		for _, rec := range unit {
			builder.Append(now, rec.Key, rec.Value, nil)
		}
	}
	return builder.Build()
}

// fail ends a life because the log failed: what the machine believes may not be in the log, so it
// is thrown away and loaded again. Everybody who waits is told to come back.
func (r *runner) fail(life int64, err error) {
	r.shared.logger.Error("group coordinator: the partition is loaded again", "partition", r.partition, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life != life {
		return
	}
	r.unload(retriable(err))
	if now := r.shared.now(); now.Before(r.loadedAt.Add(reloadPause)) {
		r.phase = broken
		r.retryAt = now.Add(reloadPause)
		return
	}
	r.startLoading()
}

// retriable is the code that makes clients try again: elsewhere when this broker cannot lead any
// more, else here (Kafka's CoordinatorOperationExceptionHelper).
func retriable(err error) int16 {
	switch protocol.CodeOf(err) {
	case protocol.CodeNotLeaderOrFollower, protocol.CodeKafkaStorageError, protocol.CodeFencedLeaderEpoch:
		return protocol.CodeNotCoordinator
	}
	return protocol.CodeCoordinatorNotAvailable
}

// abandon drops the machine and answers everything that waits.
func (r *runner) abandon(err error) {
	for _, h := range r.waiting {
		h.call.done(nil, err)
	}
	for c := range r.open {
		c.done(nil, err)
	}
	r.machine, r.open, r.waiting, r.units, r.unitBytes = nil, nil, nil, nil, 0
}

// arm makes sure that the machine's next deadline is kept. A timer that is too early is left
// alone: heartbeats move deadlines all the time, and moving a timer with each of them costs more
// than one wasted wake-up.
func (r *runner) arm(life int64) {
	if r.machine == nil {
		return
	}
	at, ok := r.machine.nextDeadline()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life != life {
		return
	}
	if r.timer != nil && (!ok || at.Before(r.timerAt)) {
		r.timer.Stop()
		r.timer = nil
	}
	if r.timer != nil || !ok {
		return
	}
	r.timerAt = at
	r.timer = time.AfterFunc(at.Sub(r.shared.now()), func() { r.ring(life) })
}

// ring lets the machine do what is due.
func (r *runner) ring(life int64) {
	r.later(life, func() {
		r.mu.Lock()
		r.timer = nil
		r.mu.Unlock()
		r.step(life, r.machine.tick)
	})
}
