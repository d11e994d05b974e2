package broker_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

// FuzzRequests gives every handler of a whole node bodies that parse but make no sense. The node
// answers or closes the connection; it never panics, and others are served.
func FuzzRequests(f *testing.F) {
	for _, span := range protocol.Kafka44() {
		for v := span.Min; v <= span.Max; v++ {
			req := kmsg.RequestForKey(span.Key)
			if req == nil {
				continue
			}
			req.SetVersion(v)
			f.Add(span.Key, v, req.AppendTo(nil))
		}
	}
	f.Add(int16(0), int16(9), produce("a", -1, batchOf(f, 3, 10, 1, 0)).AppendTo(nil))
	n := start(f, vfs.NewMem(), "localhost:0", "group.min.session.timeout.ms", "1", "group.initial.rebalance.delay.ms", "0")
	n.create(f, "a", 2)
	coordinatorOf(f, n, "g")
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || version < 0 || version > req.MaxVersion() {
			return
		}
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return
		}
		tame(req)
		r := dial(t, n.Addr())
		defer r.Close()
		frame := binary.BigEndian.AppendUint32(nil, 0)
		frame = append(frame, kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)[4:]...)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		if _, err := r.Write(frame); err != nil {
			t.Fatal(err)
		}
		if err := r.SetReadDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		if p, ok := req.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
			if _, err := protocol.ReadFrame(r, 1<<30, nil); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Fatalf("%s v%d: no answer", kmsg.NameForKey(key), version)
			}
		}
		if log := n.log.String(); strings.Contains(log, "bug in Klamm") {
			t.Fatal(log)
		}
		other := dial(t, n.Addr())
		defer other.Close()
		ask[*kmsg.ApiVersionsResponse](other, kmsg.NewPtrApiVersionsRequest())
	})
}

// tame takes out what makes a request wait for long: that is asked for, not found out.
func tame(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.FetchRequest:
		r.MaxWaitMillis = min(r.MaxWaitMillis, 10)
	case *kmsg.JoinGroupRequest:
		r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = min(r.SessionTimeoutMillis, 10), min(r.RebalanceTimeoutMillis, 10)
	case *kmsg.CreateTopicsRequest:
		for i := range r.Topics {
			r.Topics[i].NumPartitions = min(r.Topics[i].NumPartitions, 10)
		}
	case *kmsg.CreatePartitionsRequest:
		for i := range r.Topics {
			r.Topics[i].Count = min(r.Topics[i].Count, 10)
		}
	}
}
