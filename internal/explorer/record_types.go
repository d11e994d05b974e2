package explorer

import "klamm/internal/record"

// Preview is the bounded first look at a key, value or header.
type Preview struct {
	Kind      string `json:"kind" enum:"null,empty,json,text,integer,binary" doc:"null: no bytes at all (a tombstone when the value). empty: zero bytes."`
	Text      string `json:"text" doc:"Text for json, text and integer; hex for binary; empty for null and empty."`
	Truncated bool   `json:"truncated" doc:"Text does not show everything."`
	Bytes     int64  `json:"bytes,string" doc:"Size; 0 for null and empty."`
	Format    string `json:"format" doc:"What it was read as: JSON, text (UTF-8), int64, ..., hex."`
	Reason    string `json:"reason" doc:"Why."`
}

// RecordRow is one line of the message table.
type RecordRow struct {
	Partition     int32   `json:"partition"`
	Offset        int64   `json:"offset,string"`
	Timestamp     int64   `json:"timestamp,string" doc:"ms since 1970, UTC; -1 when the record has none."`
	TimestampType string  `json:"timestampType" enum:"CreateTime,LogAppendTime,none"`
	Key           Preview `json:"key"`
	Value         Preview `json:"value"`
	Headers       int32   `json:"headers" doc:"How many."`
	Bytes         int64   `json:"bytes,string" doc:"Key, value and headers, uncompressed."`
	LeaderEpoch   int32   `json:"leaderEpoch"`
	Transactional bool    `json:"transactional"`
	Compression   string  `json:"compression" doc:"Codec of its batch: none, gzip, snappy, lz4, zstd."`

	// Raw is the whole record when ScanRequest.Raw asks for it.
	Raw *RawRecord `json:"-"`
}

// RawRecord is a record's bytes. Nil is null, empty is empty; headers are in order.
type RawRecord struct {
	Key, Value []byte
	Headers    []record.Header
}

// Content is a key, value or header in full, as far as the limit goes.
type Content struct {
	Kind   string        `json:"kind" enum:"null,empty,json,text,integer,binary"`
	Bytes  int64         `json:"bytes,string" doc:"Size of the whole."`
	Format string        `json:"format"`
	Reason string        `json:"reason"`
	Text   *Slice        `json:"text,omitempty" doc:"As text, when it is valid UTF-8 (or Latin-1 with the reason saying so)."`
	Pretty *Slice        `json:"pretty,omitempty" doc:"JSON re-indented from the raw bytes: every digit and duplicate key as written."`
	Hex    *Slice        `json:"hex,omitempty"`
	Report []FormatTried `json:"report" doc:"The decode report: formats tried, in order."`
}

// FormatTried is one line of the decode report.
type FormatTried struct {
	Format string `json:"format"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// Slice is a window on a long content. From, Next and Total count in bytes of the view (for hex: of the
// raw bytes; for text and pretty: of the UTF-8 text).
type Slice struct {
	Data  string `json:"data" doc:"Text; for hex two digits a byte without separators."`
	From  int64  `json:"from,string"`
	Next  *int64 `json:"next,omitempty,string" doc:"Where the next slice starts; absent at the end."`
	Total int64  `json:"total,string"`
}

// HeaderContent is one header. Order and duplicates are as in the record.
type HeaderContent struct {
	Key   string  `json:"key"`
	Value Content `json:"value"`
}

// RecordDetail is one record in full.
type RecordDetail struct {
	Partition     int32           `json:"partition"`
	Offset        int64           `json:"offset,string"`
	Timestamp     int64           `json:"timestamp,string" doc:"ms since 1970, UTC; -1 when the record has none."`
	TimestampType string          `json:"timestampType" enum:"CreateTime,LogAppendTime,none"`
	Bytes         int64           `json:"bytes,string"`
	Key           Content         `json:"key"`
	Value         Content         `json:"value"`
	Headers       []HeaderContent `json:"headers" doc:"The first 1000."`
	HeaderCount   int32           `json:"headerCount"`
	Batch         BatchInfo       `json:"batch"`
}

// BatchInfo is the record batch a record lies in.
type BatchInfo struct {
	BaseOffset    int64  `json:"baseOffset,string"`
	LastOffset    int64  `json:"lastOffset,string" doc:"Inclusive."`
	Records       int32  `json:"records"`
	Bytes         int64  `json:"bytes,string" doc:"As stored, compressed."`
	Compression   string `json:"compression"`
	LeaderEpoch   int32  `json:"leaderEpoch"`
	ProducerID    int64  `json:"producerId,string" doc:"-1 without idempotence."`
	ProducerEpoch int32  `json:"producerEpoch"`
	BaseSequence  int32  `json:"baseSequence"`
	Transactional bool   `json:"transactional"`
	Control       bool   `json:"control"`
	Magic         int32  `json:"magic"`
}

// Payload is a key, value or header value to send.
type Payload struct {
	Kind string `json:"kind" enum:"null,text,json,hex,base64" doc:"null is no bytes; text with empty data is zero bytes. json is checked, then sent exactly as written."`
	Data string `json:"data,omitempty"`
}

// HeaderPayload is one header to send.
type HeaderPayload struct {
	Key   string  `json:"key"`
	Value Payload `json:"value"`
}

// SendRequest asks to append one record.
type SendRequest struct {
	Key          Payload         `json:"key"`
	Value        Payload         `json:"value"`
	Headers      []HeaderPayload `json:"headers,omitempty"`
	Partition    *int32          `json:"partition,omitempty" doc:"Absent: as the Java default partitioner: murmur2 of the key, any when the key is null."`
	Timestamp    *int64          `json:"timestamp,omitempty,string" doc:"ms since 1970, UTC; absent: now."`
	Compression  string          `json:"compression,omitempty" enum:"none,gzip,snappy,lz4,zstd"`
	ValidateOnly bool            `json:"validateOnly,omitempty" doc:"Only check the payloads and tell the partition."`
}

// SendResult is where the record went.
type SendResult struct {
	Partition   *int32 `json:"partition,omitempty" doc:"Absent when only validated and any partition may be chosen."`
	Offset      *int64 `json:"offset,omitempty,string" doc:"Absent when only validated."`
	Timestamp   *int64 `json:"timestamp,omitempty,string"`
	Partitioner string `json:"partitioner" doc:"How the partition was chosen, in words."`
	KeyBytes    int64  `json:"keyBytes,string"`
	ValueBytes  int64  `json:"valueBytes,string"`
	Millis      int32  `json:"millis"`
}

// RecordAddress is the place of one record.
type RecordAddress struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Part names a piece of a record: its key, value, or the header at an index.
type Part struct {
	Name   string // "key", "value" or "header"
	Header int    // index, for "header"
}

// SliceRequest asks for a window on a part.
type SliceRequest struct {
	Part   Part
	View   string // "text", "pretty" or "hex"
	From   int64  // byte of the view
	Length int    // bytes of the view
}
