package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"klamm/internal/protocol"
)

const (
	longestRebalance = 60 * time.Second
	testInitialDelay = 3 * time.Second
)

// groupModel drives one shard with random members and checks what must hold at every moment.
type groupModel struct {
	t     *rapid.T
	shard *groupShard
	now   time.Time
	log   []Record
	group string

	tickets   int
	open      map[int]*sentRequest
	clients   []*simulatedClient
	seen      *group
	newest    int32
	owners    map[int32]string            // generation -> leader
	given     map[int32]map[string]string // generation -> member id -> assignment of its leader
	committed map[int32]int64             // partition -> last accepted offset
}

// simulatedClient is what a consumer knows about itself.
type simulatedClient struct {
	name       string
	instance   *string
	version    int16
	member     string
	generation int32
	leader     bool
	members    []string
	protocols  []string
}

type sentRequest struct {
	client *simulatedClient
	body   any
	sentAt time.Time
}

func newGroupModel(t *rapid.T) *groupModel {
	config := GroupConfig{
		InitialRebalanceDelay: testInitialDelay, MinSessionTimeout: time.Second, MaxSessionTimeout: time.Hour, MaxSize: 4,
		OffsetMetadataMaxBytes: 4096, OffsetsRetention: time.Hour, RetentionCheckInterval: 10 * time.Minute,
		LoadBufferBytes: 1 << 20, MaxBatchBytes: 1 << 20,
	}
	if rapid.Bool().Draw(t, "no initial delay") {
		config.InitialRebalanceDelay = 0
	}
	seed := rapid.Uint64().Draw(t, "seed")
	m := &groupModel{
		t: t, now: time.UnixMilli(1_700_000_000_000), group: "g",
		open: map[int]*sentRequest{}, owners: map[int32]string{}, given: map[int32]map[string]string{}, committed: map[int32]int64{},
	}
	m.shard = newGroupShard(config, seededReader{rand.New(rand.NewPCG(seed, 1))})
	m.take(m.shard.loaded(m.now))
	for i := range 6 {
		c := &simulatedClient{name: fmt.Sprint("c", i), version: []int16{2, 4, 9}[i%3], generation: -1, protocols: []string{"range", "sticky"}}
		if i >= 4 {
			c.instance = &c.name
			c.version = 9
		}
		m.clients = append(m.clients, c)
	}
	return m
}

type seededReader struct{ *rand.Rand }

func (r seededReader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

// send hands a request to the shard.
func (m *groupModel) send(c *simulatedClient, body any) {
	m.tickets++
	m.open[m.tickets] = &sentRequest{client: c, body: body, sentAt: m.now}
	m.take(m.shard.handle(m.now, request{body: body, client: client{id: "client", host: "/h"}, ticket: m.tickets}))
}

func (m *groupModel) take(res result) {
	for _, unit := range res.units {
		m.log = append(m.log, unit...)
	}
	if g := m.shard.groups[m.group]; g != m.seen {
		// Deleted or expired, and perhaps made anew: generations start again.
		m.seen, m.newest = g, 0
		clear(m.owners)
		clear(m.given)
	}
	for _, r := range res.replies {
		sent := m.open[r.ticket.(int)]
		if sent == nil {
			m.t.Fatalf("ticket %v is answered twice or was never given: %v", r.ticket, r.body)
		}
		delete(m.open, r.ticket.(int))
		if r.after > int64(len(m.log)) {
			m.t.Fatalf("an answer waits for record %d of %d", r.after, len(m.log))
		}
		m.answered(sent, r.body)
	}
	if len(res.problems) > 0 {
		m.t.Fatalf("problems: %v", res.problems)
	}
}

func (m *groupModel) answered(sent *sentRequest, body any) {
	switch resp := body.(type) {
	case *kmsg.JoinGroupResponse:
		m.joined(sent.client, resp)
	case *kmsg.SyncGroupResponse:
		m.synced(sent, resp)
	case *kmsg.HeartbeatResponse:
		m.obey(sent.client, resp.ErrorCode)
	case *kmsg.OffsetCommitResponse:
		req := sent.body.(commitOffsets)
		p := req.Topics[0].Partitions[0]
		if resp.Topics[0].Partitions[0].ErrorCode == protocol.CodeNone {
			m.committed[p.Partition] = p.Offset
		}
	case kmsg.DeleteGroupsResponseGroup:
		if resp.ErrorCode == protocol.CodeNone {
			clear(m.committed)
		}
	case []fetchedTopic:
		m.checkFetched(resp)
	}
}

// joined checks that a generation has one leader and that generations grow.
func (m *groupModel) joined(c *simulatedClient, resp *kmsg.JoinGroupResponse) {
	switch resp.ErrorCode {
	case protocol.CodeNone:
	case protocol.CodeMemberIDRequired:
		c.member = resp.MemberID
		return
	default:
		m.obey(c, resp.ErrorCode)
		return
	}
	if resp.Generation < m.newest {
		m.t.Fatalf("generation %d after %d", resp.Generation, m.newest)
	}
	m.newest = resp.Generation
	c.member, c.generation = resp.MemberID, resp.Generation
	c.leader = len(resp.Members) > 0 && !resp.SkipAssignment
	c.members = nil
	for _, member := range resp.Members {
		c.members = append(c.members, member.MemberID)
	}
	if len(resp.Members) == 0 {
		return
	}
	if resp.LeaderID != resp.MemberID {
		m.t.Fatalf("%s is shown the members but %s leads", resp.MemberID, resp.LeaderID)
	}
	if !slices.Contains(c.members, resp.MemberID) {
		m.t.Fatalf("the leader is not among its members %v", c.members)
	}
	owner, known := m.owners[resp.Generation]
	if known && owner != resp.MemberID && !resp.SkipAssignment {
		m.t.Fatalf("generation %d is led by %s and by %s", resp.Generation, owner, resp.MemberID)
	}
	m.owners[resp.Generation] = resp.MemberID
}

func (m *groupModel) synced(sent *sentRequest, resp *kmsg.SyncGroupResponse) {
	if resp.ErrorCode != protocol.CodeNone {
		m.obey(sent.client, resp.ErrorCode)
		return
	}
	req := sent.body.(*kmsg.SyncGroupRequest)
	want, assigned := m.given[req.Generation]
	if !assigned {
		m.t.Fatalf("an assignment in generation %d, of which no leader gave one", req.Generation)
	}
	if sent.client.instance == nil && string(resp.MemberAssignment) != want[req.MemberID] {
		m.t.Fatalf("%s got %q, its leader gave %q", req.MemberID, resp.MemberAssignment, want[req.MemberID])
	}
}

// obey does what an error tells a consumer to do.
func (m *groupModel) obey(c *simulatedClient, code int16) {
	switch code {
	case protocol.CodeUnknownMemberID, protocol.CodeFencedInstanceID, protocol.CodeGroupMaxSizeReached:
		c.member, c.generation = "", -1
	case protocol.CodeIllegalGeneration:
		c.generation = -1
	}
}

func (m *groupModel) checkFetched(topics []fetchedTopic) {
	got := map[int32]int64{}
	for _, t := range topics {
		for _, p := range t.partitions {
			if p.found {
				got[p.partition] = p.offset
			}
		}
	}
	if diff := cmp.Diff(m.committed, got); diff != "" {
		m.t.Fatalf("committed offsets (-accepted +fetched)\n%s", diff)
	}
}

// advance lets time pass, stopping at every deadline.
func (m *groupModel) advance(d time.Duration) {
	end := m.now.Add(d)
	for steps := 0; ; steps++ {
		at, ok := m.shard.nextDeadline()
		if !ok || at.After(end) {
			break
		}
		if steps > 10000 {
			m.t.Fatalf("the shard wants to be woken for ever at %v", at)
		}
		if at.After(m.now) {
			m.now = at
		}
		m.take(m.shard.tick(m.now))
		m.check()
	}
	m.now = end
}

// check holds after every event.
func (m *groupModel) check() {
	// A waiting request is answered at the latest when the initial delay and one rebalance, or one
	// wait for the leader, are over.
	for ticket, sent := range m.open {
		if limit := longestRebalance + testInitialDelay; m.now.Sub(sent.sentAt) > limit {
			m.t.Fatalf("request %d (%T) of %s waits for more than %v", ticket, sent.body, sent.client.name, limit)
		}
	}
	if g := m.shard.groups[m.group]; g != nil {
		m.checkGroup(g)
	}
}

func (m *groupModel) checkGroup(g *group) {
	joining := 0
	for _, member := range g.order {
		if g.members[member.id] != member {
			m.t.Fatalf("member %s is not in the books", member.id)
		}
		if member.awaitsJoin() {
			joining++
		}
		if member.awaitsJoin() && g.state != statePreparing {
			m.t.Fatalf("%s waits to join a group in state %v", member.id, g.state)
		}
		if member.awaitsSync() && g.state != stateCompleting {
			m.t.Fatalf("%s waits for an assignment in state %v", member.id, g.state)
		}
		if member.session.index < 0 && !member.awaitsJoin() && !member.awaitsSync() {
			m.t.Fatalf("%s has no session and waits for nothing: it would stay for ever", member.id)
		}
	}
	switch {
	case len(g.order) != len(g.members) || joining != g.joining:
		m.t.Fatalf("the books of the group do not add up: %d of %d members, %d of %d join", len(g.order), len(g.members), joining, g.joining)
	case g.state == stateEmpty && len(g.members) > 0, g.state != stateEmpty && g.state != statePreparing && len(g.members) == 0:
		m.t.Fatalf("state %v with %d members", g.state, len(g.members))
	case len(g.members) > 0 && g.members[g.leader] == nil:
		m.t.Fatalf("the leader %q is not a member", g.leader)
	case g.state == statePreparing && g.rebalance.index < 0:
		m.t.Fatalf("a rebalance without an end")
	case g.state == stateCompleting && g.assignment.index < 0:
		m.t.Fatalf("the wait for the leader has no end")
	}
}

// durable is what must survive a restart.
func durable(s *groupShard) map[string]any {
	out := map[string]any{}
	for id, g := range s.groups {
		if g.meta != nil || len(g.offsets) > 0 {
			out[id] = map[string]any{"meta": g.meta, "offsets": g.offsets}
		}
	}
	return out
}

// restart replays the log into a new shard and compares it with the running one.
func (m *groupModel) restart() *groupShard {
	fresh := newGroupShard(m.shard.config, m.shard.random)
	for _, rec := range m.log {
		if err := fresh.replay(rec); err != nil {
			m.t.Fatalf("replay: %v", err)
		}
	}
	opt := cmp.AllowUnexported(committedOffset{})
	if diff := cmp.Diff(durable(m.shard), durable(fresh), opt); diff != "" {
		m.t.Fatalf("what the log says is not what was served (-live +replayed)\n%s", diff)
	}
	fresh.loaded(m.now)
	live, loaded := m.shard.groups[m.group], fresh.groups[m.group]
	if live != nil && live.state == stateStable {
		if loaded.state != stateStable || loaded.generation != live.generation || loaded.leader != live.leader {
			m.t.Fatalf("stable generation %d led by %s is loaded as %v generation %d led by %s",
				live.generation, live.leader, loaded.state, loaded.generation, loaded.leader)
		}
		if diff := cmp.Diff(assignmentsOf(live), assignmentsOf(loaded)); diff != "" {
			m.t.Fatalf("assignments (-live +loaded)\n%s", diff)
		}
	}
	return fresh
}

func assignmentsOf(g *group) map[string]string {
	out := map[string]string{}
	for id, member := range g.members {
		out[id] = string(member.assignment)
	}
	return out
}

// crash continues on what the log says; whoever waited is told to come back.
func (m *groupModel) crash() {
	m.shard = m.restart()
	m.seen = m.shard.groups[m.group]
	for _, sent := range m.open {
		sent.client.generation = -1
	}
	clear(m.open)
	// A generation that no leader assigned is not in the log and may be given out again.
	if g := m.shard.groups[m.group]; g != nil {
		m.newest = g.generation
	} else {
		m.newest = 0
	}
	for generation := range m.owners {
		if generation > m.newest {
			delete(m.owners, generation)
			delete(m.given, generation)
		}
	}
}

func (m *groupModel) waiting(c *simulatedClient) bool {
	for _, sent := range m.open {
		if sent.client == c {
			return true
		}
	}
	return false
}

func TestGroupsUnderRandomMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newGroupModel(t)
		pick := func() *simulatedClient {
			return m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
		}
		idle := func() *simulatedClient {
			c := pick()
			if m.waiting(c) {
				t.Skip("the client waits")
			}
			return c
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { m.check() },
			"join": func(*rapid.T) {
				m.join(idle())
			},
			"restart static": func(*rapid.T) {
				c := m.clients[rapid.IntRange(4, 5).Draw(t, "static client")]
				c.member, c.generation = "", -1
				m.join(c)
			},
			"change subscription": func(*rapid.T) {
				c := pick()
				slices.Reverse(c.protocols)
			},
			"sync":      func(*rapid.T) { m.sync(idle()) },
			"heartbeat": func(*rapid.T) { m.heartbeat(idle()) },
			"leave":     func(*rapid.T) { m.leave(pick()) },
			"commit": func(t *rapid.T) {
				m.commit(idle(), rapid.Int32Range(0, 3).Draw(t, "partition"), rapid.Int64Range(0, 100).Draw(t, "offset"))
			},
			"admin commit": func(t *rapid.T) { m.commit(&simulatedClient{generation: -1}, 0, 1) },
			"fetch":        func(*rapid.T) { m.send(m.clients[0], fetchOffsets{group: m.group, all: true}) },
			"delete":       func(*rapid.T) { m.send(m.clients[0], deleteGroup{id: m.group}) },
			"describe":     func(*rapid.T) { m.send(m.clients[0], describeGroup{id: m.group, version: 6}) },
			"wait a bit":   func(t *rapid.T) { m.advance(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond) },
			"wait long":    func(t *rapid.T) { m.advance(time.Duration(rapid.IntRange(5, 120).Draw(t, "s")) * time.Second) },
			"replay":       func(*rapid.T) { m.restart() },
			"crash":        func(*rapid.T) { m.crash() },
		})
		// With nobody left to speak, every request is answered and every member is gone.
		m.advance(2 * newMemberJoinTimeout)
		m.advance(time.Hour)
		if len(m.open) > 0 {
			t.Fatalf("%d requests are never answered", len(m.open))
		}
		if g := m.shard.groups[m.group]; g != nil && len(g.members)+len(g.pending) > 0 {
			t.Fatalf("silent members stay for ever: %v", slices.Collect(maps.Keys(g.members)))
		}
	})
}

func (m *groupModel) join(c *simulatedClient) {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.ProtocolType = c.version, m.group, c.member, c.instance, "consumer"
	r.SessionTimeoutMillis = 10_000
	r.RebalanceTimeoutMillis = int32(longestRebalance.Milliseconds()) / int32(1+m.tickets%3)
	for _, name := range c.protocols {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte(c.name)
		r.Protocols = append(r.Protocols, p)
	}
	m.send(c, r)
}

func (m *groupModel) sync(c *simulatedClient) {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 5, m.group, c.member, c.instance, c.generation
	g := m.shard.groups[m.group]
	leads := c.leader && g != nil && g.state == stateCompleting && g.generation == c.generation && g.leader == c.member
	if leads {
		m.given[c.generation] = map[string]string{}
	}
	for i, id := range c.members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, fmt.Append(nil, "part ", i, " of ", c.generation)
		r.GroupAssignment = append(r.GroupAssignment, a)
		if leads {
			m.given[c.generation][id] = string(a.MemberAssignment)
		}
	}
	m.send(c, r)
}

func (m *groupModel) heartbeat(c *simulatedClient) {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.InstanceID, r.Generation = m.group, c.member, c.instance, c.generation
	m.send(c, r)
}

func (m *groupModel) leave(c *simulatedClient) {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group = 5, m.group
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID, member.InstanceID = c.member, c.instance
	r.Members = append(r.Members, member)
	m.send(c, r)
}

func (m *groupModel) commit(c *simulatedClient, partition int32, offset int64) {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 9, m.group, c.member, c.instance, c.generation
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t1"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	m.send(c, commitOffsets{r})
}
