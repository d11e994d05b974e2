package broker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/coordinator"
	"klamm/internal/metadata"
	"klamm/internal/protocol"
	"klamm/internal/replica"
)

// Options are what a Broker is made of. Every field without a stated default is required.
type Options struct {
	NodeID      int32
	ClusterID   string
	Incarnation [16]byte // of this process, the same as that of Replicas
	DirectoryID [16]byte // of the log directory, told to the controller
	LogDir      string   // path of the log directory as clients may see it
	Config      *config.Broker
	Replicas    *replica.Manager
	Controller  metadata.Channel
	Groups      *coordinator.Runtime
	Now         func() time.Time
	Logger      *slog.Logger
}

// Listener is a bound address with the name of Kafka's listener it serves.
type Listener struct {
	net.Listener
	Name string // PLAINTEXT unless the configuration names others
}

// Broker serves Kafka's API on its listeners.
type Broker struct {
	nodeID      int32
	clusterID   string
	incarnation [16]byte
	directoryID [16]byte
	logDir      string
	replicas    *replica.Manager
	controller  metadata.Channel
	groups      *coordinator.Runtime
	now         func() time.Time
	logger      *slog.Logger
	advertised  []config.Listener // of advertised.listeners; empty: per connection

	apis      protocol.APITable
	handlers  map[int16]handler
	server    *SocketServer
	producers producerIDs

	mu        sync.Mutex
	epoch     int64 // of the registration, -1 before
	listeners []Listener
	serving   sync.WaitGroup
}

// New returns a Broker that serves nothing yet.
func New(o Options) (*Broker, error) {
	b := &Broker{
		nodeID: o.NodeID, clusterID: o.ClusterID, incarnation: o.Incarnation, directoryID: o.DirectoryID, logDir: o.LogDir,
		replicas: o.Replicas, controller: o.Controller, groups: o.Groups, now: o.Now, logger: o.Logger,
		advertised: o.Config.AdvertisedListeners(), epoch: -1,
	}
	b.handlers = b.newHandlers()
	b.apis = protocol.Kafka44().Only(func(key int16) bool {
		_, built := b.handlers[key]
		return built
	})
	b.server = newSocketServer(b, Limits{
		MaxRequestBytes:     int32(o.Config.Int("socket.request.max.bytes")),
		MaxConnections:      o.Config.Int("max.connections"),
		MaxConnectionsPerIP: o.Config.Int("max.connections.per.ip"),
		MaxIdle:             time.Duration(o.Config.Long("connections.max.idle.ms")) * time.Millisecond,
	}, o.Logger, o.Now)
	return b, nil
}

// Start registers the broker with the controller and serves the listeners. When it returns without
// an error, partitions are led and clients are answered.
func (b *Broker) Start(ctx context.Context, listeners ...Listener) error {
	if len(listeners) == 0 {
		return errors.New("the broker has no address to listen on")
	}
	b.mu.Lock()
	b.listeners = listeners
	b.mu.Unlock()
	if err := b.register(ctx, listeners); err != nil {
		return err
	}
	for _, l := range listeners {
		b.serving.Add(1)
		go func() {
			defer b.serving.Done()
			if err := b.server.Serve(l.Listener, l.Name); err != nil {
				b.logger.Error("a listener failed: its address accepts no clients until restart", "address", l.Addr().String(), "error", err)
			}
		}()
	}
	return nil
}

// image is the cluster as this broker's partitions know it; never nil once the broker is started.
func (b *Broker) image() *metadata.Image { return b.replicas.Image() }

// config is the effective broker configuration.
func (b *Broker) config() *config.Broker { return b.replicas.Config() }

// handler answers one request of a key.
type handler func(ctx context.Context, r *request, req kmsg.Request) (kmsg.Response, error)

// on makes a handler of one with the request's own type.
func on[R kmsg.Request](f func(context.Context, *request, R) (kmsg.Response, error)) handler {
	return func(ctx context.Context, r *request, req kmsg.Request) (kmsg.Response, error) {
		typed, ok := req.(R)
		if !ok {
			return nil, errors.New("the request's type does not belong to its key")
		}
		return f(ctx, r, typed)
	}
}

func (b *Broker) newHandlers() map[int16]handler {
	return map[int16]handler{
		produceKey:                           nil, // served by produce
		kmsg.Fetch.Int16():                   on(b.fetch),
		kmsg.ListOffsets.Int16():             on(b.listOffsets),
		kmsg.Metadata.Int16():                on(b.metadata),
		kmsg.OffsetCommit.Int16():            b.group,
		kmsg.OffsetFetch.Int16():             b.group,
		kmsg.FindCoordinator.Int16():         on(b.findCoordinator),
		kmsg.JoinGroup.Int16():               b.group,
		kmsg.Heartbeat.Int16():               b.group,
		kmsg.LeaveGroup.Int16():              b.group,
		kmsg.SyncGroup.Int16():               b.group,
		kmsg.DescribeGroups.Int16():          b.group,
		kmsg.ListGroups.Int16():              b.group,
		apiVersionsKey:                       on(b.apiVersions),
		kmsg.CreateTopics.Int16():            on(b.createTopics),
		kmsg.DeleteTopics.Int16():            on(b.deleteTopics),
		kmsg.InitProducerID.Int16():          on(b.initProducerID),
		kmsg.OffsetForLeaderEpoch.Int16():    on(b.offsetForLeaderEpoch),
		kmsg.DescribeConfigs.Int16():         on(b.describeConfigs),
		kmsg.DescribeLogDirs.Int16():         on(b.describeLogDirs),
		kmsg.CreatePartitions.Int16():        on(b.createPartitions),
		kmsg.DeleteGroups.Int16():            b.group,
		kmsg.IncrementalAlterConfigs.Int16(): on(b.incrementalAlterConfigs),
		kmsg.OffsetDelete.Int16():            b.group,
		kmsg.DescribeQuorum.Int16():          on(b.describeQuorum),
		kmsg.DescribeCluster.Int16():         on(b.describeCluster),
		kmsg.DescribeTopicPartitions.Int16(): on(b.describeTopicPartitions),
	}
}

// handle implements dispatcher.
func (b *Broker) handle(ctx context.Context, r *request, req kmsg.Request) (kmsg.Response, error) {
	return b.handlers[r.header.Key](ctx, r, req)
}

// parse implements dispatcher.
func (b *Broker) parse(frame []byte) (protocol.RequestHeader, kmsg.Request, error) {
	return b.apis.ParseRequest(frame)
}

// text is a message for a nullable response field; nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
