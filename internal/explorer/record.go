package explorer

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/explorer/serde"
	"klamm/internal/record"
)

// First slices of a record's views, in bytes of the view.
const (
	firstText   = 64 << 10
	firstHex    = 4 << 10
	firstHeader = 1 << 10
	maxHeaders  = 1000
	maxSlice    = 1 << 20
)

// found is one record with its batch, copied out of the answer.
type found struct {
	batch record.Batch
	rec   record.Record
}

// fetchRecord reads the batch that holds one offset over the shared client (whose fetch connection
// nothing else uses) and picks the record. Aborted records are found too.
func (c *Connection) fetchRecord(ctx context.Context, at RecordAddress) (found, error) {
	cl, release, err := c.acquire()
	if err != nil {
		return found{}, err
	}
	defer release()
	s, t, err := c.oneTopic(ctx, cl, at.Topic)
	if err != nil {
		return found{}, err
	}
	name := partitionName(tp{at.Topic, at.Partition})
	i := slices.IndexFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Partition == at.Partition })
	if i < 0 {
		return found{}, &Problem{Code: "UNKNOWN_TOPIC_OR_PARTITION", Title: fmt.Sprintf("Topic %s has no partition %d.", at.Topic, at.Partition), Resource: name}
	}
	leader := t.Partitions[i].Leader
	if leader < 0 {
		return found{}, &Problem{Code: "LEADER_NOT_AVAILABLE", Title: "The partition has no leader.", Operation: "Fetch", Resource: name, Retriable: true}
	}
	resp, p := s.ask(ctx, leader, "Fetch", oneFetch(t.TopicID, at))
	if p != nil {
		return found{}, p
	}
	f := resp.(*kmsg.FetchResponse)
	if p := codeProblem(f.ErrorCode, nil, "Fetch", name); p != nil {
		return found{}, p
	}
	for _, rt := range f.Topics {
		for _, rp := range rt.Partitions {
			return pickRecord(at, rp)
		}
	}
	return found{}, emptyAnswer("Fetch", name)
}

func oneFetch(id [16]byte, at RecordAddress) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 0, 1 // one batch comes whatever its size
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = at.Topic, id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LogStartOffset = at.Partition, at.Offset, 1, -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// pickRecord finds the record in a fetch answer, or says why there is none.
func pickRecord(at RecordAddress, p kmsg.FetchResponseTopicPartition) (found, error) {
	where := fmt.Sprintf("offset %d of %s", at.Offset, partitionName(tp{at.Topic, at.Partition}))
	missing := func(title string) error {
		return &Problem{Code: "NO_SUCH_RECORD", Title: title, Operation: "Fetch", Resource: where}
	}
	if problem := codeProblem(p.ErrorCode, nil, "Fetch", where); problem != nil {
		if problem.Code != "OFFSET_OUT_OF_RANGE" {
			return found{}, problem
		}
		if p.LogStartOffset > at.Offset {
			return found{}, missing(fmt.Sprintf("Offset %d was deleted: the log starts at %d.", at.Offset, p.LogStartOffset))
		}
		return found{}, missing(fmt.Sprintf("There is no offset %d yet, or no longer.", at.Offset))
	}
	for rest := p.RecordBatches; ; {
		b, next, err := record.Next(rest)
		if err != nil {
			break
		}
		rest = next
		if b.LastOffset() < at.Offset {
			continue
		}
		return pickFromBatch(at, b, missing)
	}
	if at.Offset >= p.HighWatermark {
		return found{}, missing(fmt.Sprintf("There is no offset %d yet: the log ends at %d.", at.Offset, p.HighWatermark))
	}
	return found{}, missing(fmt.Sprintf("Offset %d holds no record any more.", at.Offset))
}

func pickFromBatch(at RecordAddress, b record.Batch, missing func(string) error) (found, error) {
	if b.BaseOffset() > at.Offset {
		return found{}, missing(fmt.Sprintf("Offset %d holds no record any more (compaction); the next one is %d.", at.Offset, b.BaseOffset()))
	}
	if b.IsControl() {
		return found{}, missing(fmt.Sprintf("Offset %d holds a transaction marker.", at.Offset))
	}
	out := found{batch: record.Batch(bytes.Clone(b[:record.HeaderSize]))}
	ok := false
	d := &record.Decompressor{}
	err := d.Walk(b, func(r record.Record) error {
		if r.Offset != at.Offset {
			return nil
		}
		raw := copyRecord(r)
		out.rec, ok = r, true
		out.rec.Key, out.rec.Value, out.rec.Headers = raw.Key, raw.Value, raw.Headers
		return record.ErrStop
	})
	switch {
	case err != nil:
		return found{}, &Problem{Code: "UNREADABLE_BATCH", Title: "The batch of this record cannot be read.", Detail: err.Error(), Operation: "Fetch", Resource: partitionName(tp{at.Topic, at.Partition}), cause: err}
	case !ok:
		return found{}, missing(fmt.Sprintf("Offset %d holds no record any more (compaction).", at.Offset))
	}
	return out, nil
}

// Record is one record in full, long contents by their first slice.
func (c *Connection) Record(ctx context.Context, at RecordAddress) (RecordDetail, error) {
	f, err := c.fetchRecord(ctx, at)
	if err != nil {
		return RecordDetail{}, err
	}
	d := RecordDetail{
		Partition: at.Partition, Offset: at.Offset, Timestamp: f.rec.Timestamp, TimestampType: timestampType(f.batch, f.rec.Timestamp),
		Bytes: recordBytes(f.rec), Key: content(f.rec.Key, firstText, firstHex), Value: content(f.rec.Value, firstText, firstHex),
		Headers: []HeaderContent{}, HeaderCount: int32(len(f.rec.Headers)), Batch: batchInfo(f.batch),
	}
	for _, h := range f.rec.Headers[:min(len(f.rec.Headers), maxHeaders)] {
		d.Headers = append(d.Headers, HeaderContent{Key: h.Key, Value: content(h.Value, firstHeader, firstHeader)})
	}
	return d, nil
}

func content(data []byte, text, hex int64) Content {
	g := serde.Detect(data)
	c := Content{Kind: string(g.Kind), Bytes: int64(len(data)), Format: g.Format, Reason: g.Reason, Report: []FormatTried{}}
	for _, t := range g.Tried {
		c.Report = append(c.Report, FormatTried{Format: t.Format, OK: t.OK, Reason: t.Reason})
	}
	c.Text, c.Pretty = textView(data, g, 0, text), prettyView(data, g, 0, text)
	if len(data) > 0 {
		c.Hex = hexView(data, 0, hex)
	}
	return c
}

func textView(data []byte, g serde.Guess, from, length int64) *Slice {
	s, ok := serde.TextSlice(data, g, from, length)
	if !ok {
		return nil
	}
	return sliceOf(string(s.Data), s)
}

func prettyView(data []byte, g serde.Guess, from, length int64) *Slice {
	s, ok := serde.PrettySlice(data, g, from, length)
	if !ok {
		return nil
	}
	return sliceOf(string(s.Data), s)
}

func hexView(data []byte, from, length int64) *Slice {
	text, s := serde.HexSlice(data, from, length)
	return sliceOf(text, s)
}

func sliceOf(text string, s serde.Slice) *Slice {
	out := &Slice{Data: text, From: s.From, Total: s.Total}
	if next, more := s.Next(); more {
		out.Next = &next
	}
	return out
}

func batchInfo(b record.Batch) BatchInfo {
	return BatchInfo{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Records: b.Count(), Bytes: int64(b.Length()) + record.LogOverhead,
		Compression: b.Codec().String(), LeaderEpoch: b.PartitionLeaderEpoch(), ProducerID: b.ProducerID(), ProducerEpoch: int32(b.ProducerEpoch()),
		BaseSequence: b.BaseSequence(), Transactional: b.IsTransactional(), Control: b.IsControl(), Magic: int32(b.Magic()),
	}
}

// RecordBytes gives the exact bytes of a part; a null part is an error, since a file cannot show it.
func (c *Connection) RecordBytes(ctx context.Context, at RecordAddress, part Part) ([]byte, error) {
	data, err := c.recordPart(ctx, at, part)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &Problem{Code: "NULL_PART", Title: "The " + part.Name + " is null: there are no bytes to save."}
	}
	return data, nil
}

func (c *Connection) recordPart(ctx context.Context, at RecordAddress, part Part) ([]byte, error) {
	f, err := c.fetchRecord(ctx, at)
	if err != nil {
		return nil, err
	}
	switch part.Name {
	case "key":
		return f.rec.Key, nil
	case "value":
		return f.rec.Value, nil
	}
	if part.Header < 0 || part.Header >= len(f.rec.Headers) {
		return nil, &Problem{Code: "NO_SUCH_RECORD", Title: fmt.Sprintf("The record has no header %d; it has %s, counted from 0.", part.Header, count(len(f.rec.Headers), "header"))}
	}
	return f.rec.Headers[part.Header].Value, nil
}

// RecordSlice is a further window on a part.
func (c *Connection) RecordSlice(ctx context.Context, at RecordAddress, q SliceRequest) (Slice, error) {
	data, err := c.recordPart(ctx, at, q.Part)
	if err != nil {
		return Slice{}, err
	}
	length := int64(min(max(q.Length, 1), maxSlice))
	g := serde.Detect(data)
	var out *Slice
	switch q.View {
	case "hex":
		out = hexView(data, q.From, length)
	case "pretty":
		out = prettyView(data, g, q.From, length)
	default:
		out = textView(data, g, q.From, length)
	}
	if out == nil {
		return Slice{}, &Problem{Code: "INVALID_REQUEST", Title: "There is no " + q.View + " view of this " + q.Part.Name + ": it is " + g.Format + ".", Help: "Use the hex view."}
	}
	return *out, nil
}
