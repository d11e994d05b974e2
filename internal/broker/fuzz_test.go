package broker

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// FuzzConnection feeds arbitrary bytes to a connection: the server never panics and never hangs,
// and another connection is served all the while.
func FuzzConnection(f *testing.F) {
	f.Add(frameOf(metadataRequest(), 1))
	f.Add(append(frameOf(produceRequest(-1), 1), frameOf(produceRequest(0), 2)...))
	f.Add(frameOf(kmsg.NewPtrApiVersionsRequest(), 1))
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.JoinGroup, kmsg.OffsetCommit, kmsg.CreateTopics, kmsg.DescribeConfigs} {
		req := kmsg.RequestForKey(key.Int16())
		req.SetVersion(req.MaxVersion())
		f.Add(frameOf(req, 3))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 4, 0, 18, 0, 99})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, input []byte) {
		r := newRig(t, &script{}, testLimits())
		other := r.connect()
		ours, theirs := net.Pipe()
		r.server.start(theirs, defaultListener)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, ours) // until the server or the test closes
		}()
		go func() {
			_ = ours.SetWriteDeadline(time.Now().Add(limit))
			_, _ = ours.Write(input) // the server may close in the middle
			ours.Close()
		}()
		go other.send(metadataRequest())
		if _, err := protocol.ReadFrame(other.net, 1<<20, nil); err != nil {
			t.Errorf("the other connection: %v", err)
		}
		receive(t, "the end of the connection", drained)
		other.net.Close()
		r.stop()
		if log := r.log.String(); strings.Contains(log, "bug in Klamm") {
			t.Error(log)
		}
	})
}
