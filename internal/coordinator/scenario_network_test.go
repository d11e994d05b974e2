//go:build oracle

package coordinator

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience is how long a slow machine may take to answer what is known not to wait.
const patience = 10 * time.Second

// networkTarget is a broker reached over TCP. Every request has a connection of its own, because
// a broker answers a connection in order and a waiting JoinGroup would hold up the rest.
type networkTarget struct {
	t      *testing.T
	addr   string
	topics map[string][16]byte
	quiet  time.Duration // how long nothing may arrive before the rest counts as waiting
}

func newNetworkTarget(t *testing.T, addr string) *networkTarget {
	n := &networkTarget{t: t, addr: addr, topics: map[string][16]byte{}, quiet: answerWait}
	n.awaitCoordinator()
	n.createTopics()
	return n
}

func (n *networkTarget) roundTrip(clientID string, req kmsg.Request) (kmsg.Response, error) {
	conn, err := net.Dial("tcp4", n.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := conn.Write(format.AppendRequest(nil, req, 7)); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	var size [4]byte
	if _, err := io.ReadFull(reader, size[:]); err != nil {
		return nil, fmt.Errorf("connection closed")
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(reader, frame); err != nil {
		return nil, err
	}
	body := frame[4:]
	resp := req.ResponseKind()
	if resp.IsFlexible() {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	return resp, nil
}

func (n *networkTarget) must(req kmsg.Request, version int16) kmsg.Response {
	n.t.Helper()
	req.SetVersion(version)
	resp, err := n.roundTrip("setup", req)
	if err != nil {
		n.t.Fatalf("%T to %s: %v", req, n.addr, err)
	}
	return resp
}

// awaitCoordinator makes the broker create __consumer_offsets and load it.
func (n *networkTarget) awaitCoordinator() {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if conn, err := net.Dial("tcp4", n.addr); err == nil {
			conn.Close()
		} else if time.Now().Before(deadline) {
			continue
		}
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey = "g"
		found := n.must(find, 3).(*kmsg.FindCoordinatorResponse)
		list := n.must(kmsg.NewPtrListGroupsRequest(), 4).(*kmsg.ListGroupsResponse)
		if found.ErrorCode == 0 && list.ErrorCode == 0 {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("no group coordinator at %s: %d %d", n.addr, found.ErrorCode, list.ErrorCode)
		}
	}
}

func (n *networkTarget) createTopics() {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis = 10000
	for name, partitions := range map[string]int32{"t1": 3, "t2": 1} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
		create.Topics = append(create.Topics, topic)
	}
	n.must(create, 5)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		metadata := n.must(kmsg.NewPtrMetadataRequest(), 12).(*kmsg.MetadataResponse)
		for _, topic := range metadata.Topics {
			n.topics[*topic.Topic] = topic.TopicID
		}
		if n.topics["t1"] != [16]byte{} && n.topics["t2"] != [16]byte{} {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%s has no topics t1 and t2", n.addr)
		}
	}
}

func (n *networkTarget) send(clientID string, req kmsg.Request, reply func(kmsg.Response, error)) {
	sent := make(chan struct{})
	go func() {
		close(sent)
		reply(n.roundTrip(clientID, req))
	}()
	<-sent
}

func (n *networkTarget) settle(unanswered func() int, expected int) {
	start := time.Now()
	for unanswered() > 0 {
		passed := time.Since(start)
		if passed >= n.quiet && (expected < 0 || unanswered() <= expected) || passed >= patience {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (n *networkTarget) sleep(d time.Duration) { time.Sleep(d) }

func (n *networkTarget) topicID(name string) [16]byte {
	if id, ok := n.topics[name]; ok {
		return id
	}
	return unknownTopicID
}

// brokerProperties reads the properties of the broker that a scenario may set.
func (n *networkTarget) brokerProperties() map[string]string {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
	req.Resources = append(req.Resources, resource)
	properties := map[string]string{}
	for _, r := range n.must(req, 4).(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			if c.Value != nil {
				properties[c.Name] = *c.Value
			}
		}
	}
	return properties
}

// TestRecordScenarios records the answers of Apache Kafka at KLAMM_GROUP_ORACLE (host:port) into the
// scenario files whose properties that node has. KLAMM_GROUP_ONLY=a,b limits it to files.
func TestRecordScenarios(t *testing.T) {
	addr := os.Getenv("KLAMM_GROUP_ORACLE")
	if addr == "" {
		t.Fatal("recording needs a real Kafka: set KLAMM_GROUP_ORACLE=host:port")
	}
	forEachOnNetwork(t, addr, expectOurs, func(t *testing.T, s *scenario, got [][]string) {
		for i := range s.lines {
			s.lines[i].want = got[i]
		}
		s.write(t)
	})
}

// TestScenariosOnBroker plays the scenarios against the broker at KLAMM_GROUP_TARGET (host:port).
func TestScenariosOnBroker(t *testing.T) {
	addr := os.Getenv("KLAMM_GROUP_TARGET")
	if addr == "" {
		t.Fatal("playing over a socket needs a broker: set KLAMM_GROUP_TARGET=host:port")
	}
	forEachOnNetwork(t, addr, func(*testing.T, *scenario) {}, compareScenario)
}

// expectOurs takes our own answers for what to wait for, so that a slow machine does not make
// answers late. What is recorded is the node's answer all the same.
func expectOurs(t *testing.T, s *scenario) {
	for i, lines := range playOurs(t, s) {
		s.lines[i].want = lines
	}
}

func forEachOnNetwork(t *testing.T, addr string, prepare func(*testing.T, *scenario), done func(*testing.T, *scenario, [][]string)) {
	node := newNetworkTarget(t, addr)
	properties := node.brokerProperties()
	played := 0
	for _, path := range chosenScenarios(t) {
		s := readScenario(t, path)
		if !s.fits(properties) {
			continue
		}
		played++
		prepare(t, s)
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			target := *node
			target.t = t
			p := newPlayer(t, &target, fmt.Sprintf("~%d", time.Now().UnixNano()))
			done(t, s, p.play(s))
		})
	}
	if played == 0 {
		t.Fatalf("the node at %s has the properties of no scenario", addr)
	}
}

// fits tells whether a node has exactly the group properties that a scenario wants.
func (s *scenario) fits(properties map[string]string) bool {
	for name, value := range scenarioProperties {
		if set, ok := s.config[name]; ok {
			value = set
		}
		if properties[name] != value {
			return false
		}
	}
	return true
}

func (s *scenario) write(t *testing.T) {
	t.Helper()
	var out strings.Builder
	for _, line := range s.lines {
		out.WriteString(line.text + "\n")
		for _, w := range line.want {
			out.WriteString("  " + w + "\n")
		}
	}
	if err := os.WriteFile(s.path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
