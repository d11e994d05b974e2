package coordinator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupConfig holds the broker properties that govern groups.
type GroupConfig struct {
	InitialRebalanceDelay   time.Duration // group.initial.rebalance.delay.ms
	MinSessionTimeout       time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout       time.Duration // group.max.session.timeout.ms
	MaxSize                 int           // group.max.size
	OffsetMetadataMaxBytes  int           // offset.metadata.max.bytes
	OffsetsRetention        time.Duration // offsets.retention.minutes
	RetentionCheckInterval  time.Duration // offsets.retention.check.interval.ms
	LoadBufferSize          int           // offsets.load.buffer.size, bytes
	OffsetsTopicSegmentSize int           // offsets.topic.segment.bytes
}

// Options is what a Runtime needs. Every field without a stated default is required.
type Options struct {
	Log        PartitionLog
	Topics     Topics
	Partitions int32 // of __consumer_offsets; offsets.topic.num.partitions, 0 means 50
	Config     GroupConfig
	Now        func() time.Time
	Rand       io.Reader // member ids are made of it; must be safe for concurrent use
	Logger     *slog.Logger
}

// Runtime answers the group requests of this broker.
type Runtime struct{}

// NewRuntime returns a Runtime that leads no partition yet.
func NewRuntime(o Options) (*Runtime, error) { return nil, errors.New("not built") }

// Request handles JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, OffsetFetch,
// OffsetDelete, ListGroups, DescribeGroups and DeleteGroups. It returns at once; reply is called
// exactly once, perhaps before Request returns, perhaps from another goroutine, and must not
// block. When ctx ends, the answer is still computed: membership does not depend on a connection.
func (r *Runtime) Request(ctx context.Context, req kmsg.Request, clientID, clientHost string, reply func(kmsg.Response)) {
}

// PartitionLeader tells that this broker now leads a partition of __consumer_offsets in an epoch;
// loading starts. An epoch not above the known one is ignored.
func (r *Runtime) PartitionLeader(partition, epoch int32) {}

// Resigned tells that this broker no longer leads a partition as of an epoch. Waiting requests are
// answered NOT_COORDINATOR.
func (r *Runtime) Resigned(partition, epoch int32) {}

// TopicsDeleted drops the committed offsets of deleted topics.
func (r *Runtime) TopicsDeleted(names []string) {}

// Close answers every waiting request NOT_COORDINATOR and stops all timers.
func (r *Runtime) Close() {}
