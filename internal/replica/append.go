package replica

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/config"
	"klamm/internal/record"
)

// AppendOptions say how a batch is appended.
type AppendOptions struct {
	RequiredAcks int16 // 0, 1 or -1
	LeaderEpoch  int32 // AnyEpoch for clients
	// TopicID is that of the topic the client means, zero when it knows the name only.
	TopicID  [16]byte
	Internal bool // written by a coordinator of this broker: trusted, may hold control records
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
	if o.TopicID != ([16]byte{}) && o.TopicID != p.TopicID {
		return config.TopicConfig{}, notAppended, &Error{Code: kerr.UnknownTopicID.Code, Message: "the topic was created anew under another id"}
	}
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
