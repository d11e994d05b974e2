package metadata

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Channel is the one way from a broker to the controller: in process now, over the wire later. The
// types are Kafka's KRaft RPCs and the admin requests a broker forwards.
type Channel interface {
	// Request answers req. The answer comes only after the records it caused are committed and
	// applied, and every Observer of this node has been told. Errors of the request itself are
	// codes inside the response; the error is for a request that could not be handled at all
	// (unknown kind, closed node, cancelled context).
	Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// Observer is told of every change of the image, in order and never concurrently; the node waits for
// Publish to return. Publish must not call Request: the answer would wait for Publish.
type Observer interface {
	Publish(d *Delta)
}
