package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"klamm/internal/broker"
	"klamm/internal/config"
	"klamm/internal/coordinator"
	"klamm/internal/metadata"
	"klamm/internal/replica"
	"klamm/internal/storage"
	"klamm/internal/vfs"
)

// NodeOptions say what a node stores where and what it listens on. Fields without a stated default
// are required.
type NodeOptions struct {
	FS      vfs.FS
	DataDir string
	Listen  string         // HOST:PORT; empty: the listeners of Config
	Config  *config.Broker // checked properties
	Now     func() time.Time
	Logger  *slog.Logger
	Rand    io.Reader // ids; nil means crypto/rand
}

// Node is one broker with its controller in this process.
type Node struct {
	address  string
	nodeID   int32
	logger   *slog.Logger
	logs     *storage.LogManager
	replicas *replica.Manager
	groups   *coordinator.Runtime
	metadata *metadata.Node
	broker   *broker.Broker
}

// shutdownLimit is how long connections may take to finish what they are doing.
const shutdownLimit = 30 * time.Second

// StartNode takes the addresses and the data directory, recovers, and serves. When it returns
// without an error, clients are answered. Errors are sentences for a person; nothing is changed on
// disk when an address is in use or the directory belongs to somebody else.
func StartNode(o NodeOptions) (_ *Node, err error) {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	n := &Node{logger: o.Logger}
	listeners, err := listen(o)
	if err != nil {
		return nil, err
	}
	n.address = shownAddress(askedHost(o), listeners[0])
	defer func() {
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			n.abandon()
		}
	}()
	if err := n.open(o); err != nil {
		return nil, err
	}
	if err := n.broker.Start(context.Background(), listeners...); err != nil {
		return nil, err
	}
	return n, nil
}

// listen binds every client listener of the configuration.
func listen(o NodeOptions) ([]broker.Listener, error) {
	wanted := []config.Listener{{Name: "PLAINTEXT"}}
	addresses := []string{o.Listen}
	if o.Listen == "" {
		wanted, addresses = o.Config.Listeners(), nil
		for _, l := range wanted {
			addresses = append(addresses, net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
		}
	}
	if len(wanted) == 0 {
		return nil, errors.New("listeners names no address for clients: give one, for example listeners=PLAINTEXT://localhost:9092")
	}
	var bound []broker.Listener
	for i, address := range addresses {
		ls, err := broker.Listen(address)
		if err != nil {
			for _, l := range bound {
				l.Close()
			}
			return nil, err
		}
		for _, l := range ls {
			bound = append(bound, broker.Listener{Listener: l, Name: wanted[i].Name})
		}
	}
	return bound, nil
}

// open makes the parts of a node from the disk up.
func (n *Node) open(o NodeOptions) (err error) {
	incarnation, err := newID(o.Rand)
	if err != nil {
		return err
	}
	nodeID := o.Config.NodeID()
	n.nodeID = nodeID
	n.logs, err = storage.OpenLogManager(storage.LogManagerOptions{
		FS: o.FS, Dir: o.DataDir, Config: o.Config, Logger: o.Logger, Now: o.Now, Rand: o.Rand, NodeID: nodeID,
	})
	if err != nil {
		return err
	}
	leads := &leadership{}
	n.replicas = replica.NewManager(replica.Options{
		NodeID: nodeID, Incarnation: incarnation, Logs: n.logs, Config: o.Config, Now: o.Now, Logger: o.Logger, Leadership: leads,
	})
	n.groups, err = coordinator.NewRuntime(coordinator.Options{
		Log: n.replicas, Topics: coordinator.ImageTopics(n.replicas.Image), Partitions: int32(o.Config.Int("offsets.topic.num.partitions")),
		Config: coordinator.GroupConfigOf(o.Config), Now: o.Now, Rand: o.Rand, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	leads.groups = n.groups
	n.metadata, err = metadata.Open(metadata.Options{
		FS: o.FS, Dir: metadataDir(o), Config: o.Config, NodeID: nodeID, ClusterID: n.logs.ClusterID(), DirectoryID: n.logs.DirectoryID(),
		Now: o.Now, Rand: o.Rand, Logger: o.Logger, Observers: []metadata.Observer{n.replicas},
	})
	if err != nil {
		return err
	}
	n.broker, err = broker.New(broker.Options{
		NodeID: nodeID, ClusterID: n.logs.ClusterID(), Incarnation: incarnation, DirectoryID: n.logs.DirectoryID(), LogDir: o.DataDir,
		Config: o.Config, Replicas: n.replicas, Controller: n.metadata, Groups: n.groups, Now: o.Now, Logger: o.Logger,
	})
	return err
}

func newID(random io.Reader) (id [16]byte, err error) {
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return id, fmt.Errorf("the source of random numbers failed: %w", err)
	}
	return id, nil
}

// leadership tells the group coordinator which of its partitions this broker leads.
type leadership struct{ groups *coordinator.Runtime }

func (l *leadership) Leading(topic string, partition, epoch int32) {
	if topic == coordinator.OffsetsTopic {
		l.groups.PartitionLeader(partition, epoch)
	}
}

func (l *leadership) Resigned(topic string, partition, epoch int32) {
	if topic == coordinator.OffsetsTopic {
		l.groups.Resigned(partition, epoch)
	}
}

func (l *leadership) TopicsDeleted(names []string) { l.groups.TopicsDeleted(names) }

// metadataDir is where __cluster_metadata-0 lies.
func metadataDir(o NodeOptions) string {
	if dir := o.Config.String("metadata.log.dir"); dir != "" {
		return dir
	}
	return o.DataDir
}

// askedHost is the host of the first address as it was asked for.
func askedHost(o NodeOptions) string {
	if o.Listen == "" {
		return o.Config.Listeners()[0].Host
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "" // refused by listen before
	}
	return host
}

// shownAddress is a bound address as a person would write it: the host that was asked for, or
// localhost for every address of the machine, with the port that was taken.
func shownAddress(host string, l net.Listener) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	return net.JoinHostPort(host, port)
}

// Addr is HOST:PORT where clients of this machine reach the node.
func (n *Node) Addr() string { return n.address }

// Stop ends the node. With clean everything is synced and the next start needs no recovery;
// without, the node leaves its files as a killed process would, as far as a living one can.
func (n *Node) Stop(clean bool) error {
	var errs []error
	if clean {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
		defer cancel()
		errs = append(errs, n.broker.Shutdown(ctx))
	} else {
		n.broker.Kill()
	}
	errs = append(errs, n.replicas.Close(clean, n.broker.BrokerEpoch()), n.metadata.Close())
	return errors.Join(errs...)
}

// abandon lets go of what a failed start has opened.
func (n *Node) abandon() {
	if n.groups != nil {
		n.groups.Close()
	}
	if n.metadata != nil {
		if err := n.metadata.Close(); err != nil {
			n.logger.Warn("the metadata log could not be closed", "error", err)
		}
	}
	if n.replicas != nil {
		if err := n.replicas.Close(false, -1); err != nil {
			n.logger.Warn("the data directory could not be closed", "error", err)
		}
	}
}
