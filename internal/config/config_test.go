package config

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustNew(t *testing.T, file map[string]string) *Broker {
	t.Helper()
	b, err := New(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// kafkaDump reads what kafka-configs --describe --all printed: name, value, synonyms.
func kafkaDump(t *testing.T, file string) map[string][2]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^  (\S+?)=(.*) sensitive=\w+ synonyms=\{(.*)\}$`)
	out := map[string][2]string{}
	for text := range strings.Lines(string(data)) {
		m := line.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		if m == nil {
			t.Fatalf("%s: line %q", file, text)
		}
		out[m[1]] = [2]string{m[2], m[3]}
	}
	return out
}

// shown prints an entry like kafka-configs does.
func shown(e Entry) [2]string {
	value := "null"
	if e.Value != nil {
		value = *e.Value
	}
	names := map[Source]string{
		SourceTopic: "DYNAMIC_TOPIC_CONFIG", SourceDynamicBroker: "DYNAMIC_BROKER_CONFIG", SourceDynamicDefaultBroker: "DYNAMIC_DEFAULT_BROKER_CONFIG",
		SourceStaticBroker: "STATIC_BROKER_CONFIG", SourceDefault: "DEFAULT_CONFIG", SourceGroup: "DYNAMIC_GROUP_CONFIG",
	}
	var parts []string
	for _, s := range e.Synonyms {
		parts = append(parts, fmt.Sprintf("%s:%s=%s", names[s.Source], s.Name, s.Value))
	}
	return [2]string{value, strings.Join(parts, ", ")}
}

// TestDescribeIsKafkas compares DescribeConfigs of topics and groups with a real 4.4.0 node's.
func TestDescribeIsKafkas(t *testing.T) {
	b := mustNew(t, nil).WithDynamic(map[string]string{"min.insync.replicas": "1"}, nil)
	for _, c := range []struct {
		file    string
		entries []Entry
	}{
		{"testdata/kafka-topic.txt", b.DescribeTopic(nil)},
		{"testdata/kafka-group.txt", b.DescribeGroup(nil)},
	} {
		got := map[string][2]string{}
		for _, e := range c.entries {
			got[e.Name] = shown(e)
		}
		if diff := cmp.Diff(kafkaDump(t, c.file), got); diff != "" {
			t.Errorf("%s: %s", c.file, diff)
		}
	}
}

// TestBrokerDefaultsAreKafkas compares all broker properties with a real node's, except those
// that the node's own file sets and those where Klamm differs on purpose.
func TestBrokerDefaultsAreKafkas(t *testing.T) {
	want := kafkaDump(t, "testdata/kafka-broker.txt")
	onPurpose := []string{"flush.policy", "klamm.validate", "log.dir", "metric.reporters", "node.id", "process.roles", "controller.listener.names", "metadata.max.idle.interval.ms", "min.insync.replicas"}
	for _, e := range mustNew(t, nil).DescribeBroker() {
		kafka, ok := want[e.Name]
		delete(want, e.Name)
		if slices.Contains(onPurpose, e.Name) || strings.Contains(kafka[1], "STATIC_BROKER_CONFIG") {
			continue
		}
		if got := shown(e); !ok || got != kafka {
			t.Errorf("%s: %q, Kafka has %q", e.Name, got, kafka)
		}
	}
	for name := range want {
		t.Errorf("Kafka has %s, the table has not", name)
	}
}

func TestEveryDefinitionIsSound(t *testing.T) {
	for _, scope := range []Scope{ScopeBroker, ScopeTopic, ScopeGroup} {
		seen := map[string]bool{}
		for _, d := range Defs(scope) {
			if seen[d.Name] {
				t.Errorf("%s is there twice", d.Name)
			}
			seen[d.Name] = true
			if len(d.Doc) < 10 || !strings.HasSuffix(d.Doc, ".") {
				t.Errorf("%s has no documentation: %q", d.Name, d.Doc)
			}
			if !d.Null && !(d.Kind == List && d.Default == "") {
				if parsed, err := d.Parse(d.Default); err != nil || (parsed != d.Default && d.Kind != Double) {
					t.Errorf("%s: its own default gives %q, %v", d.Name, parsed, err)
				}
			}
			if (d.Status == Supported) != (d.Reason == "") {
				t.Errorf("%s: status %d with reason %q", d.Name, d.Status, d.Reason)
			}
			for _, s := range d.Synonyms {
				if _, ok := Find(ScopeBroker, s.Name); !ok {
					t.Errorf("%s: synonym %s is no broker property", d.Name, s.Name)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		check              func(name, value string) error
		name, value, words string
	}{
		{CheckTopic, "retention.mss", "1", `unknown topic property "retention.mss"; did you mean retention.ms?`},
		{CheckTopic, "log.retention.bytes", "1", "did you mean retention.bytes?"},
		{CheckTopic, "zzz", "1", `unknown topic property "zzz"`},
		{CheckTopic, "retention.ms", "-2", "retention.ms must be a whole number of at least -1, not \"-2\""},
		{CheckTopic, "retention.ms", "9223372036854775808", "whole number"},
		{CheckTopic, "retention.ms", "", "whole number"},
		{CheckTopic, "segment.bytes", "2147483648", "whole number of at least 1048576"},
		{CheckTopic, "segment.bytes", "1000", "at least 1048576"},
		{CheckTopic, "preallocate", "yes", "preallocate must be true or false, not \"yes\""},
		{CheckTopic, "cleanup.policy", "delete,deletee", "a list of compact or delete"},
		{CheckTopic, "cleanup.policy", "delete,delete", "each at most once"},
		{CheckTopic, "compression.type", "brotli", "uncompressed, zstd, lz4, snappy, gzip or producer"},
		{CheckTopic, "compression.gzip.level", "0", "from 1 to 9 or -1"},
		{CheckTopic, "min.cleanable.dirty.ratio", "1.5", "a number from 0 to 1"},
		{CheckTopic, "remote.storage.enable", "true", "no remote storage"},
		{CheckTopic, "leader.replication.throttled.replicas", "1-2", "partition:broker"},
		{CheckGroup, "consumer.session.timeout.ms", "0", "at least 1"},
		{CheckGroup, "share.auto.offset.reset", "by_duration:1h", "by_duration:PERIOD"},
		{CheckBroker, "retention.ms", "1", "did you mean log.retention.ms?"},
		{CheckBroker, "num.partition", "1", "did you mean num.partitions?"},
		{CheckBroker, "offsets.topic.replication.factor", "40000", "whole number"},
		{CheckBroker, "authorizer.class.name", "org.example.Acl", "does not check permissions"},
		{CheckBroker, "log.dirs", "/a,/b", "exactly one directory"},
		{CheckBroker, "process.roles", "broker", "broker,controller"},
		{CheckBroker, "listeners", "localhost:9092", "NAME://HOST:PORT"},
		{CheckBroker, "listener.name.internal.ssl.keystore.locatio", "x", "did you mean ssl.keystore.location?"},
		{CheckBroker, "flush.policy", "never", "auto or kafka"},
	} {
		err := c.check(c.name, c.value)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.words) || e.KafkaCode() != 40 {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.words)
		}
	}
}

func TestAcceptances(t *testing.T) {
	for _, c := range []struct {
		check       func(name, value string) error
		name, value string
	}{
		{CheckTopic, "retention.ms", " -1 "},
		{CheckTopic, "cleanup.policy", "compact, delete"},
		{CheckTopic, "preallocate", "TRUE"},
		{CheckTopic, "flush.messages", "9223372036854775807"},
		{CheckTopic, "internal.segment.bytes", "512"},
		{CheckTopic, "leader.replication.throttled.replicas", "*"},
		{CheckTopic, "follower.replication.throttled.replicas", "0:1,1:2"},
		{CheckTopic, "remote.storage.enable", "false"},
		{CheckGroup, "share.auto.offset.reset", "by_duration:PT1H"},
		{CheckBroker, "authorizer.class.name", ""},
		{CheckBroker, "listener.name.internal.ssl.keystore.location", "/x"},
		{CheckBroker, "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", "x"},
		{CheckBroker, "zookeeper.connect", "localhost:2181"},
		{CheckBroker, "group.consumer.migration.policy", "bidirectional"},
		{CheckBroker, "listeners", "PLAINTEXT://:0,CONTROLLER://[::1]:9093"},
		{CheckBroker, "advertised.listeners", "PLAINTEXT://host:9092"},
	} {
		if err := c.check(c.name, c.value); err != nil {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
}

func TestCheckDynamic(t *testing.T) {
	for _, c := range []struct {
		name, value string
		cluster     bool
		words       string
	}{
		{"log.retention.ms", "1000", true, ""},
		{"log.retention.ms", "1000", false, ""},
		{"log.retention.ms", "x", false, "whole number"},
		{"node.id", "3", false, "restart"},
		{"listeners", "PLAINTEXT://:1", true, "single broker"},
		{"ssl.keystore.location", "/x", false, ""},
		{"listener.name.a.ssl.keystore.location", "/x", false, ""},
		{"nodeid", "3", false, "did you mean node.id?"},
	} {
		err := CheckDynamic(c.name, c.value, c.cluster)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.words)
		}
	}
}

func TestLayers(t *testing.T) {
	b, err := New(map[string]string{"log.retention.hours": "2", "num.partitions": "3", "broker.id": "7"}, map[string]string{"num.partitions": "4"})
	if err != nil {
		t.Fatal(err)
	}
	if b.Int("num.partitions") != 4 || b.NodeID() != 7 || b.Topic(nil).RetentionMs != 2*3_600_000 {
		t.Errorf("static: %d partitions, node %d, retention %d", b.Int("num.partitions"), b.NodeID(), b.Topic(nil).RetentionMs)
	}
	cluster := b.WithDynamic(map[string]string{"log.retention.ms": "5000", "num.io.threads": "broken"}, nil)
	if got := cluster.Topic(nil).RetentionMs; got != 5000 {
		t.Errorf("cluster default: %d", got)
	}
	own := b.WithDynamic(map[string]string{"log.retention.ms": "5000"}, map[string]string{"log.retention.ms": "6000"})
	if got := own.Topic(nil).RetentionMs; got != 6000 {
		t.Errorf("this broker: %d", got)
	}
	if got := own.Topic(map[string]string{"retention.ms": "7000"}).RetentionMs; got != 7000 {
		t.Errorf("override: %d", got)
	}
	for _, e := range own.DescribeTopic(map[string]string{"retention.ms": "7000"}) {
		if e.Name != "retention.ms" {
			continue
		}
		// log.retention.hours is dropped only in front of log.retention.ms, exactly as Kafka does.
		want := [2]string{"7000", "DYNAMIC_TOPIC_CONFIG:retention.ms=7000, DYNAMIC_BROKER_CONFIG:log.retention.ms=6000, DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=5000, STATIC_BROKER_CONFIG:log.retention.hours=2, DEFAULT_CONFIG:log.retention.hours=168"}
		if got := shown(e); got != want || e.Source != SourceTopic {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if b.Topic(nil).RetentionMs != 2*3_600_000 {
		t.Error("WithDynamic changed its receiver")
	}
	if got := own.DescribeClusterDefaults(); len(got) != 1 || got[0].Name != "log.retention.ms" || *got[0].Value != "5000" {
		t.Errorf("cluster defaults: %+v", got)
	}
}

func TestUnitConversions(t *testing.T) {
	for _, c := range []struct {
		file map[string]string
		want int64
	}{
		{map[string]string{"log.retention.hours": "1"}, 3_600_000},
		{map[string]string{"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000},
		{map[string]string{"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3},
		{map[string]string{"log.retention.hours": "-1"}, -1},
		{map[string]string{"log.retention.ms": "-1", "log.retention.hours": "5"}, -1},
		{map[string]string{"log.retention.hours": "2147483647"}, 2147483647 * 3_600_000},
	} {
		if got := mustNew(t, c.file).Topic(nil).RetentionMs; got != c.want {
			t.Errorf("%v: %d, want %d", c.file, got, c.want)
		}
	}
	b := mustNew(t, map[string]string{"log.roll.hours": "3", "log.roll.jitter.ms": "9", "log.flush.scheduler.interval.ms": "11"})
	if c := b.Topic(nil); c.SegmentMs != 3*3_600_000 || c.SegmentJitterMs != 9 || c.FlushMs != 11 {
		t.Errorf("roll %d, jitter %d, flush %d", c.SegmentMs, c.SegmentJitterMs, c.FlushMs)
	}
}

func TestTopicConfig(t *testing.T) {
	got := mustNew(t, nil).Topic(map[string]string{"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime", "internal.segment.bytes": "500", "min.insync.replicas": "garbage"})
	want := TopicConfig{
		SegmentBytes: 500, SegmentMs: 604800000, SegmentIndexBytes: 10485760, RetentionMs: 604800000, RetentionBytes: -1,
		LocalRetentionMs: -2, LocalRetentionBytes: -2, MaxMessageBytes: 1048588, MaxDecompressedMessageBytes: 2147483639, IndexIntervalBytes: 4096,
		FileDeleteDelayMs: 60000, DeleteRetentionMs: 86400000, MaxCompactionLagMs: math.MaxInt64, MinCleanableDirtyRatio: 0.5, Compact: true,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64, MinInsyncReplicas: 1, CompressionType: "producer", GzipLevel: -1, Lz4Level: 9, ZstdLevel: 3,
		LogAppendTime: true, TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3600000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckTopicSet(t *testing.T) {
	b := mustNew(t, nil)
	if err := b.CheckTopicSet(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"}); err != nil {
		t.Error(err)
	}
	if err := b.CheckTopicSet(map[string]string{"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"}); err == nil || !strings.Contains(err.Error(), "max.compaction.lag.ms 10") {
		t.Errorf("lags: %v", err)
	}
	if err := b.CheckTopicSet(map[string]string{"bogus": "1"}); err == nil {
		t.Error("an unknown property passed")
	}
}

func TestListeners(t *testing.T) {
	b := mustNew(t, map[string]string{
		"listeners": "EXTERNAL://0.0.0.0:9092, internal://[::1]:0 ,CONTROLLER://:9093", "controller.listener.names": "CONTROLLER",
		"listener.security.protocol.map": "EXTERNAL:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT", "advertised.listeners": "EXTERNAL://kafka.example:19092",
	})
	want := []Listener{{"EXTERNAL", "0.0.0.0", 9092, "PLAINTEXT"}, {"INTERNAL", "::1", 0, "PLAINTEXT"}}
	if diff := cmp.Diff(want, b.Listeners()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Listener{{"EXTERNAL", "kafka.example", 19092, "PLAINTEXT"}}, b.AdvertisedListeners()); diff != "" {
		t.Error(diff)
	}
	if got := b.Listeners()[1].String(); got != "INTERNAL://[::1]:0" {
		t.Error(got)
	}
	if got := mustNew(t, nil); got.AdvertisedListeners() != nil || got.Listeners()[0].String() != "PLAINTEXT://localhost:9092" {
		t.Errorf("defaults: %v, %v", got.Listeners(), got.AdvertisedListeners())
	}
	for words, file := range map[string]map[string]string{
		"cannot serve yet":               {"listeners": "SSL://:9092"},
		"listener.security.protocol.map": {"listeners": "FOO://:9092"},
		"no address for clients":         {"listeners": "CONTROLLER://:9093"},
		"listeners has no EXTERNAL":      {"advertised.listeners": "EXTERNAL://h:1"},
		"clients can reach":              {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
		"-1 (for ever)":                  {"log.retention.ms": "0"},
	} {
		if _, err := New(file, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: %v, want %q", file, err, words)
		}
	}
}

func TestWarnings(t *testing.T) {
	b := mustNew(t, map[string]string{"num.io.threads": "16", "num.network.threads": "3", "zookeeper.connect": "x", "rsm.config.a": "1", "num.partitions": "2", "listener.name.a.ssl.protocol": "x"})
	got := strings.Join(b.Warnings(), "\n")
	for _, words := range []string{"num.io.threads has no effect", "zookeeper.connect has no effect", "rsm.config.a", "listener.name.a.ssl.protocol"} {
		if !strings.Contains(got, words) {
			t.Errorf("%q is missing in:\n%s", words, got)
		}
	}
	if strings.Contains(got, "num.network.threads") || strings.Contains(got, "num.partitions") {
		t.Errorf("a default or supported property is warned about:\n%s", got)
	}
}

// TestSecretsAreNotShown: neither errors nor descriptions repeat a password.
func TestSecretsAreNotShown(t *testing.T) {
	b := mustNew(t, map[string]string{"ssl.keystore.password": "s3cret"})
	for _, e := range b.DescribeBroker() {
		if text := fmt.Sprint(e, shown(e)); strings.Contains(text, "s3cret") || (e.Kind == Password && (e.Value != nil || !e.Sensitive)) {
			t.Errorf("%s shows %s", e.Name, text)
		}
	}
}

// TestPropertiesLikeJava replays files with the result that java.util.Properties had for them.
// Each case: the file in hex, then "key value" lines in UTF-16 hex after an x, or "error".
func TestPropertiesLikeJava(t *testing.T) {
	data, err := os.ReadFile("testdata/java-properties.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(data), "\n\n"), "\n\n")
	if len(cases) < 300 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		lines := strings.Split(c, "\n")
		file, err := hex.DecodeString(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		wantError := false
		for _, line := range lines[1:] {
			if line == "error" {
				wantError = true
			} else if key, value, ok := strings.Cut(line, " "); ok {
				want[utf16Hex(t, key)] = utf16Hex(t, value)
			}
		}
		got, err := ParseProperties(bytes.NewReader(file))
		if wantError {
			var e *PropertiesError
			if !errors.As(err, &e) {
				t.Errorf("%q: Java refuses it, got %q, %v", file, got, err)
			}
			continue
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %q (%v), Java has %q", file, got, err, want)
		}
	}
}

func utf16Hex(t *testing.T, text string) string {
	t.Helper()
	text = strings.TrimPrefix(text, "x")
	units := make([]uint16, 0, len(text)/4)
	for i := 0; i < len(text); i += 4 {
		n, err := strconv.ParseUint(text[i:i+4], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, uint16(n))
	}
	return string(utf16.Decode(units))
}

// escapeProperty writes text so that every reader of the format gives it back.
func escapeProperty(text string) string {
	var out strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&out, `\u%04x`, u)
	}
	return out.String()
}

func TestPropertiesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.StringN(1, 10, -1), rapid.String(), 0, 8).Draw(t, "properties")
		var file strings.Builder
		for key, value := range want {
			file.WriteString(escapeProperty(key) + rapid.SampledFrom([]string{"=", ":", " ", " = ", "\t:  "}).Draw(t, "separator") + escapeProperty(value) + rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n# c\n\n"}).Draw(t, "end"))
		}
		got, err := ParseProperties(strings.NewReader(file.String()))
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q from %q (%v)", got, file.String(), err)
		}
	})
}

func TestStockServerProperties(t *testing.T) {
	f, err := os.Open("testdata/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := ParseProperties(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID() != 1 || b.LogDir() != "/var/lib/kafka" || len(b.Listeners()) != 1 {
		t.Errorf("node %d, directory %q, listeners %v", b.NodeID(), b.LogDir(), b.Listeners())
	}
}

func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("a=b\nc : d\\\n  e\n# x\nf\\u0041=\\t"))
	f.Add([]byte("a=\\ud83d\\ude00\r\n!\r\n=\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseProperties(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again strings.Builder
		for key, value := range got {
			again.WriteString(escapeProperty(key) + "=" + escapeProperty(value) + "\n")
		}
		back, err := ParseProperties(strings.NewReader(again.String()))
		if err != nil || !maps.Equal(back, got) {
			t.Fatalf("%q became %q (%v)", got, back, err)
		}
	})
}
