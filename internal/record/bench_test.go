package record

import (
	"fmt"
	"testing"
)

func benchBatch(b *testing.B, codec Codec) Batch {
	o := Plain()
	o.Codec = codec
	return build(b, o, func(bb *Builder) {
		for i := range 160 {
			bb.Append(testNow, nil, fmt.Appendf(nil, "%0100d", i*i*7919), nil)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			batch := benchBatch(b, codec)
			v := lenient()
			v.Decompressor = &Decompressor{}
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Validate(batch, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("header", func(b *testing.B) {
		batch := benchBatch(b, None)
		v := lenient()
		v.HeaderOnly = true
		b.SetBytes(int64(len(batch)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Validate(batch, v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWalk(b *testing.B) {
	batch := benchBatch(b, None)
	var d Decompressor
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Walk(batch, func(Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	var c Compressor
	for codec := None; codec <= Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			value := make([]byte, 100)
			o := Plain()
			o.Codec, o.Compressor = codec, &c
			b.ReportAllocs()
			for b.Loop() {
				bb := NewBuilder(o)
				for range 160 {
					bb.Append(testNow, nil, value, nil)
				}
				if _, err := bb.Build(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
