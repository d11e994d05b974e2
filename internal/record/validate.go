package record

import (
	"errors"
	"fmt"
)

// TimestampType tells who sets the time of a record.
type TimestampType int8

// CreateTime is set by the producer, LogAppendTime by the broker.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// Kafka's error codes of refused batches.
const (
	codeCorruptMessage              int16 = 2
	codeMessageTooLarge             int16 = 10
	codeInvalidTimestamp            int16 = 32
	codeUnsupportedCompressionType  int16 = 76
	codeInvalidRecord               int16 = 87
	maxRecordErrors                       = 1000
	reasonInvalidTimestamp                = "One or more records have been rejected due to invalid timestamp"
	reasonLogAppendTimeFromProducer       = "a producer must not set the timestamp type LogAppendTime"
)

// Validation says what a produced batch must satisfy (Kafka's LogValidator and UnifiedLog).
type Validation struct {
	MaxMessageBytes    int           // max.message.bytes, of the batch as received (compressed)
	Compacted          bool          // every record needs a key
	TimestampType      TimestampType // message.timestamp.type
	TimestampBeforeMax int64         // message.timestamp.before.max.ms
	TimestampAfterMax  int64         // message.timestamp.after.max.ms
	Now                int64         // ms since 1970
	HeaderOnly         bool          // do not look into the records (klamm.validate=header)
	Decompressor       *Decompressor // pools and size bound; nil uses a fresh one
}

// Result is what Validate found out.
type Result struct {
	MaxTimestamp            int64 // ms; NoTimestamp when no record has one
	MaxTimestampOffsetDelta int32 // of the first record that has MaxTimestamp
	Codec                   Codec
}

// RecordError says what is wrong with one record of a batch.
type RecordError struct {
	Index   int32 // position in the batch, from 0
	Message string
}

// InvalidError is the refusal of a produced batch.
type InvalidError struct {
	Code         int16 // Kafka's error code
	Message      string
	RecordErrors []RecordError // at most 1000
	Cause        error         // a *TooLargeError when the batch was too large to look into, else nil
}

func (e *InvalidError) Error() string { return e.Message }

func (e *InvalidError) Unwrap() error { return e.Cause }

// KafkaCode is the error code for the client.
func (e *InvalidError) KafkaCode() int16 { return e.Code }

func invalid(code int16, format string, args ...any) *InvalidError {
	return &InvalidError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Validate checks a batch that a client produced and completes it in place as Kafka does: under
// LogAppendTime every record gets the time v.Now, else MaxTimestamp becomes the largest time of
// the records. The error is an *InvalidError. The records of a compressed batch are checked too.
func Validate(b Batch, v Validation) (Result, error) {
	if err := validateHeader(b, v); err != nil {
		return Result{}, err
	}
	res := Result{Codec: b.Codec(), MaxTimestamp: b.MaxTimestamp(), MaxTimestampOffsetDelta: b.LastOffsetDelta()}
	if !v.HeaderOnly {
		if err := validateRecords(b, v, &res); err != nil {
			return Result{}, err
		}
	}
	if v.TimestampType == LogAppendTime {
		res.MaxTimestamp, res.MaxTimestampOffsetDelta = v.Now, 0
		b.SetLogAppendTime(v.Now)
		return res, nil
	}
	b.SetMaxTimestamp(res.MaxTimestamp)
	return res, nil
}

func validateHeader(b Batch, v Validation) error {
	count := int64(b.LastOffsetDelta()) + 1
	switch {
	case b.Magic() != MagicV2:
		return invalid(codeInvalidRecord, "record format version (magic) %d is not supported, only %d", b.Magic(), MagicV2)
	case b.BaseOffset() != 0:
		return invalid(codeInvalidRecord, "a produced batch must have base offset 0, not %d", b.BaseOffset())
	case v.MaxMessageBytes > 0 && len(b) > v.MaxMessageBytes:
		return invalid(codeMessageTooLarge, "the record batch of %d bytes is larger than the topic's max.message.bytes, %d", len(b), v.MaxMessageBytes)
	case b.computeCRC() != b.CRC():
		return invalid(codeCorruptMessage, "the record batch is corrupt: its checksum is %08x, but its bytes give %08x", b.CRC(), b.computeCRC())
	case b.Count() <= 0 || count <= 0:
		return invalid(codeInvalidRecord, "a produced batch must hold records, this one claims %d", b.Count())
	case count != int64(b.Count()):
		return invalid(codeInvalidRecord, "the batch spans %d offsets but claims %d records", count, b.Count())
	case b.IsControl():
		return invalid(codeInvalidRecord, "clients are not allowed to write control records")
	case b.HasProducerID() && b.BaseSequence() < 0:
		return invalid(codeInvalidRecord, "the batch of producer %d has the invalid sequence number %d", b.ProducerID(), b.BaseSequence())
	case !b.Codec().Valid():
		return invalid(codeUnsupportedCompressionType, "the compression %v is unknown", b.Codec())
	case b.IsLogAppendTime() && (v.HeaderOnly || v.TimestampType == LogAppendTime):
		return &InvalidError{Code: codeInvalidTimestamp, Message: reasonLogAppendTimeFromProducer}
	}
	return nil
}

func validateRecords(b Batch, v Validation, res *Result) error {
	d := v.Decompressor
	if d == nil {
		d = &Decompressor{}
	}
	c := recordCheck{batch: b, validation: &v, maxTimestamp: NoTimestamp}
	if err := d.walkRaw(b, c.visit); err != nil {
		return walkError(err)
	}
	if len(c.errors) > 0 {
		return c.refusal()
	}
	res.MaxTimestamp, res.MaxTimestampOffsetDelta = c.maxTimestamp, c.maxDelta
	return nil
}

// walkError turns what the walk found into the refusal a client understands. The CRC was right,
// so the producer sent nonsense: INVALID_RECORD, which clients do not retry.
func walkError(err error) error {
	var refusal *InvalidError
	var corrupt *CorruptError
	var large *TooLargeError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &corrupt):
		return invalid(codeInvalidRecord, "the record batch is invalid: %s", corrupt.Reason)
	case errors.As(err, &large):
		return &InvalidError{Code: codeMessageTooLarge, Message: large.Error(), Cause: large}
	}
	return invalid(codeInvalidRecord, "%v", err)
}

// recordCheck is the state of one validating walk.
type recordCheck struct {
	batch        Batch
	validation   *Validation
	index        int32
	maxTimestamp int64
	maxDelta     int32
	badTimestamp bool
	total        int
	errors       []RecordError
}

func (c *recordCheck) visit(r *rawRecord) error {
	index := c.index
	c.index++
	if r.offsetDelta != index {
		return invalid(codeInvalidRecord, "record %d of the batch has offset delta %d, it must be %d", index, r.offsetDelta, index)
	}
	ts := r.timestamp(c.batch)
	v := c.validation
	switch {
	case v.Compacted && r.key == nil:
		c.add(index, "a compacted topic cannot accept a record without a key")
	case v.TimestampType == CreateTime && ts != NoTimestamp:
		// Differences wrap like Java's, so that the default of 2^63-1 means "any time".
		age := v.Now - ts
		if age > v.TimestampBeforeMax || -age > v.TimestampAfterMax {
			c.badTimestamp = true
			c.add(index, fmt.Sprintf("timestamp %d is out of range: it must be at most %d ms before and %d ms after the broker's time %d", ts, v.TimestampBeforeMax, v.TimestampAfterMax, v.Now))
		}
	case c.batch.IsLogAppendTime():
		c.badTimestamp = true
		c.add(index, reasonLogAppendTimeFromProducer)
	}
	if ts > c.maxTimestamp {
		c.maxTimestamp, c.maxDelta = ts, index
	}
	return nil
}

func (c *recordCheck) add(index int32, message string) {
	c.total++
	if len(c.errors) < maxRecordErrors {
		c.errors = append(c.errors, RecordError{Index: index, Message: message})
	}
}

func (c *recordCheck) refusal() *InvalidError {
	if c.badTimestamp {
		return &InvalidError{Code: codeInvalidTimestamp, Message: "one or more records have an invalid timestamp; " + c.first(), RecordErrors: c.errors}
	}
	return &InvalidError{Code: codeInvalidRecord, Message: fmt.Sprintf("%d records were refused; %s", c.total, c.first()), RecordErrors: c.errors}
}

func (c *recordCheck) first() string {
	return fmt.Sprintf("the first, at position %d of the batch: %s", c.errors[0].Index, c.errors[0].Message)
}
