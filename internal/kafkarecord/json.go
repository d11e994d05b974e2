package kafkarecord

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// AppendJSON writes a message the way Kafka's tools print it: {"type":..., "version":..., "data":{...}}.
// Type is the upper-case name of a metadata record and the number of a coordinator record; other
// messages are written as their data alone. 64-bit integers are exact decimal numbers.
func AppendJSON(dst []byte, m Message, version int16) []byte {
	switch s := m.Schema(); s.Kind {
	case KindMetadata:
		dst = append(dst, `{"type":"`+TypeName(s.Name)+`","version":`...)
	case KindKey, KindValue:
		dst = append(dst, `{"type":"`+strconv.Itoa(int(s.Key))+`","version":"`+strconv.Itoa(int(version))+`","data":`...)
		return append(appendObject(dst, m, version), '}')
	default:
		return appendObject(dst, m, version)
	}
	dst = strconv.AppendInt(dst, int64(version), 10)
	return append(appendObject(append(dst, `,"data":`...), m, version), '}')
}

// TypeName turns a Kafka class name into the constant its tools print: TopicRecord is TOPIC_RECORD.
func TypeName(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}

func appendObject(dst []byte, s Structure, version int16) []byte {
	dst = append(dst, '{')
	for i, f := range s.Fields(version) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.Name), ':')
		dst = appendValue(dst, f.Value, version)
	}
	return append(dst, '}')
}

func appendValue(dst []byte, value any, version int16) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return appendString(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case []byte:
		return appendString(dst, base64.StdEncoding.EncodeToString(v))
	case UUID:
		return appendString(dst, FormatUUID(v))
	case float64:
		return appendFloat(dst, v)
	case Structure:
		return appendObject(dst, v, version)
	case []Structure:
		return appendList(dst, v, version)
	case []int8:
		return appendList(dst, v, version)
	case []int16:
		return appendList(dst, v, version)
	case []int32:
		return appendList(dst, v, version)
	case []int64:
		return appendList(dst, v, version)
	case []string:
		return appendList(dst, v, version)
	case []UUID:
		return appendList(dst, v, version)
	}
	return fmt.Append(dst, value) // the integer types
}

func appendList[T any](dst []byte, list []T, version int16) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, v, version)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return strconv.AppendQuote(dst, s)
	}
	return append(dst, b...)
}

// appendFloat writes the shortest decimal that reads back as the same number; JSON has no NaN and no
// infinities, so these become strings.
func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return appendString(dst, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}
