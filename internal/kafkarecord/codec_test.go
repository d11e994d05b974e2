package kafkarecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// everyMessage returns an empty instance of each generated message that a registry knows, and of
// the control and file messages.
func everyMessage() []Message {
	all := []Message{
		NewLeaderChangeMessage(), NewSnapshotHeaderRecord(), NewSnapshotFooterRecord(), NewKRaftVersionRecord(),
		NewVotersRecord(), NewEndTxnMarker(), NewDefaultPrincipalData(), NewProducerSnapshot(), NewAbortedTxn(),
	}
	for key := int16(0); key < 64; key++ {
		if r := newMetadataRecord(key); r != nil {
			all = append(all, r)
		}
		for _, make := range []func(int16) Message{newGroupKey, newGroupValue, newTransactionKey, newTransactionValue, newShareKey, newShareValue} {
			if m := make(key); m != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// fill gives every field of a message random content.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "UnknownTags" {
			fillValue(t, v.Field(i))
		}
	}
}

func fillValue(t *rapid.T, f reflect.Value) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		limit := int64(math.MaxInt64) >> (64 - f.Type().Bits())
		f.SetInt(rapid.Int64Range(-limit-1, limit).Draw(t, "int"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		f.SetUint(rapid.Uint64Range(0, math.MaxUint64>>(64-f.Type().Bits())).Draw(t, "uint"))
	case reflect.Float64:
		f.SetFloat(rapid.Float64().Draw(t, "float"))
	case reflect.String:
		f.SetString(rapid.StringN(0, 8, 300).Draw(t, "string"))
	case reflect.Array:
		for i := range f.Len() {
			fillValue(t, f.Index(i))
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 3).Draw(t, "length"); n > 0 {
			f.Set(reflect.MakeSlice(f.Type(), n, n))
			for i := range n {
				fillValue(t, f.Index(i))
			}
		}
	case reflect.Struct:
		fill(t, f)
	case reflect.Pointer:
		f.SetZero()
		if rapid.Bool().Draw(t, "present") {
			f.Set(reflect.New(f.Type().Elem()))
			fillValue(t, f.Elem())
		}
	default:
		t.Fatalf("kind %s is not handled", f.Kind())
	}
}

// TestNewestVersionKeepsEveryField: decode(encode(m)) is m, for random content of every message.
func TestNewestVersionKeepsEveryField(t *testing.T) {
	for _, empty := range everyMessage() {
		s := empty.Schema()
		t.Run(s.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := reflect.New(reflect.TypeOf(empty).Elem())
				fill(t, m.Elem())
				in := m.Interface().(Message)
				b, err := in.AppendTo([]byte("prefix"), s.MaxVersion)
				if err != nil {
					t.Fatal(err)
				}
				out := reflect.New(reflect.TypeOf(empty).Elem()).Interface().(Message)
				if err := out.ReadFrom(b[len("prefix"):], s.MaxVersion); err != nil {
					t.Fatal(err)
				}
				again, err := out.AppendTo([]byte("prefix"), s.MaxVersion)
				if err != nil || !bytes.Equal(again, b) {
					t.Fatalf("written as %x, then as %x (%v)", b, again, err)
				}
				if !equalFields(in, out, s.MaxVersion) {
					t.Fatalf("fields differ (-in +out):\n%s", cmp.Diff(in, out))
				}
			})
		})
	}
}

func equalFields(a, b Message, version int16) bool {
	return bytes.Equal(AppendJSON(nil, a, version), AppendJSON(nil, b, version))
}

// TestEveryVersionReadsWhatItWrites writes defaults in each version and reads them back.
func TestEveryVersionReadsWhatItWrites(t *testing.T) {
	for _, m := range everyMessage() {
		s := m.Schema()
		for v := s.MinVersion; v <= s.MaxVersion; v++ {
			b, err := m.AppendTo(nil, v)
			if err != nil {
				t.Errorf("%s version %d: %v", s.Name, v, err)
				continue
			}
			out := reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message)
			if err := out.ReadFrom(b, v); err != nil {
				t.Errorf("%s version %d: %v", s.Name, v, err)
			}
			for cut := range b {
				if err := out.ReadFrom(b[:cut], v); err == nil {
					t.Errorf("%s version %d: the first %d of %d bytes were accepted", s.Name, v, cut, len(b))
				}
			}
			if err := out.ReadFrom(append(b, 0), v); err == nil {
				t.Errorf("%s version %d: a byte after the end was accepted", s.Name, v)
			}
		}
		var unknown *DecodeError
		if err := m.ReadFrom(nil, s.MaxVersion+1); !errors.As(err, &unknown) {
			t.Errorf("%s version %d gave %v", s.Name, s.MaxVersion+1, err)
		}
		if _, err := m.AppendTo(nil, s.MaxVersion+1); err == nil {
			t.Errorf("%s was written in version %d", s.Name, s.MaxVersion+1)
		}
	}
}

func TestUnknownTagsAreKept(t *testing.T) {
	r := NewPartitionChangeRecord()
	r.Leader = 3
	r.UnknownTags = []Tag{{Number: 40, Value: []byte("later")}}
	b, err := EncodeMetadata(r, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := DecodeMetadata(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(MetadataRecord(r), out); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestTooLongStringIsRefused(t *testing.T) {
	k := &OffsetCommitKey{Group: strings.Repeat("g", math.MaxInt16+1), Topic: "t"}
	var refused *EncodeError
	if _, err := EncodeKey(k); !errors.As(err, &refused) {
		t.Errorf("a group id of %d bytes gave %v", len(k.Group), err)
	}
	k.Group = k.Group[1:]
	b, err := EncodeKey(k)
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeGroup(b, nil)
	if err != nil || r.Key.(*OffsetCommitKey).Group != k.Group {
		t.Errorf("the longest group id was read back as %v, %v", r.Key, err)
	}
}

func TestFieldTheVersionLacksIsRefusedUnlessIgnorable(t *testing.T) {
	p := NewPartitionRecord()
	p.EligibleLeaderReplicas = []int32{1}
	if _, err := p.AppendTo(nil, 1); err == nil {
		t.Error("eligible leader replicas were dropped silently in version 1")
	}
	o := NewOffsetCommitValue()
	o.LeaderEpoch = 7 // ignorable
	if _, err := o.AppendTo(nil, 2); err != nil {
		t.Errorf("an ignorable field was refused: %v", err)
	}
}

// TestLengthsAreCheckedBeforeAllocation feeds lengths far beyond the input.
func TestLengthsAreCheckedBeforeAllocation(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint32)
	for _, m := range everyMessage() {
		s := m.Schema()
		for _, src := range [][]byte{huge, bytes.Repeat([]byte{0xff}, 200), bytes.Repeat([]byte{0x7f}, 200), append(make([]byte, 16), huge...)} {
			if allocated := testing.AllocsPerRun(1, func() { _ = m.ReadFrom(src, s.MaxVersion) }); allocated > 500 {
				t.Errorf("%s took %v allocations for %d bytes", s.Name, allocated, len(src))
			}
		}
	}
}

func TestUnknownTypesAreNamed(t *testing.T) {
	for _, value := range [][]byte{{1, 6, 0}, {1, 99, 0}, {1, 2, 9, 0}} {
		var unknown *UnknownRecordError
		if _, _, err := DecodeMetadata(value); !errors.As(err, &unknown) {
			t.Errorf("metadata record %x gave %v", value, err)
		}
	}
	var unknown *UnknownRecordError
	if _, err := DecodeGroup([]byte{0, 99}, nil); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "99") {
		t.Errorf("group key type 99 gave %v", err)
	}
	if _, err := DecodeGroup([]byte{0, 2, 0, 1, 'g'}, []byte{0, 9}); !errors.As(err, &unknown) {
		t.Errorf("group value version 9 gave %v", err)
	}
}

func TestUUIDText(t *testing.T) {
	id := UUID{15: 1}
	if got := FormatUUID(id); got != "AAAAAAAAAAAAAAAAAAAAAQ" {
		t.Errorf("FormatUUID = %s", got)
	}
	if back, err := ParseUUID("AAAAAAAAAAAAAAAAAAAAAQ"); err != nil || back != id {
		t.Errorf("ParseUUID = %v, %v", back, err)
	}
	for _, bad := range []string{"", "AAAA", "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAQAA"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("ParseUUID(%q) was accepted", bad)
		}
	}
}
