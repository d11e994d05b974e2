package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group requests (JoinGroup 11, SyncGroup 14, Heartbeat 12, LeaveGroup 13, OffsetCommit 8,
// OffsetFetch 9, ListGroups 16, DescribeGroups 15, DeleteGroups 42, OffsetDelete 47) are answered by the group
// coordinator; the broker adds who asks, and waits. A join may take as long as the group's
// rebalance timeout, during which this connection handles nothing else, as with Kafka.
func (b *Broker) group(ctx context.Context, r *request, req kmsg.Request) (kmsg.Response, error) {
	answered := make(chan kmsg.Response, 1)
	b.groups.Request(ctx, req, r.clientID(), r.conn.clientHost(), func(resp kmsg.Response) { answered <- resp })
	select {
	case resp := <-answered:
		return resp, nil
	case <-r.conn.server.patience.Done(): // shutting down, and the coordinator has not answered in time
		return nil, context.Cause(r.conn.server.patience)
	}
}
