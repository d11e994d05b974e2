package storage

import (
	"math"
	"sync"

	"klamm/internal/record"
)

// producerWindow is how many batches of a producer are remembered to recognise a retry; Kafka's
// clients have at most as many requests in flight.
const producerWindow = 5

// producerBatch remembers where one batch of an idempotent producer went.
type producerBatch struct {
	lastSequence int32
	offsetDelta  int32 // last offset - first offset, and the same for sequences
	lastOffset   int64
	timestamp    int64 // ms, the batch's max timestamp
}

func (b producerBatch) firstOffset() int64 { return b.lastOffset - int64(b.offsetDelta) }

func (b producerBatch) firstSequence() int32 {
	first := int64(b.lastSequence) - int64(b.offsetDelta)
	if first < 0 { // the batch wrapped: 2^31-1 is followed by 0
		first += math.MaxInt32 + 1
	}
	return int32(first)
}

// producerEntry is what one partition knows about one producer. It is a value: copying it gives an
// undo record.
type producerEntry struct {
	epoch            int16
	count            int8 // batches in use
	partial          bool // batches older than batches[0] are in the log but not here
	coordinatorEpoch int32
	lastTimestamp    int64 // ms
	txnFirstOffset   int64 // of the open transaction, -1 without one
	batches          [producerWindow]producerBatch
}

func newProducerEntry() producerEntry {
	return producerEntry{epoch: record.NoProducerEpoch, coordinatorEpoch: -1, lastTimestamp: noTimestamp, txnFirstOffset: -1}
}

func (e *producerEntry) lastSequence() int32 {
	if e.count == 0 {
		return record.NoSequence
	}
	return e.batches[e.count-1].lastSequence
}

func (e *producerEntry) add(b producerBatch) {
	if e.count == producerWindow {
		copy(e.batches[:], e.batches[1:])
		e.count--
	}
	e.batches[e.count] = b
	e.count++
}

func (e *producerEntry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch, e.count, e.partial = epoch, 0, false
	}
}

func (e *producerEntry) find(b record.Batch) (producerBatch, bool) {
	if b.ProducerEpoch() != e.epoch {
		return producerBatch{}, false
	}
	for _, known := range e.batches[:e.count] {
		if known.firstSequence() == b.BaseSequence() && known.lastSequence == b.LastSequence() {
			return known, true
		}
	}
	return producerBatch{}, false
}

// CompletedTxn is a transaction that a marker ended.
type CompletedTxn struct {
	ProducerID              int64
	FirstOffset, LastOffset int64 // LastOffset is the marker's
	Aborted                 bool
}

// ProducerStateManager knows the last batches of every idempotent producer of one partition, to
// answer retries with the original offsets and to refuse gaps (KIP-98). It is safe for concurrent
// use, but a check and the update that follows it must not be separated by another update.
type ProducerStateManager struct {
	mu        sync.Mutex
	producers map[int64]*producerEntry
	openTxns  map[int64]int64 // producer id -> first offset of its open transaction
}

func newProducerStateManager() *ProducerStateManager { return &ProducerStateManager{} }

// Len is the number of producers known.
func (m *ProducerStateManager) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.producers)
}

// check tells whether b, sent by a client, may be appended at offset end. A retry returns the batch
// it repeats. partial tells that the refusal may be wrong because older batches were not loaded.
func (m *ProducerStateManager) check(b record.Batch, end int64) (duplicate producerBatch, isDuplicate, partial bool, err error) {
	if dedupeOff {
		return producerBatch{}, false, false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.producers[b.ProducerID()]
	if e == nil {
		return producerBatch{}, false, false, nil // after retention a producer may go on anywhere
	}
	if known, ok := e.find(b); ok {
		return known, true, false, nil
	}
	switch {
	case b.ProducerEpoch() < e.epoch:
		return producerBatch{}, false, false, &InvalidProducerEpoch{b.ProducerID(), b.ProducerEpoch(), e.epoch}
	case b.IsControl():
		return producerBatch{}, false, false, nil
	case b.ProducerEpoch() > e.epoch:
		if b.BaseSequence() != 0 && e.epoch != record.NoProducerEpoch {
			return producerBatch{}, false, false, &OutOfOrderSequence{b.ProducerID(), b.BaseSequence(), record.NoSequence, end}
		}
	case !follows(e.lastSequence(), b.BaseSequence()):
		return producerBatch{}, false, e.partial, &OutOfOrderSequence{b.ProducerID(), b.BaseSequence(), e.lastSequence(), end}
	}
	return producerBatch{}, false, false, nil
}

func follows(last, first int32) bool {
	return int64(first) == int64(last)+1 || first == 0 && last == math.MaxInt32
}

// update notes a batch that is in the log. The result is the transaction a marker ended, if any.
func (m *ProducerStateManager) update(b record.Batch) (CompletedTxn, bool) {
	id := b.ProducerID()
	if id == record.NoProducerID {
		return CompletedTxn{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.producers[id]
	if e == nil {
		if m.producers == nil {
			m.producers = map[int64]*producerEntry{}
		}
		fresh := newProducerEntry()
		e = &fresh
		m.producers[id] = e
	}
	if b.IsControl() {
		return m.endTxnLocked(e, b)
	}
	e.setEpoch(b.ProducerEpoch())
	e.lastTimestamp = b.MaxTimestamp()
	if b.BaseSequence() != record.NoSequence {
		e.add(producerBatch{b.LastSequence(), b.LastOffsetDelta(), b.LastOffset(), b.MaxTimestamp()})
	}
	if b.IsTransactional() && e.txnFirstOffset < 0 {
		m.openLocked(id, e, b.BaseOffset())
	}
	return CompletedTxn{}, false
}

func (m *ProducerStateManager) openLocked(id int64, e *producerEntry, first int64) {
	e.txnFirstOffset = first
	if first < 0 {
		return
	}
	if m.openTxns == nil {
		m.openTxns = map[int64]int64{}
	}
	m.openTxns[id] = first
}

func (m *ProducerStateManager) endTxnLocked(e *producerEntry, b record.Batch) (CompletedTxn, bool) {
	commit, coordinatorEpoch, ok := parseEndTxnMarker(b)
	if !ok {
		return CompletedTxn{}, false
	}
	e.setEpoch(b.ProducerEpoch())
	e.lastTimestamp = b.MaxTimestamp()
	e.coordinatorEpoch = coordinatorEpoch
	first := e.txnFirstOffset
	e.txnFirstOffset = -1
	delete(m.openTxns, b.ProducerID())
	if first < 0 {
		return CompletedTxn{}, false
	}
	return CompletedTxn{b.ProducerID(), first, b.LastOffset(), !commit}, true
}

// undo puts back what get returned before an update whose write failed.
func (m *ProducerStateManager) undo(id int64, before producerEntry, existed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.openTxns, id)
	if !existed {
		delete(m.producers, id)
		return
	}
	e := m.producers[id]
	*e = before
	m.openLocked(id, e, before.txnFirstOffset)
}

func (m *ProducerStateManager) get(id int64) (producerEntry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.producers[id]
	if e == nil {
		return producerEntry{}, false
	}
	return *e, true
}

// complete puts batches that the log holds but a snapshot did not in front of the window.
func (m *ProducerStateManager) complete(id int64, older []producerBatch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.producers[id]
	if e == nil {
		return
	}
	e.partial = false
	all := append(older, e.batches[:e.count]...)
	if len(all) > producerWindow {
		all = all[len(all)-producerWindow:]
	}
	e.count = int8(copy(e.batches[:], all))
}

// firstOpenOffset is the first offset of the oldest open transaction, -1 without one.
func (m *ProducerStateManager) firstOpenOffset() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := int64(-1)
	for _, offset := range m.openTxns {
		if first < 0 || offset < first {
			first = offset
		}
	}
	return first
}

// expire forgets producers that wrote nothing for maxAge ms and have no open transaction.
func (m *ProducerStateManager) expire(nowMs, maxAge int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, e := range m.producers {
		if e.txnFirstOffset < 0 && nowMs-e.lastTimestamp >= maxAge {
			delete(m.producers, id)
		}
	}
}

// snapshot is the content of a .snapshot file for the current state.
func (m *ProducerStateManager) snapshot() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]ProducerSnapshotEntry, 0, len(m.producers))
	for id, e := range m.producers {
		s := ProducerSnapshotEntry{id, e.epoch, record.NoSequence, -1, 0, e.lastTimestamp, e.coordinatorEpoch, e.txnFirstOffset}
		if e.count > 0 {
			last := e.batches[e.count-1]
			s.LastSequence, s.LastOffset, s.OffsetDelta = last.lastSequence, last.lastOffset, last.offsetDelta
		}
		entries = append(entries, s)
	}
	return AppendProducerSnapshot(make([]byte, 0, snapshotHeaderSize+len(entries)*snapshotEntrySize), entries)
}

// load replaces the state by that of a snapshot.
func (m *ProducerStateManager) load(entries []ProducerSnapshotEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.producers, m.openTxns = nil, nil
	if len(entries) == 0 {
		return
	}
	m.producers = make(map[int64]*producerEntry, len(entries))
	for _, s := range entries {
		e := newProducerEntry()
		e.epoch, e.coordinatorEpoch, e.lastTimestamp = s.Epoch, s.CoordinatorEpoch, s.Timestamp
		if s.LastOffset >= 0 && s.LastSequence >= 0 {
			e.add(producerBatch{s.LastSequence, s.OffsetDelta, s.LastOffset, s.Timestamp})
			e.partial = true
		}
		m.producers[s.ProducerID] = &e
		m.openLocked(s.ProducerID, &e, s.TxnFirstOffset)
	}
}
