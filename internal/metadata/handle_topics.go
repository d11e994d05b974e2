package metadata

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// maxPartitionsPerRequest bounds what one request may create, as Kafka does.
const maxPartitionsPerRequest = 10_000

// metadataTopic is the log of this package; it is no topic of the cluster.
const metadataTopic = "__cluster_metadata"

func compareNames(a, b string) int { return strings.Compare(a, b) }

// createTopics handles CreateTopics (19): one result per distinct name, in the order of the
// request. With ValidateOnly every check runs and nothing is written.
func (s *step) createTopics(req *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateTopicsResponse()
	times := map[string]int{}
	for i := range req.Topics {
		times[req.Topics[i].Topic]++
	}
	var created int
	answered := map[string]bool{}
	for i := range req.Topics {
		want := &req.Topics[i]
		if answered[want.Topic] {
			continue
		}
		answered[want.Topic] = true
		out := kmsg.NewCreateTopicsResponseTopic()
		out.Topic = want.Topic
		err := refuseIf(times[want.Topic] > 1, protocol.CodeInvalidRequest, "Topic %s is named more than once in the request.", want.Topic)
		if err == nil {
			err = refuseIf(len(answered) > maxPartitionsPerRequest, protocol.CodePolicyViolation, "One request may name at most %d topics.", maxPartitionsPerRequest)
		}
		if err == nil {
			err = s.createTopic(want, &created, &out)
		}
		if err != nil {
			out.ErrorCode, out.ErrorMessage = err.code, err.text()
			out.NumPartitions, out.ReplicationFactor, out.Configs = -1, -1, nil
		}
		resp.Topics = append(resp.Topics, out)
	}
	if req.ValidateOnly {
		s.forget()
	}
	return resp
}

func refuseIf(condition bool, code int16, format string, args ...any) *apiError {
	if condition {
		return refuse(code, format, args...)
	}
	return nil
}

// createTopic checks and creates one topic and fills in its result.
func (s *step) createTopic(want *kmsg.CreateTopicsRequestTopic, created *int, out *kmsg.CreateTopicsResponseTopic) *apiError {
	if err := s.checkNewName(want.Topic); err != nil {
		return err
	}
	overrides, err := topicOverrides(want.Configs)
	if err != nil {
		return err
	}
	replicas, err := s.newAssignment(want)
	if err != nil {
		return err
	}
	if *created += len(replicas); *created > maxPartitionsPerRequest {
		return refuse(protocol.CodePolicyViolation, "One request may create at most %d partitions.", maxPartitionsPerRequest)
	}
	t := &kafkarecord.TopicRecord{Name: want.Topic, TopicID: s.newTopicID()}
	s.emit(t, 0)
	for _, name := range sortedKeys(overrides) {
		value := overrides[name]
		s.emit(&kafkarecord.ConfigRecord{ResourceType: int8(ResourceTopic), ResourceName: want.Topic, Name: name, Value: &value}, 0)
	}
	for i := range replicas {
		s.emit(s.newPartition(t.TopicID, int32(i), replicas[i]), partitionRecordVersion)
	}
	out.TopicID, out.NumPartitions, out.ReplicationFactor = t.TopicID, int32(len(replicas)), int16(len(replicas[0]))
	out.Configs = createdConfigs(s.brokerConfig().DescribeTopic(overrides))
	return nil
}

// createdConfigs lists the effective configuration for the reply. The list is never nil: Kafka's
// admin client does not survive that.
func createdConfigs(entries []config.Entry) []kmsg.CreateTopicsResponseTopicConfig {
	list := []kmsg.CreateTopicsResponseTopicConfig{}
	for _, e := range entries {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly, c.Source, c.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		list = append(list, c)
	}
	return list
}

func (s *step) checkNewName(name string) *apiError {
	switch err := CheckTopicName(name); {
	case err != nil:
		return refuse(protocol.CodeInvalidTopicException, "Topic name is invalid: %s.", err.Error())
	case name == metadataTopic:
		return refuse(protocol.CodeInvalidRequest, "%s is the cluster's own metadata log and cannot be created.", name)
	case s.img().Topic(name) != nil:
		return refuse(protocol.CodeTopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other := s.collision(name); other != "" {
		return refuse(protocol.CodeInvalidTopicException, "Topic '%s' collides with existing topic: %s ('.' and '_' are the same in metric names).", name, other)
	}
	return nil
}

// collision returns an existing topic whose name differs only in '.' and '_', else "".
func (s *step) collision(name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	wanted := strings.ReplaceAll(name, ".", "_")
	found := ""
	s.img().topics.all(func(other string, _ *Topic) {
		if len(other) == len(wanted) && strings.ReplaceAll(other, ".", "_") == wanted && (found == "" || other < found) {
			found = other
		}
	})
	return found
}

// topicOverrides checks the configurations of a new topic.
func topicOverrides(configs []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, *apiError) {
	overrides := map[string]string{}
	for _, c := range configs {
		if c.Value == nil {
			return nil, refuse(protocol.CodeInvalidConfig, "Null value not supported for topic configs: %s", c.Name)
		}
		if err := config.CheckTopic(c.Name, *c.Value); err != nil {
			return nil, refuse(protocol.CodeInvalidConfig, "%s", err.Error())
		}
		overrides[c.Name] = *c.Value
	}
	return overrides, nil
}

// newPartition is the record of a new partition: led by its first active replica.
func (s *step) newPartition(topic [16]byte, id int32, replicas []int32) *kafkarecord.PartitionRecord {
	r := kafkarecord.NewPartitionRecord()
	r.TopicID, r.PartitionID, r.Replicas = topic, id, replicas
	r.LeaderEpoch, r.PartitionEpoch = 0, 0
	for _, b := range replicas {
		broker := s.img().Broker(b)
		r.Directories = append(r.Directories, defaultDir(broker))
		if broker.active() {
			r.ISR = append(r.ISR, b)
		}
	}
	r.Leader = r.ISR[0]
	return r
}

// defaultDir is where a new replica goes: the broker's directory when it has just one.
func defaultDir(b *Broker) [16]byte {
	if len(b.LogDirs) == 1 {
		return b.LogDirs[0]
	}
	return DirUnassigned
}

// deleteTopics handles DeleteTopics (20), by name or by id (v6): one result per topic, in the order
// of the request.
func (s *step) deleteTopics(req *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	wanted := req.Topics
	for i := range req.TopicNames {
		wanted = append(wanted, kmsg.DeleteTopicsRequestTopic{Topic: &req.TopicNames[i]})
	}
	times := map[string]int{}
	for i := range wanted {
		times[s.deletionKey(&wanted[i])]++
	}
	answered := map[string]bool{}
	for i := range wanted {
		w := &wanted[i]
		key := s.deletionKey(w)
		if answered[key] {
			continue
		}
		answered[key] = true
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = w.Topic, w.TopicID
		t, err := s.topicToDelete(w)
		if err == nil && times[key] > 1 {
			err = refuse(protocol.CodeInvalidRequest, "Topic %s is named more than once in the request.", t.Name)
		}
		if err != nil {
			out.ErrorCode, out.ErrorMessage = err.code, err.text()
		} else {
			out.Topic, out.TopicID = &t.Name, t.ID
		}
		resp.Topics = append(resp.Topics, out)
	}
	for i := range resp.Topics { // after all checks, so that one answer does not change another
		if resp.Topics[i].ErrorCode == 0 {
			s.emit(&kafkarecord.RemoveTopicRecord{TopicID: resp.Topics[i].TopicID}, 0)
		}
	}
	return resp
}

// deletionKey is equal for two ways of naming one topic.
func (s *step) deletionKey(w *kmsg.DeleteTopicsRequestTopic) string {
	if w.Topic == nil {
		return string(w.TopicID[:])
	}
	if t := s.img().Topic(*w.Topic); t != nil {
		return string(t.ID[:])
	}
	return "name " + *w.Topic
}

func (s *step) topicToDelete(w *kmsg.DeleteTopicsRequestTopic) (*Topic, *apiError) {
	byID := w.TopicID != [16]byte{}
	switch {
	case w.Topic != nil && byID:
		return nil, refuse(protocol.CodeInvalidRequest, "A topic is named either by name or by id, not by both.")
	case w.Topic == nil && !byID:
		return nil, refuse(protocol.CodeInvalidRequest, "Neither a topic name nor a topic id is given.")
	case !s.brokerConfig().Bool("delete.topic.enable"):
		return nil, refuse(protocol.CodeTopicDeletionDisabled, "Topic deletion is disabled (delete.topic.enable=false).")
	}
	if byID {
		if t := s.img().TopicByID(w.TopicID); t != nil {
			return t, nil
		}
		return nil, refuse(protocol.CodeUnknownTopicID, "There is no topic with id %s.", kafkarecord.FormatUUID(w.TopicID))
	}
	if t := s.img().Topic(*w.Topic); t != nil {
		return t, nil
	}
	return nil, noSuchTopic(*w.Topic)
}

func noSuchTopic(name string) *apiError {
	return refuse(protocol.CodeUnknownTopicOrPartition, "Topic '%s' does not exist.", name)
}

// createPartitions handles CreatePartitions (37): the count is the new total.
func (s *step) createPartitions(req *kmsg.CreatePartitionsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	times := map[string]int{}
	for i := range req.Topics {
		times[req.Topics[i].Topic]++
	}
	created := 0
	answered := map[string]bool{}
	for i := range req.Topics {
		w := &req.Topics[i]
		if answered[w.Topic] {
			continue
		}
		answered[w.Topic] = true
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = w.Topic
		err := refuseIf(times[w.Topic] > 1, protocol.CodeInvalidRequest, "Topic %s is named more than once in the request.", w.Topic)
		if err == nil {
			err = s.addPartitions(w, &created)
		}
		if err != nil {
			out.ErrorCode, out.ErrorMessage = err.code, err.text()
		}
		resp.Topics = append(resp.Topics, out)
	}
	if req.ValidateOnly {
		s.forget()
	}
	return resp
}

func (s *step) addPartitions(w *kmsg.CreatePartitionsRequestTopic, created *int) *apiError {
	t := s.img().Topic(w.Topic)
	if t == nil {
		return noSuchTopic(w.Topic)
	}
	have := len(t.Partitions)
	switch more := int(w.Count) - have; {
	case more == 0:
		return refuse(protocol.CodeInvalidPartitions, "Topic already has %d partition(s).", have)
	case more < 0:
		return refuse(protocol.CodeInvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", w.Topic, have, w.Count)
	case w.Assignment != nil && len(w.Assignment) != more:
		return refuse(protocol.CodeInvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(w.Assignment))
	case *created+more > maxPartitionsPerRequest:
		return refuse(protocol.CodePolicyViolation, "One request may create at most %d partitions.", maxPartitionsPerRequest)
	}
	*created += int(w.Count) - have
	replication := len(t.Partitions[0].Replicas)
	replicas, err := s.extraAssignment(w, int(w.Count)-have, replication)
	if err != nil {
		return err
	}
	for i := range replicas {
		s.emit(s.newPartition(t.ID, int32(have+i), replicas[i]), partitionRecordVersion)
	}
	return nil
}

// extraAssignment places added partitions, as the request says or by itself.
func (s *step) extraAssignment(w *kmsg.CreatePartitionsRequestTopic, more, replication int) ([][]int32, *apiError) {
	if w.Assignment == nil {
		return s.place(more, replication)
	}
	var replicas [][]int32
	for i := range w.Assignment {
		list := w.Assignment[i].Replicas
		if err := s.checkReplicas(list, replication); err != nil {
			return nil, err
		}
		replicas = append(replicas, slices.Clone(list))
	}
	return replicas, nil
}
