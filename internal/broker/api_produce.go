package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/record"
	"klamm/internal/replica"
)

// Produce (key 0): appends one record batch per partition.
//
// Behaviours
//   - Exactly one v2 batch per partition; anything else is INVALID_RECORD (CORRUPT_MESSAGE when it
//     cannot be a batch) for that partition alone. zstd before version 7 is
//     UNSUPPORTED_COMPRESSION_TYPE.
//   - acks=0 gets no answer; if a partition was refused, the connection is closed, which is the only
//     way to tell. acks=1 is answered after the append, acks=all when the high watermark is above
//     the last offset, or REQUEST_TIMED_OUT after the request's timeout: the batch may be there all
//     the same. Other acks are INVALID_REQUIRED_ACKS.
//   - The next Produce of the connection is appended while this one waits; answers keep the order.
//   - A batch that an idempotent producer sends again is answered with its first offsets, and with
//     acks=all only when they are committed.
//   - A request that names more than 1000 partitions with less than a batch header for each closes
//     the connection.
//   - Internal topics take records of the broker only: INVALID_TOPIC_EXCEPTION, except from Kafka's
//     own admin client.
//   - Transactions are not served: a transactional batch is INVALID_TXN_STATE.
//
// Versions: 3 record batches v2; 5 log start offset; 7 zstd; 8 record errors and message; 9
// flexible; 10 leader hints; 13 topic ids.
func (b *Broker) produce(_ context.Context, r *request, req *kmsg.ProduceRequest, reply func(kmsg.Response)) error {
	if err := checkPartitions(req); err != nil {
		return err
	}
	p := &pendingProduce{reply: reply, acks: req.Acks}
	p.response = req.ResponseKind().(*kmsg.ProduceResponse)
	p.response.Topics = make([]kmsg.ProduceResponseTopic, 0, len(req.Topics))
	waits, refused := b.appendAll(r, req, p.response)
	switch {
	case req.Acks == 0 && refused != nil:
		return fmt.Errorf("acks=0 leaves no other way to report: %w", refused)
	case req.Acks == 0:
		reply(nil)
	case len(waits) == 0:
		reply(p.response)
	default:
		p.wait(waits, time.Duration(req.TimeoutMillis)*time.Millisecond)
	}
	return nil
}

// fewPartitions is how many partitions without a batch a Produce request may name and still get an
// answer for each.
const fewPartitions = 1000

// checkPartitions refuses a request that cannot hold a batch for every partition it names. The
// answer to millions of empty ones would take gigabytes; no client sends that.
func checkPartitions(req *kmsg.ProduceRequest) error {
	partitions, size := 0, 0
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			partitions++
			size += len(req.Topics[i].Partitions[j].Records)
		}
	}
	if partitions > fewPartitions && size/partitions < record.HeaderSize {
		return fmt.Errorf("a Produce request names %d partitions but holds only %d bytes of records", partitions, size)
	}
	return nil
}

// produceWait is a partition whose answer waits for the high watermark.
type produceWait struct {
	partition  *replica.Partition
	lastOffset int64
	topic, at  int // place in the response
}

// appendAll appends every batch in the order of the request and fills the response. refused is
// the first refusal.
func (b *Broker) appendAll(r *request, req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) (waits []produceWait, refused error) {
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.ProduceResponseTopicPartition, 0, len(t.Partitions))
		name, err := b.produceTopic(r, req, t)
		for _, tp := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.BaseOffset, rp.LogAppendTime, rp.LogStartOffset = tp.Partition, -1, -1, -1
			failure := err
			if failure == nil {
				var wait *produceWait
				if wait, failure = b.appendOne(req, name, t.TopicID, tp, &rp); wait != nil {
					wait.topic, wait.at = len(resp.Topics), len(rt.Partitions)
					waits = append(waits, *wait)
				}
			}
			if failure != nil {
				b.refuseProduce(r, resp, &rp, name, failure)
				if refused == nil {
					refused = failure
				}
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return waits, refused
}

// produceTopic finds the name of a topic and what concerns all its partitions.
func (b *Broker) produceTopic(r *request, req *kmsg.ProduceRequest, t kmsg.ProduceRequestTopic) (name string, err error) {
	name = t.Topic
	if req.Version >= 13 {
		found, ok := b.replicas.TopicName(t.TopicID)
		if !ok {
			return "", refusal(kerr.UnknownTopicID, "there is no topic with this id")
		}
		name = found
	}
	switch {
	case req.Acks < -1 || req.Acks > 1:
		return name, refusal(kerr.InvalidRequiredAcks, "acks must be -1, 0 or 1")
	case isInternalTopic(name) && r.clientID() != adminClientID:
		return name, refusal(kerr.InvalidTopicException, "topic %s is written by brokers only", name)
	}
	return name, nil
}

// adminClientID is the client id that Kafka lets write to internal topics.
const adminClientID = "__admin_client"

// appendOne appends one partition's batch; a wait is returned for acks=all. The id keeps a batch for
// a deleted topic from going into a new one of the same name; it is zero where topics are named.
func (b *Broker) appendOne(req *kmsg.ProduceRequest, topic string, id [16]byte, tp kmsg.ProduceRequestTopicPartition, rp *kmsg.ProduceResponseTopicPartition) (*produceWait, error) {
	p, err := b.replicas.Partition(topic, tp.Partition)
	if err != nil {
		return nil, err
	}
	batch, err := onlyBatch(req.Version, tp.Records)
	if err != nil {
		return nil, err
	}
	info, err := p.AppendAsLeader(batch, replica.AppendOptions{RequiredAcks: req.Acks, LeaderEpoch: replica.AnyEpoch, TopicID: id})
	if err != nil {
		if hasLogStart(protocol.CodeOf(err)) {
			rp.LogStartOffset = info.LogStartOffset
		}
		return nil, err
	}
	rp.BaseOffset, rp.LogAppendTime, rp.LogStartOffset = info.FirstOffset, info.LogAppendTime, info.LogStartOffset
	if req.Acks != -1 {
		return nil, nil
	}
	return &produceWait{partition: p, lastOffset: info.LastOffset}, nil
}

// hasLogStart tells the refusals that Kafka answers with the log's start: those that come from
// looking into the records or into what the producer sent before.
func hasLogStart(code int16) bool {
	switch code {
	case kerr.UnknownTopicOrPartition.Code, kerr.NotLeaderForPartition.Code, kerr.MessageTooLarge.Code,
		kerr.RecordListTooLarge.Code, kerr.CorruptMessage.Code, kerr.KafkaStorageError.Code:
		return false
	}
	return true
}

// zstdVersion is the first version of Produce that may carry zstd (KIP-110).
const zstdVersion = 7

// magicPosition is the byte of a batch that holds its format's number.
const magicPosition = 16

// onlyBatch returns the one batch a partition of a Produce request must hold.
func onlyBatch(version int16, records []byte) (record.Batch, error) {
	if len(records) > magicPosition && (records[magicPosition] == 0 || records[magicPosition] == 1) {
		return nil, refusal(kerr.InvalidRecord, "a Produce request of version %d must hold record batches of format 2, not %d", version, records[magicPosition])
	}
	batch, rest, err := record.Next(records)
	var corrupt *record.CorruptError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refusal(kerr.InvalidRecord, "a Produce request of version %d must hold one whole record batch per partition", version)
	case errors.As(err, &corrupt):
		return nil, refusal(kerr.CorruptMessage, "%v", corrupt)
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, refusal(kerr.InvalidRecord, "a Produce request of version %d must hold exactly one record batch per partition", version)
	case version < zstdVersion && batch.Codec() == record.Zstd:
		return nil, refusal(kerr.UnsupportedCompressionType, "zstd needs version %d of Produce, this is version %d", zstdVersion, version)
	case batch.IsTransactional():
		return nil, refusal(kerr.InvalidTxnState, "this broker does not serve transactions")
	}
	return batch, nil
}

// refuseProduce fills the answer of a refused partition.
func (b *Broker) refuseProduce(r *request, resp *kmsg.ProduceResponse, rp *kmsg.ProduceResponseTopicPartition, topic string, err error) {
	rp.ErrorCode = protocol.CodeOf(err)
	rp.ErrorMessage = text(err.Error())
	var invalid *record.InvalidError
	if errors.As(err, &invalid) {
		for _, e := range invalid.RecordErrors {
			re := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			re.RelativeOffset, re.ErrorMessage = e.Index, text(e.Message)
			rp.ErrorRecords = append(rp.ErrorRecords, re)
		}
	}
	if resp.Version < 10 || rp.ErrorCode != kerr.NotLeaderForPartition.Code {
		return
	}
	if hint, ok := b.leaderHint(r, topic, rp.Partition); ok {
		rp.CurrentLeader.LeaderID, rp.CurrentLeader.LeaderEpoch = hint.leader, hint.epoch
		node := kmsg.NewProduceResponseBroker()
		node.NodeID, node.Host, node.Port, node.Rack = hint.leader, hint.host, hint.port, hint.rack
		resp.Brokers = append(resp.Brokers, node)
	}
}

// pendingProduce is a Produce request with acks=all that waits for its partitions.
type pendingProduce struct {
	reply func(kmsg.Response)
	acks  int16

	mu       sync.Mutex
	response *kmsg.ProduceResponse
	open     map[*produceWait]struct{} // nil once the answer is given
	timer    *time.Timer
}

// wait answers when every partition is committed, or after limit.
func (p *pendingProduce) wait(waits []produceWait, limit time.Duration) {
	p.mu.Lock()
	p.open = make(map[*produceWait]struct{}, len(waits))
	for i := range waits {
		p.open[&waits[i]] = struct{}{}
	}
	p.timer = time.AfterFunc(limit, p.timedOut)
	p.mu.Unlock()
	for i := range waits {
		w := &waits[i]
		w.partition.WaitCommitted(w.lastOffset, func(err error) { p.completed(w, err) })
	}
}

func (p *pendingProduce) completed(w *produceWait, err error) {
	p.mu.Lock()
	if p.open == nil {
		p.mu.Unlock()
		return
	}
	if err != nil {
		p.fail(w, protocol.CodeOf(err), err.Error())
	}
	delete(p.open, w)
	p.finishIfDone()
}

func (p *pendingProduce) timedOut() {
	p.mu.Lock()
	if p.open == nil {
		p.mu.Unlock()
		return
	}
	for w := range p.open {
		p.fail(w, kerr.RequestTimedOut.Code, "the records were not committed within the request's timeout; they may be later")
	}
	clear(p.open)
	p.finishIfDone()
}

// fail writes an error into the place of a partition. mu is held.
func (p *pendingProduce) fail(w *produceWait, code int16, message string) {
	rp := &p.response.Topics[w.topic].Partitions[w.at]
	rp.ErrorCode, rp.ErrorMessage, rp.BaseOffset, rp.LogAppendTime = code, text(message), -1, -1
}

// finishIfDone unlocks mu and gives the answer when nothing is open.
func (p *pendingProduce) finishIfDone() {
	done := len(p.open) == 0
	if done {
		p.open = nil
		p.timer.Stop()
	}
	p.mu.Unlock()
	if done {
		p.reply(p.response)
	}
}
