package broker

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId (key 22): an id for an idempotent producer.
//
// Behaviours
//   - Without a transactional id: always a new id with epoch 0, whatever id the client had. Ids are
//     unique in the cluster: the broker takes blocks of them from the controller.
//   - An empty transactional id is INVALID_REQUEST; transactions are not served, so a real one is
//     UNSUPPORTED_VERSION, which clients
//     do not retry.
//   - A producer id without an epoch, or the reverse, is INVALID_REQUEST.
//
// Versions: 2 flexible; 3 the id and epoch the client has; 4 PRODUCER_FENCED; 5 TRANSACTION_ABORTABLE.
func (b *Broker) initProducerID(_ context.Context, r *request, req *kmsg.InitProducerIDRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp, nil
	case req.Version >= 3 && (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp, nil
	case req.TransactionalID != nil:
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		return resp, nil
	}
	id, err := b.producers.next(b)
	if err != nil {
		b.logger.Warn("no producer id could be allocated", "client_id", r.clientID(), "error", err)
		resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code // clients retry it, as with Kafka
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp, nil
}

// producerIDs hands out producer ids from the block this broker owns.
type producerIDs struct {
	mu       sync.Mutex
	id, left int64
}

func (p *producerIDs) next(b *Broker) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = b.nodeID, b.brokerEpoch()
		resp := b.decide(req).(*kmsg.AllocateProducerIDsResponse)
		if resp.ErrorCode != 0 {
			return -1, fmt.Errorf("the controller refused a block of producer ids: %w", kerr.ErrorForCode(resp.ErrorCode))
		}
		p.id, p.left = resp.ProducerIDStart, int64(resp.ProducerIDLen)
	}
	id := p.id
	p.id++
	p.left--
	return id, nil
}
