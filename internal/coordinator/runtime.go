package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// DefaultPartitions is Kafka's default of offsets.topic.num.partitions.
const DefaultPartitions = 50

// Options is what a Runtime needs. Every field without a stated default is required.
type Options struct {
	Log        PartitionLog
	Topics     Topics
	Partitions int32 // of __consumer_offsets; offsets.topic.num.partitions, 0 means DefaultPartitions
	Config     GroupConfig
	Now        func() time.Time
	Rand       io.Reader // member ids are made of it; must be safe for concurrent use
	Logger     *slog.Logger
}

// Runtime answers the group requests of this broker: it finds the shard of a group and puts the
// answers of several shards together.
type Runtime struct {
	topics  Topics
	runners []*runner // index = partition
}

// NewRuntime returns a Runtime that leads no partition yet. A partition it does not lead costs a
// few hundred bytes, an idle one its groups, and neither a goroutine.
func NewRuntime(o Options) (*Runtime, error) {
	if o.Log == nil || o.Topics == nil || o.Now == nil || o.Rand == nil || o.Logger == nil {
		return nil, errors.New("coordinator: Log, Topics, Now, Rand and Logger are required")
	}
	if o.Partitions == 0 {
		o.Partitions = DefaultPartitions
	}
	if o.Partitions < 0 || o.Config.MaxBatchBytes <= 0 || o.Config.LoadBufferBytes <= 0 {
		return nil, fmt.Errorf("coordinator: %d partitions, batches of %d bytes and a load buffer of %d bytes cannot work", o.Partitions, o.Config.MaxBatchBytes, o.Config.LoadBufferBytes)
	}
	common := &shared{
		log: o.Log, topic: OffsetsTopic, now: o.Now, logger: o.Logger,
		maxBatchBytes: o.Config.MaxBatchBytes, loadBytes: o.Config.LoadBufferBytes,
		newMachine: func() machine { return newGroupShard(o.Config, o.Rand) },
	}
	r := &Runtime{topics: o.Topics, runners: make([]*runner, o.Partitions)}
	for p := range r.runners {
		r.runners[p] = newRunner(common, int32(p))
	}
	return r, nil
}

// PartitionLeader tells that this broker now leads a partition of __consumer_offsets in an epoch;
// loading starts. An epoch not above the known one is ignored.
func (r *Runtime) PartitionLeader(partition, epoch int32) {
	if partition >= 0 && int(partition) < len(r.runners) {
		r.runners[partition].lead(epoch)
	}
}

// Resigned tells that this broker no longer leads a partition as of an epoch. Waiting requests are
// answered NOT_COORDINATOR.
func (r *Runtime) Resigned(partition, epoch int32) {
	if partition >= 0 && int(partition) < len(r.runners) {
		r.runners[partition].resign(epoch)
	}
}

// TopicsDeleted drops the committed offsets of deleted topics.
func (r *Runtime) TopicsDeleted(names []string) {
	for _, runner := range r.runners {
		runner.submitAfterLoad(&call{body: topicsDeleted{names: names}, done: func(any, error) {}})
	}
}

// Close answers every waiting request NOT_COORDINATOR, stops all timers, and returns when no
// goroutine of the Runtime is left. Later requests are answered NOT_COORDINATOR.
func (r *Runtime) Close() {
	for _, runner := range r.runners {
		runner.resign(math.MaxInt32)
	}
	for _, runner := range r.runners {
		runner.waitStopped()
	}
}

// Request handles JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, OffsetFetch,
// OffsetDelete, ListGroups, DescribeGroups and DeleteGroups. It returns at once; reply is called
// exactly once, perhaps before Request returns, perhaps from another goroutine, and must not
// block. clientHost is what DescribeGroups shows, in Kafka's form "/127.0.0.1". The context does
// not end a request: membership does not depend on a connection. An API key that the coordinator
// does not serve is answered with the key's empty response; the broker does not send it here.
func (r *Runtime) Request(_ context.Context, req kmsg.Request, clientID, clientHost string, reply func(kmsg.Response)) {
	from := client{id: clientID, host: clientHost}
	answer := func(resp kmsg.Response) {
		resp.SetVersion(req.GetVersion())
		reply(resp)
	}
	switch body := req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest, *kmsg.HeartbeatRequest, *kmsg.LeaveGroupRequest:
		r.membership(req, from, answer)
	case *kmsg.OffsetCommitRequest:
		r.offsetCommit(body, from, answer)
	case *kmsg.OffsetFetchRequest:
		r.offsetFetch(body, from, answer)
	case *kmsg.OffsetDeleteRequest:
		r.offsetDelete(body, from, answer)
	case *kmsg.ListGroupsRequest:
		r.listGroups(body, answer)
	case *kmsg.DescribeGroupsRequest:
		r.describeGroups(body, answer)
	case *kmsg.DeleteGroupsRequest:
		r.deleteGroups(body, answer)
	default:
		answer(req.ResponseKind())
	}
}

// ask sends a request about one group to its shard.
func (r *Runtime) ask(group string, from client, body any, done func(any, error)) {
	if len(group) > maxName {
		done(nil, &protocol.CodeError{Code: protocol.CodeInvalidGroupID, Message: "the group id is longer than 32767 bytes"})
		return
	}
	runner := r.runners[PartitionFor(group, int32(len(r.runners)))]
	runner.submit(&call{body: body, client: from, done: done})
}

// membership handles the four requests of members. They need a group id that is not empty.
func (r *Runtime) membership(req kmsg.Request, from client, answer func(kmsg.Response)) {
	group := groupOf(req)
	if group == "" {
		answer(membershipError(req, protocol.CodeInvalidGroupID))
		return
	}
	if sync, ok := req.(*kmsg.SyncGroupRequest); ok && sync.Version >= 5 && (sync.ProtocolType == nil || sync.Protocol == nil) {
		answer(membershipError(req, protocol.CodeInconsistentGroupProtocol))
		return
	}
	r.ask(group, from, req, func(body any, err error) {
		if err != nil {
			answer(membershipError(req, protocol.CodeOf(err)))
			return
		}
		answer(body.(kmsg.Response))
	})
}

func groupOf(req kmsg.Request) string {
	switch body := req.(type) {
	case *kmsg.JoinGroupRequest:
		return body.Group
	case *kmsg.SyncGroupRequest:
		return body.Group
	case *kmsg.HeartbeatRequest:
		return body.Group
	case *kmsg.LeaveGroupRequest:
		return body.Group
	}
	return ""
}

func membershipError(req kmsg.Request, code int16) kmsg.Response {
	switch body := req.(type) {
	case *kmsg.JoinGroupRequest:
		return joinError(body.MemberID, code)
	case *kmsg.SyncGroupRequest:
		return syncError(code)
	case *kmsg.HeartbeatRequest:
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = code
		return resp
	}
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = code
	return resp
}

// gather calls done when each of n parts has been finished.
type gather struct {
	left atomic.Int64
	done func()
}

func newGather(n int, done func()) *gather {
	g := &gather{done: done}
	g.left.Store(int64(n))
	if n == 0 {
		done()
	}
	return g
}

func (g *gather) finish() {
	if g.left.Add(-1) == 0 {
		g.done()
	}
}
