package storage

import (
	"fmt"
	"math"
	"testing"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// benchWorld is a log on the real file system.
func benchWorld(b *testing.B) *world {
	w := newWorld(b, vfs.OS())
	w.dir = b.TempDir()
	w.cfg.SegmentBytes = 256 << 20
	w.open()
	b.Cleanup(func() { w.m.Close(false, -1) })
	return w
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := benchWorld(b)
			batch := makeBatch(b, batchSpec{n: 1, size: size})
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.l.AppendAsLeader(batch, 0, w.now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendIdempotent adds the bookkeeping of a producer.
func BenchmarkAppendIdempotent(b *testing.B) {
	w := benchWorld(b)
	batches := make([]record.Batch, 1<<12)
	for i := range batches {
		batches[i] = makeBatch(b, batchSpec{n: 1, size: 1000, pid: 1, seq: int32(i)})
	}
	b.SetBytes(int64(len(batches[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i == len(batches) {
			i = 0
			w.l.producers.load(nil)
		}
		if _, err := w.l.AppendAsLeader(batches[i], 0, w.now); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendGroup appends 50 small batches with one write.
func BenchmarkAppendGroup(b *testing.B) {
	w := benchWorld(b)
	var batches []record.Batch
	for range 50 {
		batches = append(batches, makeBatch(b, batchSpec{n: 1, size: 100}))
	}
	b.SetBytes(int64(50 * len(batches[0])))
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range w.l.AppendBatches(batches, 0, w.now) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
}

func BenchmarkAppendSync(b *testing.B) {
	w := benchWorld(b)
	batch := makeBatch(b, batchSpec{n: 1, size: 16 << 10})
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		if _, err := w.l.AppendAsLeader(batch, 0, w.now); err != nil {
			b.Fatal(err)
		}
		if _, err := w.l.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a log of 64 MiB in order, 1 MiB at a time.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1000, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := benchWorld(b)
			batch := makeBatch(b, batchSpec{n: 1, size: size})
			for range 64 << 20 / len(batch) {
				if _, err := w.l.AppendAsLeader(batch, 0, w.now); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.SetBytes(1 << 20)
			at := int64(0)
			for b.Loop() {
				s, err := w.l.Read(at, 1<<20, math.MaxInt64, true)
				if err != nil {
					b.Fatal(err)
				}
				at += int64(len(s.Bytes) / len(batch))
				if s.Release(); at >= w.l.EndOffset() {
					at = 0
				}
			}
		})
	}
}

// BenchmarkCreate makes partitions that nothing is written to.
func BenchmarkCreate(b *testing.B) {
	w := benchWorld(b)
	for i := 0; b.Loop(); i++ {
		if _, err := w.m.GetOrCreate("many", testTopicID, int32(i), w.cfg); err != nil {
			b.Fatal(err)
		}
	}
}
