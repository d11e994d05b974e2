package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func build(t testing.TB, o BatchOptions, add func(*Builder)) Batch {
	t.Helper()
	b := NewBuilder(o)
	add(b)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func walk(t testing.TB, b Batch) []Record {
	t.Helper()
	var d Decompressor
	records, err := collect(&d, b)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func collect(d *Decompressor, b Batch) ([]Record, error) {
	var records []Record
	err := d.Walk(b, func(r Record) error {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		var headers []Header
		for _, h := range r.Headers {
			headers = append(headers, Header{h.Key, bytes.Clone(h.Value)})
		}
		r.Headers = headers
		records = append(records, r)
		return nil
	})
	return records, err
}

func TestHeaderFields(t *testing.T) {
	b := build(t, BatchOptions{
		BaseOffset: 1<<40 + 7, Codec: Lz4, ProducerID: 1 << 33, ProducerEpoch: 9, BaseSequence: math.MaxInt32,
		Transactional: true, PartitionLeaderEpoch: 5, Level: DefaultLevel,
	}, func(b *Builder) {
		b.Append(1000, []byte("k"), nil, nil)
		b.Append(900, nil, []byte{}, nil)
		b.Append(2000, nil, []byte("v"), nil)
	})
	type fields struct {
		Base, Last, BaseTS, MaxTS, PID   int64
		Length, Epoch, LastSeq, Count    int32
		PEpoch                           int16
		Txn, Control, LAT, HasPID, Horiz bool
		Codec                            Codec
	}
	want := fields{
		Base: 1<<40 + 7, Last: 1<<40 + 9, BaseTS: 1000, MaxTS: 2000, PID: 1 << 33, Length: int32(len(b) - 12),
		Epoch: 5, LastSeq: 1, Count: 3, PEpoch: 9, Txn: true, HasPID: true, Codec: Lz4,
	}
	got := fields{
		b.BaseOffset(), b.LastOffset(), b.BaseTimestamp(), b.MaxTimestamp(), b.ProducerID(), b.Length(), b.PartitionLeaderEpoch(),
		b.LastSequence(), b.Count(), b.ProducerEpoch(), b.IsTransactional(), b.IsControl(), b.IsLogAppendTime(), b.HasProducerID(), b.HasDeleteHorizon(), b.Codec(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b.SetBaseOffset(3)
	b.SetPartitionLeaderEpoch(8)
	if err := b.VerifyCRC(); err != nil {
		t.Errorf("base offset and leader epoch must lie outside the checksum: %v", err)
	}
	b.SetLogAppendTime(4242)
	if err := b.VerifyCRC(); err != nil || !b.IsLogAppendTime() {
		t.Errorf("after SetLogAppendTime: %v, bit %v", err, b.IsLogAppendTime())
	}
	for _, r := range walk(t, b) {
		if r.Timestamp != 4242 {
			t.Errorf("record %d has time %d under LogAppendTime", r.Offset, r.Timestamp)
		}
	}
	b.SetMaxTimestamp(2000)
	if got := walk(t, b); got[1].Timestamp != 900 || b.VerifyCRC() != nil {
		t.Errorf("back to CreateTime: %+v", got[1])
	}
}

func TestIncrementSequenceWraps(t *testing.T) {
	for _, c := range []struct{ base, n, want int32 }{
		{0, 0, 0},
		{5, 3, 8},
		{math.MaxInt32, 0, math.MaxInt32},
		{math.MaxInt32, 1, 0},
		{math.MaxInt32 - 1, 4, 2},
		{math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
	} {
		if got := IncrementSequence(c.base, c.n); got != c.want {
			t.Errorf("IncrementSequence(%d, %d) = %d, want %d", c.base, c.n, got, c.want)
		}
	}
}

func drawBytes(t *rapid.T, label string) []byte {
	if rapid.IntRange(0, 4).Draw(t, label+" null") == 0 {
		return nil
	}
	b := []byte(rapid.StringN(0, 20, 40).Draw(t, label))
	if rapid.IntRange(0, 30).Draw(t, label+" long") == 0 {
		b = bytes.Repeat(append(b, 'x'), 3000)
	}
	if b == nil {
		b = []byte{}
	}
	return b
}

func drawBatch(t *rapid.T, c *Compressor) (Batch, []Record) {
	o := Plain()
	o.Compressor = c
	o.BaseOffset = rapid.Int64Range(0, math.MaxInt64-1000).Draw(t, "base")
	o.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
	b := NewBuilder(o)
	var want []Record
	for i := range rapid.IntRange(1, 40).Draw(t, "records") {
		r := Record{
			Offset: o.BaseOffset + int64(i), OffsetDelta: int32(i), Timestamp: rapid.Int64Range(0, 1<<45).Draw(t, "ts"),
			Key: drawBytes(t, "key"), Value: drawBytes(t, "value"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, Header{rapid.String().Draw(t, "header"), drawBytes(t, "header value")})
		}
		b.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		want = append(want, r)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch, want
}

func TestBuildWalkRoundTrip(t *testing.T) {
	var c Compressor
	var d Decompressor
	rapid.Check(t, func(t *rapid.T) {
		batch, want := drawBatch(t, &c)
		parsed, rest, err := Next(append(bytes.Clone(batch), 'r', 'e', 's', 't'))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("Next: rest %q, error %v", rest, err)
		}
		if err := parsed.VerifyCRC(); err != nil {
			t.Fatal(err)
		}
		got, err := collect(&d, parsed)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) { // cmp compares long byte slices slowly
			t.Fatalf("codec %v: %s", parsed.Codec(), cmp.Diff(want, got))
		}
	})
}

func TestFlippedBitIsDetected(t *testing.T) {
	var c Compressor
	rapid.Check(t, func(t *rapid.T) {
		batch, _ := drawBatch(t, &c)
		bit := rapid.IntRange(posCRC*8, len(batch)*8-1).Draw(t, "bit")
		batch[bit/8] ^= 1 << (bit % 8)
		if batch.VerifyCRC() == nil {
			t.Fatalf("bit %d of %d bytes flipped unnoticed", bit, len(batch))
		}
	})
}

func TestRecompressKeepsEverything(t *testing.T) {
	var c Compressor
	var d Decompressor
	rapid.Check(t, func(t *rapid.T) {
		batch, want := drawBatch(t, &c)
		codec := Codec(rapid.IntRange(0, 4).Draw(t, "target"))
		out, err := Recompress(batch, codec, DefaultLevel, &c, &d)
		if err != nil {
			t.Fatal(err)
		}
		if out.Codec() != codec || out.VerifyCRC() != nil || int(out.Length())+LogOverhead != len(out) {
			t.Fatalf("header of the %v batch is wrong: codec %v, %v", codec, out.Codec(), out.VerifyCRC())
		}
		got, err := collect(&d, out)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatal(cmp.Diff(want, got))
		}
	})
}

func TestNextErrors(t *testing.T) {
	whole := build(t, Plain(), func(b *Builder) { b.Append(1, []byte("k"), []byte("v"), nil) })
	if _, _, err := Next(nil); err != io.EOF {
		t.Errorf("no bytes: %v, want io.EOF", err)
	}
	for n := 1; n < len(whole); n++ {
		if _, _, err := Next(whole[:n]); err != io.ErrUnexpectedEOF {
			t.Errorf("%d of %d bytes: %v, want io.ErrUnexpectedEOF", n, len(whole), err)
		}
	}
	for name, change := range map[string]func(b Batch){
		"length less than a header": func(b Batch) { binary.BigEndian.PutUint32(b[posLength:], HeaderSize-LogOverhead-1) },
		"negative length":           func(b Batch) { binary.BigEndian.PutUint32(b[posLength:], math.MaxUint32) },
		"old magic":                 func(b Batch) { b[posMagic] = 1 },
		"negative base offset":      func(b Batch) { b.SetBaseOffset(-1) },
		"negative offset delta":     func(b Batch) { binary.BigEndian.PutUint32(b[posLastDelta:], math.MaxUint32) },
		"negative count":            func(b Batch) { binary.BigEndian.PutUint32(b[posCount:], math.MaxUint32) },
		"last offset overflows": func(b Batch) {
			b.SetBaseOffset(math.MaxInt64)
			binary.BigEndian.PutUint32(b[posLastDelta:], 1)
		},
	} {
		b := Batch(bytes.Clone(whole))
		change(b)
		var corrupt *CorruptError
		if _, _, err := Next(b); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v, want a *CorruptError", name, err)
		}
	}
}

func TestWalkStopsAndReturnsErrors(t *testing.T) {
	b := build(t, Plain(), func(b *Builder) {
		for range 5 {
			b.Append(1, nil, nil, nil)
		}
	})
	var d Decompressor
	seen := 0
	if err := d.Walk(b, func(Record) error {
		if seen++; seen == 2 {
			return ErrStop
		}
		return nil
	}); err != nil || seen != 2 {
		t.Errorf("ErrStop: %d records, error %v", seen, err)
	}
	own := errors.New("own")
	if err := d.Walk(b, func(Record) error { return own }); err != own {
		t.Errorf("the callback's error came back as %v", err)
	}
}

func TestWalkFindsWrongCounts(t *testing.T) {
	var d Decompressor
	for codec := None; codec <= Zstd; codec++ {
		for _, count := range []uint32{1, 3} {
			o := Plain()
			o.Codec = codec
			b := build(t, o, func(b *Builder) {
				b.Append(1, []byte("a"), []byte("1"), []Header{{"h", nil}})
				b.Append(1, []byte("b"), []byte("2"), nil)
			})
			binary.BigEndian.PutUint32(b[posCount:], count)
			var corrupt *CorruptError
			if err := d.Walk(b, func(Record) error { return nil }); !errors.As(err, &corrupt) {
				t.Errorf("%v with count %d instead of 2: %v", codec, count, err)
			}
		}
	}
}

// TestRealFiles walks segments that Apache Kafka 4.4 wrote from what its Java producer and kcat sent.
func TestRealFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) < 10 {
		t.Fatalf("real segments are missing: %v %v", files, err)
	}
	var d Decompressor
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		offset := int64(0)
		for len(data) > 0 {
			b, rest, err := Next(data)
			if err != nil {
				t.Fatalf("%s at offset %d: %v", name, offset, err)
			}
			data = rest
			if err := b.VerifyCRC(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			records, err := collect(&d, b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, r := range records {
				if r.Offset != offset {
					t.Fatalf("%s: offset %d, want %d", name, r.Offset, offset)
				}
				checkRealRecord(t, name, r)
				offset++
			}
		}
		if offset != realRecords {
			t.Errorf("%s: %d records, want %d", name, offset, realRecords)
		}
	}
}

const realRecords = 60

// checkRealRecord knows what testdata/README.md says was produced.
func checkRealRecord(t *testing.T, name string, r Record) {
	t.Helper()
	wantKey := "key-" + string(rune('a'+r.Offset%26))
	wantValue := bytes.Repeat([]byte("value of the record "), int(r.Offset%5)+1)
	if string(r.Key) != wantKey || !bytes.Equal(r.Value, wantValue) {
		t.Errorf("%s offset %d: key %q value %q", name, r.Offset, r.Key, r.Value)
	}
	want := []Header{{"trace", []byte("t")}, {"empty", []byte{}}}
	if strings.Contains(name, "java-") {
		want[0].Value = append(want[0].Value, byte('0'+r.Offset%10))
	}
	if diff := cmp.Diff(want, r.Headers); diff != "" {
		t.Errorf("%s offset %d: %s", name, r.Offset, diff)
	}
}
