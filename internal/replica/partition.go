package replica

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/config"
	"klamm/internal/metadata"
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

	highWatermark  int64 // exclusive: everything below is committed
	appendedBytes  int64 // size of all batches appended by this process
	committedBytes int64 // those of them that lie below the high watermark
	syncing        bool  // a sync is queued or running
	flushTimer     bool  // flush.ms is running
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

// lead makes this broker the leader of an epoch (cluster rule: only for a newer epoch; its start
// is recorded even if no record follows).
func (p *Partition) lead(state *metadata.Partition) (led bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	if p.failed != nil || p.deleted || state.LeaderEpoch < p.leaderEpoch || (p.leading && state.LeaderEpoch == p.leaderEpoch) {
		return false
	}
	p.log.LeaderEpochs().Assign(state.LeaderEpoch, p.log.EndOffset())
	p.leading, p.leaderEpoch = true, state.LeaderEpoch
	p.becomeReadable()
	p.wakeFetches()
	return true
}

// becomeReadable sets the high watermark of a new leader: what is known to be durable. mu is held.
func (p *Partition) becomeReadable() {
	if !p.syncBeforeCommit() || highWatermarkAhead {
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
