// Package kcat drives the broker with kcat, the command line client on librdkafka.
package kcat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/test/harness"
)

const count = 500 // records per topic

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func kcat(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, err := harness.Run(t, stdin, "kcat", args...)
	if err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, errs)
	}
	return out
}

// lines makes count lines KEY<tab>VALUE with values of many lengths.
func lines(seed string) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "%s-%d\t%d:%s\n", seed, i, i, strings.Repeat("ä€x", i%97))
	}
	return b.String()
}

func TestKcat(t *testing.T) {
	target := harness.StartTarget(t, harness.KeptDir(t, "kcat"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		s := suite{target: target, addr: addr, prefix: prefix}
		t.Run("list", s.list)
		t.Run("list as JSON", s.listJSON)
		for _, codec := range codecs {
			t.Run("produce and consume "+codec, func(t *testing.T) { s.roundTrip(t, codec) })
		}
		t.Run("null and empty", s.nullAndEmpty)
		t.Run("headers", s.headers)
		t.Run("from offset and from the end", s.offsets)
		t.Run("offset by time", s.byTime)
		t.Run("idempotent producer", s.idempotent)
		t.Run("group consume", s.group)
		t.Run("automatic topic creation", s.autoCreate)
		t.Run("unknown partition", s.unknownPartition)
	})
	target.Stop(t)
}

type suite struct {
	target       *harness.Target
	addr, prefix string
}

func (s suite) topic(t *testing.T, name string, partitions int32) string {
	t.Helper()
	topic := s.prefix + "-" + name
	harness.CreateTopic(t, harness.Admin(t, s.addr), topic, partitions, nil)
	return topic
}

func (s suite) list(t *testing.T) {
	topic := s.topic(t, "list", 3)
	out := kcat(t, "", "-b", s.addr, "-L")
	for _, want := range []string{" 1 brokers:", "(controller)", fmt.Sprintf("topic %q with 3 partitions:", topic), "partition 2, leader 1, replicas: 1, isrs: 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("the listing lacks %q:\n%s", want, out)
		}
	}
}

func (s suite) listJSON(t *testing.T) {
	topic := s.topic(t, "list-json", 2)
	var listing struct {
		ControllerID int `json:"controllerid"`
		Brokers      []struct {
			ID   int    `json:"id"`
			Name string `json:"name"`
		} `json:"brokers"`
		Topics []struct {
			Topic      string `json:"topic"`
			Partitions []struct {
				Leader int `json:"leader"`
			} `json:"partitions"`
		} `json:"topics"`
	}
	out := kcat(t, "", "-b", s.addr, "-L", "-J", "-t", topic)
	if err := json.Unmarshal([]byte(out), &listing); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(listing.Brokers) != 1 || !strings.HasSuffix(listing.Brokers[0].Name, ":"+s.target.Port) || listing.ControllerID != listing.Brokers[0].ID {
		t.Errorf("brokers: %+v, controller %d, want one on port %s", listing.Brokers, listing.ControllerID, s.target.Port)
	}
	if len(listing.Topics) != 1 || listing.Topics[0].Topic != topic || len(listing.Topics[0].Partitions) != 2 {
		t.Errorf("topics: %+v, want only %s with 2 partitions", listing.Topics, topic)
	}
}

func (s suite) roundTrip(t *testing.T, codec string) {
	topic := s.topic(t, codec, 1)
	in := lines(codec)
	kcat(t, in, "-b", s.addr, "-P", "-t", topic, "-p", "0", "-z", codec, "-K", "\t", "-X", "acks=all")
	out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-f", `%o\t%k\t%s\n`)
	var want strings.Builder
	for i, line := range strings.SplitAfter(in, "\n")[:count] {
		fmt.Fprintf(&want, "%d\t%s", i, line)
	}
	if diff := cmp.Diff(want.String(), out); diff != "" {
		t.Errorf("read back (-produced +consumed):\n%.2000s", diff)
	}
}

func (s suite) nullAndEmpty(t *testing.T) {
	topic := s.topic(t, "null", 1)
	kcat(t, "k1:\n:v2\n:\n", "-b", s.addr, "-P", "-t", topic, "-K", ":", "-Z")
	kcat(t, "k4:\n", "-b", s.addr, "-P", "-t", topic, "-K", ":")
	out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", `%K %k %S %s\n`)
	want := "2 k1 -1 \n-1  2 v2\n-1  -1 \n2 k4 0 \n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("key length, key, value length, value (-want +got):\n%s", diff)
	}
}

func (s suite) headers(t *testing.T) {
	topic := s.topic(t, "headers", 1)
	kcat(t, "v\n", "-b", s.addr, "-P", "-t", topic, "-H", "a=1", "-H", "b=two words", "-H", "a=2", "-H", "empty=", "-H", "null")
	out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", `%h|%s\n`)
	if want := "a=1,b=two words,a=2,empty=,null=NULL|v\n"; out != want {
		t.Errorf("headers in order, repeated key kept: got %q, want %q", out, want)
	}
}

func (s suite) offsets(t *testing.T) {
	topic := s.topic(t, "offsets", 1)
	kcat(t, "0\n1\n2\n3\n4\n5\n6\n", "-b", s.addr, "-P", "-t", topic)
	for from, want := range map[string]string{"4": "4\n5\n6\n", "-2": "5\n6\n", "end": "", "beginning": "0\n1\n2\n3\n4\n5\n6\n"} {
		if out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", from, "-e", "-q"); out != want {
			t.Errorf("from %s: got %q, want %q", from, out, want)
		}
	}
}

func (s suite) byTime(t *testing.T) {
	topic := s.topic(t, "time", 1)
	kcat(t, "a\nb\n", "-b", s.addr, "-P", "-t", topic)
	stamp := strings.TrimSpace(kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "1", "-c", "1", "-q", "-f", "%T"))
	first := strings.TrimSpace(kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "0", "-c", "1", "-q", "-f", "%T"))
	want := "1"
	if first == stamp {
		want = "0" // both in the same millisecond
	}
	if out := kcat(t, "", "-b", s.addr, "-Q", "-t", topic+":0:"+stamp); !strings.Contains(out, "offset "+want) {
		t.Errorf("first record not before %s: got %q, want offset %s", stamp, out, want)
	}
	if out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "s@"+first, "-e", "-q"); out != "a\nb\n" {
		t.Errorf("from the time of the first record: got %q", out)
	}
}

func (s suite) idempotent(t *testing.T) {
	topic := s.topic(t, "idempotent", 1)
	kcat(t, lines("i"), "-b", s.addr, "-P", "-t", topic, "-z", "lz4", "-K", "\t", "-X", "enable.idempotence=true", "-X", "batch.num.messages=7")
	if got := len(harness.ReadAll(t, s.addr, topic)); got != count {
		t.Errorf("%d records, want %d", got, count)
	}
}

func (s suite) group(t *testing.T) {
	topic, group := s.topic(t, "group", 3), s.prefix+"-group"
	in := lines("g")
	kcat(t, in, "-b", s.addr, "-P", "-t", topic, "-K", "\t")
	out := kcat(t, "", "-b", s.addr, "-G", group, "-X", "auto.offset.reset=earliest", "-e", "-q", "-f", `%k\t%s\n`, topic)
	if diff := cmp.Diff(sorted(in), sorted(out)); diff != "" {
		t.Errorf("read by the group (-produced +consumed):\n%.2000s", diff)
	}
	var committed int64
	for _, offset := range harness.Committed(t, s.addr, group, topic) {
		committed += max(offset, 0)
	}
	if committed != count {
		t.Errorf("the group committed %d in all, want %d", committed, count)
	}
	if again := kcat(t, "", "-b", s.addr, "-G", group, "-X", "auto.offset.reset=earliest", "-e", "-q", topic); again != "" {
		t.Errorf("a second run of the group reads nothing new, got %q", again)
	}
}

func (s suite) autoCreate(t *testing.T) {
	topic := s.prefix + "-auto"
	kcat(t, "hello\n", "-b", s.addr, "-P", "-t", topic)
	if out := kcat(t, "", "-b", s.addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q"); out != "hello\n" {
		t.Errorf("got %q", out)
	}
}

func (s suite) unknownPartition(t *testing.T) {
	topic := s.topic(t, "one", 1)
	_, errs, err := harness.Run(t, "", "kcat", "-b", s.addr, "-C", "-t", topic, "-p", "7", "-o", "beginning", "-e", "-q")
	if err == nil || !strings.Contains(errs, "partition 7 does not exist") {
		t.Errorf("kcat: %v, %q; want its complaint about an unknown partition", err, errs)
	}
}
