package httpapi

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"klamm/internal/explorer"
)

func (f *fixture) addCluster(s explorer.ClusterSettings) explorer.Cluster {
	f.t.Helper()
	var c explorer.Cluster
	if status := f.do("addCluster", http.MethodPost, "/clusters", s, &c); status != http.StatusCreated {
		f.t.Fatalf("status %d", status)
	}
	return c
}

func (f *fixture) list() explorer.ClusterList {
	f.t.Helper()
	var list explorer.ClusterList
	f.do("listClusters", http.MethodGet, "/clusters", nil, &list)
	return list
}

func TestClustersAreSaved(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	f.serve(explorer.Options{StateDir: dir, Embedded: &explorer.Embedded{Name: "local", Address: f.address}})
	secret := `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\"w";`
	a := f.addCluster(explorer.ClusterSettings{Name: "Прод 1", Bootstrap: []string{"a:9092, b"}, Properties: map[string]string{
		"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": secret,
	}})
	b := f.addCluster(explorer.ClusterSettings{Name: "Прод 1", Bootstrap: []string{"c:9092"}, ReadOnly: true})
	if a.ID != "прод-1" || b.ID == a.ID || a.Security != "SASL_PLAINTEXT" {
		t.Fatalf("ids %q and %q", a.ID, b.ID)
	}
	if a.Settings.Properties["sasl.jaas.config"] != "********" {
		t.Error("the secret is shown")
	}
	changed := a.Settings
	changed.Name = "renamed"
	var updated explorer.Cluster
	f.do("updateCluster", http.MethodPut, "/clusters/"+a.ID, changed, &updated)
	f.do("deleteCluster", http.MethodDelete, "/clusters/"+b.ID, nil, nil)

	raw, err := os.ReadFile(filepath.Join(dir, "clusters.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `password=\"p\\\"w\"`) {
		t.Error("changing the name lost the secret")
	}
	if info, _ := os.Stat(filepath.Join(dir, "clusters.json")); info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	f.serve(explorer.Options{StateDir: dir})
	list := f.list()
	if len(list.Clusters) != 1 || list.Clusters[0].Settings.Name != "renamed" || list.Clusters[0].ID != a.ID {
		t.Fatalf("read back %+v", list)
	}
}

func TestStateOfANewerVersionIsKept(t *testing.T) {
	f := newFixture(t)
	for name, content := range map[string]string{"newer": `{"version":99,"clusters":{}}`, "damaged": `{"version":1,`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "clusters.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f.serve(explorer.Options{StateDir: dir})
		list := f.list()
		if len(list.Problems) != 1 || list.Problems[0].Code != "STATE_PUT_ASIDE" {
			t.Fatalf("%s: %+v", name, list)
		}
		f.addCluster(explorer.ClusterSettings{Name: "x", Bootstrap: []string{"x"}})
		kept, err := filepath.Glob(filepath.Join(dir, "clusters.json.*.kept"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("%s: kept %v, %v", name, kept, err)
		}
		if raw, _ := os.ReadFile(kept[0]); string(raw) != content {
			t.Errorf("%s: the kept file changed", name)
		}
	}
}

func TestClusterRefusals(t *testing.T) {
	f := newFixture(t)
	cases := map[string]explorer.ClusterSettings{
		"no address":    {Name: "x", Bootstrap: []string{" "}},
		"odd address":   {Name: "x", Bootstrap: []string{"http//x y"}},
		"odd protocol":  {Name: "x", Bootstrap: []string{"a"}, Properties: map[string]string{"security.protocol": "TLS"}},
		"no mechanism":  {Name: "x", Bootstrap: []string{"a"}, Properties: map[string]string{"security.protocol": "SASL_SSL"}},
		"no user":       {Name: "x", Bootstrap: []string{"a"}, Properties: map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}},
		"no trust file": {Name: "x", Bootstrap: []string{"a"}, Properties: map[string]string{"security.protocol": "SSL", "ssl.truststore.location": "/no/such/file"}},
		"mask":          {Name: "x", Bootstrap: []string{"a"}, Properties: map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "********"}},
	}
	for name, s := range cases {
		var p explorer.Problem
		if status := f.do("addCluster", http.MethodPost, "/clusters", s, &p); status != 400 || p.Code != "INVALID_SETTINGS" || strings.Contains(p.Title, "  ") {
			t.Errorf("%s: %d %+v", name, status, p)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		var p explorer.Problem
		var body any
		if method == http.MethodPut {
			body = explorer.ClusterSettings{Name: "x", Bootstrap: []string{"a"}}
		}
		if status := f.do("", method, "/clusters/local", body, &p); status != 403 || p.Code != "EMBEDDED_CLUSTER" {
			t.Errorf("%s of the embedded cluster: %d %+v", method, status, p)
		}
		if status := f.do("", method, "/clusters/nowhere", body, &p); status != 404 || p.Code != "UNKNOWN_CLUSTER" {
			t.Errorf("%s of no cluster: %d %+v", method, status, p)
		}
	}
}

func TestReadOnlyClusterRefusesChanges(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("kept", 1, nil)
	c := f.addCluster(explorer.ClusterSettings{Name: "ro", Bootstrap: []string{f.address}, ReadOnly: true})
	base := "/clusters/" + c.ID
	changes := []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, base + "/topics", explorer.TopicCreate{Name: "new", Partitions: 1}},
		{http.MethodDelete, base + "/topics/" + topic, nil},
		{http.MethodPost, base + "/topics/" + topic + "/records", explorer.SendRequest{Key: text("k"), Value: text("v")}},
		{http.MethodDelete, base + "/groups/g", nil},
	}
	for _, c := range changes {
		var p explorer.Problem
		if status := f.do("", c.method, c.path, c.body, &p); status != 403 || p.Code != "READ_ONLY" {
			t.Errorf("%s %s: %d %+v", c.method, c.path, status, p)
		}
	}
	if findTopic(f.topics(), topic) == nil {
		t.Error("the topic is gone")
	}
}

func (f *fixture) test(s explorer.ClusterSettings) explorer.TestReport {
	f.t.Helper()
	var r explorer.TestReport
	f.do("testSettings", http.MethodPost, "/clusters/test", s, &r)
	return r
}

func TestLadderReachesEveryBroker(t *testing.T) {
	f := newFixture(t)
	r := f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{f.address}, Properties: map[string]string{"foo.interceptor": "x"}})
	var steps []string
	for _, rung := range r.Rungs {
		steps = append(steps, rung.Step)
		if rung.State != "ok" || rung.Text == "" {
			t.Errorf("rung %+v", rung)
		}
	}
	if !r.OK || strings.Join(steps, " ") != "connect apiVersions metadata advertised" || len(r.Ignored) != 1 {
		t.Errorf("%v %+v", steps, r)
	}
}

func TestLadderSaysWhatFails(t *testing.T) {
	f := newFixture(t)
	web := listen(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
	shut := listen(t, func(c net.Conn) { c.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	ssl := map[string]string{"security.protocol": "SSL"}
	cases := []struct {
		name, address string
		properties    map[string]string
		step, code    string
	}{
		{"refused", closed.Addr().String(), nil, "connect", "CONNECTION_REFUSED"},
		{"unresolvable", "no-such-host.invalid:9092", nil, "resolve", "UNRESOLVABLE"},
		{"web server", web, nil, "apiVersions", "NOT_KAFKA"},
		{"closes at once", shut, nil, "apiVersions", "CLOSED_AT_ONCE"},
		{"TLS to a plain port", web, ssl, "tls", "TLS_ON_PLAIN_PORT"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{c.address}, Properties: c.properties})
			last := r.Rungs[len(r.Rungs)-1]
			if r.OK || last.Step != c.step || last.Code != c.code || last.Text == "" || last.Help == "" {
				t.Fatalf("%+v", r)
			}
		})
	}
}

// A server that never answers, and one good address among dead ones.
func TestLadderEndsInTime(t *testing.T) {
	f := newFixture(t)
	silent := listen(t, func(net.Conn) {})
	started := time.Now()
	r := f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{silent}})
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if last := r.Rungs[len(r.Rungs)-1]; r.OK || last.Step != "apiVersions" || last.Code != "TIMEOUT" {
		t.Errorf("%+v", r)
	}
	r = f.test(explorer.ClusterSettings{Name: "x", Bootstrap: []string{"127.0.0.1:1", f.address}})
	if !r.OK || r.Rungs[0].State != "warning" {
		t.Errorf("one dead address: %+v", r)
	}
}

// listen serves each connection with do and keeps it open until the test ends.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var conns []net.Conn
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
			do(c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}
