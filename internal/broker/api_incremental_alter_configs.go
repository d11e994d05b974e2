package broker

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
)

// IncrementalAlterConfigs (key 44): sets, removes, appends to and subtracts from configurations.
//
// Behaviours
//   - Resources are answered one by one, in order; one that is refused does not stop the others.
//   - Topics, groups and brokers go to the controller, which checks values, keeps lists and
//     applies everything before it answers.
//   - A broker resource must name this broker, or be empty for all of them; a property that needs a
//     restart is INVALID_REQUEST, with words.
//   - Log levels cannot be changed: INVALID_REQUEST. Client metrics have no receiver here, so a
//     subscription would store a rule nobody follows: INVALID_REQUEST.
//
// Versions: 1 flexible.
func (b *Broker) incrementalAlterConfigs(_ context.Context, _ *request, req *kmsg.IncrementalAlterConfigsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	forward := *req
	forward.Resources = nil
	place := []int{} // of each forwarded resource in the response
	for i, asked := range req.Resources {
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = asked.ResourceType, asked.ResourceName
		if refused := b.checkAlteration(asked); refused != nil {
			rr.ErrorCode, rr.ErrorMessage = refused.KafkaCode(), text(refused.Error())
		} else {
			forward.Resources = append(forward.Resources, asked)
			place = append(place, i)
		}
		resp.Resources = append(resp.Resources, rr)
	}
	if len(forward.Resources) == 0 {
		return resp, nil
	}
	for i, rr := range b.decide(&forward).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if i < len(place) {
			resp.Resources[place[i]] = rr
		}
	}
	return resp, nil
}

// checkAlteration says what only this broker can say of a resource.
func (b *Broker) checkAlteration(asked kmsg.IncrementalAlterConfigsRequestResource) *codedError {
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeGroupConfig:
		return nil
	case kmsg.ConfigResourceTypeBroker:
		return b.checkBrokerAlteration(asked)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return refusal(kerr.InvalidRequest, "log levels cannot be changed while this broker runs")
	case kmsg.ConfigResourceTypeClientMetrics:
		return refusal(kerr.InvalidRequest, "this broker receives no client metrics, so a subscription would have no effect")
	}
	return refusal(kerr.InvalidRequest, "the resource type %d is not known", asked.ResourceType)
}

func (b *Broker) checkBrokerAlteration(asked kmsg.IncrementalAlterConfigsRequestResource) *codedError {
	if asked.ResourceName != "" && asked.ResourceName != strconv.Itoa(int(b.nodeID)) {
		return refusal(kerr.InvalidRequest, "the request for broker %s came to broker %d", asked.ResourceName, b.nodeID)
	}
	for _, c := range asked.Configs {
		if c.Op != kmsg.IncrementalAlterConfigOpSet || c.Value == nil {
			continue
		}
		if err := config.CheckDynamic(c.Name, *c.Value, asked.ResourceName == ""); err != nil {
			return refusal(kerr.InvalidRequest, "%v", err)
		}
	}
	return nil
}
