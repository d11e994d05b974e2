package replica_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/record"
	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// A batch that fits max.message.bytes is taken though its records are large, up to a bound.
func TestHighlyCompressedBatches(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("zeros", 1)
	packed := func(size int) record.Batch {
		return batch(t, 1, size, func(o *record.BatchOptions) { o.Codec = record.Zstd })
	}
	if info := appendTo(t, p, packed(20<<20)); info.LastOffset != 0 {
		t.Errorf("offset %d", info.LastOffset)
	}
	_, err := p.AppendAsLeader(packed(record.DefaultMaxDecompressed), replica.AppendOptions{RequiredAcks: -1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, kerr.MessageTooLarge.Code)
}
