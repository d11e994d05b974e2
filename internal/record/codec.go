package record

import "fmt"

// Codec is a compression of record batches, numbered as in the batch attributes.
type Codec int8

// The codecs of Kafka.
const (
	None Codec = iota
	Gzip
	Snappy
	Lz4
	Zstd
)

// String is the name Kafka's configuration uses.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case Lz4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("codec %d", int8(c))
}

// Valid tells whether the number names a codec.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }

// ParseCodec reads a codec by name: none (or uncompressed), gzip, snappy, lz4, zstd.
func ParseCodec(name string) (Codec, error) {
	if name == "uncompressed" {
		return None, nil
	}
	for c := None; c <= Zstd; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	return None, fmt.Errorf("unknown compression %q: use none, gzip, snappy, lz4 or zstd", name)
}

// DefaultLevel asks a codec for its usual effort.
const DefaultLevel = -1 << 31
