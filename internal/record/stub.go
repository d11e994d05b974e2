package record

import "errors"

var errStub = errors.New("stub")

// Compressor compresses record data with pooled encoders; safe for concurrent use.
type Compressor struct{}

// Compress appends the compressed form of src to dst.
func (c *Compressor) Compress(dst, src []byte, codec Codec, level int) ([]byte, error) {
	return nil, errStub
}

// DefaultMaxDecompressed bounds the records of one batch after decompression, in bytes.
const DefaultMaxDecompressed = 256 << 20

// Decompressor decompresses and walks batches with pooled decoders; safe for concurrent use. The
// zero value is ready.
type Decompressor struct {
	// MaxDecompressed bounds the decompressed records of one batch in bytes; 0 means DefaultMaxDecompressed.
	MaxDecompressed int
}

// Decompress appends the decompressed form of src to dst.
func (d *Decompressor) Decompress(dst, src []byte, codec Codec) ([]byte, error) { return nil, errStub }

// Header is one record header. A nil Value is null, an empty one is empty.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record. A nil Key or Value is null, an empty one is empty. Slices alias the
// walked batch (or a pooled buffer): copy what must outlive the callback.
type Record struct {
	Offset      int64 // absolute
	Timestamp   int64 // ms since 1970; the batch's MaxTimestamp under LogAppendTime
	OffsetDelta int32
	Key, Value  []byte
	Headers     []Header
}

// Walk calls fn for each record of b in order.
func (d *Decompressor) Walk(b Batch, fn func(Record) error) error { return errStub }

// TimestampType tells who sets the time of a record.
type TimestampType int8

// CreateTime is set by the producer, LogAppendTime by the broker.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// Validation says what a produced batch must satisfy (Kafka's LogValidator).
type Validation struct {
	MaxMessageBytes    int  // max.message.bytes, of the batch as received
	Compacted          bool // every record needs a key
	TimestampType      TimestampType
	TimestampBeforeMax int64 // message.timestamp.before.max.ms
	TimestampAfterMax  int64 // message.timestamp.after.max.ms
	Now                int64 // ms since 1970
	HeaderOnly         bool  // do not look into the records (klamm.validate=header)
	Decompressor       *Decompressor
}

// Result is what Validate found out.
type Result struct {
	MaxTimestamp            int64 // ms
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
	RecordErrors []RecordError
}

func (e *InvalidError) Error() string { return e.Message }

// KafkaCode is the error code for the client.
func (e *InvalidError) KafkaCode() int16 { return e.Code }

// Validate checks a produced batch.
func Validate(b Batch, v Validation) (Result, error) { return Result{}, errStub }

// BatchOptions describe a batch to build. The zero ProducerID is a real id: use NoProducerID.
type BatchOptions struct {
	BaseOffset           int64
	Codec                Codec
	Level                int // DefaultLevel, or the codec's own scale
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Transactional        bool
	Control              bool
	PartitionLeaderEpoch int32
	TimestampType        TimestampType
}

// Builder collects records into one batch.
type Builder struct{}

// NewBuilder starts an empty batch.
func NewBuilder(o BatchOptions) *Builder { return &Builder{} }

// Append adds a record; ts is ms since 1970. Slices are copied.
func (b *Builder) Append(ts int64, key, value []byte, headers []Header) {}

// Build returns the batch.
func (b *Builder) Build() (Batch, error) { return nil, errStub }
