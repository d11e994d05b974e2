package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// shutdownPatience bounds how long a clean stop waits for requests in flight.
const shutdownPatience = 10 * time.Second

// NodeOptions describe a node: broker and controller in one process. All fields are required
// except Listen.
type NodeOptions struct {
	FS      vfs.FS
	DataDir string
	// Listen is HOST:PORT, which wins over the configuration's listeners; empty takes those.
	// localhost means both loopback addresses, port 0 a free port.
	Listen string
	Config *config.Broker
	Now    func() time.Time
	Logger *slog.Logger
}

// Node is a running broker with its controller.
type Node struct {
	listeners  []broker.Listener
	logs       *storage.LogManager
	replicas   *replica.Manager
	groups     *coordinator.Runtime
	controller *metadata.Node
	broker     *broker.Broker
	address    string
}

// StartNode opens the data directory and serves. When it returns without an error, clients are
// answered. Its errors are one sentence for a person; nothing stays open then.
func StartNode(o NodeOptions) (*Node, error) {
	n := &Node{}
	if err := n.start(o); err != nil {
		return nil, errors.Join(err, n.close(false, -1))
	}
	return n, nil
}

// start opens the parts in the order in which they need each other. The addresses come first: a
// port in use must not have touched the data.
func (n *Node) start(o NodeOptions) error {
	if err := n.listen(o); err != nil {
		return err
	}
	var err error
	n.logs, err = storage.OpenLogManager(storage.LogManagerOptions{
		FS: o.FS, Dir: o.DataDir, Config: o.Config, Logger: o.Logger, Now: o.Now, NodeID: o.Config.NodeID(),
	})
	if err != nil {
		return err
	}
	var incarnation [16]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		return err
	}
	leads := &leadership{}
	n.replicas = replica.NewManager(replica.Options{
		NodeID: o.Config.NodeID(), Incarnation: incarnation, Logs: n.logs, Config: o.Config, Now: o.Now, Logger: o.Logger, Leadership: leads,
	})
	n.groups, err = coordinator.NewRuntime(coordinator.Options{
		Log: n.replicas, Topics: coordinator.ImageTopics(n.replicas.Image), Partitions: int32(o.Config.Int("offsets.topic.num.partitions")),
		Config: coordinator.GroupConfigOf(o.Config), Now: o.Now, Rand: rand.Reader, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	leads.groups = n.groups
	n.controller, err = metadata.Open(metadata.Options{
		FS: o.FS, Dir: metadataDir(o), Config: o.Config, NodeID: o.Config.NodeID(), ClusterID: n.logs.ClusterID(), DirectoryID: n.logs.DirectoryID(),
		Now: o.Now, Rand: rand.Reader, Logger: o.Logger, Observers: []metadata.Observer{n.replicas},
	})
	if err != nil {
		return err
	}
	return n.serve(o, incarnation)
}

func (n *Node) serve(o NodeOptions, incarnation [16]byte) error {
	var err error
	n.broker, err = broker.New(broker.Options{
		NodeID: o.Config.NodeID(), ClusterID: n.logs.ClusterID(), Incarnation: incarnation, DirectoryID: n.logs.DirectoryID(), LogDir: n.logs.Dir(),
		Config: o.Config, Replicas: n.replicas, Controller: n.controller, Groups: n.groups, Now: o.Now, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	return n.broker.Start(context.Background(), n.listeners...)
}

func metadataDir(o NodeOptions) string {
	if dir := o.Config.String("metadata.log.dir"); dir != "" {
		return dir
	}
	return o.DataDir
}

func (n *Node) listen(o NodeOptions) error {
	wanted := o.Config.Listeners()
	if o.Listen != "" {
		host, port, err := splitAddress(o.Listen)
		if err != nil {
			return err
		}
		wanted = []config.Listener{{Name: "PLAINTEXT", Host: host, Port: port}}
	}
	for _, w := range wanted {
		bound, err := broker.Listen(net.JoinHostPort(w.Host, strconv.Itoa(int(w.Port))))
		if err != nil {
			return err
		}
		for _, l := range bound {
			n.listeners = append(n.listeners, broker.Listener{Listener: l, Name: w.Name})
		}
		if n.address == "" {
			n.address = shownAddress(w.Host, bound[0])
		}
	}
	return nil
}

func splitAddress(address string) (host string, port int32, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("the address %q is not of the form HOST:PORT", address)
	}
	p, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("the port of %q is not a number from 0 to 65535", address)
	}
	return host, int32(p), nil
}

// shownAddress is a bound address as a person would write it: the host that was asked for with the
// port that was taken.
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

// Addr is HOST:PORT of the first listener.
func (n *Node) Addr() string { return n.address }

// ClusterID is the id of the node's cluster.
func (n *Node) ClusterID() string { return n.logs.ClusterID() }

// Stop ends the node. A clean stop answers what is in flight and lets the next start skip
// recovery; the other one only lets go of the files, as a crash would.
func (n *Node) Stop(clean bool) error {
	epoch := int64(-1)
	var err error
	if clean && n.broker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
		defer cancel()
		err = n.broker.Shutdown(ctx)
		epoch = n.broker.BrokerEpoch()
	}
	return errors.Join(err, n.close(clean, epoch))
}

// close lets go of everything that was opened, in reverse order.
func (n *Node) close(clean bool, brokerEpoch int64) error {
	var errs []error
	for _, l := range n.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if n.broker != nil && !clean {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // do not wait for anybody
		errs = append(errs, ignoreCancelled(n.broker.Shutdown(ctx)))
	} else if n.broker == nil && n.groups != nil {
		n.groups.Close()
	}
	switch {
	case n.replicas != nil:
		errs = append(errs, n.replicas.Close(clean, brokerEpoch))
	case n.logs != nil:
		errs = append(errs, n.logs.Close(clean, brokerEpoch))
	}
	if n.controller != nil {
		errs = append(errs, n.controller.Close())
	}
	return errors.Join(errs...)
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// leadership tells the group coordinator which partitions of __consumer_offsets this node leads.
type leadership struct{ groups *coordinator.Runtime }

// Leading implements replica.Leadership.
func (l *leadership) Leading(topic string, partition, leaderEpoch int32) {
	if topic == coordinator.OffsetsTopic {
		l.groups.PartitionLeader(partition, leaderEpoch)
	}
}

// Resigned implements replica.Leadership.
func (l *leadership) Resigned(topic string, partition, leaderEpoch int32) {
	if topic == coordinator.OffsetsTopic {
		l.groups.Resigned(partition, leaderEpoch)
	}
}

// TopicsDeleted implements replica.Leadership.
func (l *leadership) TopicsDeleted(names []string) { l.groups.TopicsDeleted(names) }
