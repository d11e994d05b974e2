package explorer

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/explorer/serde"
	"klamm/internal/record"
)

// produceTimeout is how long a broker may wait for its replicas.
const produceTimeout = 10 * time.Second

// Send appends one record with acks=all, or only checks it. It is not sent again when the connection
// breaks: then nobody knows whether it was written, and the error says so. A connection of its own
// keeps that rare: one that was kept may have died with a broker's restart.
func (c *Connection) Send(ctx context.Context, topic string, q SendRequest) (SendResult, error) {
	if !q.ValidateOnly {
		if err := c.changeable("Produce"); err != nil {
			return SendResult{}, err
		}
	}
	raw, err := q.bytes()
	if err != nil {
		return SendResult{}, err
	}
	cl, err := c.newClient()
	if err != nil {
		return SendResult{}, &Problem{Code: "INVALID_SETTINGS", Title: "The settings make no usable client.", Detail: err.Error(), cause: err}
	}
	defer cl.Close()
	s, t, err := c.oneTopic(ctx, cl, topic)
	if err != nil {
		return SendResult{}, err
	}
	out := SendResult{KeyBytes: int64(len(raw.Key)), ValueBytes: int64(len(raw.Value))}
	at, err := choosePartition(&out, t, q, raw.Key)
	if err != nil || q.ValidateOnly {
		return out, err
	}
	stamp := c.now().UnixMilli()
	if q.Timestamp != nil {
		stamp = *q.Timestamp
	}
	batch, err := buildBatch(q.Compression, stamp, raw)
	if err != nil {
		return SendResult{}, err
	}
	return out, s.produce(ctx, cl, t, at, batch, stamp, &out)
}

// bytes decodes the payloads.
func (q SendRequest) bytes() (RawRecord, error) {
	var raw RawRecord
	var err error
	if raw.Key, err = q.Key.bytes("key"); err != nil {
		return raw, err
	}
	if raw.Value, err = q.Value.bytes("value"); err != nil {
		return raw, err
	}
	for i, h := range q.Headers {
		value, err := h.Value.bytes(fmt.Sprintf("header %d (%s)", i+1, h.Key))
		if err != nil {
			return raw, err
		}
		raw.Headers = append(raw.Headers, record.Header{Key: h.Key, Value: value})
	}
	return raw, nil
}

// bytes decodes one payload; nil is null, empty is zero bytes.
func (p Payload) bytes(what string) ([]byte, error) {
	bad := func(title string, detail error) error {
		return &Problem{Code: "INVALID_PAYLOAD", Title: "The " + what + " " + title + ".", Detail: detail.Error(), Resource: what}
	}
	switch p.Kind {
	case "null":
		return nil, nil
	case "json":
		if err := serde.CheckJSON([]byte(p.Data)); err != nil {
			return nil, bad("is not JSON", err)
		}
		return []byte(p.Data), nil
	case "hex":
		data, err := hex.DecodeString(strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, p.Data))
		if err != nil {
			return nil, bad("is not hexadecimal", err)
		}
		return data, nil
	case "base64":
		data, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil {
			return nil, bad("is not base64", err)
		}
		return data, nil
	}
	if !utf8.ValidString(p.Data) {
		return nil, bad("is not UTF-8", fmt.Errorf("use hex or base64 for bytes"))
	}
	return []byte(p.Data), nil
}

// choosePartition picks where the record goes and says how.
func choosePartition(out *SendResult, t kmsg.MetadataResponseTopic, q SendRequest, key []byte) (kmsg.MetadataResponseTopicPartition, error) {
	var none kmsg.MetadataResponseTopicPartition
	n := int32(len(t.Partitions))
	if n == 0 {
		return none, emptyAnswer("Metadata", "topic "+deref(t.Topic))
	}
	var id int32
	switch {
	case q.Partition != nil:
		id = *q.Partition
		if id < 0 || id >= n {
			return none, &Problem{Code: "INVALID_REQUEST", Title: fmt.Sprintf("Topic %s has no partition %d.", deref(t.Topic), id), Help: fmt.Sprintf("It has %s, counted from 0.", count(int(n), "partition"))}
		}
		out.Partitioner = "chosen by hand"
	case key != nil:
		id = KeyPartition(key, n)
		out.Partitioner = fmt.Sprintf("murmur2 of the key, modulo %d: what Java's default partitioner picks", n)
	default:
		out.Partitioner = "any, because the key is null"
		if q.ValidateOnly {
			return none, nil
		}
		id = anyWithLeader(t.Partitions)
	}
	out.Partition = &id
	for _, p := range t.Partitions {
		if p.Partition == id {
			if p.Leader < 0 && !q.ValidateOnly {
				return none, &Problem{Code: "LEADER_NOT_AVAILABLE", Title: "The partition has no leader.", Operation: "Produce", Resource: partitionName(tp{deref(t.Topic), id}), Retriable: true}
			}
			return p, nil
		}
	}
	return none, &Problem{Code: "UNKNOWN_TOPIC_OR_PARTITION", Title: fmt.Sprintf("Partition %d is not in the metadata.", id)}
}

// anyWithLeader picks a random partition that can take a record now.
func anyWithLeader(parts []kmsg.MetadataResponseTopicPartition) int32 {
	var able []int32
	for _, p := range parts {
		if p.Leader >= 0 {
			able = append(able, p.Partition)
		}
	}
	if len(able) == 0 {
		return parts[0].Partition
	}
	return able[rand.IntN(len(able))]
}

func buildBatch(compression string, stamp int64, raw RawRecord) (record.Batch, error) {
	o := record.Plain()
	if compression != "" {
		codec, err := record.ParseCodec(compression)
		if err != nil {
			return nil, &Problem{Code: "INVALID_REQUEST", Title: err.Error(), cause: err}
		}
		o.Codec = codec
	}
	b := record.NewBuilder(o)
	b.Append(stamp, raw.Key, raw.Value, raw.Headers)
	batch, err := b.Build()
	if err != nil {
		return nil, &Problem{Code: "INVALID_PAYLOAD", Title: "No record batch can be made of this.", Detail: err.Error(), cause: err}
	}
	return batch, nil
}

// produce sends the batch to the leader.
func (s *snapshot) produce(ctx context.Context, cl *kgo.Client, t kmsg.MetadataResponseTopic, p kmsg.MetadataResponseTopicPartition, b record.Batch, stamp int64, out *SendResult) error {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, int32(produceTimeout.Milliseconds())
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = deref(t.Topic), t.TopicID // the name up to version 12, the id from 13
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = p.Partition, b
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	started := time.Now()
	resp, err := cl.Broker(int(p.Leader)).Request(ctx, req)
	out.Millis = since(started)
	name := partitionName(tp{deref(t.Topic), p.Partition})
	if err != nil {
		q := *s.c.connectProblem(err, "Produce")
		q.Resource = s.brokerName(p.Leader)
		if q.Code != "CONNECTION_REFUSED" && q.Code != "UNRESOLVABLE" {
			q.Help = "The connection broke before the answer came: look at the end of " + name + " before you send it again, it may have been written."
		}
		return &q
	}
	topics := resp.(*kmsg.ProduceResponse).Topics
	if len(topics) == 0 || len(topics[0].Partitions) == 0 {
		return emptyAnswer("Produce", name)
	}
	got := topics[0].Partitions[0]
	if p := codeProblem(got.ErrorCode, got.ErrorMessage, "Produce", name); p != nil {
		return p
	}
	out.Offset, out.Timestamp = &got.BaseOffset, &stamp
	if got.LogAppendTime >= 0 {
		out.Timestamp = &got.LogAppendTime
	}
	return nil
}
