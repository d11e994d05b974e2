package metadata

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// minISRConfig changes who is eligible to lead, so setting it clears the ELR of the topics it
// applies to.
const minISRConfig = "min.insync.replicas"

// brokerConfig is the broker configuration with the cluster's dynamic defaults on top.
func (s *step) brokerConfig() *config.Broker {
	if s.effective == nil {
		s.effective = s.c.Config.WithDynamic(s.img().Config(ResourceBroker, ""), s.img().Config(ResourceBroker, strconv.Itoa(int(s.c.NodeID))))
	}
	return s.effective
}

// topicConfig is the effective configuration of a topic.
func (s *step) topicConfig(name string) config.TopicConfig {
	if c, ok := s.topicConfigs[name]; ok {
		return c
	}
	c := s.brokerConfig().Topic(s.img().Config(ResourceTopic, name))
	if s.topicConfigs == nil {
		s.topicConfigs = map[string]config.TopicConfig{}
	}
	s.topicConfigs[name] = c
	return c
}

// configChange is the new value of one configuration; nil removes it.
type configChange struct {
	name  string
	value *string
}

// incrementalAlterConfigs handles IncrementalAlterConfigs (44). Each resource changes whole or not
// at all.
func (s *step) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	seen := map[Resource]int{}
	for i := range req.Resources {
		seen[resourceOf(req.Resources[i].ResourceType, req.Resources[i].ResourceName)]++
	}
	for i := range req.Resources {
		w := &req.Resources[i]
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = w.ResourceType, w.ResourceName
		r := resourceOf(w.ResourceType, w.ResourceName)
		err := s.checkResource(r, seen[r])
		var changes []configChange
		if err == nil {
			changes, err = s.incrementalChanges(r, w.Configs)
		}
		if err == nil {
			s.setConfigs(r, changes)
		} else {
			out.ErrorCode, out.ErrorMessage = err.code, err.text()
		}
		resp.Resources = append(resp.Resources, out)
	}
	if req.ValidateOnly {
		s.forget()
	}
	return resp
}

func resourceOf(t kmsg.ConfigResourceType, name string) Resource {
	return Resource{ResourceType(t), name}
}

// alterConfigs handles the legacy AlterConfigs (33), which replaces all configurations of a resource.
func (s *step) alterConfigs(req *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterConfigsResponse()
	seen := map[Resource]int{}
	for i := range req.Resources {
		seen[resourceOf(req.Resources[i].ResourceType, req.Resources[i].ResourceName)]++
	}
	for i := range req.Resources {
		w := &req.Resources[i]
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = w.ResourceType, w.ResourceName
		r := resourceOf(w.ResourceType, w.ResourceName)
		err := s.checkResource(r, seen[r])
		var changes []configChange
		if err == nil {
			changes, err = s.replacement(r, w.Configs)
		}
		if err == nil {
			s.setConfigs(r, changes)
		} else {
			out.ErrorCode, out.ErrorMessage = err.code, err.text()
		}
		resp.Resources = append(resp.Resources, out)
	}
	if req.ValidateOnly {
		s.forget()
	}
	return resp
}

// checkResource says whether a resource exists and may be configured.
func (s *step) checkResource(r Resource, times int) *apiError {
	if times > 1 {
		return refuse(protocol.CodeInvalidRequest, "Resource %s is named more than once in the request.", r.Name)
	}
	switch r.Type {
	case ResourceTopic:
		if err := CheckTopicName(r.Name); err != nil {
			return refuse(protocol.CodeInvalidTopicException, "Topic name is invalid: %s.", err.Error())
		}
		if s.img().Topic(r.Name) == nil {
			return noSuchTopic(r.Name)
		}
	case ResourceBroker:
		id, err := strconv.ParseInt(r.Name, 10, 32)
		switch {
		case r.Name == "":
		case err != nil:
			return refuse(protocol.CodeInvalidRequest, "Broker id '%s' is not a number.", r.Name)
		case s.img().Broker(int32(id)) == nil:
			return refuse(protocol.CodeBrokerIDNotRegistered, "Broker %d is not registered.", id)
		}
	case ResourceGroup:
		if r.Name == "" {
			return refuse(protocol.CodeInvalidRequest, "A group's name must not be empty.")
		}
	default:
		return refuse(protocol.CodeInvalidRequest, "Configurations of resource type %d are not supported by this version of Klamm.", r.Type)
	}
	return nil
}

// incrementalChanges computes new values from SET, DELETE, APPEND and SUBTRACT.
func (s *step) incrementalChanges(r Resource, wanted []kmsg.IncrementalAlterConfigsRequestResourceConfig) ([]configChange, *apiError) {
	var changes []configChange
	for i := range wanted {
		w := &wanted[i]
		if slices.ContainsFunc(changes, func(c configChange) bool { return c.name == w.Name }) {
			return nil, refuse(protocol.CodeInvalidRequest, "Configuration %s is named more than once.", w.Name)
		}
		value, err := s.incremented(r, w)
		if err == nil {
			err = checkConfig(r, w.Name, value)
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, configChange{w.Name, value})
	}
	return changes, nil
}

func (s *step) incremented(r Resource, w *kmsg.IncrementalAlterConfigsRequestResourceConfig) (*string, *apiError) {
	if w.Op != kmsg.IncrementalAlterConfigOpDelete && w.Value == nil {
		return nil, refuse(protocol.CodeInvalidRequest, "The value of %s must not be null.", w.Name)
	}
	switch w.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		return w.Value, nil
	case kmsg.IncrementalAlterConfigOpDelete:
		return nil, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, refuse(protocol.CodeInvalidRequest, "Operation %d on %s is not known.", w.Op, w.Name)
	}
	entry, ok := s.describe(r, w.Name)
	if !ok || entry.Kind != config.List {
		return nil, refuse(protocol.CodeInvalidConfig, "APPEND and SUBTRACT need a list, %s is none.", w.Name)
	}
	var list []string
	if entry.Value != nil {
		list = splitList(*entry.Value)
	}
	for _, item := range splitList(*w.Value) {
		at := slices.Index(list, item)
		switch {
		case w.Op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			list = append(list, item)
		case w.Op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	value := strings.Join(list, ",")
	return &value, nil
}

func splitList(value string) []string {
	var list []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// describe finds the effective entry of a configuration.
func (s *step) describe(r Resource, name string) (config.Entry, bool) {
	overrides := s.img().Config(r.Type, r.Name)
	var entries []config.Entry
	switch r.Type {
	case ResourceTopic:
		entries = s.brokerConfig().DescribeTopic(overrides)
	case ResourceGroup:
		entries = s.brokerConfig().DescribeGroup(overrides)
	default:
		entries = s.brokerConfig().DescribeBroker()
	}
	i := slices.IndexFunc(entries, func(e config.Entry) bool { return e.Name == name })
	if i < 0 {
		return config.Entry{}, false
	}
	return entries[i], true
}

// replacement computes the changes that make the given configurations the only ones.
func (s *step) replacement(r Resource, wanted []kmsg.AlterConfigsRequestResourceConfig) ([]configChange, *apiError) {
	var changes []configChange
	for i := range wanted {
		if err := checkConfig(r, wanted[i].Name, wanted[i].Value); err != nil {
			return nil, err
		}
		if wanted[i].Value == nil {
			return nil, refuse(protocol.CodeInvalidRequest, "The value of %s must not be null.", wanted[i].Name)
		}
		changes = append(changes, configChange{wanted[i].Name, wanted[i].Value})
	}
	for _, name := range sortedKeys(s.img().Config(r.Type, r.Name)) {
		if !slices.ContainsFunc(changes, func(c configChange) bool { return c.name == name }) {
			changes = append(changes, configChange{name: name})
		}
	}
	return changes, nil
}

// checkConfig validates one new value; removing is allowed for any name, so that what an older
// version stored can be cleaned up.
func checkConfig(r Resource, name string, value *string) *apiError {
	if value == nil {
		return nil
	}
	check, code := config.CheckTopic, protocol.CodeInvalidConfig
	switch r.Type {
	case ResourceGroup:
		check = config.CheckGroup
	case ResourceBroker: // Kafka's brokers validate their own, with another code
		code = protocol.CodeInvalidRequest
		check = func(name, value string) error { return config.CheckDynamic(name, value, r.Name == "") }
	}
	if err := check(name, *value); err != nil {
		return refuse(code, "%s", err.Error())
	}
	return nil
}

// setConfigs writes the records of changes that change something.
func (s *step) setConfigs(r Resource, changes []configChange) {
	clearELR := false
	for _, c := range changes {
		if old, ok := s.img().Config(r.Type, r.Name)[c.name]; ok == (c.value != nil) && (!ok || old == *c.value) {
			continue
		}
		s.emit(&kafkarecord.ConfigRecord{ResourceType: int8(r.Type), ResourceName: r.Name, Name: c.name, Value: c.value}, 0)
		clearELR = clearELR || c.name == minISRConfig
	}
	if clearELR && s.img().elrEnabled() && (r.Type == ResourceTopic || r.Type == ResourceBroker && r.Name == "") {
		record := &kafkarecord.ClearElrRecord{}
		if r.Type == ResourceTopic {
			record.TopicName = r.Name
		}
		s.emit(record, 0)
	}
	s.effective, s.topicConfigs = nil, nil
}
