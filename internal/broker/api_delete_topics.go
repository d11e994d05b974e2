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
func (b *Broker) deleteTopics(ctx context.Context, _ *request, req *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	if b.config().Bool("delete.topic.enable") {
		return b.controller.Request(ctx, req)
	}
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	refuse := func(name *string, id [16]byte) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode = name, id, kerr.TopicDeletionDisabled.Code
		t.ErrorMessage = text("topics cannot be deleted here: delete.topic.enable is false")
		resp.Topics = append(resp.Topics, t)
	}
	for _, name := range req.TopicNames {
		refuse(&name, [16]byte{})
	}
	for _, t := range req.Topics {
		refuse(t.Topic, t.TopicID)
	}
	return resp, nil
}
