package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"klamm/internal/explorer"
)

func (f *fixture) topics() []explorer.TopicRow {
	f.t.Helper()
	var list explorer.TopicList
	f.do("listTopics", http.MethodGet, "/clusters/local/topics", nil, &list)
	if len(list.Problems) > 0 {
		f.t.Errorf("problems %+v", list.Problems)
	}
	return list.Topics
}

func findTopic(rows []explorer.TopicRow, name string) *explorer.TopicRow {
	i := slices.IndexFunc(rows, func(r explorer.TopicRow) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

func TestTopicLifecycle(t *testing.T) {
	f := newFixture(t)
	name := f.name("orders.events_v1")
	var got explorer.TopicCreated
	create := explorer.TopicCreate{Name: name, Partitions: 3, Replication: 1, Configs: map[string]string{"cleanup.policy": "compact", "flush.messages": "9223372036854775807"}, ValidateOnly: true}
	f.do("createTopic", http.MethodPost, "/clusters/local/topics", create, &got)
	if !got.Validated || findTopic(f.topics(), name) != nil {
		t.Fatalf("validating created it: %+v", got)
	}
	create.ValidateOnly = false
	f.do("createTopic", http.MethodPost, "/clusters/local/topics", create, &got)
	if got.Partitions != 3 || got.Replication != 1 || got.ID == "" {
		t.Errorf("created %+v", got)
	}
	f.produce(f.client(), record(name, 0, "a", "1"), record(name, 0, "b", "2"), record(name, 2, "c", "3"))
	row := findTopic(f.topics(), name)
	if row == nil || row.Partitions != 3 || row.Records == nil || *row.Records != 3 || row.Bytes == nil || *row.Bytes == 0 || row.CleanupPolicy != "compact" || row.RecordsExact {
		t.Fatalf("listed as %+v", row)
	}
	f.checkDetail(name)
	f.checkImpactAndDelete(name)
}

func (f *fixture) checkDetail(name string) {
	f.t.Helper()
	var d explorer.TopicDetail
	f.do("getTopic", http.MethodGet, "/clusters/local/topics/"+url.PathEscape(name), nil, &d)
	if len(d.Partitions) != 3 || *d.Partitions[0].End != 2 || *d.Partitions[1].End != 0 || *d.Partitions[2].End != 1 || d.Partitions[0].State != "ok" || len(d.Problems) > 0 {
		f.t.Errorf("partitions %+v, problems %+v", d.Partitions, d.Problems)
	}
	if d.LastTimestamp == nil || *d.LastTimestamp == 0 {
		f.t.Error("the last write is not known")
	}
	byName := map[string]explorer.ConfigEntry{}
	for _, c := range d.Configs {
		byName[c.Name] = c
	}
	if c := byName["flush.messages"]; c.Value == nil || *c.Value != "9223372036854775807" || c.Default || c.Source != "DYNAMIC_TOPIC_CONFIG" {
		f.t.Errorf("flush.messages is %+v", c)
	}
	if c := byName["retention.ms"]; !c.Default || c.Value == nil {
		f.t.Errorf("retention.ms is %+v", c)
	}
}

func (f *fixture) checkImpactAndDelete(name string) {
	f.t.Helper()
	var impact explorer.TopicImpact
	f.do("topicImpact", http.MethodGet, "/clusters/local/topics/"+url.PathEscape(name)+"/impact", nil, &impact)
	if impact.Records == nil || *impact.Records != 3 || impact.Bytes == nil || len(impact.Groups) != 0 {
		f.t.Errorf("impact %+v", impact)
	}
	f.do("deleteTopic", http.MethodDelete, "/clusters/local/topics/"+url.PathEscape(name), nil, nil)
	if findTopic(f.topics(), name) != nil {
		f.t.Error("it is still listed")
	}
	var p explorer.Problem
	if status := f.do("getTopic", http.MethodGet, "/clusters/local/topics/"+url.PathEscape(name), nil, &p); status != http.StatusNotFound || p.Code != "UNKNOWN_TOPIC_OR_PARTITION" {
		f.t.Errorf("asked for afterwards: %d %+v", status, p)
	}
}

func TestTopicRefusals(t *testing.T) {
	f := newFixture(t)
	f.topic("taken", 1, nil)
	taken := f.topics()[0].Name
	cases := []struct {
		create explorer.TopicCreate
		status int
		code   string
	}{
		{explorer.TopicCreate{Name: taken, Partitions: 1, Replication: 1}, 409, "TOPIC_ALREADY_EXISTS"},
		{explorer.TopicCreate{Name: "a/b", Partitions: 1, Replication: 1}, 400, "INVALID_TOPIC_EXCEPTION"},
		{explorer.TopicCreate{Name: f.name("wide"), Partitions: 1, Replication: 7}, 400, "INVALID_REPLICATION_FACTOR"},
		{explorer.TopicCreate{Name: "", Partitions: 1, Replication: 1}, 422, "INVALID_REQUEST"},
	}
	for _, c := range cases {
		if f.fake != nil && c.code == "INVALID_TOPIC_EXCEPTION" {
			continue // kfake takes any name; the run against a real cluster covers it
		}
		var p explorer.Problem
		if status := f.do("createTopic", http.MethodPost, "/clusters/local/topics", c.create, &p); status != c.status || p.Code != c.code {
			t.Errorf("%+v: %d %+v", c.create, status, p)
		}
	}
	var p explorer.Problem
	if status := f.do("deleteTopic", http.MethodDelete, "/clusters/local/topics/no-such-topic", nil, &p); status != 404 {
		t.Errorf("deleting nothing: %d %+v", status, p)
	}
}

func TestTopicListWithoutDetailsIsOneRequest(t *testing.T) {
	f := newFixture(t)
	f.topic("plain", 2, nil)
	var list explorer.TopicList
	f.do("listTopics", http.MethodGet, "/clusters/local/topics?details=false", nil, &list)
	if len(list.Topics) == 0 || list.Topics[0].Records != nil {
		t.Fatalf("%+v", list)
	}
}

func TestOverviewAndBrokers(t *testing.T) {
	f := newFixture(t)
	f.topic("one", 4, nil)
	var o explorer.Overview
	f.do("overview", http.MethodGet, "/clusters/local", nil, &o)
	if len(o.Brokers) != 1 || o.Partitions < 4 || o.Topics < 1 || o.ClusterID == "" || o.Product.Keys == 0 || o.Cluster.ID != "local" || !o.Cluster.Embedded {
		t.Errorf("overview %+v", o)
	}
	if f.fake != nil && (o.Controller != nil || o.ControllerSource != "unknown: this cluster does not offer DescribeQuorum") {
		t.Errorf("controller %v from %q", o.Controller, o.ControllerSource)
	}
	if f.fake == nil && (o.Controller == nil || o.ControllerSource != "DescribeQuorum" || o.Product.Name != "Kafka 4.4 API") {
		t.Errorf("controller %v from %q, product %+v", o.Controller, o.ControllerSource, o.Product)
	}
	var b explorer.BrokerList
	f.do("listBrokers", http.MethodGet, "/clusters/local/brokers", nil, &b)
	if len(b.Brokers) != 1 || b.Brokers[0].Leaders < 4 || b.Brokers[0].LogBytes == nil || len(b.Brokers[0].LogDirs) == 0 {
		t.Errorf("brokers %+v", b)
	}
	var list explorer.ClusterList
	f.do("listClusters", http.MethodGet, "/clusters", nil, &list)
	if h := list.Clusters[0].Health; h.State != "up" || h.Brokers != 1 {
		t.Errorf("health %+v", h)
	}
}
