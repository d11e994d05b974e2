package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions (key 37): the controller decides.
//
// Behaviours
//   - One answer per asked topic. Partitions are only ever added: fewer or as many as there are is
//     INVALID_PARTITIONS. New partitions start empty; keys of existing records do not move.
//
// Versions: 2 flexible; 3 THROTTLING_QUOTA_EXCEEDED.
func (b *Broker) createPartitions(_ context.Context, _ *request, req *kmsg.CreatePartitionsRequest) (kmsg.Response, error) {
	return b.decide(req), nil
}
