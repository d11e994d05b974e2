package coordinator

import (
	"slices"
	"time"

	"klamm/internal/protocol"
)

// groupState is the state of a classic group (Kafka's ClassicGroupState).
type groupState uint8

const (
	stateEmpty      groupState = iota // no members; perhaps offsets
	statePreparing                    // waiting for the members to join again
	stateCompleting                   // waiting for the leader's assignment
	stateStable
)

// String is the name that ListGroups and DescribeGroups show.
func (s groupState) String() string { return groupStates()[s] }

func groupStates() []string {
	return []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}
}

// consumerProtocolType is the protocol type of consumers, whose subscriptions the broker can read.
const consumerProtocolType = "consumer"

// group is one classic or simple (offsets only) group.
type group struct {
	id string

	// Durable state: what the log says. Only groupShard.replay changes it.
	meta      *groupMetadata // nil when the log has offsets at most
	offsets   map[string]map[int32]committedOffset
	lastWrite int64 // number of the last record about this group

	// Volatile state: derived from meta after loading, then moved by requests and deadlines.
	state        groupState
	previous     groupState
	stateSince   time.Time
	generation   int32
	protocolType *string // nil before the first member
	protocol     *string // chosen by vote, nil without members
	leader       string  // member id, "" without members
	members      map[string]*member
	order        []*member         // by time of joining
	static       map[string]string // instance id -> member id
	votes        map[string]int    // protocol name -> members that support it
	pending      map[string]*deadline
	unsynced     map[string]bool // members that have not sent SyncGroup in this generation
	joining      int             // members with a waiting JoinGroup
	newcomers    bool            // a member was added during the first rebalance
	topics       subscribedTopics

	rebalance  *deadline // rebalance or initial delay
	delay      time.Duration
	delayLeft  time.Duration
	assignment *deadline // pending sync
}

func newGroup(id string) *group {
	g := &group{
		id:       id,
		offsets:  map[string]map[int32]committedOffset{},
		members:  map[string]*member{},
		static:   map[string]string{},
		votes:    map[string]int{},
		pending:  map[string]*deadline{},
		unsynced: map[string]bool{},
	}
	g.rebalance = &deadline{kind: rebalanceDeadline, group: g, index: -1}
	g.assignment = &deadline{kind: syncDeadline, group: g, index: -1}
	return g
}

// member is one member of a group.
type member struct {
	id               string
	instance         *string // group.instance.id of a static member
	client           client
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []memberProtocol
	assignment       []byte
	joins            []any // tickets of waiting JoinGroup requests
	syncs            []any // tickets of waiting SyncGroup requests
	isNew            bool  // has not been told its id yet, so it cannot send heartbeats
	session          *deadline
}

type memberProtocol struct {
	name     string
	metadata []byte
}

func (m *member) awaitsJoin() bool { return len(m.joins) > 0 }
func (m *member) awaitsSync() bool { return len(m.syncs) > 0 }

// metadata returns the subscription for a protocol, empty when the member does not know it.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.name == protocol {
			return p.metadata
		}
	}
	return nil
}

func (m *member) sameProtocols(protocols []memberProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b memberProtocol) bool {
		return a.name == b.name && string(a.metadata) == string(b.metadata)
	})
}

func (g *group) transition(to groupState, now time.Time) {
	g.previous, g.state, g.stateSince = g.state, to, now
}

// hasLive tells whether somebody belongs or is about to belong to the group.
func (g *group) hasLive() bool { return len(g.members) > 0 || len(g.pending) > 0 }

// add makes m a member. The first one decides the protocol type and leads.
func (g *group) add(m *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = &protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members[m.id] = m
	g.order = append(g.order, m)
	if m.instance != nil {
		g.static[*m.instance] = m.id
	}
	g.countVotes(m, 1)
}

// drop removes a member from the books; the caller answers its waiting requests.
func (g *group) drop(m *member) {
	delete(g.members, m.id)
	g.order = slices.DeleteFunc(g.order, func(other *member) bool { return other == m })
	if m.instance != nil {
		delete(g.static, *m.instance)
	}
	g.countVotes(m, -1)
	if m.awaitsJoin() {
		g.joining--
	}
	delete(g.unsynced, m.id)
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0].id
		}
	}
}

func (g *group) countVotes(m *member, n int) {
	seen := map[string]bool{}
	for _, p := range m.protocols {
		if seen[p.name] {
			continue
		}
		seen[p.name] = true
		if g.votes[p.name] += n; g.votes[p.name] == 0 {
			delete(g.votes, p.name)
		}
	}
}

func (g *group) setProtocols(m *member, protocols []memberProtocol) {
	g.countVotes(m, -1)
	m.protocols = protocols
	g.countVotes(m, 1)
}

// park lets a JoinGroup wait for the rebalance.
func (g *group) park(m *member, ticket any) {
	if !m.awaitsJoin() {
		g.joining++
	}
	m.joins = append(m.joins, ticket)
}

// supports tells whether a member with these protocols fits in (Kafka's supportsProtocols).
func (g *group) supports(protocolType string, protocols []memberProtocol) bool {
	if g.state == stateEmpty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == nil || *g.protocolType != protocolType {
		return false
	}
	for _, p := range protocols {
		if g.votes[p.name] == len(g.members) {
			return true
		}
	}
	return false
}

// rebalanceTimeout is how long a rebalance may take: the longest any member asked for.
func (g *group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.order {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

func (g *group) allJoined() bool {
	return len(g.members) == g.joining && len(g.pending) == 0
}

// checkMember finds the member that a request comes from, or the error code to answer
// (Kafka's ClassicGroup.validateMember).
func (g *group) checkMember(id string, instance *string) (*member, int16) {
	if instance != nil {
		owner, known := g.static[*instance]
		switch {
		case !known:
			return nil, protocol.CodeUnknownMemberID
		case owner != id:
			return nil, protocol.CodeFencedInstanceID
		}
	}
	m := g.members[id]
	if m == nil {
		return nil, protocol.CodeUnknownMemberID
	}
	return m, protocol.CodeNone
}

// inconsistent tells whether a protocol type or name given by a client contradicts ours.
func inconsistent(given, ours *string) bool {
	return given != nil && (ours == nil || *given != *ours)
}
