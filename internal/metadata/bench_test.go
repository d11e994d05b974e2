package metadata

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/vfs"
)

// BenchmarkReopen is the start on a directory with 10,000 topics of 3 partitions: from the WAL, and
// from a snapshot.
func BenchmarkReopen(b *testing.B) {
	for name, limit := range map[string]string{"wal": "1000000000", "snapshot": "1000000"} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			o := testOptions(b, vfs.OS(), dir, map[string]string{"metadata.log.max.record.bytes.between.snapshots": limit})
			n, err := Open(o)
			if err != nil {
				b.Fatal(err)
			}
			register(b, n, 1, -1)
			for i := range 100 {
				var topics []kmsg.CreateTopicsRequestTopic
				for j := range 100 {
					topics = append(topics, topicOf(fmt.Sprintf("topic-%d-%d", i, j), 3, 1))
				}
				request[*kmsg.CreateTopicsResponse](b, n, createRequest(false, topics...))
			}
			if err := n.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				n, err := Open(o)
				if err != nil {
					b.Fatal(err)
				}
				if err := n.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
