// Package javatools drives the broker with Apache Kafka's own command line tools, unmodified.
package javatools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/test/harness"
)

func TestJavaTools(t *testing.T) {
	target := harness.StartTarget(t, harness.KeptDir(t, "javatools"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		s := suite{target: target, addr: addr, prefix: prefix}
		t.Run("topics", s.topics)
		t.Run("topics of an unknown name", s.topicsUnknown)
		t.Run("topics refuses an illegal name", s.topicsIllegal)
		t.Run("configs of topics", s.topicConfigs)
		t.Run("configs of brokers", s.brokerConfigs)
		t.Run("configs refuses an invalid value", s.configsInvalid)
		t.Run("api-versions", s.apiVersions)
		t.Run("cluster", s.cluster)
		t.Run("log-dirs", s.logDirs)
		t.Run("console-producer and console-consumer", s.console)
		t.Run("get-offsets", s.getOffsets)
		t.Run("consumer-groups", s.consumerGroups)
		t.Run("verifiable-producer and verifiable-consumer", s.verifiable)
		t.Run("producer-perf and consumer-perf", s.performance)
	})
	target.Stop(t)
}

type suite struct {
	target       *harness.Target
	addr, prefix string
}

// tool runs a tool against the broker.
func (s suite) tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	return harness.Tool(t, name, append(args, "--bootstrap-server", s.addr)...)
}

func (s suite) topic(t *testing.T, name string, partitions int32) string {
	t.Helper()
	topic := s.prefix + "-" + name
	harness.CreateTopic(t, harness.Admin(t, s.addr), topic, partitions, nil)
	return topic
}

// expect checks a tool's output against a pattern.
func expect(t *testing.T, out, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
		t.Errorf("no line matches %s in:\n%s", pattern, out)
	}
}

func (s suite) topics(t *testing.T) {
	topic := s.prefix + "-topics"
	out := s.tool(t, "topics", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1", "--config", "retention.ms=3600000")
	expect(t, out, `^Created topic `+topic+`\.$`)
	out = s.tool(t, "topics", "--describe", "--topic", topic)
	expect(t, out, `^Topic: `+topic+`\tTopicId: [A-Za-z0-9_-]{22}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: .*retention\.ms=3600000`)
	for partition := range 3 {
		expect(t, out, fmt.Sprintf(`^\tTopic: %s\tPartition: %d\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: $`, topic, partition))
	}
	expect(t, s.tool(t, "topics", "--list"), `^`+topic+`$`)
	s.tool(t, "topics", "--alter", "--topic", topic, "--partitions", "5")
	expect(t, s.tool(t, "topics", "--describe", "--topic", topic), `PartitionCount: 5`)
	s.tool(t, "topics", "--delete", "--topic", topic)
	harness.WaitFor(t, "the topic to be gone", func() bool {
		return !strings.Contains(s.tool(t, "topics", "--list"), topic+"\n")
	})
}

func (s suite) topicsUnknown(t *testing.T) {
	out, errs, err := harness.TryTool(t, "", "topics", "--bootstrap-server", s.addr, "--describe", "--topic", s.prefix+"-nowhere")
	if err == nil {
		t.Errorf("describing an unknown topic: exit 0, printed %q", out)
	}
	expect(t, out+errs, `does not exist as expected`)
}

func (s suite) topicsIllegal(t *testing.T) {
	out, errs, err := harness.TryTool(t, "", "topics", "--bootstrap-server", s.addr, "--create", "--topic", s.prefix+" with space", "--partitions", "1")
	if err == nil {
		t.Errorf("an illegal topic name: exit 0, printed %q", out)
	}
	expect(t, out+errs, `InvalidTopicException|is illegal|is invalid`)
}

func (s suite) topicConfigs(t *testing.T) {
	entity := []string{"--entity-type", "topics", "--entity-name", s.topic(t, "configs", 1)}
	out := s.tool(t, "configs", append(entity, "--alter", "--add-config", "max.message.bytes=2000000,cleanup.policy=[compact,delete]")...)
	expect(t, out, `^Completed updating config for topic `)
	harness.WaitFor(t, "the new configuration", func() bool {
		out = s.tool(t, "configs", append(entity, "--describe")...)
		return strings.Contains(out, "max.message.bytes")
	})
	expect(t, out, `^  max\.message\.bytes=2000000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:max\.message\.bytes=2000000, DEFAULT_CONFIG:message\.max\.bytes=1048588\}$`)
	expect(t, out, `^  cleanup\.policy=compact,delete sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:cleanup\.policy=compact,delete, DEFAULT_CONFIG:log\.cleanup\.policy=delete\}$`)
	all := s.tool(t, "configs", append(entity, "--describe", "--all")...)
	for _, line := range []string{
		`retention\.ms=604800000 sensitive=false synonyms=\{\}`,
		`segment\.bytes=1073741824 sensitive=false synonyms=\{DEFAULT_CONFIG:log\.segment\.bytes=1073741824\}`,
		`compression\.type=producer sensitive=false synonyms=\{DEFAULT_CONFIG:compression\.type=producer\}`,
	} {
		expect(t, all, `^  `+line+`$`)
	}
	s.tool(t, "configs", append(entity, "--alter", "--delete-config", "max.message.bytes")...)
	harness.WaitFor(t, "the configuration to be the default again", func() bool {
		return !strings.Contains(s.tool(t, "configs", append(entity, "--describe")...), "max.message.bytes")
	})
}

func (s suite) brokerConfigs(t *testing.T) {
	out := s.tool(t, "configs", "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")
	expect(t, out, `^All configs for broker 1 are:$`)
	for _, line := range []string{`node\.id=1 sensitive=false`, `num\.partitions=1 sensitive=false`, `auto\.create\.topics\.enable=true sensitive=false`, `offsets\.topic\.replication\.factor=1 sensitive=false`} {
		expect(t, out, `^  `+line)
	}
}

func (s suite) configsInvalid(t *testing.T) {
	topic := s.topic(t, "configs-invalid", 1)
	for _, bad := range []string{"retention.ms=soon", "no.such.config=1"} {
		out, errs, err := harness.TryTool(t, "", "configs", "--bootstrap-server", s.addr, "--entity-type", "topics", "--entity-name", topic, "--alter", "--add-config", bad)
		if err == nil {
			t.Errorf("%s: exit 0, printed %q", bad, out)
		}
		expect(t, out+errs, `InvalidConfigurationException|Invalid value|Unknown topic config`)
	}
}

// The ranges are those of a real 4.4.0 node.
func (s suite) apiVersions(t *testing.T) {
	out := s.tool(t, "api-versions")
	want, err := os.ReadFile(filepath.Join("testdata", "api-versions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, out, `^\S+:`+s.target.Port+` \(id: 1 rack: null isFenced: false\) -> \($`)
	for line := range strings.Lines(string(want)) {
		expect(t, out, `^\t`+regexp.QuoteMeta(strings.TrimSpace(line))+` \[usable: \d+\],?$`)
	}
	if strings.Contains(out, "UNKNOWN") {
		t.Errorf("advertises keys that Kafka does not know:\n%s", out)
	}
}

func (s suite) cluster(t *testing.T) {
	properties, err := os.ReadFile(filepath.Join(s.target.DataDir, "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`(?m)^cluster\.id=(.+)$`).FindSubmatch(properties)
	if id == nil {
		t.Fatalf("no cluster.id in meta.properties:\n%s", properties)
	}
	out := harness.Tool(t, "cluster", "cluster-id", "--bootstrap-server", s.addr)
	expect(t, out, `^Cluster ID: `+regexp.QuoteMeta(string(id[1]))+`$`)
	out = harness.Tool(t, "cluster", "list-endpoints", "--bootstrap-server", s.addr)
	expect(t, out, `^1 +\S+ +`+s.target.Port+` +null +unfenced +broker *$`)
}

func (s suite) logDirs(t *testing.T) {
	topic := s.topic(t, "log-dirs", 1)
	harness.ToolInput(t, "some bytes\n", "console-producer", "--bootstrap-server", s.addr, "--topic", topic)
	out := s.tool(t, "log-dirs", "--describe", "--topic-list", topic)
	var report struct {
		Brokers []struct {
			Broker  int
			LogDirs []struct {
				LogDir     string
				Error      *string
				Partitions []struct {
					Partition       string
					Size, OffsetLag int64
					IsFuture        bool
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out[max(strings.IndexByte(out, '{'), 0):]), &report); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	file, err := os.Stat(filepath.Join(s.target.DataDir, topic+"-0", "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Brokers) != 1 || len(report.Brokers[0].LogDirs) != 1 || len(report.Brokers[0].LogDirs[0].Partitions) != 1 {
		t.Fatalf("want one broker, directory and partition:\n%s", out)
	}
	dir := report.Brokers[0].LogDirs[0]
	if got := dir.Partitions[0]; dir.Error != nil || got.Partition != topic+"-0" || got.Size != file.Size() || got.OffsetLag != 0 || got.IsFuture {
		t.Errorf("got %+v, want %s-0 with the %d bytes of its file", got, topic, file.Size())
	}
	if dir.LogDir != s.target.DataDir {
		t.Errorf("directory %s, want %s", dir.LogDir, s.target.DataDir)
	}
}

func (s suite) console(t *testing.T) {
	topic := s.topic(t, "console", 1)
	in := "h1:a,h2:b\tk1\tv1\nh1:ä,h1:again\tk2\t€\nh3:x\tk3\t\n"
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		harness.ToolInput(t, in, "console-producer", "--bootstrap-server", s.addr, "--topic", topic, "--compression-codec", codec,
			"--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
	}
	out := s.tool(t, "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "15", "--timeout-ms", "30000",
		"--formatter-property", "print.offset=true", "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true")
	var want strings.Builder
	for i, line := range strings.SplitAfter(strings.Repeat(in, 5), "\n")[:15] {
		fmt.Fprintf(&want, "Offset:%d\t%s", i, line)
	}
	if diff := cmp.Diff(want.String(), out); diff != "" {
		t.Errorf("consumed (-want +got):\n%s", diff)
	}
}

func (s suite) getOffsets(t *testing.T) {
	topic := s.topic(t, "get-offsets", 2)
	harness.ToolInput(t, "a\nb\nc\n", "console-producer", "--bootstrap-server", s.addr, "--topic", topic)
	// A partition without a record of that time has no line, or one without an offset.
	sum := func(when string) (total, lines int) {
		out := s.tool(t, "get-offsets", "--topic", topic, "--time", when)
		for _, found := range regexp.MustCompile(`(?m)^`+topic+`:[01]:(\d*)$`).FindAllStringSubmatch(out, -1) {
			offset, _ := strconv.Atoi(found[1])
			total, lines = total+offset, lines+1
		}
		return total, lines
	}
	for when, want := range map[string]int{"latest": 3, "earliest": 0} {
		if total, lines := sum(when); total != want || lines != 2 {
			t.Errorf("--time %s: %d in all over %d partitions, want %d over 2", when, total, lines, want)
		}
	}
	for _, when := range []string{"max-timestamp", "0"} {
		if _, lines := sum(when); lines == 0 {
			t.Errorf("--time %s found no partition, three records are there", when)
		}
	}
}
