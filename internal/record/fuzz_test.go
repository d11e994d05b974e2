package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// addSeeds gives a fuzz target real segments and the first batch of each.
func addSeeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		if b, rest, err := Next(data); err == nil && len(rest) > 0 {
			f.Add([]byte(b))
		}
	}
}

// FuzzBatch splits arbitrary bytes: whatever Next accepts has sound arithmetic, and nothing is lost.
func FuzzBatch(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for {
			b, rest, err := Next(data)
			if err != nil {
				if len(rest) != len(data) {
					t.Fatalf("after an error %d of %d bytes are left", len(rest), len(data))
				}
				return
			}
			if len(b)+len(rest) != len(data) || len(b) < HeaderSize || b.LastOffset() < b.BaseOffset() {
				t.Fatalf("batch of %d bytes, rest %d of %d, offsets %d-%d", len(b), len(rest), len(data), b.BaseOffset(), b.LastOffset())
			}
			_, _, _ = b.VerifyCRC(), b.LastSequence(), b.Codec().String()
			data = rest
		}
	})
}

// FuzzWalk walks arbitrary records in every codec, with a right and a wrong CRC alike.
func FuzzWalk(f *testing.F) {
	addSeeds(f)
	d := &Decompressor{MaxDecompressed: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := Next(data)
		if err != nil {
			return
		}
		n := int32(0)
		err = d.Walk(b, func(r Record) error {
			n++
			if r.Offset != b.BaseOffset()+int64(r.OffsetDelta) {
				t.Fatalf("offset %d with base %d and delta %d", r.Offset, b.BaseOffset(), r.OffsetDelta)
			}
			return nil
		})
		if err == nil && n != b.Count() {
			t.Fatalf("%d records walked, the header says %d", n, b.Count())
		}
	})
}

// FuzzValidate feeds batches with a right CRC: what is accepted must be complete and stay valid.
func FuzzValidate(f *testing.F) {
	addSeeds(f)
	d := &Decompressor{MaxDecompressed: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := Next(bytes.Clone(data)) // the engine's own bytes must not change
		if err != nil {
			return
		}
		b.SetBaseOffset(0)
		b.updateCRC()
		v := lenient()
		v.Decompressor = d
		v.TimestampAfterMax = 1 << 60
		res, err := Validate(b, v)
		if err != nil {
			return
		}
		if err := b.VerifyCRC(); err != nil {
			t.Fatal(err)
		}
		if res.MaxTimestampOffsetDelta < 0 || res.MaxTimestampOffsetDelta > b.LastOffsetDelta() || b.MaxTimestamp() != res.MaxTimestamp {
			t.Fatalf("%+v for a batch with max time %d and last delta %d", res, b.MaxTimestamp(), b.LastOffsetDelta())
		}
		if again, err := Validate(b, v); err != nil || again != res {
			t.Fatalf("a second validation gives %+v, %v after %+v", again, err, res)
		}
	})
}
