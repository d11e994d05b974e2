package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteTopics (key 20): the controller decides. Files are renamed at once and removed after
// file.delete.delay.ms.
//
// Behaviours
//   - One answer per asked topic. With delete.topic.enable=false each is TOPIC_DELETION_DISABLED.
//
// Versions: 4 flexible; 5 error message; 6 topics by name or id.
func (b *Broker) deleteTopics(_ context.Context, _ *request, req *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	if b.config().Bool("delete.topic.enable") {
		return b.decide(req), nil
	}
	return refuseDeletions(req, kerr.TopicDeletionDisabled.Code, "topics cannot be deleted here: delete.topic.enable is false"), nil
}
