package coordinator

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerWait is how long an answer may take before a request counts as waiting. Answers of a real
// broker that do not wait for another event arrive much sooner.
const answerWait = 700 * time.Millisecond

// fixedTopics are the topics of the tests.
type fixedTopics []TopicInfo

func testTopics() fixedTopics {
	return fixedTopics{
		{Name: "t1", ID: [16]byte{1, 15: 1}, Partitions: 3},
		{Name: "t2", ID: [16]byte{2, 15: 2}, Partitions: 1},
	}
}

func (f fixedTopics) TopicByName(name string) (TopicInfo, bool) {
	for _, t := range f {
		if t.Name == name {
			return t, true
		}
	}
	return TopicInfo{}, false
}

func (f fixedTopics) TopicByID(id [16]byte) (TopicInfo, bool) {
	for _, t := range f {
		if t.ID == id {
			return t, true
		}
	}
	return TopicInfo{}, false
}

// testConfig is the configuration of a scenario.
func testConfig(t testing.TB, overrides map[string]string) GroupConfig {
	t.Helper()
	number := func(name string) int {
		value, ok := overrides[name]
		if !ok {
			value = scenarioProperties[name]
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("%s=%s: %v", name, value, err)
		}
		return n
	}
	ms := func(name string) time.Duration { return time.Duration(number(name)) * time.Millisecond }
	return GroupConfig{
		InitialRebalanceDelay:  ms("group.initial.rebalance.delay.ms"),
		MinSessionTimeout:      ms("group.min.session.timeout.ms"),
		MaxSessionTimeout:      ms("group.max.session.timeout.ms"),
		MaxSize:                number("group.max.size"),
		OffsetMetadataMaxBytes: number("offset.metadata.max.bytes"),
		OffsetsRetention:       time.Duration(number("offsets.retention.minutes")) * time.Minute,
		RetentionCheckInterval: ms("offsets.retention.check.interval.ms"),
		LoadBufferBytes:        5 << 20,
		MaxBatchBytes:          1048588,
	}
}

func newTestRuntime(t testing.TB, log PartitionLog, config GroupConfig) *Runtime {
	t.Helper()
	r, err := NewRuntime(Options{
		Log: log, Topics: testTopics(), Config: config,
		Now: time.Now, Rand: rand.Reader, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func leadAll(r *Runtime, epoch int32) {
	for p := range int32(DefaultPartitions) {
		r.PartitionLeader(p, epoch)
	}
}

// productTarget is a Runtime over a log in memory, in a synctest bubble.
type productTarget struct {
	t       *testing.T
	runtime *Runtime
}

// send passes request and response through their wire form, as a socket would.
func (p *productTarget) send(clientID string, req kmsg.Request, reply func(kmsg.Response, error)) {
	received := kmsg.RequestForKey(req.Key())
	received.SetVersion(req.GetVersion())
	if err := received.ReadFrom(req.AppendTo(nil)); err != nil {
		p.t.Fatalf("%T version %d: %v", req, req.GetVersion(), err)
	}
	p.runtime.Request(context.Background(), received, clientID, "/127.0.0.1", func(resp kmsg.Response) {
		sent := req.ResponseKind()
		reply(sent, sent.ReadFrom(resp.AppendTo(nil)))
	})
}

func (p *productTarget) settle(unanswered func() int, _ int) {
	synctest.Wait()
	if unanswered() > 0 {
		// As long as a player on the network waits before it takes a request for a waiting one.
		p.sleep(answerWait)
	}
}

func (p *productTarget) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (p *productTarget) topicID(name string) [16]byte {
	if info, ok := testTopics().TopicByName(name); ok {
		return info.ID
	}
	return unknownTopicID
}

var unknownTopicID = [16]byte{0xde, 0xad, 15: 1}

func compareScenario(t *testing.T, s *scenario, got [][]string) {
	t.Helper()
	for i, line := range s.lines {
		if diff := cmp.Diff(line.want, got[i]); diff != "" {
			t.Errorf("%s:%d: %s (-Apache Kafka +ours)\n%s", s.path, line.number, line.text, diff)
		}
	}
}

func chosenScenarios(t *testing.T) []string {
	only := os.Getenv("KLAMM_GROUP_ONLY")
	var chosen []string
	for _, path := range scenarioFiles(t) {
		s := scenario{path: path}
		if only == "" || slices.Contains(splitComma(only), s.name()) {
			chosen = append(chosen, path)
		}
	}
	return chosen
}

// TestScenarios compares our answers with those recorded from Apache Kafka.
func TestScenarios(t *testing.T) {
	for _, path := range chosenScenarios(t) {
		s := readScenario(t, path)
		t.Run(s.name(), func(t *testing.T) {
			compareScenario(t, s, playOurs(t, s))
		})
	}
}

func playOurs(t *testing.T, s *scenario) (got [][]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		runtime := newTestRuntime(t, newMemLog(), testConfig(t, s.config))
		leadAll(runtime, 0)
		synctest.Wait()
		got = newPlayer(t, &productTarget{t: t, runtime: runtime}, "~1").play(s)
		runtime.Close()
	})
	return got
}
