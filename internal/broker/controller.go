package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// decide asks the controller. What it has begun is carried out even while the broker shuts down,
// so only the end of the shutdown's patience breaks it off. When the controller cannot decide (its
// disk has failed), every item of the request is answered with that.
func (b *Broker) decide(req kmsg.Request) kmsg.Response {
	resp, err := b.controller.Request(b.server.patience, req)
	if err == nil {
		return resp
	}
	b.logger.Error("the controller did not answer a request", "request", kmsg.NameForKey(req.Key()), "error", err)
	return undecided(req, protocol.CodeOf(err), err.Error())
}

// undecided answers every item of a request to the controller with an error.
func undecided(req kmsg.Request, code int16, words string) kmsg.Response {
	switch q := req.(type) {
	case *kmsg.CreateTopicsRequest:
		resp := q.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, asked := range q.Topics {
			t := kmsg.NewCreateTopicsResponseTopic()
			t.Topic, t.ErrorCode, t.ErrorMessage = asked.Topic, code, text(words)
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.DeleteTopicsRequest:
		return refuseDeletions(q, code, words)
	case *kmsg.CreatePartitionsRequest:
		resp := q.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, asked := range q.Topics {
			t := kmsg.NewCreatePartitionsResponseTopic()
			t.Topic, t.ErrorCode, t.ErrorMessage = asked.Topic, code, text(words)
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := q.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, asked := range q.Resources {
			r := kmsg.NewIncrementalAlterConfigsResponseResource()
			r.ResourceType, r.ResourceName, r.ErrorCode, r.ErrorMessage = asked.ResourceType, asked.ResourceName, code, text(words)
			resp.Resources = append(resp.Resources, r)
		}
		return resp
	case *kmsg.DescribeQuorumRequest:
		resp := q.ResponseKind().(*kmsg.DescribeQuorumResponse)
		resp.ErrorCode, resp.ErrorMessage = code, text(words)
		return resp
	case *kmsg.AllocateProducerIDsRequest:
		resp := q.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
		resp.ErrorCode = code
		return resp
	}
	return req.ResponseKind()
}

func refuseDeletions(req *kmsg.DeleteTopicsRequest, code int16, words string) *kmsg.DeleteTopicsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	refuse := func(name *string, id [16]byte) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, code, text(words)
		resp.Topics = append(resp.Topics, t)
	}
	for _, name := range req.TopicNames {
		refuse(&name, [16]byte{})
	}
	for _, t := range req.Topics {
		refuse(t.Topic, t.TopicID)
	}
	return resp
}
