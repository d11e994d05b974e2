package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/storage"
)

// FetchParams hold for a whole Fetch request.
type FetchParams struct {
	MaxWait       time.Duration // how long to wait for MinBytes
	MinBytes      int64
	MaxBytes      int64 // over all partitions; the first batch is returned even above it
	HardMaxBytes  bool  // versions up to 2 of the request: never more than MaxBytes
	ReadCommitted bool  // only up to the last stable offset, with aborted transactions
}

// FetchPartition asks for records of one partition.
type FetchPartition struct {
	Topic            string
	TopicID          [16]byte // zero when the request names topics
	ID               int32
	Offset           int64
	MaxBytes         int64
	LeaderEpoch      int32 // AnyEpoch: unknown to the client
	LastFetchedEpoch int32 // AnyEpoch: no check for a diverging log
	// Refused, when set, is answered in place of a read (an unknown topic id, for instance).
	Refused error
}

// EpochEnd is the end offset (exclusive) of a leader epoch.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// FetchResult answers one FetchPartition. Err is nil or carries a Kafka code.
type FetchResult struct {
	Err      error
	Refused  bool // Err is that of FetchPartition.Refused, or the partition is not here
	State    Snapshot
	Diverged *EpochEnd
	Records  []byte // whole batches, from the one that holds the asked offset on
	Aborted  []storage.AbortedTxn
	release  func()
	memory   *fetchMemory
}

// Release gives the memory of Records back; Records must not be used any more. Every result of a
// Fetch must be released.
func (r *FetchResult) Release() {
	if r.release != nil {
		r.memory.give(int64(len(r.Records)))
		r.release()
		r.release, r.Records = nil, nil
	}
}

// fetchMemory bounds the records that all fetches together hold until their answers are written. When
// it is used up, by clients that do not read for instance, fetches get their first batch only.
type fetchMemory struct{ free atomic.Int64 }

// fetchMemoryBytes is that bound, less what first batches take beyond it.
const fetchMemoryBytes = 256 << 20

// take reserves up to want bytes.
func (m *fetchMemory) take(want int64) int64 {
	for {
		free := m.free.Load()
		got := max(0, min(want, free))
		if got == 0 || m.free.CompareAndSwap(free, free-got) {
			return got
		}
	}
}

// give returns bytes; a negative number takes more than there are.
func (m *fetchMemory) give(n int64) { m.free.Add(n) }

// Fetch reads committed records for a consumer (KIP-74: partitions in the order of the request,
// the first batch of the first non-empty partition always). With fewer than MinBytes it waits,
// without holding memory, until enough is committed, MaxWait is over, or a partition changes.
func (m *Manager) Fetch(ctx context.Context, params FetchParams, asked []FetchPartition) []FetchResult {
	partitions := m.resolve(asked)
	results, size, final := m.readAll(params, asked, partitions)
	if final || size >= params.MinBytes || params.MaxWait <= 0 || len(asked) == 0 {
		return results
	}
	w := newFetchWaiter(params.MinBytes)
	w.bytes.Store(size)
	for i, p := range partitions {
		p.watch(w, results[i].State)
		results[i].Release()
	}
	w.wait(ctx, params.MaxWait)
	for _, p := range partitions {
		p.unwatch(w)
	}
	results, _, _ = m.readAll(params, asked, partitions)
	return results
}

// resolve finds the partitions; one that is missing is nil, its error is found again when read.
func (m *Manager) resolve(asked []FetchPartition) []*Partition {
	partitions := make([]*Partition, len(asked))
	for i := range asked {
		if asked[i].Refused == nil {
			partitions[i], asked[i].Refused = m.Partition(asked[i].Topic, asked[i].ID)
		}
	}
	return partitions
}

// readAll reads every partition once. final means that waiting cannot help: a partition has an
// error or a diverging log.
func (m *Manager) readAll(params FetchParams, asked []FetchPartition, partitions []*Partition) (results []FetchResult, size int64, final bool) {
	results = make([]FetchResult, len(asked))
	budget, needOne := params.MaxBytes, !params.HardMaxBytes
	for i, p := range partitions {
		r := &results[i]
		if asked[i].Refused != nil {
			r.Err, r.State, r.Refused, final = asked[i].Refused, noSnapshot, true, true
			continue
		}
		*r = m.readWithin(p, asked[i], min(asked[i].MaxBytes, budget), needOne, params.ReadCommitted)
		if r.Err != nil || r.Diverged != nil {
			final = true
		}
		if n := int64(len(r.Records)); n > 0 {
			needOne = false
			budget = max(budget-n, 0)
			size += n
		}
	}
	return results, size, final
}

// readWithin reads one partition into what memory there is.
func (m *Manager) readWithin(p *Partition, f FetchPartition, maxBytes int64, needOne, readCommitted bool) FetchResult {
	reserved := m.memory.take(maxBytes)
	r := p.read(f, reserved, needOne, readCommitted)
	m.memory.give(reserved - int64(len(r.Records)))
	r.memory = &m.memory
	return r
}

// read reads one partition for a consumer.
func (p *Partition) read(f FetchPartition, maxBytes int64, needOne, readCommitted bool) FetchResult {
	log, state, err := p.readable(f)
	if err != nil {
		return FetchResult{Err: err, State: noSnapshot}
	}
	outOfRange := FetchResult{State: noSnapshot, Err: &storage.OffsetOutOfRange{Offset: f.Offset, Start: state.LogStartOffset, End: state.LogEndOffset}}
	if f.Offset < state.LogStartOffset {
		return outOfRange
	}
	if f.LastFetchedEpoch != AnyEpoch {
		end := epochEnd(log, f.LastFetchedEpoch, state.LogEndOffset)
		if end.Epoch < 0 || end.EndOffset < 0 {
			return outOfRange // an epoch this log has never seen
		}
		if end.Epoch < f.LastFetchedEpoch || end.EndOffset < f.Offset {
			return FetchResult{State: state, Diverged: &end}
		}
	}
	if f.Offset > state.LogEndOffset {
		return outOfRange
	}
	bound := state.HighWatermark
	if readCommitted {
		bound = state.LastStableOffset
	}
	if f.Offset >= bound || (maxBytes <= 0 && !needOne) {
		return FetchResult{State: state}
	}
	slice, err := log.Read(f.Offset, int(maxBytes), bound, needOne)
	if err != nil {
		return FetchResult{State: noSnapshot, Err: p.readError(err)}
	}
	r := FetchResult{State: state, Records: slice.Bytes, release: slice.Release}
	if readCommitted {
		r.Aborted = slice.AbortedTxns
	}
	return r
}

// readable checks what must hold before bytes are read.
func (p *Partition) readable(f FetchPartition) (*storage.Log, Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.TopicID != ([16]byte{}) && f.TopicID != p.TopicID {
		return nil, Snapshot{}, &Error{Code: kerr.InconsistentTopicID.Code, Message: "the topic was created anew under another id"}
	}
	if err := p.checkLeader(f.LeaderEpoch); err != nil {
		return nil, Snapshot{}, err
	}
	return p.log, p.snapshot(), nil
}

// noSnapshot is what Kafka's response holds for a partition that could not be read, an offset out of
// range included.
var noSnapshot = Snapshot{LeaderEpoch: -1, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1, LogEndOffset: -1}

// epochEnd tells where an epoch ended in this log. A client whose log goes on longer in that epoch,
// or whose epoch is unknown in between, has diverged (KIP-595).
func epochEnd(log *storage.Log, epoch int32, logEnd int64) EpochEnd {
	found, end := log.LeaderEpochs().EndOffsetFor(epoch, logEnd)
	return EpochEnd{Epoch: found, EndOffset: end}
}

// readError gives a failed read its code. A damaged or unreadable place concerns this partition only.
func (p *Partition) readError(err error) error {
	var outOfRange *storage.OffsetOutOfRange
	if !errors.As(err, &outOfRange) {
		p.manager.logger.Error("a fetch could not be answered", "partition", p.name(), "error", err)
	}
	return err
}
