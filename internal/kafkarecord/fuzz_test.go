package kafkarecord

import (
	"bytes"
	"testing"
)

// FuzzDecodeMetadata: any value is an error or a record that reads back from what it is written as.
// Seeds are records of a real node.
func FuzzDecodeMetadata(f *testing.F) {
	for _, line := range goldenLines(f, "metadata.tsv", 2) {
		f.Add(unhex(f, line[0]))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, version, err := DecodeMetadata(value)
		if err != nil {
			return
		}
		AppendJSON(nil, r, version)
		b, err := EncodeMetadata(r, version)
		if err != nil {
			t.Fatalf("%#v does not encode: %v", r, err)
		}
		again, _, err := DecodeMetadata(b)
		if err != nil || !bytes.Equal(AppendJSON(nil, r, version), AppendJSON(nil, again, version)) {
			t.Fatalf("%#v is read back as %#v, %v", r, again, err)
		}
	})
}

// FuzzDecodeGroup is the same for the records of coordinator topics.
func FuzzDecodeGroup(f *testing.F) {
	for _, name := range []string{"group.tsv", "transaction.tsv", "share.tsv"} {
		for _, line := range goldenLines(f, name, 4) {
			f.Add(unhex(f, line[0]), unhex(f, line[1]))
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, decode := range []func(key, value []byte) (CoordinatorRecord, error){DecodeGroup, DecodeTransaction, DecodeShare} {
			if r, err := decode(key, value); err == nil {
				checkReencode(t, decode, r)
			}
		}
	})
}

func checkReencode(t *testing.T, decode func(key, value []byte) (CoordinatorRecord, error), r CoordinatorRecord) {
	t.Helper()
	key, err := EncodeKey(r.Key)
	if err != nil {
		t.Fatalf("%#v does not encode: %v", r.Key, err)
	}
	var value []byte
	if r.Value != nil {
		if value, err = EncodeValue(r.Value, r.ValueVersion); err != nil {
			t.Fatalf("%#v does not encode: %v", r.Value, err)
		}
	}
	again, err := decode(key, value)
	if err != nil {
		t.Fatalf("%#v does not decode again: %v", r, err)
	}
	if r.Value != nil && !bytes.Equal(AppendJSON(nil, r.Value, r.ValueVersion), AppendJSON(nil, again.Value, r.ValueVersion)) {
		t.Fatalf("%#v is read back as %#v", r.Value, again.Value)
	}
	if !bytes.Equal(AppendJSON(nil, r.Key, 0), AppendJSON(nil, again.Key, 0)) {
		t.Fatalf("%#v is read back as %#v", r.Key, again.Key)
	}
}
