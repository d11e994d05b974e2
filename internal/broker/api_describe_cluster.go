package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endpointBrokers is the endpoint type of brokers, as opposed to controllers (KIP-919).
const endpointBrokers = 1

// DescribeCluster (key 60): cluster id and brokers, with the addresses this client can dial.
//
// Behaviours
//   - Asked for controllers (endpoint type 2) a broker answers MISMATCHED_ENDPOINT_TYPE, for an
//     unknown type UNSUPPORTED_ENDPOINT_TYPE.
//   - Fenced brokers only when asked for.
//
// Versions: 1 endpoint type; 2 fenced brokers.
func (b *Broker) describeCluster(_ context.Context, r *request, req *kmsg.DescribeClusterRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType, resp.ClusterAuthorizedOperations = endpointBrokers, noOperations
	resp.ControllerID = -1
	switch {
	case req.Version >= 1 && req.EndpointType == 2:
		resp.ErrorCode = kerr.MismatchedEndpointType.Code
		resp.ErrorMessage = text("the request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		return resp, nil
	case req.Version >= 1 && req.EndpointType != endpointBrokers:
		resp.ErrorCode = kerr.UnsupportedEndpointType.Code
		resp.ErrorMessage = text("the endpoint type is not known")
		return resp, nil
	}
	resp.ClusterID, resp.ControllerID = b.clusterID, b.nodeID
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	for _, broker := range b.image().Brokers() {
		if broker.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		host, port, ok := b.address(r, broker)
		if !ok {
			continue
		}
		cb := kmsg.NewDescribeClusterResponseBroker()
		cb.NodeID, cb.Host, cb.Port, cb.Rack, cb.IsFenced = broker.ID, host, port, broker.Rack, broker.Fenced
		resp.Brokers = append(resp.Brokers, cb)
	}
	return resp, nil
}
