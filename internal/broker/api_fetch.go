package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/replica"
)

// Fetch (key 1): whole record batches from an offset on, up to the high watermark.
//
// Behaviours
//   - The batch that holds the offset comes first; the client skips what it did not ask for.
//   - KIP-74: partitions in the order of the request, the first batch of the first non-empty one
//     even above the limits, the others within them.
//   - Waits up to MaxWait, and not beyond connections.max.idle.ms, for MinBytes. At or above the high watermark the answer is empty, outside
//     of the log it is OFFSET_OUT_OF_RANGE with the log's bounds; errors are answered at once.
//   - read_committed reads below the last stable offset and lists aborted transactions;
//     read_uncommitted has null in their place.
//   - Every fetch is a full one and is answered with session id 0, which KIP-227 allows: clients then
//     open no session. A fetch that goes on with one is FETCH_SESSION_ID_NOT_FOUND.
//
// Versions: 4 isolation; 5 log start offset; 7 sessions; 9 leader epoch; 11 rack and preferred
// replica (always -1); 12 flexible, last fetched epoch and diverging epoch; 13 topic ids; 15
// replica state; 16 leader hints; 17 directory id; 18 the follower's high watermark.
func (b *Broker) fetch(ctx context.Context, r *request, req *kmsg.FetchRequest) (kmsg.Response, error) {
	resp := &fetchResponse{FetchResponse: req.ResponseKind().(*kmsg.FetchResponse)}
	if req.SessionEpoch > 0 {
		resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
		return resp, nil
	}
	maxBytes := int64(min(req.MaxBytes, int32(b.config().Int("fetch.max.bytes"))))
	asked := b.fetchPartitions(req)
	resp.results = b.replicas.Fetch(ctx, replica.FetchParams{
		MaxWait:       b.server.limits.longestWait(req.MaxWaitMillis),
		MinBytes:      min(int64(req.MinBytes), maxBytes),
		MaxBytes:      maxBytes,
		ReadCommitted: req.IsolationLevel == readCommitted,
	}, asked)
	b.fillFetch(r, req, resp, asked)
	return resp, nil
}

// readCommitted is the isolation level that shows no records of open or aborted transactions.
const readCommitted = 1

// fetchResponse keeps the memory of the records until the answer is written.
type fetchResponse struct {
	*kmsg.FetchResponse
	results []replica.FetchResult
}

func (f *fetchResponse) release() {
	for i := range f.results {
		f.results[i].Release()
	}
}

// size implements sized: the records, and generously what is around them.
func (f *fetchResponse) size() int {
	n := 100
	for i := range f.results {
		n += len(f.results[i].Records) + 200
	}
	return n
}

// fetchPartitions lists what a request asks for, in its order.
func (b *Broker) fetchPartitions(req *kmsg.FetchRequest) []replica.FetchPartition {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	asked := make([]replica.FetchPartition, 0, n)
	for _, t := range req.Topics {
		name, known := t.Topic, true
		if req.Version >= 13 {
			name, known = b.replicas.TopicName(t.TopicID)
		}
		for _, p := range t.Partitions {
			f := replica.FetchPartition{
				Topic: name, TopicID: t.TopicID, ID: p.Partition, Offset: p.FetchOffset, MaxBytes: int64(p.PartitionMaxBytes),
				LeaderEpoch: p.CurrentLeaderEpoch, LastFetchedEpoch: p.LastFetchedEpoch,
			}
			if !known {
				f.Refused = refusal(kerr.UnknownTopicID, "there is no topic with this id")
			}
			asked = append(asked, f)
		}
	}
	return asked
}

func (b *Broker) fillFetch(r *request, req *kmsg.FetchRequest, resp *fetchResponse, asked []replica.FetchPartition) {
	resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(req.Topics))
	i := 0
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.FetchResponseTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			rp := fetchedPartition(p.Partition, &resp.results[i], req.IsolationLevel == readCommitted)
			if req.Version >= 16 {
				b.hintLeader(r, resp, asked[i].Topic, &rp)
			}
			rt.Partitions = append(rt.Partitions, rp)
			i++
		}
		resp.Topics = append(resp.Topics, rt)
	}
}

func fetchedPartition(id int32, res *replica.FetchResult, committed bool) kmsg.FetchResponseTopicPartition {
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition, rp.ErrorCode = id, protocol.CodeOf(res.Err)
	rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = res.State.HighWatermark, res.State.LastStableOffset, res.State.LogStartOffset
	rp.RecordBatches = res.Records
	if rp.RecordBatches == nil {
		rp.RecordBatches = []byte{} // Kafka answers empty, never null
	}
	if res.Diverged != nil {
		rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = res.Diverged.Epoch, res.Diverged.EndOffset
	}
	if committed || res.Refused { // Kafka has no null here for a partition it does not know
		rp.AbortedTransactions = make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, 0, len(res.Aborted))
		for _, a := range res.Aborted {
			at := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			at.ProducerID, at.FirstOffset = a.ProducerID, a.FirstOffset
			rp.AbortedTransactions = append(rp.AbortedTransactions, at)
		}
	}
	return rp
}

// hintLeader tells a client that came to the wrong broker, or with an old epoch, who leads (KIP-951).
func (b *Broker) hintLeader(r *request, resp *fetchResponse, topic string, rp *kmsg.FetchResponseTopicPartition) {
	if rp.ErrorCode != kerr.NotLeaderForPartition.Code && rp.ErrorCode != kerr.FencedLeaderEpoch.Code {
		return
	}
	hint, ok := b.leaderHint(r, topic, rp.Partition)
	if !ok {
		return
	}
	rp.CurrentLeader.LeaderID, rp.CurrentLeader.LeaderEpoch = hint.leader, hint.epoch
	node := kmsg.NewFetchResponseBroker()
	node.NodeID, node.Host, node.Port, node.Rack = hint.leader, hint.host, hint.port, hint.rack
	resp.Brokers = append(resp.Brokers, node)
}

// leaderHint is who leads a partition and where this client reaches it.
type leaderHint struct {
	leader, epoch int32
	host          string
	port          int32
	rack          *string
}

func (b *Broker) leaderHint(r *request, topic string, partition int32) (leaderHint, bool) {
	image := b.image()
	t := image.Topic(topic)
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return leaderHint{}, false
	}
	p := t.Partitions[partition]
	leader := image.Broker(p.Leader)
	if leader == nil || leader.Fenced {
		return leaderHint{}, false
	}
	host, port, ok := b.address(r, leader)
	return leaderHint{leader: p.Leader, epoch: p.LeaderEpoch, host: host, port: port, rack: leader.Rack}, ok
}
