package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeQuorum (key 55): the controller answers with the voters of the metadata log.
//
// Behaviours
//   - Only __cluster_metadata-0 is known; anything else is UNKNOWN_TOPIC_OR_PARTITION for that
//     partition.
//   - This is where tools and explorers learn which node is the controller: Metadata names any
//     broker (KIP-595, KIP-500).
//
// Versions: 1 fetch and caught-up times of voters and observers; 2 directory ids, error messages
// and the controllers' addresses (KIP-853).
func (b *Broker) describeQuorum(_ context.Context, _ *request, req *kmsg.DescribeQuorumRequest) (kmsg.Response, error) {
	return b.decide(req), nil
}
