package coordinator

import "time"

// Record is one record of a coordinator's topic. A nil Value is a tombstone.
type Record struct{ Key, Value []byte }

// client is who sent a request, as members show it in DescribeGroups.
type client struct{ id, host string }

// request is one event from outside. The machine hands ticket back with the reply, perhaps much
// later (a JoinGroup waits for the other members).
type request struct {
	body   any
	client client
	ticket any
}

// reply answers the request that came with the ticket.
type reply struct {
	ticket any
	body   any
	// after is the number of records, counted from the first one replayed, that must be committed
	// before the answer may be seen. 0 waits for nothing.
	after int64
}

// result is what one step of a machine wants done: append the records, those of a unit in one
// batch, and send the replies when what they show is committed.
type result struct {
	units    [][]Record
	replies  []reply
	problems []error // what could not be done though nobody asked for it; to be logged
}

// machine is the pure state machine of one partition of a coordinator's topic. It has no
// goroutine, clock, disk or socket, and is not safe for concurrent use. Records it returns have
// already been replayed: the caller appends them or throws the machine away.
type machine interface {
	// replay applies one record of the log; it is the only way durable state changes.
	replay(rec Record) error
	// loaded ends the replay of the log: volatile state is derived and timers start.
	loaded(now time.Time) result
	handle(now time.Time, req request) result
	// tick does what is due.
	tick(now time.Time) result
	// nextDeadline is the earliest time at which tick has something to do.
	nextDeadline() (time.Time, bool)
	// replayed is the number of records replayed so far.
	replayed() int64
}
