package replica

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/config"
	"klamm/internal/metadata"
	"klamm/internal/record"
	"klamm/internal/storage"
)

// AnyEpoch in place of a leader epoch means that the client does not know or care.
const AnyEpoch int32 = -1

// Partition is this broker's replica of one partition.
type Partition struct {
	Topic   string
	TopicID [16]byte
	ID      int32

	manager *Manager
	timed   sync.Mutex // before mu: held from taking LogAppendTime to the append

	mu          sync.Mutex
	log         *storage.Log // nil when failed is set
	failed      error        // why the log cannot be used; this partition only
	config      config.TopicConfig
	state       *metadata.Partition // newest state told by the controller
	leading     bool
	deleted     bool
	leaderEpoch int32
	epochStart  int64 // end offset when this epoch began

	highWatermark  int64 // exclusive: everything below is committed
	appendedBytes  int64 // size of all batches appended by this process
	committedBytes int64 // those of them that lie below the high watermark
	syncing        bool  // a sync is queued or running
	refusing       bool  // the last append failed on the disk

	commits []commitWaiter
	fetches map[*fetchWaiter]struct{}
}

func (p *Partition) name() string { return fmt.Sprintf("%s-%d", p.Topic, p.ID) }

// Snapshot is the state of a leader at one moment.
type Snapshot struct {
	LeaderEpoch      int32
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	LogEndOffset     int64
	committedBytes   int64
}

// snapshot is taken under mu by a leader with a usable log.
func (p *Partition) snapshot() Snapshot {
	return Snapshot{
		LeaderEpoch: p.leaderEpoch, HighWatermark: p.highWatermark,
		LastStableOffset: min(p.log.LastStableOffset(), p.highWatermark),
		LogStartOffset:   p.log.StartOffset(), LogEndOffset: p.log.EndOffset(),
		committedBytes: p.committedBytes,
	}
}

// checkLeader says whether requests of a client that believes in an epoch may be served (KIP-320).
// mu is held.
func (p *Partition) checkLeader(clientEpoch int32) error {
	switch {
	case p.deleted:
		return errUnknownPartition(p.Topic, p.ID)
	case p.failed != nil:
		return errStorage(p, p.failed)
	case clientEpoch != AnyEpoch && clientEpoch < p.leaderEpoch:
		return &Error{Code: kerr.FencedLeaderEpoch.Code, Message: fmt.Sprintf("leader epoch %d of partition %s is over, it is %d now", clientEpoch, p.name(), p.leaderEpoch)}
	case clientEpoch != AnyEpoch && clientEpoch > p.leaderEpoch:
		return &Error{Code: kerr.UnknownLeaderEpoch.Code, Message: fmt.Sprintf("leader epoch %d of partition %s is not known here yet, it is %d", clientEpoch, p.name(), p.leaderEpoch)}
	case !p.leading:
		return errNotLeader(p)
	}
	if err := p.manager.logs.Offline(); err != nil {
		return errStorage(p, err)
	}
	return nil
}

// Leader returns the state of this partition if this broker leads it in the client's epoch.
func (p *Partition) Leader(clientEpoch int32) (Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkLeader(clientEpoch); err != nil {
		return Snapshot{}, err
	}
	return p.snapshot(), nil
}

// AppendOptions say how a batch is appended.
type AppendOptions struct {
	RequiredAcks int16 // 0, 1 or -1
	LeaderEpoch  int32 // AnyEpoch for clients
	Internal     bool  // written by a coordinator of this broker: trusted, may hold control records
}

// AppendInfo says where a batch went.
type AppendInfo struct {
	FirstOffset    int64
	LastOffset     int64
	LogAppendTime  int64 // ms, -1 under CreateTime
	LogStartOffset int64
	Duplicate      bool // the batch was there before; the offsets are those of then
}

// AppendAsLeader validates one batch and appends it; b is changed in place (offset, epoch, times).
// When it returns the batch is readable after a restart of the process, not yet after a power cut:
// that is what WaitCommitted waits for. With an error only LogStartOffset may be known.
func (p *Partition) AppendAsLeader(b record.Batch, o AppendOptions) (AppendInfo, error) {
	topicConfig, refused, err := p.admitAppend(o)
	if err != nil {
		return refused, err
	}
	if topicConfig.LogAppendTime {
		// Times must not go back within a partition, so nobody may overtake between the two steps.
		p.timed.Lock()
		defer p.timed.Unlock()
	}
	now := p.manager.now()
	if !o.Internal {
		if b, err = p.manager.validate(b, p.Topic, topicConfig, now); err != nil {
			return refused, err
		}
	}
	return p.append(b, o.LeaderEpoch, now)
}

func (p *Partition) append(b record.Batch, clientEpoch int32, now time.Time) (AppendInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkLeader(clientEpoch); err != nil {
		return notAppended, err
	}
	info, err := p.log.AppendAsLeader(b, p.leaderEpoch, now)
	if err != nil {
		return p.refusedInfo(), p.appendError(err)
	}
	p.appendWorks()
	if info.Duplicate && info.LogAppendTime < 0 {
		info.LogAppendTime = b.MaxTimestamp() // Kafka answers a retry with the time of the first try
	}
	if !info.Duplicate {
		p.appendedBytes += int64(len(b))
		p.appended()
	}
	return AppendInfo{
		FirstOffset: info.FirstOffset, LastOffset: info.LastOffset, LogAppendTime: info.LogAppendTime,
		LogStartOffset: info.LogStartOffset, Duplicate: info.Duplicate,
	}, nil
}

// notAppended goes with an error when nothing of the log is known.
var notAppended = AppendInfo{FirstOffset: -1, LastOffset: -1, LogAppendTime: -1, LogStartOffset: -1}

// refusedInfo goes with the refusal of a batch by a log that works. mu is held.
func (p *Partition) refusedInfo() AppendInfo {
	info := notAppended
	info.LogStartOffset = p.log.StartOffset()
	return info
}

// admitAppend refuses what need not be looked at: wrong leader, too few in-sync replicas. refused
// goes with the error, this one or a later one.
func (p *Partition) admitAppend(o AppendOptions) (c config.TopicConfig, refused AppendInfo, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkLeader(o.LeaderEpoch); err != nil {
		return config.TopicConfig{}, notAppended, err
	}
	if need := p.minInsync(); o.RequiredAcks == -1 && len(p.state.ISR) < need {
		return config.TopicConfig{}, p.refusedInfo(), &Error{
			Code:    kerr.NotEnoughReplicas.Code,
			Message: fmt.Sprintf("partition %s has %d in-sync replicas, min.insync.replicas asks for %d", p.name(), len(p.state.ISR), need),
		}
	}
	return p.config, p.refusedInfo(), nil
}

// minInsync is the number of in-sync replicas that acks=all needs: never more than there are
// replicas (Kafka's Partition.effectiveMinIsr).
func (p *Partition) minInsync() int { return min(p.config.MinInsyncReplicas, len(p.state.Replicas)) }

// appended moves what an append moves. mu is held.
func (p *Partition) appended() {
	p.manager.maintenance.appended()
	if !p.manager.syncBeforeCommit() || highWatermarkAhead {
		p.advance(p.log.EndOffset(), p.appendedBytes)
	}
	p.startSync()
}

// startSync queues a sync unless one is queued or running already. mu is held.
func (p *Partition) startSync() {
	if p.syncing || !p.manager.syncBeforeCommit() {
		return
	}
	p.syncing = true
	p.manager.syncs.enqueue(p)
}

// syncOnce makes the log durable and moves the high watermark. It tells whether more was appended
// meanwhile, so that another sync is due.
func (p *Partition) syncOnce() (again bool) {
	p.mu.Lock()
	log, bytes, end := p.log, p.appendedBytes, p.log.EndOffset()
	p.mu.Unlock()

	synced, err := log.Sync()

	p.mu.Lock()
	if err != nil {
		p.syncing = false
		waiting := p.takeCommits()
		p.wakeFetches()
		p.mu.Unlock()
		p.manager.logger.Error("a sync failed: the data directory is offline until restart, an fsync is never retried", "partition", p.name(), "error", err)
		failAll(waiting, errStorage(p, err))
		return false
	}
	if synced >= end {
		p.advance(synced, bytes)
	}
	again = p.log.EndOffset() > synced && !p.deleted
	p.syncing = again
	done := p.takeCommitted()
	p.mu.Unlock()
	for _, w := range done {
		w.done(nil)
	}
	return again
}

// advance moves the high watermark, never back. bytes is appendedBytes as of offset. mu is held;
// commit waiters are the caller's to take.
func (p *Partition) advance(offset, bytes int64) {
	if offset <= p.highWatermark {
		return
	}
	p.highWatermark = offset
	p.log.SetHighWatermark(offset)
	grown := max(bytes-p.committedBytes, 0)
	p.committedBytes += grown
	for w := range p.fetches {
		w.committed(grown)
	}
}

// takeCommitted removes and returns the waiters that the high watermark has passed. mu is held.
func (p *Partition) takeCommitted() []commitWaiter {
	n := 0
	var done []commitWaiter
	for _, w := range p.commits {
		if w.offset < p.highWatermark {
			done = append(done, w)
			continue
		}
		p.commits[n] = w
		n++
	}
	clear(p.commits[n:])
	p.commits = p.commits[:n]
	return done
}

func (p *Partition) takeCommits() []commitWaiter {
	waiting := p.commits
	p.commits = nil
	return waiting
}

func failAll(waiting []commitWaiter, err error) {
	for _, w := range waiting {
		w.done(err)
	}
}

// WaitCommitted calls done once, with nil when the high watermark is above offset, with an error
// when this broker stops leading or the disk fails. It may call done before it returns.
func (p *Partition) WaitCommitted(offset int64, done func(error)) {
	p.mu.Lock()
	err := p.checkLeader(AnyEpoch)
	if err == nil && p.highWatermark <= offset {
		p.commits = append(p.commits, commitWaiter{offset: offset, done: done})
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	done(err)
}

// watch registers a long poll that has seen the partition as of s; what was committed since then
// counts at once.
func (p *Partition) watch(w *fetchWaiter, s Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leading || p.leaderEpoch != s.LeaderEpoch || p.deleted || p.failed != nil {
		w.wake()
		return
	}
	if p.fetches == nil {
		p.fetches = map[*fetchWaiter]struct{}{}
	}
	p.fetches[w] = struct{}{}
	if p.highWatermark != s.HighWatermark {
		w.committed(p.committedBytes - s.committedBytes)
	}
}

func (p *Partition) unwatch(w *fetchWaiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.fetches, w)
}

func (p *Partition) wakeFetches() {
	for w := range p.fetches {
		w.wake()
	}
}

// lead makes this broker the leader of an epoch (cluster rule: only for a newer epoch; its start
// is recorded even if no record follows).
func (p *Partition) lead(state *metadata.Partition) (led bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	if p.failed != nil || p.deleted || state.LeaderEpoch < p.leaderEpoch || (p.leading && state.LeaderEpoch == p.leaderEpoch) {
		return false
	}
	p.epochStart = p.log.EndOffset()
	p.log.LeaderEpochs().Assign(state.LeaderEpoch, p.epochStart)
	p.leading, p.leaderEpoch = true, state.LeaderEpoch
	p.becomeReadable()
	p.wakeFetches()
	return true
}

// becomeReadable sets the high watermark of a new leader: what is known to be durable. mu is held.
func (p *Partition) becomeReadable() {
	if !p.manager.syncBeforeCommit() || highWatermarkAhead {
		p.highWatermark = max(p.highWatermark, p.log.EndOffset())
		return
	}
	p.highWatermark = max(p.highWatermark, p.log.SyncedOffset())
	if p.log.EndOffset() > p.log.SyncedOffset() {
		p.startSync()
	}
}

// resign ends leadership: waiting requests are told to look for another leader.
func (p *Partition) resign(state *metadata.Partition) {
	p.mu.Lock()
	p.leading = false
	if state != nil {
		p.state, p.leaderEpoch = state, max(p.leaderEpoch, state.LeaderEpoch)
	}
	waiting := p.takeCommits()
	p.wakeFetches()
	p.mu.Unlock()
	failAll(waiting, errNotLeader(p))
}

// markDeleted ends the partition's life here.
func (p *Partition) markDeleted() {
	p.mu.Lock()
	p.leading, p.deleted = false, true
	waiting := p.takeCommits()
	p.wakeFetches()
	p.mu.Unlock()
	failAll(waiting, errUnknownPartition(p.Topic, p.ID))
}

// updateConfig applies a topic's changed configuration to what comes next.
func (p *Partition) updateConfig(c config.TopicConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = c
	if p.log != nil {
		p.log.UpdateConfig(c)
	}
}

func (p *Partition) epoch() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaderEpoch
}

// appendError gives a failed append its code. A disk that refuses is told once, not with every
// batch that is sent again. mu is held.
func (p *Partition) appendError(err error) error {
	if codeOf(err) == kerr.KafkaStorageError.Code && !p.refusing {
		p.refusing = true
		p.manager.logger.Error("a batch could not be appended; further ones are refused without a word until one succeeds", "partition", p.name(), "error", err)
	}
	return err
}

// appendWorks notes that appends succeed. mu is held.
func (p *Partition) appendWorks() {
	if p.refusing {
		p.refusing = false
		p.manager.logger.Info("batches are appended again", "partition", p.name())
	}
}
