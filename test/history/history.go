// Package history records what a producer, its readers and a consumer group saw of a broker that
// is killed again and again, and says afterwards whether the broker kept its promises.
//
// Every record carries a Value that is sent once: a key, and a number that grows by one with each
// record of that key. That makes loss, duplication and reordering visible from the outside. The
// anomalies are those that Jepsen's Kafka workload looks for, restated for one idempotent producer
// and acks=all.
package history

import (
	"fmt"
	"sync"
)

// Value is the identity of one record: the n-th record sent with this key.
type Value struct {
	Key    string
	Number int64
}

func (v Value) String() string { return fmt.Sprintf("%s/%d", v.Key, v.Number) }

// Place is where a record lies.
type Place struct {
	Partition int32
	Offset    int64
}

func (p Place) String() string { return fmt.Sprintf("partition %d offset %d", p.Partition, p.Offset) }

// Moment is a position in the history: what was recorded before it happened before it.
type Moment int64

type observation struct {
	at    Moment
	where Place
	value Value
}

type poll struct {
	observation
	reader string
}

// commit is an offset (exclusive: the next to read) that a group stored or read back.
type commit struct {
	at        Moment
	partition int32
	offset    int64
}

// Recorder collects a history. Its methods may be called from several goroutines.
type Recorder struct {
	mu        sync.Mutex
	now       Moment
	sent      map[Value]struct{}
	acked     []observation
	polled    []poll
	final     map[int32][]observation
	starts    map[int32]int64
	attempted map[int32]int64
	committed []commit
	fetched   []commit
	names     nameLog
	damage    []string
}

// NewRecorder returns an empty history.
func NewRecorder() *Recorder {
	return &Recorder{
		sent:      map[Value]struct{}{},
		final:     map[int32][]observation{},
		starts:    map[int32]int64{},
		attempted: map[int32]int64{},
		names:     newNameLog(),
	}
}

// tick must be called with the lock held.
func (r *Recorder) tick() Moment {
	r.now++
	return r.now
}

// Now is taken before a question is asked, so that only answers older than the question count.
func (r *Recorder) Now() Moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tick()
}

// Sent is called before a record is handed to the client.
func (r *Recorder) Sent(v Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[v] = struct{}{}
}

// Acked is called when the broker has acknowledged v at this place with acks=all.
func (r *Recorder) Acked(where Place, v Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = append(r.acked, observation{r.tick(), where, v})
}

// AckedCount is the number of acknowledged records so far.
func (r *Recorder) AckedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

// Polled is called for every record a reader is given. A reader's name stands for one unbroken
// session on a partition: after a reset or an assignment it needs a new name.
func (r *Recorder) Polled(reader string, where Place, v Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polled = append(r.polled, poll{observation{r.tick(), where, v}, reader})
}

// PolledCount is the number of records given to readers so far.
func (r *Recorder) PolledCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.polled)
}

// Committing is called before the group sends the offset, Committed when the broker has stored it.
func (r *Recorder) Committing(partition int32, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempted[partition] = max(r.attempted[partition], offset)
}

// Committed: see Committing.
func (r *Recorder) Committed(partition int32, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.committed = append(r.committed, commit{r.tick(), partition, offset})
}

// CommittedCount is the number of stored commits so far.
func (r *Recorder) CommittedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.committed)
}

// FetchedCommit is what the broker says the group's offset is; asked is the moment before the
// question. An offset of -1 means that the broker knows none.
func (r *Recorder) FetchedCommit(asked Moment, partition int32, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetched = append(r.fetched, commit{asked, partition, offset})
}

// FinalStart says at which offset the final read of a partition began. Without it, 0.
func (r *Recorder) FinalStart(partition int32, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts[partition] = offset
}

// Final is called, in the order read, for every record of a partition after the last restart.
func (r *Recorder) Final(where Place, v Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.final[where.Partition] = append(r.final[where.Partition], observation{r.tick(), where, v})
}

// Unreadable says that a part of the log could not be read back at all.
func (r *Recorder) Unreadable(detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.damage = append(r.damage, detail)
}
