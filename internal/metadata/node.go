package metadata

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/vfs"
)

// Options configures a Node.
type Options struct {
	FS          vfs.FS
	Dir         string // metadata log directory (Kafka's metadata.log.dir): holds __cluster_metadata-0
	Config      *config.Broker
	NodeID      int32
	ClusterID   string
	DirectoryID [16]byte // directory.id of meta.properties
	Now         func() time.Time
	Rand        io.Reader // topic ids, incarnation ids
	Logger      *slog.Logger
	Observers   []Observer
}

// Node is one controller with one voter: it implements Channel.
type Node struct{}

// Open recovers the metadata log of o.Dir (creating it when missing), elects this node and
// publishes the whole state once to the observers.
func Open(o Options) (*Node, error) { return nil, errors.ErrUnsupported }

// Image returns the newest committed and published image.
func (n *Node) Image() *Image { return nil }

// Request implements Channel.
func (n *Node) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return nil, errors.ErrUnsupported
}

// Close flushes the log and stops the node. Requests in flight are answered with an error.
func (n *Node) Close() error { return nil }
