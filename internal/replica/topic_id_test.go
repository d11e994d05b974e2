package replica_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// A batch for a topic that was deleted does not go into a new one of the same name.
func TestAppendToTheTopicMeant(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	gone := h.topic("again", 1).TopicID
	h.deleteTopic("again")
	p := h.topic("again", 1)
	o := replica.AppendOptions{RequiredAcks: -1, LeaderEpoch: replica.AnyEpoch, TopicID: gone}
	_, err := p.AppendAsLeader(batch(t, 1, 10), o)
	wantCode(t, err, kerr.UnknownTopicID.Code)
	for _, id := range [][16]byte{p.TopicID, {}} {
		o.TopicID = id
		if _, err := p.AppendAsLeader(batch(t, 1, 10), o); err != nil {
			t.Errorf("topic id %x: %v", id, err)
		}
	}
}
