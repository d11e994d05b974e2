package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/internal/explorer"
)

// commit stores offsets of a group that has no members.
func (f *fixture) commit(group, topic string, offsets map[int32]int64) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	list := kadm.Offsets{}
	for p, o := range offsets {
		list.Add(kadm.Offset{Topic: topic, Partition: p, At: o, LeaderEpoch: -1, Metadata: "noted"})
	}
	if err := f.admin().CommitAllOffsets(ctx, group, list); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) group(name string) explorer.GroupDetail {
	f.t.Helper()
	var d explorer.GroupDetail
	f.do("getGroup", http.MethodGet, "/clusters/local/groups/"+url.PathEscape(name), nil, &d)
	return d
}

func (f *fixture) groups() []explorer.GroupRow {
	f.t.Helper()
	var list explorer.GroupList
	f.do("listGroups", http.MethodGet, "/clusters/local/groups", nil, &list)
	if len(list.Problems) > 0 {
		f.t.Errorf("problems %+v", list.Problems)
	}
	return list.Groups
}

func findGroup(rows []explorer.GroupRow, name string) *explorer.GroupRow {
	i := slices.IndexFunc(rows, func(r explorer.GroupRow) bool { return r.Group == name })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

func TestGroupNamesWork(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("names", 1, nil)
	for _, base := range []string{"data/data-serving:fwd", "p_#x", "principal@c", "a.b", "A'1[[X, Y]]", "%41", "группа 1", "a?b&c=d", "a+b", "sl//ash/"} {
		name := f.name(base)
		f.commit(name, topic, map[int32]int64{0: 0})
		if findGroup(f.groups(), name) == nil {
			t.Errorf("%q is not listed", name)
		}
		if d := f.group(name); d.Group != name || d.State != "Empty" || len(d.Offsets) != 1 || d.Offsets[0].Metadata != "noted" {
			t.Errorf("%q: %+v", name, d)
		}
		f.do("deleteGroup", http.MethodDelete, "/clusters/local/groups/"+url.PathEscape(name), nil, nil)
		var p explorer.Problem
		if status := f.do("getGroup", http.MethodGet, "/clusters/local/groups/"+url.PathEscape(name), nil, &p); status != 404 || p.Code != "UNKNOWN_GROUP" {
			t.Errorf("%q after deletion: %d %+v", name, status, p)
		}
	}
}

func TestOddOffsetsAreNamed(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("odd", 5, nil)
	cl := f.client()
	for p := range int32(4) {
		for range 10 {
			f.produce(cl, record(topic, p, "k", "v"))
		}
	}
	ctx := context.Background()
	trim := kadm.Offsets{}
	trim.Add(kadm.Offset{Topic: topic, Partition: 2, At: 6})
	if _, err := f.admin().DeleteRecords(ctx, trim); err != nil {
		t.Fatal(err)
	}
	name := f.name("odd-group")
	f.commit(name, topic, map[int32]int64{0: 3, 1: 144424, 2: 2})
	d := f.group(name)
	if len(d.Offsets) != 5 || d.Lag == nil || *d.Lag != 11 || d.NotCounted != 3 {
		t.Fatalf("%+v", d)
	}
	type want struct {
		state string
		lag   int64
	}
	for i, w := range []want{{"ok", 7}, {"aheadOfLog", -1}, {"belowLogStart", 4}, {"neverCommitted", -1}, {"neverCommitted", -1}} {
		o := d.Offsets[i]
		lag := int64(-1)
		if o.Lag != nil {
			lag = *o.Lag
		}
		if o.State != w.state || lag != w.lag || (w.state != "ok" && o.Words == "") {
			t.Errorf("partition %d: %+v", i, o)
		}
	}
	row := findGroup(f.groups(), name)
	if row == nil || row.Lag == nil || *row.Lag != 11 || !row.LagPartial || !slices.Equal(row.Topics, []string{topic}) {
		t.Errorf("row %+v", row)
	}
	var consumers explorer.TopicConsumers
	f.do("topicConsumers", http.MethodGet, "/clusters/local/topics/"+topic+"/consumers", nil, &consumers)
	if len(consumers.Groups) != 1 || *consumers.Groups[0].Lag != 11 || consumers.Groups[0].NeverCommitted != 2 || consumers.Groups[0].AheadOfLog != 1 {
		t.Errorf("consumers %+v", consumers)
	}
	var impact explorer.TopicImpact
	f.do("topicImpact", http.MethodGet, "/clusters/local/topics/"+topic+"/impact", nil, &impact)
	if !slices.Equal(impact.Groups, []string{name}) {
		t.Errorf("impact names %v", impact.Groups)
	}
}

func TestGroupOfADeletedTopic(t *testing.T) {
	f := newFixture(t)
	topic, other := f.topic("gone", 1, nil), f.topic("stays", 1, nil)
	f.produce(f.client(), record(topic, 0, "k", "v"), record(other, 0, "k", "v"))
	name := f.name("left-behind")
	f.commit(name, topic, map[int32]int64{0: 1})
	f.commit(name, other, map[int32]int64{0: 0})
	f.do("deleteTopic", http.MethodDelete, "/clusters/local/topics/"+topic, nil, nil)
	d := f.group(name)
	for _, o := range d.Offsets {
		if o.Topic == topic && (o.State != "unknown" || o.Lag != nil || o.Words == "") {
			t.Errorf("offset in a deleted topic: %+v", o)
		}
		if o.Topic == other && (o.State != "ok" || *o.Lag != 1) {
			t.Errorf("offset in the other topic: %+v", o)
		}
	}
}

// A group with members: classic, with the members' partitions.
func TestGroupWithMembers(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("members", 3, nil)
	f.produce(f.client(), record(topic, 0, "k", "v"), record(topic, 1, "k", "v"))
	name := f.name("members-group")
	cl := f.client(kgo.ConsumerGroup(name), kgo.ConsumeTopics(topic), kgo.ClientID("reader-1"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for n := 0; n < 2; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	d := f.group(name)
	if d.State != "Stable" || len(d.Members) != 1 || d.Members[0].ClientID != "reader-1" || len(d.Members[0].Assignments) != 1 || len(d.Members[0].Assignments[0].Partitions) != 3 {
		t.Fatalf("%+v", d)
	}
	for _, o := range d.Offsets {
		if o.ClientID != "reader-1" || (o.Partition < 2 && (o.State != "ok" || *o.Lag != 0)) {
			t.Errorf("offset %+v", o)
		}
	}
	row := findGroup(f.groups(), name)
	if row == nil || row.Members == nil || *row.Members != 1 || row.State != "Stable" || row.Lag == nil || *row.Lag != 0 {
		t.Errorf("row %+v", row)
	}
	var p explorer.Problem
	if status := f.do("deleteGroup", http.MethodDelete, "/clusters/local/groups/"+url.PathEscape(name), nil, &p); status != 409 || p.Code != "NON_EMPTY_GROUP" {
		t.Errorf("deleting it: %d %+v", status, p)
	}
}

func TestScanningJoinsNoGroup(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("no-group", 1, nil)
	before := len(f.groups())
	f.produce(f.client(), record(topic, 0, "k", "v"))
	f.scan(topic, "range=newest")
	f.stream(topic, "range=live", func(events) bool { return false })
	if after := len(f.groups()); after != before {
		t.Fatalf("%d groups became %d", before, after)
	}
}
