package broker_test

import (
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

// BenchmarkProduce measures the whole way of a Produce request over loopback, five in flight.
func BenchmarkProduce(b *testing.B) {
	for _, c := range []struct {
		name          string
		records, size int
	}{{"1 record of 100 B", 1, 100}, {"16 KB batches of 100 B", 140, 100}, {"1 MB batches of 1 KB", 1000, 1000}} {
		for _, acks := range []int16{1, -1} {
			b.Run(fmt.Sprintf("%s, acks=%d", c.name, acks), func(b *testing.B) {
				n := startIn(b, vfs.OS(), b.TempDir(), "localhost:0")
				n.create(b, "bench", 1)
				r := dial(b, n.Addr())
				req := produce("bench", acks, batchOf(b, c.records, c.size, -1, 0))
				frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				inFlight := make(chan struct{}, 5)
				go func() {
					for range b.N {
						inFlight <- struct{}{}
						if _, err := r.Write(frame); err != nil {
							return
						}
					}
				}()
				var buf []byte
				for range b.N {
					var err error
					if buf, err = protocol.ReadFrame(r, 1<<20, buf); err != nil {
						b.Fatal(err)
					}
					<-inFlight
				}
			})
		}
	}
}

// BenchmarkFetch measures reading 1 MB at a time over loopback.
func BenchmarkFetch(b *testing.B) {
	n := startIn(b, vfs.OS(), b.TempDir(), "localhost:0")
	n.create(b, "bench", 1)
	r := dial(b, n.Addr())
	const batches = 64
	for range batches {
		if got := only(ask[*kmsg.ProduceResponse](r, produce("bench", -1, batchOf(b, 140, 100, -1, 0)))); got.ErrorCode != 0 {
			b.Fatal(got.ErrorCode)
		}
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 12, 100, 1, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "bench"
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LastFetchedEpoch = 1<<20, -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
	b.ReportAllocs()
	var total int64
	for range b.N {
		if _, err := r.Write(frame); err != nil {
			b.Fatal(err)
		}
		size := make([]byte, 4)
		if _, err := io.ReadFull(r, size); err != nil {
			b.Fatal(err)
		}
		length := int64(size[0])<<24 | int64(size[1])<<16 | int64(size[2])<<8 | int64(size[3])
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			b.Fatal(err)
		}
		total = length
	}
	b.SetBytes(total)
}

// BenchmarkProduceTogether measures small requests of many connections to one partition.
func BenchmarkProduceTogether(b *testing.B) {
	const connections, inFlight = 16, 5
	n := startIn(b, vfs.OS(), b.TempDir(), "localhost:0")
	n.create(b, "bench", 1)
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, produce("bench", 1, batchOf(b, 1, 100, -1, 0)), 1)
	var conns []*raw
	for range connections {
		conns = append(conns, dial(b, n.Addr()))
	}
	b.ReportAllocs()
	var all sync.WaitGroup
	for i, r := range conns {
		requests := b.N / connections
		if i < b.N%connections {
			requests++
		}
		all.Add(1)
		go func() {
			defer all.Done()
			var buf []byte
			for sent, answered := 0, 0; answered < requests; answered++ {
				for sent < min(requests, answered+inFlight) {
					if _, err := r.Write(frame); err != nil {
						b.Error(err)
						return
					}
					sent++
				}
				var err error
				if buf, err = protocol.ReadFrame(r, 1<<20, buf); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	all.Wait()
}
