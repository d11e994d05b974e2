package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
)

// transcript is what a broker answered to one script, one block a step.
type transcript struct {
	out   bytes.Buffer
	names map[string]string // bytes of ids that differ from run to run -> their place-holder
	last  map[string]answer // by title without version
}

// answer is what a step of an earlier version got.
type answer struct {
	version int16
	text    string
}

// request writes the title of a request and its answer; an answer equal to that of the version
// before is only named.
func (t *transcript) request(title string, req kmsg.Request, resp kmsg.Response, err error) error {
	name := kmsg.NameForKey(req.Key())
	text, err := t.answerText(resp, err)
	if err != nil {
		return fmt.Errorf("%s v%d: %s: %w", name, req.GetVersion(), title, err)
	}
	fmt.Fprintf(&t.out, "## %s v%d: %s\n", name, req.GetVersion(), title)
	key := name + ": " + title
	before, ok := t.last[key]
	if ok && before.text == text {
		fmt.Fprintf(&t.out, "as v%d\n", before.version)
		return nil
	}
	if t.last == nil {
		t.last = map[string]answer{}
	}
	t.last[key] = answer{req.GetVersion(), text}
	t.out.WriteString(text + "\n")
	return nil
}

// raw writes the answer to bytes that are not a proper request.
func (t *transcript) raw(title string, resp kmsg.Response, err error) error {
	text, err := t.answerText(resp, err)
	if err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	fmt.Fprintf(&t.out, "## raw: %s\n%s\n", title, text)
	return nil
}

func (t *transcript) answerText(resp kmsg.Response, err error) (string, error) {
	if errors.Is(err, errClosed) {
		return "connection closed", nil
	}
	if err != nil || resp == nil || reflect.ValueOf(resp).IsNil() {
		return "no answer", err
	}
	text, err := encode(t.value(reflect.ValueOf(resp).Elem(), reflect.TypeOf(resp).Elem().Name()))
	return string(text), err
}

// field keeps the order of a struct's fields in JSON.
type field struct {
	name  string
	value any
}

type object []field

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := encode(f.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", f.name, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is json.Marshal without the escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// value renders v. owner is the name of the struct that holds it.
func (t *transcript) value(v reflect.Value, owner string) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return t.value(v.Elem(), owner)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return nil
		}
		return t.object(v)
	case reflect.Slice:
		return t.slice(v, owner)
	case reflect.Array: // ids
		return t.id(v.Interface().([16]byte))
	case reflect.String:
		return t.text(v.String())
	}
	return v.Interface()
}

func (t *transcript) object(v reflect.Value) object {
	var o object
	name := v.Type().Name()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Name == "UnknownTags" || f.Name == "Version" {
			continue
		}
		if masked, ok := mask(name, f.Name, v.Field(i)); ok {
			o = append(o, field{f.Name, masked})
			continue
		}
		o = append(o, field{f.Name, t.value(v.Field(i), name)})
	}
	return o
}

func (t *transcript) slice(v reflect.Value, owner string) any {
	if v.IsNil() {
		return nil
	}
	if b, ok := v.Interface().([]byte); ok {
		if owner == "FetchResponseTopicPartition" {
			return batches(b)
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	list := make([]any, 0, v.Len())
	for i := range v.Len() {
		list = append(list, t.value(v.Index(i), owner))
	}
	if unordered(owner, v.Type().Elem().Name()) {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(asText(a), asText(b)) })
	}
	return list
}

func asText(v any) string {
	b, _ := encode(v) // only values that value built
	return string(b)
}

// unordered tells the lists that Kafka builds from hash tables.
func unordered(owner, element string) bool {
	switch element {
	case "DescribeConfigsResponseResourceConfig", "CreateTopicsResponseTopicConfig",
		"ApiVersionsResponseSupportedFeature", "ApiVersionsResponseFinalizedFeature",
		"MetadataResponseTopic", "ListGroupsResponseGroup", "DescribeLogDirsResponseDirTopic",
		"DescribeLogDirsResponseDirTopicPartition", "OffsetFetchResponseTopicPartition",
		"OffsetFetchResponseTopic", "OffsetFetchResponseGroupTopic", "CreatePartitionsResponseTopic",
		"IncrementalAlterConfigsResponseResource", "DescribeConfigsResponseResource",
		"CreateTopicsResponseTopic", "DeleteTopicsResponseTopic", "ProduceResponseTopic",
		"DescribeGroupsResponseGroup", "OffsetDeleteResponseTopic", "OffsetDeleteResponseTopicPartition", "ListOffsetsResponseTopic", "ListOffsetsResponseTopicPartition", "MetadataResponseTopicPartition":
		return true
	}
	return false
}

// mask replaces what differs between two brokers though both are right: their identity, the time,
// the words of error messages, the size of their disk.
func mask(owner, name string, v reflect.Value) (any, bool) {
	present := func(what string) (any, bool) {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, true
		}
		return what, true
	}
	switch name {
	case "ErrorMessage":
		if words := v.Elem(); words.IsValid() && (words.String() == "" || words.String() == "NONE") {
			return words.String(), true // what Kafka says of a success, in some answers
		}
		return present("<words>")
	case "Documentation":
		return present("<words>")
	case "ClusterID":
		return present("<cluster>")
	case "Host":
		if v.String() != "" {
			return "<host>", true
		}
	case "Port":
		if v.Int() > 0 {
			return "<port>", true
		}
	case "MemberID", "LeaderID", "Leader":
		if v.Kind() == reflect.String && v.String() != "" {
			return "<member>", true
		}
	case "ProducerID", "ProducerIDStart":
		if v.Int() >= 0 && owner == "InitProducerIDResponse" {
			return "<producer>", true
		}
	case "FinalizedFeaturesEpoch":
		return "<offset>", true
	case "Dir":
		return "<dir>", true
	case "TotalBytes", "UsableBytes":
		return "<bytes>", true
	case "ClientHost":
		return "<client>", true
	}
	return nil, false
}

func (t *transcript) id(id [16]byte) string {
	if id == ([16]byte{}) {
		return "<none>"
	}
	if name, ok := t.names[string(id[:])]; ok {
		return name
	}
	return "<id>"
}

func (t *transcript) text(s string) string {
	if name, ok := t.names[s]; ok {
		return name
	}
	return s
}

// batches renders fetched batches by what a consumer sees of them.
func batches(b []byte) any {
	list := []string{}
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if err != nil {
			return list // Kafka may cut the last batch at the byte limit; clients skip it
		}
		list = append(list, fmt.Sprintf("offsets %d-%d epoch %d %s bytes %d", batch.BaseOffset(), batch.LastOffset(), batch.PartitionLeaderEpoch(), batch.Codec(), len(batch)))
		b = rest
	}
	return list
}
