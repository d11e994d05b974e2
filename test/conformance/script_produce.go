package conformance

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
)

// produceCase is one batch, good or bad, and how it is sent.
type produceCase struct {
	title   string
	topic   string
	records func() ([]byte, error)
	change  func(*kmsg.ProduceRequest)
}

func whole(n int, change func(*record.BatchOptions)) func() ([]byte, error) {
	return func() ([]byte, error) { return batchOf(n, change) }
}

// edited builds a batch and changes its bytes; the CRC is renewed when renew is set.
func edited(n int, renew bool, edit func(b []byte) []byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		b, err := batchOf(n, nil)
		if err != nil {
			return nil, err
		}
		out := edit(b)
		if renew {
			binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli)))
		}
		return out, nil
	}
}

func withAttributes(bits uint16) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.BigEndian.PutUint16(b[21:], binary.BigEndian.Uint16(b[21:])|bits)
		return b
	}
}

func withCodec(c record.Codec) func(*record.BatchOptions) {
	return func(o *record.BatchOptions) { o.Codec = c }
}

func sequenced(id int64, epoch int16, sequence int32) func(*record.BatchOptions) {
	return func(o *record.BatchOptions) { o.ProducerID, o.ProducerEpoch, o.BaseSequence = id, epoch, sequence }
}

func produceCases() []produceCase {
	const topic = "produce"
	acks := func(n int16) func(*kmsg.ProduceRequest) { return func(r *kmsg.ProduceRequest) { r.Acks = n } }
	return []produceCase{
		{"one batch, acks=all", topic, whole(3, nil), nil},
		{"one batch, acks=1", topic, whole(3, nil), acks(1)},
		{"acks=2", topic, whole(1, nil), acks(2)},
		{"gzip", topic, whole(3, withCodec(record.Gzip)), nil},
		{"snappy", topic, whole(3, withCodec(record.Snappy)), nil},
		{"lz4", topic, whole(3, withCodec(record.Lz4)), nil},
		{"zstd", topic, whole(3, withCodec(record.Zstd)), nil},
		{"unknown partition", topic, whole(1, nil), func(r *kmsg.ProduceRequest) { r.Topics[0].Partitions[0].Partition = 7 }},
		{"negative partition", topic, whole(1, nil), func(r *kmsg.ProduceRequest) { r.Topics[0].Partitions[0].Partition = -1 }},
		{"empty records", topic, func() ([]byte, error) { return []byte{}, nil }, nil},
		{"garbage", topic, func() ([]byte, error) {
			return []byte("these bytes are not a batch of records, not at all, but long enough to hold a header"), nil
		}, nil},
		{"two batches", topic, edited(1, false, func(b []byte) []byte { return append(b, b...) }), nil},
		{"cut batch", topic, edited(2, false, func(b []byte) []byte { return b[:len(b)-3] }), nil},
		{"wrong crc", topic, edited(2, false, func(b []byte) []byte { b[17]++; return b }), nil},
		{"magic 1", topic, edited(2, false, func(b []byte) []byte { b[16] = 1; return b }), nil},
		{"magic 3", topic, edited(2, false, func(b []byte) []byte { b[16] = 3; return b }), nil},
		{"count too high", topic, edited(2, true, func(b []byte) []byte { b[60]++; return b }), nil},
		{"count and delta too high", topic, edited(2, true, func(b []byte) []byte { b[60]++; b[26]++; return b }), nil},
		{"no records", topic, edited(1, true, func(b []byte) []byte {
			b = b[:record.HeaderSize]
			binary.BigEndian.PutUint32(b[8:], record.HeaderSize-record.LogOverhead)
			b[60] = 0
			return b
		}), nil},
		{"control batch", topic, edited(1, true, withAttributes(0x20)), nil},
		{"codec 5", topic, edited(1, true, withAttributes(5)), nil},
		{"codec 7", topic, edited(1, true, withAttributes(7)), nil},
		{"compressed bytes broken", topic, edited(1, true, withAttributes(uint16(record.Gzip))), nil},
		{"log append time from the client", topic, edited(1, true, withAttributes(0x8)), nil},
		{"base offset not zero", topic, edited(2, false, func(b []byte) []byte { b[7] = 9; return b }), nil},
		{"too large", "produce-small", whole(100, nil), nil},
		{"no key on a compacted topic", "produce-compact", func() ([]byte, error) {
			b := record.NewBuilder(record.BatchOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Level: record.DefaultLevel})
			b.Append(recordTime, []byte("k"), []byte("v"), nil)
			b.Append(recordTime, nil, []byte("v"), nil)
			b.Append(recordTime, nil, []byte("v"), nil)
			return b.Build()
		}, nil},
		{"too old", "produce-times", whole(2, nil), nil},
		{"log append time", "produce-append-time", whole(2, nil), nil},
		{"recompressed", "produce-gzip", whole(50, nil), nil},
		{"internal topic", "__consumer_offsets", whole(1, nil), nil},
	}
}

// scriptProduce sends good and bad batches in every version.
func scriptProduce(r *Run) error {
	for _, t := range [][]string{
		{"produce"},
		{"produce-small", "max.message.bytes", "500"},
		{"produce-compact", "cleanup.policy", "compact"},
		{"produce-times", "message.timestamp.before.max.ms", "1000"},
		{"produce-append-time", "message.timestamp.type", "LogAppendTime"},
		{"produce-gzip", "compression.type", "gzip"},
		{"produce-sequences"},
	} {
		if err := r.createTopic(t[0], 1, append(t[1:], "retention.ms", "-1")...); err != nil {
			return err
		}
	}
	if err := r.offsetsTopic(); err != nil {
		return err
	}
	return eachVersion(kmsg.Produce, func(v int16) error {
		for _, c := range produceCases() {
			if v < 3 && c.title != "one batch, acks=all" {
				continue // refused by closing, once is enough
			}
			records, err := c.records()
			if err != nil {
				return err
			}
			id, err := r.idOf(c.topic)
			if err != nil {
				return err
			}
			req := produce(v, c.topic, id, 0, records)
			if c.change != nil {
				c.change(req)
			}
			if err := r.produceStep(c.title, req); err != nil {
				return err
			}
		}
		if v < 3 {
			return nil
		}
		if err := r.unknownTopics(v); err != nil {
			return err
		}
		if err := r.withoutAcks(v); err != nil {
			return err
		}
		return r.sequences(v)
	})
}

// produceStep hides the one thing that is the clock's: the time of LogAppendTime.
func (r *Run) produceStep(title string, req *kmsg.ProduceRequest) error {
	resp, err := r.session.ask(req)
	if p, ok := resp.(*kmsg.ProduceResponse); ok {
		for i := range p.Topics {
			for j := range p.Topics[i].Partitions {
				if at := &p.Topics[i].Partitions[j].LogAppendTime; *at > recordTime {
					*at = 1
				}
			}
		}
	}
	return r.log.request(title, req, resp, err)
}

func (r *Run) unknownTopics(v int16) error {
	records, err := batchOf(1, nil)
	if err != nil {
		return err
	}
	if err := r.do("unknown topic", produce(v, "produce-unknown", [16]byte{1, 2, 3}, 0, records)); err != nil {
		return err
	}
	return r.do("illegal topic", produce(v, "a b", [16]byte{}, 0, records))
}

// withoutAcks sends acks=0: no answer to a good one, a closed connection after a bad one.
func (r *Run) withoutAcks(v int16) error {
	records, err := batchOf(1, nil)
	if err != nil {
		return err
	}
	id, err := r.idOf("produce")
	if err != nil {
		return err
	}
	good := produce(v, "produce", id, 0, records)
	good.Acks = 0
	if err := r.session.send(good); err != nil {
		return err
	}
	if err := r.do("metadata after acks=0", metadataOf(12, "produce")); err != nil {
		return err
	}
	bad := produce(v, "produce", id, 9, records)
	bad.Acks = 0
	return r.do("acks=0 to an unknown partition", bad)
}

// sequences is the life of one idempotent producer.
func (r *Run) sequences(v int16) error {
	id, err := r.idOf("produce-sequences")
	if err != nil {
		return err
	}
	pid := 1000 + int64(v)
	for _, s := range []struct {
		title    string
		epoch    int16
		sequence int32
		n        int
	}{
		{"first", 0, 0, 2},
		{"second", 0, 2, 2},
		{"second again", 0, 2, 2},
		{"first again", 0, 0, 2},
		{"overlap", 0, 3, 2},
		{"gap", 0, 10, 1},
		{"third", 0, 4, 1},
		{"fourth", 0, 5, 1},
		{"fifth", 0, 6, 1},
		{"sixth", 0, 7, 1},
		{"first, out of the window", 0, 0, 2},
		{"new epoch not at zero", 1, 8, 1},
		{"new epoch", 1, 0, 1},
		{"old epoch", 0, 8, 1},
		{"first of the new epoch again", 1, 0, 1},
	} {
		b, err := batchOf(s.n, sequenced(pid, s.epoch, s.sequence))
		if err != nil {
			return err
		}
		if err := r.produceStep("sequence: "+s.title, produce(v, "produce-sequences", id, 0, b)); err != nil {
			return err
		}
	}
	b, err := batchOf(1, sequenced(pid+1000, 0, 77))
	if err != nil {
		return err
	}
	return r.produceStep("sequence: unknown producer in the middle", produce(v, "produce-sequences", id, 0, b))
}
