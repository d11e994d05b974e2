package coordinator

import (
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// groupShard is the machine of one partition of __consumer_offsets: its groups, in the manner of
// Kafka's GroupMetadataManager and OffsetMetadataManager.
type groupShard struct {
	config    GroupConfig
	random    io.Reader
	groups    map[string]*group
	deadlines deadlineQueue
	expiry    *deadline
	lastSweep time.Time
	loading   bool
	records   int64 // replayed so far
	removed   int64 // number of the last record that removed a group

	now time.Time // of the step in progress
	out result    // of the step in progress
}

func newGroupShard(config GroupConfig, random io.Reader) *groupShard {
	return &groupShard{
		config: config, random: random, groups: map[string]*group{}, loading: true,
		expiry: &deadline{kind: expiryDeadline, index: -1},
	}
}

func (s *groupShard) replayed() int64 { return s.records }

func (s *groupShard) nextDeadline() (time.Time, bool) { return s.deadlines.next() }

func (s *groupShard) begin(now time.Time) { s.now, s.out = now, result{} }

func (s *groupShard) finish() result {
	out := s.out
	s.out = result{}
	return out
}

// handle answers one request, or lets it wait.
func (s *groupShard) handle(now time.Time, req request) result {
	s.begin(now)
	switch body := req.body.(type) {
	case *kmsg.JoinGroupRequest:
		s.join(req, body)
	case *kmsg.SyncGroupRequest:
		s.sync(req, body)
	case *kmsg.HeartbeatRequest:
		s.heartbeat(req, body)
	case *kmsg.LeaveGroupRequest:
		s.leave(req, body)
	case commitOffsets:
		s.commit(req, body)
	case fetchOffsets:
		s.fetch(req, body)
	case deleteOffsets:
		s.deleteOffsets(req, body)
	case listGroups:
		s.list(req, body)
	case describeGroup:
		s.describe(req, body)
	case deleteGroup:
		s.delete(req, body)
	case topicsDeleted:
		s.forgetTopics(body)
	default:
		panic(fmt.Sprintf("coordinator: the group machine has no request %T", req.body))
	}
	return s.finish()
}

// tick does everything that is due, in the order of the deadlines.
func (s *groupShard) tick(now time.Time) result {
	s.begin(now)
	for d := s.deadlines.due(now); d != nil; d = s.deadlines.due(now) {
		switch d.kind {
		case rebalanceDeadline:
			s.completeJoin(d.group)
		case initialDeadline:
			s.endInitialDelay(d.group)
		case syncDeadline:
			s.expireSyncs(d.group)
		case sessionDeadline:
			s.expireSession(d.group, d.member)
		case expiryDeadline:
			s.sweep()
		}
	}
	return s.finish()
}

// answer replies at once: the body shows nothing that a crash could take back.
func (s *groupShard) answer(ticket, body any) {
	s.out.replies = append(s.out.replies, reply{ticket: ticket, body: body})
}

// answerDurably replies when everything written about the group so far is committed.
func (s *groupShard) answerDurably(g *group, ticket, body any) {
	after := s.removed
	if g != nil {
		after = max(after, g.lastWrite)
	}
	s.out.replies = append(s.out.replies, reply{ticket: ticket, body: body, after: after})
}

// write appends records as one unit and replays them. When they do not fit a batch, nothing has
// changed and the code to answer is returned.
func (s *groupShard) write(records ...Record) int16 {
	size := 0
	for _, r := range records {
		size += recordSize(r)
	}
	if size > s.config.MaxBatchBytes {
		return protocol.CodeUnknownServerError
	}
	for _, r := range records {
		if err := s.replay(r); err != nil {
			panic(fmt.Sprintf("coordinator: cannot read back a record just made: %v", err))
		}
	}
	if len(records) > 0 {
		s.out.units = append(s.out.units, records)
	}
	return protocol.CodeNone
}

// writeInParts appends records that need not stay together, in units that fit a batch.
func (s *groupShard) writeInParts(records []Record) int16 {
	for len(records) > 0 {
		n, size := 0, 0
		for n < len(records) {
			size += recordSize(records[n])
			if n > 0 && size > s.config.MaxBatchBytes {
				break
			}
			n++
		}
		if code := s.write(records[:n:n]...); code != protocol.CodeNone {
			return code
		}
		records = records[n:]
	}
	return protocol.CodeNone
}

// recordSize bounds the bytes of a record in a batch.
func recordSize(r Record) int { return len(r.Key) + len(r.Value) + recordOverhead }

// recordOverhead bounds the bytes that the batch format adds to a record.
const recordOverhead = 32

// remember returns a group, made new if there is none.
func (s *groupShard) remember(id string) *group {
	g := s.groups[id]
	if g == nil {
		g = newGroup(id)
		s.groups[id] = g
	}
	return g
}

// forgetIfIdle drops a group that has neither durable state nor members.
func (s *groupShard) forgetIfIdle(g *group) {
	if g.meta == nil && len(g.offsets) == 0 && g.state == stateEmpty && !g.hasLive() {
		s.forget(g)
	}
}

func (s *groupShard) forget(g *group) {
	if s.groups[g.id] != g {
		return
	}
	delete(s.groups, g.id)
	s.deadlines.cancel(g.rebalance)
	s.deadlines.cancel(g.assignment)
	for _, d := range g.pending {
		s.deadlines.cancel(d)
	}
	for _, m := range g.order {
		s.deadlines.cancel(m.session)
	}
}

// newMemberID makes an id that no other member has: the instance or client id and a random UUID.
func (s *groupShard) newMemberID(prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		return "", fmt.Errorf("no randomness for a member id: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", prefix, b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
