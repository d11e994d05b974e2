package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// shardTest drives one shard without a clock or a log.
type shardTest struct {
	t     *testing.T
	shard *groupShard
	now   time.Time
	got   map[string]any
}

func newShardTest(t *testing.T) *shardTest {
	s := &shardTest{t: t, shard: fuzzShard(), now: time.UnixMilli(1_700_000_000_000), got: map[string]any{}}
	s.take(s.shard.loaded(s.now))
	return s
}

func (s *shardTest) take(r result) {
	for _, reply := range r.replies {
		s.got[reply.ticket.(string)] = reply.body
	}
}

func (s *shardTest) send(name string, body any) {
	s.take(s.shard.handle(s.now, request{body: body, client: client{id: "c", host: "/h"}, ticket: name}))
}

// pass lets time pass, waking the shard when it wants to be woken.
func (s *shardTest) pass(d time.Duration) {
	end := s.now.Add(d)
	for {
		at, ok := s.shard.nextDeadline()
		if !ok || at.After(end) {
			s.now = end
			return
		}
		s.now = at
		s.take(s.shard.tick(s.now))
	}
}

func (s *shardTest) join(name string) *kmsg.JoinGroupResponse {
	s.t.Helper()
	resp, ok := s.got[name].(*kmsg.JoinGroupResponse)
	if !ok {
		s.t.Fatalf("%s is not answered", name)
	}
	return resp
}

func oldJoin(group, member string, version int16) *kmsg.JoinGroupRequest {
	r := joinRequest(group, member)
	r.Version, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = version, 3_600_000, 3_600_000
	return r
}

// TestNewMemberThatGaveUpIsRemoved: a member of the old protocol that is not told its id cannot
// send heartbeats, so it must not wait for ever.
func TestNewMemberThatGaveUpIsRemoved(t *testing.T) {
	s := newShardTest(t)
	s.send("leader", oldJoin("g", "", 3))
	leader := s.join("leader").MemberID
	s.send("sync", syncRequest("g", leader, 1))
	s.send("new", oldJoin("g", "", 3))
	s.pass(newMemberJoinTimeout - time.Millisecond)
	if s.got["new"] != nil {
		t.Fatal("the new member is answered although the leader has not come back")
	}
	s.pass(time.Millisecond)
	if code := s.join("new").ErrorCode; code != protocol.CodeUnknownMemberID {
		t.Errorf("the new member got %s", protocol.CodeName(code))
	}
	if n := len(s.shard.groups["g"].members); n != 1 {
		t.Errorf("%d members, want the leader only", n)
	}
}

func TestGroupThatNobodyGotIntoIsForgotten(t *testing.T) {
	leave := func(member string) *kmsg.LeaveGroupRequest {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group = 3, "g"
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = member
		r.Members = append(r.Members, m)
		return r
	}
	for name, end := range map[string]func(*shardTest, string){
		"pending id expires":       func(s *shardTest, _ string) { s.pass(2 * time.Hour) },
		"pending member leaves":    func(s *shardTest, id string) { s.send("leave", leave(id)) },
		"admin deletes the group":  func(s *shardTest, _ string) { s.send("delete", deleteGroup{id: "g"}) },
		"nobody was even let wait": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newShardTest(t)
			if end == nil {
				refused := oldJoin("g", "", 9)
				refused.Protocols = nil
				s.send("join", refused)
			} else {
				s.send("join", oldJoin("g", "", 9))
				end(s, s.join("join").MemberID)
			}
			if len(s.shard.groups) != 0 {
				t.Errorf("the group is still there")
			}
			if _, ok := s.shard.nextDeadline(); ok {
				t.Errorf("a deadline is still there")
			}
		})
	}
}

// TestBothWaitingRequestsOfAMemberAreAnswered: a client that lost its connection asks again on
// another one while the first request still waits.
func TestBothWaitingRequestsOfAMemberAreAnswered(t *testing.T) {
	s := newShardTest(t)
	s.send("leader", oldJoin("g", "", 3))
	leader := s.join("leader").MemberID
	s.send("id", oldJoin("g", "", 4))
	member := s.join("id").MemberID
	s.send("join 1", oldJoin("g", member, 4))
	s.send("join 2", oldJoin("g", member, 4))
	s.send("leader again", oldJoin("g", leader, 3))
	if a, b := s.join("join 1").Generation, s.join("join 2").Generation; a != 2 || b != 2 {
		t.Errorf("generations %d and %d, want 2", a, b)
	}
	s.send("sync 1", syncRequest("g", member, 2))
	s.send("sync 2", syncRequest("g", member, 2))
	s.send("assign", syncRequest("g", leader, 2))
	for _, name := range []string{"sync 1", "sync 2", "assign"} {
		if resp, ok := s.got[name].(*kmsg.SyncGroupResponse); !ok || resp.ErrorCode != 0 {
			t.Errorf("%s: %v", name, s.got[name])
		}
	}
}

// TestStaticMembersWithoutRebalanceTimeout: looking for members that do not come back takes a pause
// between two looks even if they asked for none.
func TestStaticMembersWithoutRebalanceTimeout(t *testing.T) {
	s := newShardTest(t)
	join := oldJoin("g", "", 9)
	instance := "i1"
	join.InstanceID, join.RebalanceTimeoutMillis = &instance, 0
	s.send("static", join)
	id := s.join("static").MemberID
	sync := syncRequest("g", id, 1)
	sync.InstanceID = &instance
	s.send("sync", sync)
	other := oldJoin("g", "", 9)
	second := "i2"
	other.InstanceID, other.RebalanceTimeoutMillis = &second, 0
	s.send("second", other)
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group = 5, "g"
	m := kmsg.NewLeaveGroupRequestMember()
	m.InstanceID = &second
	leave.Members = append(leave.Members, m)
	s.send("leave", leave)
	ticks := 0
	for end := s.now.Add(time.Minute); ticks < 1000; ticks++ {
		at, ok := s.shard.nextDeadline()
		if !ok || at.After(end) {
			break
		}
		s.now = at
		s.take(s.shard.tick(s.now))
	}
	if ticks > 100 {
		t.Errorf("woken %d times in a minute", ticks)
	}
}

func TestMemberIDsAreUUIDs(t *testing.T) {
	s := newShardTest(t)
	s.send("join", oldJoin("g", "", 9))
	id := s.join("join").MemberID
	if !uuidPattern.MatchString(id) || id[:2] != "c-" || id[2+14] != '4' {
		t.Errorf("member id %q, want the client id and a random UUID", id)
	}
}

// FuzzSubscription: whatever a client calls its subscription, reading it does not panic, and a
// subscription that is one is read.
func FuzzSubscription(f *testing.F) {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = []string{"t1", "t2"}
	f.Add(m.AppendTo(nil))
	f.Add([]byte("xx"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		names := map[string]bool{}
		ours := readSubscription(b, names)
		theirs := kmsg.NewConsumerMemberMetadata()
		if theirs.ReadFrom(b) != nil {
			return
		}
		if !ours && theirs.Version >= 0 && len(theirs.Topics) > 0 {
			t.Fatalf("a good subscription to %q is not read", theirs.Topics)
		}
		for _, topic := range theirs.Topics {
			if ours && !names[topic] {
				t.Fatalf("topic %q is missed", topic)
			}
		}
	})
}
