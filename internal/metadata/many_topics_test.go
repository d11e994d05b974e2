package metadata

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/vfs"
)

// A request may create 10,000 partitions, so what it names beyond as many topics is refused without a
// look: each look goes through all topics, and the controller serves nobody else meanwhile.
func TestManyTopicsInOneRequest(t *testing.T) {
	n, err := Open(testOptions(t, vfs.NewMem(), "/data", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	register(t, n, 1, -1)
	var topics []kmsg.CreateTopicsRequestTopic
	for i := range maxPartitionsPerRequest + 1 {
		topics = append(topics, topicOf(fmt.Sprintf("t.%d", i), 1, 1, "no.such.config", "x"))
	}
	got := request[*kmsg.CreateTopicsResponse](t, n, createRequest(true, topics...)).Topics
	if len(got) != len(topics) {
		t.Fatalf("%d answers for %d topics", len(got), len(topics))
	}
	if code := got[maxPartitionsPerRequest-1].ErrorCode; code != protocol.CodeInvalidConfig {
		t.Errorf("the last topic that is looked at: %s", protocol.CodeName(code))
	}
	if code := got[maxPartitionsPerRequest].ErrorCode; code != protocol.CodePolicyViolation {
		t.Errorf("the first topic beyond: %s", protocol.CodeName(code))
	}
}
