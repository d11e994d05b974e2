package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testNow = 1_700_000_000_000

func lenient() Validation {
	return Validation{MaxMessageBytes: 1 << 20, TimestampBeforeMax: math.MaxInt64, TimestampAfterMax: 3_600_000, Now: testNow}
}

func wantCode(t *testing.T, name string, err error, code int16, words string) *InvalidError {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.KafkaCode() != code || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: error %v, want code %d with %q", name, err, code, words)
		return &InvalidError{}
	}
	return invalid
}

func TestValidateAcceptsAndCompletes(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		o := Plain()
		o.Codec = codec
		b := build(t, o, func(b *Builder) {
			b.Append(testNow-5, []byte("a"), nil, nil)
			b.Append(testNow+7, nil, []byte("x"), []Header{{"h", []byte("v")}})
			b.Append(testNow+7, nil, []byte("x"), nil)
			b.Append(testNow, nil, []byte("x"), nil)
		})
		got, err := Validate(b, lenient())
		if diff := cmp.Diff(Result{MaxTimestamp: testNow + 7, MaxTimestampOffsetDelta: 1, Codec: codec}, got); diff != "" || err != nil {
			t.Errorf("%v: %v %s", codec, err, diff)
		}
		b.SetMaxTimestamp(testNow + 1000) // as a sloppy client would
		if _, err := Validate(b, lenient()); err != nil || b.MaxTimestamp() != testNow+7 || b.VerifyCRC() != nil {
			t.Errorf("%v: a wrong MaxTimestamp was left at %d (%v)", codec, b.MaxTimestamp(), err)
		}
		v := lenient()
		v.TimestampType, v.Now = LogAppendTime, testNow+99
		got, err = Validate(b, v)
		if err != nil || got.MaxTimestamp != testNow+99 || !b.IsLogAppendTime() || b.MaxTimestamp() != testNow+99 || b.VerifyCRC() != nil {
			t.Errorf("%v: LogAppendTime: %+v %v", codec, got, err)
		}
	}
}

func TestValidateRefusesHeaders(t *testing.T) {
	put32 := func(pos int, v uint32) func(Batch) {
		return func(b Batch) { binary.BigEndian.PutUint32(b[pos:], v) }
	}
	put16 := func(pos int, v uint16) func(Batch) {
		return func(b Batch) { binary.BigEndian.PutUint16(b[pos:], v) }
	}
	for _, c := range []struct {
		name   string
		change func(Batch)
		code   int16
		words  string
	}{
		{"magic", func(b Batch) { b[posMagic] = 1 }, codeInvalidRecord, "magic"},
		{"base offset", func(b Batch) { b.SetBaseOffset(1) }, codeInvalidRecord, "base offset 0"},
		{"count", put32(posCount, 3), codeInvalidRecord, "spans 2 offsets but claims 3"},
		{"last delta", put32(posLastDelta, 7), codeInvalidRecord, "spans 8 offsets"},
		{"no records", func(b Batch) { put32(posCount, 0)(b); put32(posLastDelta, math.MaxUint32)(b) }, codeInvalidRecord, "must hold records"},
		{"delta overflow", func(b Batch) { put32(posCount, math.MaxInt32)(b); put32(posLastDelta, math.MaxInt32)(b) }, codeInvalidRecord, "spans 2147483648"},
		{"control", put16(posAttributes, attrControl), codeInvalidRecord, "control records"},
		{"sequence", func(b Batch) { binary.BigEndian.PutUint64(b[posProducerID:], 5) }, codeInvalidRecord, "sequence number -1"},
		{"codec", put16(posAttributes, 6), codeUnsupportedCompressionType, "codec 6"},
		{"truncated gzip", put16(posAttributes, uint16(Gzip)), codeInvalidRecord, "decompress"},
		{"truncated snappy", put16(posAttributes, uint16(Snappy)), codeInvalidRecord, "decompress"},
		{"truncated lz4", put16(posAttributes, uint16(Lz4)), codeInvalidRecord, "decompress"},
		{"truncated zstd", put16(posAttributes, uint16(Zstd)), codeInvalidRecord, "decompress"},
	} {
		b := build(t, Plain(), func(b *Builder) {
			b.Append(testNow, []byte("k"), []byte("v"), nil)
			b.Append(testNow, []byte("k"), []byte("v"), nil)
		})
		c.change(b)
		b.updateCRC()
		_, err := Validate(b, lenient())
		wantCode(t, c.name, err, c.code, c.words)
	}
	b := build(t, Plain(), func(b *Builder) { b.Append(testNow, nil, []byte("value"), nil) })
	b[len(b)-2] ^= 1
	_, err := Validate(b, lenient())
	wantCode(t, "checksum", err, codeCorruptMessage, "checksum")
}

func TestValidateSize(t *testing.T) {
	b := build(t, Plain(), func(b *Builder) { b.Append(testNow, nil, make([]byte, 100), nil) })
	v := lenient()
	v.MaxMessageBytes = len(b)
	if _, err := Validate(b, v); err != nil {
		t.Errorf("a batch of exactly max.message.bytes: %v", err)
	}
	v.MaxMessageBytes--
	_, err := Validate(b, v)
	wantCode(t, "one byte more", err, codeMessageTooLarge, fmt.Sprint(v.MaxMessageBytes))
}

func TestValidateBoundsDecompression(t *testing.T) {
	for codec := Gzip; codec <= Zstd; codec++ {
		o := Plain()
		o.Codec = codec
		b := build(t, o, func(b *Builder) { b.Append(testNow, nil, make([]byte, 1<<20), nil) })
		v := lenient()
		v.Decompressor = &Decompressor{MaxDecompressed: 1 << 19}
		_, err := Validate(b, v)
		wantCode(t, codec.String(), err, codeMessageTooLarge, "decompressed")
		if large := (*TooLargeError)(nil); !errors.As(err, &large) {
			t.Errorf("%v: the cause is %v", codec, errors.Unwrap(err))
		}
		v.Decompressor = &Decompressor{MaxDecompressed: 1<<20 + 100}
		if _, err := Validate(b, v); err != nil {
			t.Errorf("%v within the bound: %v", codec, err)
		}
	}
}

func TestValidateCompacted(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		o := Plain()
		o.Codec = codec
		b := build(t, o, func(b *Builder) {
			b.Append(testNow, []byte("k"), nil, nil)
			b.Append(testNow, nil, []byte("v"), nil)
			b.Append(testNow, []byte{}, []byte("v"), nil)
			b.Append(testNow, nil, nil, nil)
		})
		v := lenient()
		v.Compacted = true
		_, err := Validate(b, v)
		e := wantCode(t, codec.String(), err, codeInvalidRecord, "key")
		if len(e.RecordErrors) != 2 || e.RecordErrors[0].Index != 1 || e.RecordErrors[1].Index != 3 {
			t.Errorf("%v: record errors %+v, want those at 1 and 3 (an empty key is a key)", codec, e.RecordErrors)
		}
	}
}

func TestValidateTimestamps(t *testing.T) {
	for _, c := range []struct {
		ts, before, after int64
		ok                bool
	}{
		{testNow, 0, 0, true},
		{testNow - 1000, 1000, 0, true},
		{testNow - 1001, 1000, 0, false},
		{testNow + 1000, 0, 1000, true},
		{testNow + 1001, 0, 1000, false},
		{0, math.MaxInt64, 0, true},
		{NoTimestamp, 0, 0, true},
		{math.MaxInt64, math.MaxInt64, 3_600_000, false},
	} {
		b := build(t, Plain(), func(b *Builder) {
			b.Append(testNow, nil, nil, nil)
			b.Append(c.ts, nil, nil, nil)
		})
		v := lenient()
		v.TimestampBeforeMax, v.TimestampAfterMax = c.before, c.after
		_, err := Validate(b, v)
		if c.ok {
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if e := wantCode(t, fmt.Sprintf("%+v", c), err, codeInvalidTimestamp, "timestamp"); len(e.RecordErrors) != 1 || e.RecordErrors[0].Index != 1 {
			t.Errorf("%+v: record errors %+v", c, e.RecordErrors)
		}
	}
	b := build(t, Plain(), func(b *Builder) { b.Append(testNow, nil, nil, nil) })
	b.SetLogAppendTime(testNow)
	v := lenient()
	v.TimestampType = LogAppendTime
	_, err := Validate(b, v)
	wantCode(t, "LogAppendTime from a producer", err, codeInvalidTimestamp, "LogAppendTime")
}

func TestValidateOffsetDeltas(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		for _, second := range []int64{0, 2, 1} {
			o := Plain()
			o.Codec = codec
			b := build(t, o, func(b *Builder) {
				b.AppendAt(0, testNow, nil, nil, nil)
				b.AppendAt(second, testNow, nil, nil, nil)
			})
			binary.BigEndian.PutUint32(b[posLastDelta:], 1)
			b.updateCRC()
			_, err := Validate(b, lenient())
			if second == 1 {
				if err != nil {
					t.Errorf("%v: sequential deltas: %v", codec, err)
				}
				continue
			}
			wantCode(t, codec.String(), err, codeInvalidRecord, "offset delta")
		}
	}
}

func TestValidateHeaderOnlySkipsRecords(t *testing.T) {
	b := build(t, Plain(), func(b *Builder) { b.Append(testNow, nil, []byte("v"), nil) })
	b[HeaderSize] = 0x7f // impossible record size
	b.updateCRC()
	v := lenient()
	if _, err := Validate(b, v); err == nil {
		t.Error("a broken record passed the full check")
	}
	v.HeaderOnly = true
	if got, err := Validate(b, v); err != nil || got.MaxTimestamp != testNow {
		t.Errorf("header only: %+v %v", got, err)
	}
	b[len(b)-1] ^= 1
	_, err := Validate(b, v)
	wantCode(t, "the checksum counts in header mode too", err, codeCorruptMessage, "checksum")
}

func TestValidateLimitsRecordErrors(t *testing.T) {
	o := Plain()
	o.Codec = Zstd
	b := build(t, o, func(b *Builder) {
		for range 5000 {
			b.Append(testNow, nil, nil, nil)
		}
	})
	v := lenient()
	v.Compacted = true
	_, err := Validate(b, v)
	if e := wantCode(t, "many", err, codeInvalidRecord, "5000 records"); len(e.RecordErrors) != maxRecordErrors {
		t.Errorf("%d record errors, want %d", len(e.RecordErrors), maxRecordErrors)
	}
}

func TestSnappyForms(t *testing.T) {
	plain := bytes.Repeat([]byte("gorge stream "), 10_000)
	var c Compressor
	framed, err := c.Compress(nil, plain, Snappy, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	// A raw block is a literal of 5 bytes: length 5, tag (5-1)<<2, bytes.
	raw := append([]byte{5, 4 << 2}, "hello"...)
	var d Decompressor
	for _, form := range []struct {
		name      string
		src, want []byte
	}{
		{"framed", framed, plain},
		{"two framed streams", append(bytes.Clone(framed), framed...), append(bytes.Clone(plain), plain...)},
		{"raw", raw, []byte("hello")},
		{"frame without blocks", []byte(xerialHeader), nil},
	} {
		got, err := d.Decompress([]byte("before "), form.src, Snappy)
		if err != nil || !bytes.Equal(got, append([]byte("before "), form.want...)) {
			t.Errorf("%s: %d bytes, error %v", form.name, len(got), err)
		}
	}
	for n := 1; n < 40; n++ {
		if _, err := d.Decompress(nil, framed[:n], Snappy); err == nil && n != len(xerialHeader) {
			t.Errorf("a frame cut at byte %d was accepted", n)
		}
	}
}

func TestLz4HeaderIsStandard(t *testing.T) {
	var c Compressor
	out, err := c.Compress(nil, []byte("some data"), Lz4, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	// Magic, version 1 with independent blocks and no checksums, 64 KiB blocks, and the second
	// byte of xxh32 over the two descriptor bytes: what Kafka's own writer puts there.
	if want := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}; !bytes.HasPrefix(out, want) {
		t.Errorf("lz4 frame starts % x, want % x", out[:7], want)
	}
}

func TestParseCodec(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		if got, err := ParseCodec(c.String()); got != c || err != nil {
			t.Errorf("ParseCodec(%q) = %v, %v", c.String(), got, err)
		}
	}
	if got, err := ParseCodec("uncompressed"); got != None || err != nil {
		t.Errorf("uncompressed: %v %v", got, err)
	}
	if _, err := ParseCodec("brotli"); err == nil || !strings.Contains(err.Error(), "brotli") {
		t.Errorf("brotli: %v", err)
	}
}

func TestControlRecords(t *testing.T) {
	for typ := ControlAbort; typ <= ControlKRaftVoters; typ++ {
		if got, err := ParseControlKey(ControlKey(typ)); got != typ || err != nil {
			t.Errorf("%v: %v %v", typ, got, err)
		}
	}
	if epoch, err := ParseEndTxnMarker(EndTxnMarker(77)); epoch != 77 || err != nil {
		t.Errorf("marker: %d %v", epoch, err)
	}
	if _, err := ParseControlKey([]byte{0, 0, 1}); err == nil {
		t.Error("a short key was accepted")
	}
	if _, err := ParseEndTxnMarker(nil); err == nil {
		t.Error("a short marker was accepted")
	}
}
