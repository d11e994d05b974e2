package javatools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/test/harness"
)

func (s suite) consumerGroups(t *testing.T) {
	topic, group := s.topic(t, "consumer-groups", 1), s.prefix+"-tools"
	harness.ToolInput(t, "a\nb\nc\nd\ne\n", "console-producer", "--bootstrap-server", s.addr, "--topic", topic)
	if out := s.tool(t, "console-consumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "3", "--timeout-ms", "30000"); out != "a\nb\nc\n" {
		t.Errorf("the group read %q", out)
	}
	expect(t, s.tool(t, "consumer-groups", "--list"), `^`+group+`$`)
	out := s.tool(t, "consumer-groups", "--describe", "--group", group)
	expect(t, out, fmt.Sprintf(`^%s +%s +0 +3 +5 +2 +- +- +- *$`, group, topic))
	expect(t, s.tool(t, "consumer-groups", "--describe", "--group", group, "--state"), `^`+group+` +\S+:`+s.target.Port+` +\(1\) +- +Empty +0 *$`)
	expect(t, s.tool(t, "consumer-groups", "--list", "--state"), `^`+group+` +Empty *$`)
	s.tool(t, "consumer-groups", "--reset-offsets", "--to-earliest", "--group", group, "--topic", topic, "--execute")
	if got := harness.Committed(t, s.addr, group, topic)[0]; got != 0 {
		t.Errorf("reset to the earliest offset, the broker says %d", got)
	}
	s.tool(t, "consumer-groups", "--delete", "--group", group)
	if out := s.tool(t, "consumer-groups", "--list"); strings.Contains(out, group+"\n") {
		t.Errorf("deleted and still listed:\n%s", out)
	}
}

// event is one JSON line of the verifiable tools.
type event struct {
	Name      string
	Value     string
	Offset    int64
	Partition int32
	Sent      int
	Acked     int
	Count     int
	Success   bool
	Offsets   []struct{ Offset int64 }
}

func events(t *testing.T, out string) (all []event) {
	t.Helper()
	for line := range strings.Lines(out) {
		decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
		var e event
		if err := decoder.Decode(&e); err != nil {
			t.Fatalf("%v in line %q", err, line)
		}
		all = append(all, e)
	}
	return all
}

func (s suite) verifiable(t *testing.T) {
	const count = 5000
	topic := s.topic(t, "verifiable", 2)
	type at struct {
		Partition int32
		Offset    int64
	}
	acked, read := map[at]string{}, map[at]string{}
	for _, e := range events(t, s.tool(t, "verifiable-producer", "--topic", topic, "--max-messages", strconv.Itoa(count), "--acks", "-1")) {
		switch e.Name {
		case "producer_send_success":
			acked[at{e.Partition, e.Offset}] = e.Value
		case "producer_send_error":
			t.Errorf("send error: %+v", e)
		case "tool_data":
			if e.Sent != count || e.Acked != count {
				t.Errorf("sent %d, acknowledged %d, want %d", e.Sent, e.Acked, count)
			}
		}
	}
	var committed int64
	for _, e := range events(t, s.tool(t, "verifiable-consumer", "--topic", topic, "--group-id", s.prefix+"-verifiable", "--group-protocol", "classic",
		"--reset-policy", "earliest", "--max-messages", strconv.Itoa(count), "--verbose")) {
		switch e.Name {
		case "record_data":
			read[at{e.Partition, e.Offset}] = e.Value
		case "offsets_committed":
			if !e.Success {
				t.Errorf("a commit failed: %+v", e)
			}
		}
	}
	if diff := cmp.Diff(acked, read); diff != "" {
		t.Errorf("(partition, offset) -> value (-acknowledged +read):\n%.2000s", diff)
	}
	for _, offset := range harness.Committed(t, s.addr, s.prefix+"-verifiable", topic) {
		committed += max(offset, 0)
	}
	if len(read) != count || committed != count {
		t.Errorf("read %d records, committed %d, want %d", len(read), committed, count)
	}
}

// performance moves a million records of 100 bytes; speeds are printed, not judged.
func (s suite) performance(t *testing.T) {
	const count = 1_000_000
	topic := s.topic(t, "performance", 1)
	out := s.tool(t, "producer-perf", "--topic", topic, "--num-records", strconv.Itoa(count), "--record-size", "100", "--throughput", "-1")
	last := lastLine(out)
	if !strings.HasPrefix(last, strconv.Itoa(count)+" records sent, ") || strings.Contains(out, "Exception") {
		t.Fatalf("producer-perf ended with:\n%s", out)
	}
	t.Log("measured: perf producer-perf " + last)
	expect(t, s.tool(t, "get-offsets", "--topic", topic, "--time", "latest"), fmt.Sprintf(`^%s:0:%d$`, topic, count))
	out = s.tool(t, "consumer-perf", "--topic", topic, "--num-records", strconv.Itoa(count))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	names, values := fields(lines[0]), fields(lines[len(lines)-1])
	if i := slices.Index(names, "data.consumed.in.nMsg"); i < 0 || len(values) != len(names) || values[i] != strconv.Itoa(count) {
		t.Fatalf("consumer-perf did not consume %d records:\n%s", count, out)
	}
	if i := slices.Index(names, "data.consumed.in.MB"); i < 0 || !regexp.MustCompile(`^95\.36`).MatchString(values[i]) {
		t.Errorf("consumer-perf did not consume 95.37 MB:\n%s", out)
	}
	t.Log("measured: perf consumer-perf " + lines[len(lines)-1])
}

func fields(line string) []string {
	return regexp.MustCompile(`, +`).Split(strings.TrimSpace(line), -1)
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
