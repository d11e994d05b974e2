package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
)

// decoders are the values of --as.
func decoders() []string {
	return []string{"auto", "data", "metadata", "group", "transaction", "share"}
}

func checkDecoder(as string) error {
	if !slices.Contains(decoders(), as) {
		return usagef("--as %s is not known: use %s", as, strings.Join(decoders(), ", "))
	}
	return nil
}

// decoderFor picks the meaning of records by the name of the partition's directory.
func (f dumpFlags) decoderFor(name string) string {
	if f.as != "auto" {
		return f.as
	}
	path, err := filepath.Abs(name)
	if err != nil {
		path = name
	}
	dir := filepath.Base(filepath.Dir(path))
	switch {
	case strings.HasPrefix(dir, "__cluster_metadata-"), strings.HasSuffix(name, ".checkpoint"):
		return "metadata"
	case strings.HasPrefix(dir, "__consumer_offsets-"):
		return "group"
	case strings.HasPrefix(dir, "__transaction_state-"):
		return "transaction"
	case strings.HasPrefix(dir, "__share_group_state-"):
		return "share"
	}
	return "data"
}

// segment prints a file of batches, one batch in memory at a time.
func (d *dumper) segment(ctx context.Context, f *os.File, size int64) error {
	decoder := d.flags.decoderFor(d.name)
	r := bufio.NewReaderSize(f, 1<<20)
	var decompressor record.Decompressor
	var damaged error
	for position := int64(0); position < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := nextBatch(r, size-position)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", position, err)
		}
		crc := b.VerifyCRC()
		if err := d.batch(b, position, crc == nil); err != nil {
			return err
		}
		if crc != nil {
			damaged = errors.Join(damaged, fmt.Errorf("at byte %d: %w", position, crc))
		} else if !d.flags.batchesOnly {
			if err := d.records(&decompressor, b, decoder); err != nil {
				var corrupt *record.CorruptError
				if !errors.As(err, &corrupt) {
					return err
				}
				damaged = errors.Join(damaged, fmt.Errorf("at byte %d: %w", position, err))
			}
		}
		position += int64(len(b))
	}
	return damaged
}

// nextBatch reads one batch of a file that has left bytes more.
func nextBatch(r *bufio.Reader, left int64) (record.Batch, error) {
	head, err := r.Peek(int(min(record.HeaderSize, left)))
	if err != nil {
		return nil, err
	}
	if len(head) >= record.LogOverhead {
		length := int64(int32(binary.BigEndian.Uint32(head[8:])))
		if size := length + record.LogOverhead; length >= record.HeaderSize-record.LogOverhead && size <= left {
			buf := make([]byte, size)
			if _, err := io.ReadFull(r, buf); err != nil {
				return nil, err
			}
			b, _, err := record.Next(buf)
			return b, err
		}
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return nil, fmt.Errorf("only zero bytes follow, %d bytes to the end of the file", left)
	}
	if _, _, err := record.Next(head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return nil, fmt.Errorf("the file ends inside a batch, %d bytes are left", left)
}

func (d *dumper) batch(b record.Batch, position int64, crc bool) error {
	kind := "create"
	if b.IsLogAppendTime() {
		kind = "append"
	}
	fields := []field{
		{"baseOffset", b.BaseOffset()},
		{"lastOffset", b.LastOffset()},
		{"count", b.Count()},
		{"position", position},
		{"size", len(b)},
		{"leaderEpoch", b.PartitionLeaderEpoch()},
		{"codec", b.Codec().String()},
		{"timestampType", kind},
		{"maxTimestamp", b.MaxTimestamp()},
		{"producerId", b.ProducerID()},
		{"producerEpoch", b.ProducerEpoch()},
		{"baseSequence", b.BaseSequence()},
		{"lastSequence", b.LastSequence()},
		{"transactional", b.IsTransactional()},
		{"control", b.IsControl()},
		{"crc", b.CRC()},
		{"valid", crc},
	}
	if b.HasDeleteHorizon() {
		fields = append(fields, field{"deleteHorizon", b.BaseTimestamp()})
	}
	return d.line("batch", fields...)
}

func (d *dumper) records(decompressor *record.Decompressor, b record.Batch, decoder string) error {
	return decompressor.Walk(b, func(r record.Record) error {
		fields := []field{{"offset", r.Offset}, {"timestamp", r.Timestamp}}
		switch {
		case b.IsControl():
			fields = append(fields, controlFields(r)...)
		case decoder == "data":
			fields = append(fields, dataFields(r)...)
		default:
			fields = append(fields, decodedFields(decoder, r)...)
		}
		return d.line("record", fields...)
	})
}

// dataFields are key, value and headers in the form of recordLine.
func dataFields(r record.Record) []field {
	l := recordLine{Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		l.Headers = append(l.Headers, headerLine{Key: h.Key, Value: h.Value})
	}
	fields := append(textFields("key", l.Key), textFields("value", l.Value)...)
	if len(l.Headers) > 0 {
		fields = append(fields, field{"headers", rawJSON(appendHeaders(nil, l.Headers))})
	}
	return fields
}

func textFields(name string, value []byte) []field {
	return []field{{name, rawJSON(appendText(nil, value))}, {name + "Size", len(value)}}
}

// appendText is a value as JSON: text, or an object that says its bytes are base64.
func appendText(dst, value []byte) []byte {
	l := appendField(nil, "bytes", value)
	if bytes.HasSuffix(l, []byte(`"bytesEncoding":"`+base64Name+`"`)) {
		return append(append(append(dst, '{'), l...), '}')
	}
	return append(dst, l[len(`"bytes":`):]...)
}

func controlFields(r record.Record) []field {
	kind, err := record.ParseControlKey(r.Key)
	if err != nil {
		return append(dataFields(r), field{"error", err.Error()})
	}
	fields := []field{{"control", kind.String()}}
	m := controlMessage(kind)
	if m == nil || len(r.Value) < 2 {
		return append(fields, textFields("value", r.Value)...)
	}
	version := int16(binary.BigEndian.Uint16(r.Value))
	body := r.Value // the messages of KRaft have the version as their first field
	if kind == record.ControlAbort || kind == record.ControlCommit {
		body = body[2:]
	}
	if err := m.ReadFrom(body, version); err != nil {
		return append(append(fields, textFields("value", r.Value)...), field{"error", err.Error()})
	}
	return append(fields, field{"value", rawJSON(kafkarecord.AppendJSON(nil, m, version))})
}

// controlMessage is the empty message of a control record's value, nil when the type is unknown.
func controlMessage(kind record.ControlType) kafkarecord.Message {
	switch kind {
	case record.ControlAbort, record.ControlCommit:
		return &kafkarecord.EndTxnMarker{}
	case record.ControlLeaderChange:
		return &kafkarecord.LeaderChangeMessage{}
	case record.ControlSnapshotHeader:
		return &kafkarecord.SnapshotHeaderRecord{}
	case record.ControlSnapshotFooter:
		return &kafkarecord.SnapshotFooterRecord{}
	case record.ControlKRaftVersion:
		return &kafkarecord.KRaftVersionRecord{}
	case record.ControlKRaftVoters:
		return &kafkarecord.VotersRecord{}
	}
	return nil
}

// decodedFields decode a record of one of Kafka's own topics; what does not decode is shown as bytes.
func decodedFields(decoder string, r record.Record) []field {
	if decoder == "metadata" {
		m, version, err := kafkarecord.DecodeMetadata(r.Value)
		if err != nil {
			return append(dataFields(r), field{"error", err.Error()})
		}
		return []field{{"value", rawJSON(kafkarecord.AppendJSON(nil, m, version))}}
	}
	decode := map[string]func(key, value []byte) (kafkarecord.CoordinatorRecord, error){
		"group": kafkarecord.DecodeGroup, "transaction": kafkarecord.DecodeTransaction, "share": kafkarecord.DecodeShare,
	}[decoder]
	c, err := decode(r.Key, r.Value)
	if err != nil {
		return append(dataFields(r), field{"error", err.Error()})
	}
	value := rawJSON("null")
	if c.Value != nil {
		value = kafkarecord.AppendJSON(nil, c.Value, c.ValueVersion)
	}
	return []field{{"key", rawJSON(kafkarecord.AppendJSON(nil, c.Key, 0))}, {"value", value}}
}
