package serde

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// Eight bytes may be an int64, a double, or a short text in a one-byte character set. Counters, ids
// and times are integers with a zero or a control character in front, whatever their unit; the two
// functions here pick out of the rest what is very unlikely to be an integer.

// isLatin1Word tells text with an accented letter or two: all other bytes are what words are made of.
func isLatin1Word(data []byte) bool {
	accented, letters := 0, 0
	for _, c := range data {
		switch {
		case c >= 0xc0 && c != 0xd7 && c != 0xf7: // without the signs of multiplication and division
			accented++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c >= '0' && c <= '9', strings.IndexByte(" -'.,_", c) >= 0:
		default:
			return false
		}
	}
	return accented > 0 && accented <= 2 && (accented+letters)*2 > len(data)
}

// Doubles that people store lie in this range; the integers with the same bytes are beyond 4*10^18.
const (
	smallDouble = 1e-6
	largeDouble = 1e12
)

// isDouble tells 8 bytes that make a floating-point number of an everyday size.
func isDouble(data []byte) bool {
	if len(data) != 8 {
		return false
	}
	size := math.Abs(math.Float64frombits(binary.BigEndian.Uint64(data)))
	return size >= smallDouble && size <= largeDouble
}

func doubleText(data []byte) string {
	return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(data)), 'g', -1, 64)
}
