// Package commands runs klamm's client commands as a script would, against Klamm or, with
// KLAMM_TARGET=kafka, against Apache Kafka.
package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

func TestCommands(t *testing.T) {
	target := harness.StartTarget(t, harness.KeptDir(t, "commands"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		s := suite{binary: harness.Binary(t), target: target, addr: addr, prefix: prefix}
		t.Run("topic create list describe alter delete", s.topics)
		t.Run("produce and consume lines", s.lines)
		t.Run("headers and keys", s.headers)
		t.Run("JSON Lines round trip is byte-exact", s.roundTrip)
		t.Run("consume from", s.from)
		t.Run("group list and describe", s.groups)
		t.Run("cluster describe", s.cluster)
		t.Run("log dump", s.logDump)
		t.Run("exit codes", s.exitCodes)
	})
	target.Stop(t)
}

type suite struct {
	binary       string
	target       *harness.Target
	addr, prefix string
}

// klamm runs a command that must succeed. On standard error it may only say what it has done.
func (s suite) klamm(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, err := harness.Run(t, stdin, s.binary, append(args, "-b", s.addr)...)
	if err != nil || errs != "" && !strings.HasPrefix(errs, "wrote ") {
		t.Fatalf("klamm %s: %v\n%s\n%s", strings.Join(args, " "), err, out, errs)
	}
	return out
}

func expect(t *testing.T, out, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
		t.Errorf("no line matches %s in:\n%s", pattern, out)
	}
}

func (s suite) topics(t *testing.T) {
	topic := s.prefix + "-topics"
	s.klamm(t, "", "topic", "create", topic, "-p", "3", "--topic-config", "retention.ms=3600000")
	harness.WaitFor(t, "the topic in the list", func() bool {
		return strings.Contains(s.klamm(t, "", "topic", "list", "-o", "plain"), topic+"\n")
	})
	var described any
	text := s.klamm(t, "", "topic", "describe", topic, "-o", "json")
	if err := json.Unmarshal([]byte(text), &described); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	expect(t, text, `retention\.ms`)
	s.klamm(t, "", "topic", "alter", topic, "-p", "5", "--topic-config", "retention.ms=7200000")
	harness.WaitFor(t, "the change", func() bool {
		return regexp.MustCompile(`7200000`).MatchString(s.klamm(t, "", "topic", "describe", topic))
	})
	s.klamm(t, "", "topic", "delete", topic)
	harness.WaitFor(t, "the topic to be gone", func() bool {
		return !strings.Contains(s.klamm(t, "", "topic", "list", "-o", "plain"), topic+"\n")
	})
}

func (s suite) topic(t *testing.T, name string, partitions int32) string {
	t.Helper()
	topic := s.prefix + "-" + name
	harness.CreateTopic(t, harness.Admin(t, s.addr), topic, partitions, nil)
	return topic
}

func (s suite) lines(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := s.topic(t, "lines-"+codec, 1)
		in := "one\ntwo words\n\nfünf €\n"
		s.klamm(t, in, "produce", topic, "-z", codec)
		if out := s.klamm(t, "", "consume", topic, "--exit"); out != in {
			t.Errorf("%s: consumed %q, want %q", codec, out, in)
		}
	}
}

func (s suite) headers(t *testing.T) {
	topic := s.topic(t, "headers", 1)
	s.klamm(t, "k1:v1\nk2:v:2\n", "produce", topic, "-K", ":", "-H", "a=1", "-H", "a=2", "-H", "null")
	records := harness.ReadAll(t, s.addr, topic)
	if len(records) != 2 {
		t.Fatalf("%d records, want 2", len(records))
	}
	want := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}, {Key: "null"}}
	for i, r := range records {
		if diff := cmp.Diff(want, r.Headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if got := string(r.Key) + " " + string(r.Value); got != []string{"k1 v1", "k2 v:2"}[i] {
			t.Errorf("record %d is %q", i, got)
		}
	}
	if out := s.klamm(t, "", "consume", topic, "--exit", "-o", "key"); out != "k1\tv1\nk2\tv:2\n" {
		t.Errorf("consumed %q", out)
	}
}

// roundTrip copies awkward records by consume | produce and compares both topics byte for byte.
func (s suite) roundTrip(t *testing.T) {
	from, to := s.topic(t, "jsonl", 3), s.topic(t, "jsonl-copy", 3)
	values := [][]byte{nil, {}, []byte("null"), []byte(`{"n":23958446825181076828,"f":1.10}`), {0xff, 0xfe, 0, 'b'}, []byte("tab\tline\nquote\"back\\slash\u2028\x01\x7f"), []byte("Ünï ☃ 😀"), []byte(strings.Repeat("x", 100_000))}
	client := harness.Client(t, s.addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i, value := range values {
		for j, key := range values[:6] {
			r := &kgo.Record{Topic: from, Partition: int32((i + j) % 3), Key: key, Value: value, Headers: []kgo.RecordHeader{{Key: "h", Value: value}, {Key: "h", Value: key}, {Key: "ключ", Value: nil}}}
			if err := client.ProduceSync(harness.Context(t), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := s.klamm(t, "", "consume", from, "--exit", "-o", "jsonl")
	for line := range strings.Lines(lines) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %.200s", line)
		}
	}
	s.klamm(t, lines, "produce", to, "-f", "jsonl")
	if diff := cmp.Diff(content(harness.ReadAll(t, s.addr, from)), content(harness.ReadAll(t, s.addr, to))); diff != "" {
		t.Errorf("(-original +copy):\n%.3000s", diff)
	}
	if again := s.klamm(t, "", "consume", to, "--exit", "-o", "jsonl"); !sameLines(lines, again) {
		t.Error("the copy's JSON Lines differ from the original's")
	}
}

type record struct {
	Key, Value []byte
	Headers    []kgo.RecordHeader
	Time       int64
}

// content is what must survive a copy, per partition in order.
func content(records []*kgo.Record) map[int32][]record {
	out := map[int32][]record{}
	for _, r := range records {
		out[r.Partition] = append(out[r.Partition], record{r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli()})
	}
	return out
}

// sameLines: partitions may be interleaved differently, and the topic's name may be in the line.
func sameLines(a, b string) bool {
	count := map[string]int{}
	strip := regexp.MustCompile(`"topic":"[^"]*",?`)
	for line := range strings.Lines(a) {
		count[strip.ReplaceAllString(line, "")]++
	}
	for line := range strings.Lines(b) {
		count[strip.ReplaceAllString(line, "")]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func (s suite) from(t *testing.T) {
	topic := s.topic(t, "from", 1)
	client := harness.Client(t, s.addr, kgo.DefaultProduceTopic(topic))
	for i, value := range []string{"a", "b", "c", "d"} {
		r := kgo.StringRecord(value)
		r.Timestamp = time.UnixMilli(1_700_000_000_000 + int64(i)*1000)
		if err := client.ProduceSync(harness.Context(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[string]string{
		"beginning": "a\nb\nc\nd\n", "2": "c\nd\n", "-1": "d\n", "end": "", "@1700000001000": "b\nc\nd\n", "2023-11-14T22:13:23Z": "d\n",
	} {
		if out := s.klamm(t, "", "consume", topic, "--from", from, "--exit"); out != want {
			t.Errorf("--from %s: %q, want %q", from, out, want)
		}
	}
	if out := s.klamm(t, "", "consume", topic, "-n", "2"); out != "a\nb\n" {
		t.Errorf("-n 2: %q", out)
	}
}

func (s suite) groups(t *testing.T) {
	topic, group := s.topic(t, "groups", 1), s.prefix+"-commands"
	client := harness.Client(t, s.addr, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	s.klamm(t, "a\nb\nc\n", "produce", topic)
	fetches := client.PollRecords(harness.Context(t), 2)
	if err := client.CommitRecords(harness.Context(t), fetches.Records()...); err != nil {
		t.Fatal(err)
	}
	client.Close()
	expect(t, s.klamm(t, "", "group", "list"), `^`+group+`\b`)
	committed := len(fetches.Records())
	expect(t, s.klamm(t, "", "group", "describe", group), topic+`\s+0\s+`+string(rune('0'+committed))+`\s+3\s+`+string(rune('0'+3-committed)))
}

func (s suite) cluster(t *testing.T) {
	expect(t, s.klamm(t, "", "cluster", "describe"), `\b`+s.target.Port+`\b`)
	text := s.klamm(t, "", "cluster", "describe", "-o", "json")
	if !json.Valid([]byte(text)) {
		t.Errorf("not JSON: %s", text)
	}
}

// logDump reads the broker's own files while it runs.
func (s suite) logDump(t *testing.T) {
	topic := s.topic(t, "dump", 1)
	s.klamm(t, "find me\n", "produce", topic)
	segment := filepath.Join(s.target.DataDir, topic+"-0", "00000000000000000000.log")
	harness.WaitFor(t, "the record in its file", func() bool {
		info, err := os.Stat(segment)
		return err == nil && info.Size() > 0
	})
	out, errs, err := harness.Run(t, "", s.binary, "log", "dump", segment)
	if err != nil || errs != "" {
		t.Fatalf("log dump: %v\n%s", err, errs)
	}
	expect(t, out, `find me`)
}

func (s suite) exitCodes(t *testing.T) {
	for args, want := range map[string]int{
		"topic describe " + s.prefix + "-none": 1,
		"topic":                                2,
		"topic create":                         2,
		"consume --no-such-flag":               2,
		"nonsense":                             2,
		"--help":                               0,
	} {
		out, errs, err := harness.Run(t, "", s.binary, append(strings.Fields(args), bootstrapFor(args, s.addr)...)...)
		if got := harness.ExitCode(t, err); got != want {
			t.Errorf("klamm %s: exit %d, want %d\n%s%s", args, got, want, out, errs)
		}
	}
}

func bootstrapFor(args, addr string) []string {
	if strings.HasPrefix(args, "topic describe") {
		return []string{"-b", addr}
	}
	return nil
}
