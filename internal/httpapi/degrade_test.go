package httpapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"klamm/internal/explorer"
)

// fakeOnly makes a fixture for what only a fake cluster can be made to do.
func fakeOnly(t *testing.T, opts ...kfake.Opt) *fixture {
	t.Helper()
	t.Setenv("KLAMM_TEST_KAFKA", "")
	return newFixture(t, opts...)
}

// A user who may only describe and read one topic can browse it; what is missing is named.
func TestNarrowPermissions(t *testing.T) {
	allow := func(op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "mine", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true}
	}
	f := fakeOnly(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(2, "mine", "other"), kfake.Superuser("PLAIN", "admin", "pw"),
		kfake.User("PLAIN", "narrow", "pw", allow(kmsg.ACLOperationDescribe), allow(kmsg.ACLOperationRead)))
	admin := f.client(kgo.SASL(plain.Auth{User: "admin", Pass: "pw"}.AsMechanism()))
	f.produce(admin, record("mine", 0, "k", "v"))
	c := f.addCluster(explorer.ClusterSettings{Name: "narrow", Bootstrap: []string{f.address}, Properties: map[string]string{
		"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "narrow", "sasl.password": "pw",
	}})
	base := "/clusters/" + c.ID
	var list explorer.TopicList
	f.do("listTopics", http.MethodGet, base+"/topics", nil, &list)
	if len(list.Topics) != 1 || list.Topics[0].Name != "mine" || *list.Topics[0].Records != 1 {
		t.Errorf("topics %+v", list.Topics)
	}
	var d explorer.TopicDetail
	f.do("getTopic", http.MethodGet, base+"/topics/mine", nil, &d)
	i := slices.IndexFunc(d.Problems, func(p explorer.Problem) bool { return p.Operation == "DescribeConfigs" })
	if len(d.Partitions) != 2 || *d.Partitions[0].End != 1 || i < 0 || d.Problems[i].Title != "Not authorised: DescribeConfigs on topic mine." {
		t.Errorf("detail %+v", d)
	}
	var o explorer.Overview
	f.do("overview", http.MethodGet, base, nil, &o)
	if len(o.Brokers) != 1 {
		t.Errorf("overview %+v", o)
	}
	var p explorer.Problem
	if status := f.do("getTopic", http.MethodGet, base+"/topics/other", nil, &p); status != 403 && status != 404 {
		t.Errorf("the other topic: %d %+v", status, p)
	}
	if status := f.do("deleteTopic", http.MethodDelete, base+"/topics/mine", nil, &p); status != 403 || p.Code != "TOPIC_AUTHORIZATION_FAILED" {
		t.Errorf("deleting: %d %+v", status, p)
	}
	if status := f.do("sendRecord", http.MethodPost, base+"/topics/mine/records", explorer.SendRequest{Key: text("k"), Value: text("v")}, &p); status != 403 || p.Title != "Not authorised: Produce on partition 0 of topic mine." && p.Title != "Not authorised: Produce on partition 1 of topic mine." {
		t.Errorf("sending: %d %+v", status, p)
	}
}

// certificate makes a self-signed certificate for localhost and writes it as a PEM file.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestLadderOverTLSAndSASL(t *testing.T) {
	cert, ca := certificate(t)
	f := fakeOnly(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "u", "pw"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	_, port, _ := net.SplitHostPort(f.address)
	with := func(changes ...string) map[string]string {
		props := map[string]string{
			"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "ssl.truststore.location": ca, "ssl.truststore.type": "PEM",
			"sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="pw";`,
		}
		for i := 0; i < len(changes); i += 2 {
			if props[changes[i]] = changes[i+1]; changes[i+1] == "-" {
				delete(props, changes[i])
			}
		}
		return props
	}
	cases := []struct {
		name, host string
		props      map[string]string
		step, code string // of the last rung; no code: all well
	}{
		{"right", "localhost", with(), "advertised", ""},
		{"wrong password", "localhost", with("sasl.jaas.config", `X required username="u" password="no";`), "sasl", "CLOSED_AT_ONCE"},
		{"unknown authority", "localhost", with("ssl.truststore.location", "-"), "tls", "TLS_UNKNOWN_CA"},
		{"wrong name", "127.0.0.1", with(), "tls", "TLS_WRONG_NAME"},
		{"name not checked", "127.0.0.1", with("ssl.endpoint.identification.algorithm", ""), "advertised", ""},
		{"plain to TLS", "localhost", with("security.protocol", "SASL_PLAINTEXT"), "apiVersions", "PLAIN_ON_TLS_PORT"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{net.JoinHostPort(c.host, port)}, Properties: c.props})
			last := r.Rungs[len(r.Rungs)-1]
			if last.Step != c.step || last.Code != c.code || r.OK != (c.code == "") {
				t.Fatalf("%+v", r)
			}
		})
	}
}

// switchable lets a test shut one broker's port while its cluster goes on.
type switchable struct {
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Listener][]net.Conn
	hung      map[net.Listener]bool
}

// hang makes a broker accept connections and answer nothing.
func (s *switchable) hang(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung[s.listeners[i]] = true
	for _, c := range s.conns[s.listeners[i]] {
		c.Close()
	}
}

func (s *switchable) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
	return &recording{Listener: l, owner: s}, nil
}

// kill closes a port and its connections.
func (s *switchable) kill(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[i].Close()
	for _, c := range s.conns[s.listeners[i]] {
		c.Close()
	}
}

type recording struct {
	net.Listener
	owner *switchable
}

func (r *recording) Accept() (net.Conn, error) {
	for {
		c, err := r.Listener.Accept()
		if err != nil {
			return nil, err
		}
		r.owner.mu.Lock()
		r.owner.conns[r.Listener] = append(r.owner.conns[r.Listener], c)
		hung := r.owner.hung[r.Listener]
		r.owner.mu.Unlock()
		if !hung {
			return c, nil
		}
	}
}

// index finds the broker that listens at address.
func (s *switchable) index(address string) int {
	return slices.IndexFunc(s.listeners, func(l net.Listener) bool { return l.Addr().String() == address })
}

func newSwitchable() *switchable {
	return &switchable{conns: map[net.Listener][]net.Conn{}, hung: map[net.Listener]bool{}}
}

// One of three brokers is dead, the first of the bootstrap list: every page works and names it.
func TestOneBrokerDead(t *testing.T) {
	ports := newSwitchable()
	f := fakeOnly(t, kfake.NumBrokers(3), kfake.ListenFn(ports.listen))
	addresses := f.fake.ListenAddrs()
	if err := f.fake.CreateTopic("wide", 3, nil); err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		if err := f.fake.MoveTopicPartition("wide", p, p); err != nil {
			t.Fatal(err)
		}
	}
	cl := f.client()
	for p := range int32(3) {
		f.produce(cl, record("wide", p, "k", fmt.Sprint(p)))
	}
	ports.kill(ports.index(addresses[0]))
	c := f.addCluster(explorer.ClusterSettings{Name: "three", Bootstrap: addresses})
	base := "/clusters/" + c.ID
	named := func(page string, problems []explorer.Problem) {
		t.Helper()
		if !slices.ContainsFunc(problems, func(p explorer.Problem) bool {
			return p.Code == "CONNECTION_REFUSED" && strings.Contains(p.Resource, addresses[0])
		}) {
			t.Errorf("%s does not name the dead broker: %+v", page, problems)
		}
	}
	var list explorer.TopicList
	f.do("listTopics", http.MethodGet, base+"/topics", nil, &list)
	named("topics", list.Problems)
	var d explorer.TopicDetail
	f.do("getTopic", http.MethodGet, base+"/topics/wide", nil, &d)
	known := 0
	for _, p := range d.Partitions {
		if p.End != nil {
			known++
		} else if p.Problem == nil {
			t.Errorf("partition %d says nothing", p.ID)
		}
	}
	if known != 2 || d.Records != nil {
		t.Errorf("partitions %+v", d.Partitions)
	}
	var groups explorer.GroupList
	f.do("listGroups", http.MethodGet, base+"/groups", nil, &groups)
	named("groups", groups.Problems)
	var brokers explorer.BrokerList
	f.do("listBrokers", http.MethodGet, base+"/brokers", nil, &brokers)
	named("brokers", brokers.Problems)
	if len(brokers.Brokers) != 3 {
		t.Errorf("brokers %+v", brokers)
	}
	var o explorer.Overview
	f.do("overview", http.MethodGet, base, nil, &o)
	named("overview", o.Problems)

	f.cluster = c.ID
	got := f.scan("wide", "range=newest")
	if len(got.rows) != 2 || len(got.problems) == 0 || !strings.Contains(got.done.Text, "1 partition could not be read") {
		t.Errorf("%d rows, %+v, %+v", len(got.rows), got.problems, got.done)
	}
}

// A broker that accepts connections and says nothing is waited for once a page, then named.
func TestOneBrokerHangs(t *testing.T) {
	ports := newSwitchable()
	f := fakeOnly(t, kfake.NumBrokers(2), kfake.ListenFn(ports.listen), kfake.SeedTopics(4, "wide"))
	addresses := f.fake.ListenAddrs()
	ports.hang(ports.index(addresses[1]))
	t.Cleanup(func() { ports.kill(ports.index(addresses[1])) })
	var groups explorer.GroupList
	f.do("listGroups", http.MethodGet, "/clusters/local/groups", nil, &groups)
	if len(groups.Problems) == 0 || groups.Problems[0].Code != "TIMEOUT" || !strings.Contains(groups.Problems[0].Title, addresses[1]) {
		t.Errorf("groups: %+v", groups.Problems)
	}
	got := f.scan("wide", "range=newest")
	if len(got.problems) == 0 || got.done.Reason == "failed" {
		t.Errorf("scan: %+v %+v", got.problems, got.done)
	}
}

func TestCompactionGapsDoNotStopAScan(t *testing.T) {
	f := fakeOnly(t)
	topic := f.topic("compacted", 1, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "2000"})
	cl := f.client(kgo.ProducerBatchMaxBytes(1000))
	for i := range 200 {
		key := fmt.Sprint("key-", i%10)
		if i%70 == 0 {
			key = fmt.Sprint("once-", i) // stays, with gaps around it
		}
		f.produce(cl, record(topic, 0, key, fmt.Sprint(i)))
	}
	f.fake.Compact()
	newest := f.scan(topic, "range=newest&limit=10000")
	oldest := f.scan(topic, "range=oldest&limit=10000")
	if newest.done.Progress.Gaps == 0 {
		t.Fatalf("nothing was compacted, so nothing is tested: %+v", newest.done)
	}
	back := offsets(newest.rows)
	slices.Reverse(back)
	if diff := cmp.Diff(offsets(oldest.rows), back); diff != "" || len(back) >= 200 {
		t.Fatalf("both ways differ, or show all: %d rows\n%s", len(back), diff)
	}
	if newest.done.Reason != "end" || newest.done.Progress.Scanned+newest.done.Progress.Gaps != 200 {
		t.Errorf("%+v", newest.done)
	}
}

func TestTailFollowsAMovedLeader(t *testing.T) {
	f := fakeOnly(t, kfake.NumBrokers(3))
	if err := f.fake.CreateTopic("moving", 1, nil); err != nil {
		t.Fatal(err)
	}
	cl := f.client()
	moves := int32(0)
	f.stream("moving", "range=live", func(e events) bool {
		if len(e.progress) == 0 {
			return true
		}
		if len(e.rows) == int(moves) && moves < 3 {
			moves++
			if err := f.fake.MoveTopicPartition("moving", 0, moves%3); err != nil {
				t.Fatal(err)
			}
			f.produce(cl, record("moving", 0, "k", fmt.Sprint(moves)))
		}
		return len(e.rows) < 3
	})
	if moves != 3 {
		t.Fatalf("%d moves", moves)
	}
}

// A topic that is deleted while its page is open ends the tail with words, also when another takes
// its name.
func TestTopicDeletedWhileItIsRead(t *testing.T) {
	for _, again := range []bool{false, true} {
		f := fakeOnly(t)
		if err := f.fake.CreateTopic("short-lived", 1, nil); err != nil {
			t.Fatal(err)
		}
		deleted := false
		var got events
		f.stream("short-lived", "range=live", func(e events) bool {
			if len(e.progress) > 0 && !deleted {
				deleted = true
				if err := f.fake.DeleteTopic("short-lived"); err != nil {
					t.Fatal(err)
				}
				if again {
					if err := f.fake.CreateTopic("short-lived", 1, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			got = e
			return true
		})
		if got.done == nil || got.done.Reason != "failed" || got.problems[len(got.problems)-1].Problem.Code != "TOPIC_DELETED" {
			t.Errorf("made anew %v: %+v, %+v", again, got.done, got.problems)
		}
	}
}

// named makes a broker advertise another address than it listens on.
type named struct {
	net.Listener
	addr net.Addr
}

func (n named) Addr() net.Addr { return n.addr }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

func TestAdvertisedAddressThatDoesNotResolve(t *testing.T) {
	var real string
	f := fakeOnly(t, kfake.ListenFn(func(network, at string) (net.Listener, error) {
		l, err := net.Listen(network, at)
		if err != nil {
			return nil, err
		}
		real = l.Addr().String()
		return named{l, address("broker.invalid:9092")}, nil
	}))
	r := f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{real}})
	last := r.Rungs[len(r.Rungs)-1]
	if r.OK || last.Step != "advertised" || last.Code != "UNRESOLVABLE" || !strings.Contains(last.Text, "broker.invalid:9092") || !strings.Contains(last.Help, "advertised.listeners") {
		t.Fatalf("%+v", r)
	}
}

// Everything works on older clusters, without what they lack.
func TestOlderClusters(t *testing.T) {
	for name, versions := range map[string]*kversion.Versions{"1.1": kversion.V1_1_0(), "2.8": kversion.V2_8_0(), "3.5": kversion.V3_5_0()} {
		t.Run(name, func(t *testing.T) {
			f := fakeOnly(t, kfake.MaxVersions(versions), kfake.SeedTopics(2, "old"))
			f.produce(f.client(kgo.MaxVersions(versions)), record("old", 0, "k", "v"))
			group := "g"
			cl := f.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics("old"), kgo.MaxVersions(versions))
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := cl.PollFetches(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			if err := cl.CommitUncommittedOffsets(ctx); err != nil {
				t.Fatal(err)
			}
			var o explorer.Overview
			f.do("overview", http.MethodGet, "/clusters/local", nil, &o)
			if o.Groups == nil || *o.Groups != 1 || o.Product.Name == "unknown API" {
				t.Errorf("overview %+v", o)
			}
			if row := findTopic(f.topics(), "old"); row == nil || *row.Records != 1 {
				t.Errorf("topic %+v", row)
			}
			if d := f.group(group); d.State != "Stable" || len(d.Offsets) != 2 || d.Lag == nil || *d.Lag != 0 {
				t.Errorf("group %+v", d)
			}
			sent := f.send("old", explorer.SendRequest{Key: text("k"), Value: text("sent")})
			if d := f.record("old", *sent.Partition, *sent.Offset); d.Value.Text.Data != "sent" {
				t.Errorf("record %+v", d)
			}
			if got := f.scan("old", "range=newest"); len(got.rows) != 2 {
				t.Errorf("scan %+v", got.done)
			}
		})
	}
}

// The list pages must not ask once a topic or once a group.
func TestListsAskInBulk(t *testing.T) {
	f := fakeOnly(t, kfake.NumBrokers(3))
	for i := range 2000 {
		if err := f.fake.CreateTopic(fmt.Sprintf("topic-%04d", i), 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		f.commit(fmt.Sprintf("group-%02d", i), fmt.Sprintf("topic-%04d", i), map[int32]int64{0: 0})
	}
	var requests atomic.Int32
	f.fake.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		f.fake.KeepControl()
		requests.Add(1)
		return nil, nil, false
	})
	if rows := f.topics(); len(rows) != 2000 || rows[0].Records == nil || rows[0].CleanupPolicy == "" {
		t.Fatalf("%d topics, first %+v", len(rows), rows[0])
	}
	if n := requests.Swap(0); n > 30 {
		t.Errorf("%d requests for the topic list", n)
	}
	if rows := f.groups(); len(rows) != 50 || rows[0].Lag == nil {
		t.Fatalf("%d groups, first %+v", len(rows), rows[0])
	}
	if n := requests.Swap(0); n > 40 {
		t.Errorf("%d requests for the group list", n)
	}
}
