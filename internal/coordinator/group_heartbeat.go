package coordinator

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// heartbeat extends the session of a member of the current generation, and tells it when the
// group rebalances (Kafka's GroupMetadataManager.classicGroupHeartbeat). It shows nothing durable.
func (s *groupShard) heartbeat(req request, body *kmsg.HeartbeatRequest) {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = s.beat(body)
	s.answer(req.ticket, resp)
}

func (s *groupShard) beat(body *kmsg.HeartbeatRequest) int16 {
	g := s.groups[body.Group]
	if g == nil {
		return protocol.CodeUnknownMemberID
	}
	m, code := g.checkMember(body.MemberID, body.InstanceID)
	if code != protocol.CodeNone {
		return code
	}
	if body.Generation != g.generation {
		return protocol.CodeIllegalGeneration
	}
	s.extendSession(m)
	if g.state == statePreparing {
		return protocol.CodeRebalanceInProgress
	}
	return protocol.CodeNone
}
