package coordinator

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// stepArgs are the key=value words of one scenario step.
type stepArgs struct {
	player *player
	label  string
	line   int
	values map[string]string
}

func (a stepArgs) text(name, missing string) string {
	if v, ok := a.values[name]; ok {
		return v
	}
	return missing
}

func (a stepArgs) optional(name string) *string {
	if v, ok := a.values[name]; ok {
		if v == "-" {
			v = ""
		}
		return &v
	}
	return nil
}

func (a stepArgs) number(name string, missing int64) int64 {
	v, ok := a.values[name]
	if !ok {
		return missing
	}
	if v == "*" {
		return int64(a.player.generations[a.label])
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		a.player.t.Fatalf("line %d: %s=%s: %v", a.line, name, v, err)
	}
	return n
}

func (a stepArgs) list(name string) []string {
	v := a.values[name]
	if v == "" {
		return nil
	}
	return strings.Split(v, ";")
}

// member is the member= word, or else the newest id the label knows.
func (a stepArgs) member() string {
	if v, ok := a.values["member"]; ok {
		return a.player.resolve(v)
	}
	if ids := a.player.ids[a.label]; len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

func (a stepArgs) group() string { return a.player.groupName(a.text("group", "g")) }

func (a stepArgs) build(api string, version int16) kmsg.Request {
	switch api {
	case "join":
		return a.join()
	case "sync":
		return a.sync()
	case "heartbeat":
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.MemberID, r.Generation, r.InstanceID = a.group(), a.member(), int32(a.number("gen", -1)), a.optional("instance")
		return r
	case "leave":
		return a.leave(version)
	case "commit":
		return a.commit(version)
	case "fetch":
		return a.fetch(version)
	case "list":
		r := kmsg.NewPtrListGroupsRequest()
		r.StatesFilter, r.TypesFilter = a.list("states"), a.list("types")
		return r
	case "describe":
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups = a.groups()
		r.IncludeAuthorizedOperations = a.text("operations", "") == "true"
		return r
	case "delete":
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Groups = a.groups()
		return r
	case "offsetdelete":
		return a.offsetDelete()
	}
	a.player.t.Fatalf("line %d: unknown request %q", a.line, api)
	return nil
}

func (a stepArgs) groups() []string {
	names := a.list("groups")
	if names == nil {
		return []string{a.group()}
	}
	for i := range names {
		names[i] = a.player.groupName(names[i])
	}
	return names
}

func (a stepArgs) join() kmsg.Request {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.InstanceID = a.group(), a.member(), a.optional("instance")
	r.SessionTimeoutMillis = int32(a.number("session", 30000))
	r.RebalanceTimeoutMillis = int32(a.number("rebalance", 30000))
	r.Reason = a.optional("reason")
	r.ProtocolType = a.text("type", "consumer")
	if r.ProtocolType == "-" {
		r.ProtocolType = ""
	}
	protocols := a.list("protocols")
	if protocols == nil {
		protocols = []string{"range:sub" + a.label}
	}
	if a.values["protocols"] == "-" {
		protocols = nil
	}
	for _, p := range protocols {
		protocol := kmsg.NewJoinGroupRequestProtocol()
		name, metadata, _ := strings.Cut(p, ":")
		protocol.Name, protocol.Metadata = name, metadataBytes(metadata)
		r.Protocols = append(r.Protocols, protocol)
	}
	return r
}

// metadataBytes turns topics(a,b) into a consumer protocol subscription and everything else into
// its own bytes.
func metadataBytes(text string) []byte {
	inner, ok := strings.CutPrefix(text, "topics(")
	if !ok {
		return []byte(text)
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = strings.Split(strings.TrimSuffix(inner, ")"), ",")
	return m.AppendTo(nil)
}

func (a stepArgs) sync() kmsg.Request {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.InstanceID = a.group(), a.member(), a.optional("instance")
	r.Generation = int32(a.number("gen", -1))
	r.ProtocolType, r.Protocol = a.optional("type"), a.optional("proto")
	for _, text := range a.list("assign") {
		member, bytes, _ := strings.Cut(text, ":")
		assignment := kmsg.NewSyncGroupRequestGroupAssignment()
		assignment.MemberID, assignment.MemberAssignment = a.player.resolve(member), []byte(bytes)
		r.GroupAssignment = append(r.GroupAssignment, assignment)
	}
	return r
}

func (a stepArgs) leave(version int16) kmsg.Request {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group = a.group()
	if version < 3 {
		r.MemberID = a.member()
		return r
	}
	for _, text := range a.list("members") {
		member := kmsg.NewLeaveGroupRequestMember()
		id, instance, static := strings.Cut(text, "@")
		member.MemberID = a.player.resolve(id)
		if static {
			member.InstanceID = &instance
		}
		member.Reason = a.optional("reason")
		r.Members = append(r.Members, member)
	}
	return r
}

func (a stepArgs) commit(version int16) kmsg.Request {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.MemberID, r.InstanceID = a.group(), a.member(), a.optional("instance")
	r.Generation = int32(a.number("gen", -1))
	r.RetentionTimeMillis = a.number("retention", -1)
	for _, text := range a.list("offsets") {
		words := strings.Split(text, ":")
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic = words[0]
		topic.TopicID = a.player.target.topicID(words[0])
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		partition.Partition = int32(a.parse(words[1]))
		partition.Offset = a.parse(words[2])
		if len(words) > 3 {
			metadata := repeated(words[3])
			partition.Metadata = &metadata
		}
		if len(words) > 4 {
			partition.LeaderEpoch = int32(a.parse(words[4]))
		}
		for range a.number("manyoffsets", 1) {
			topic.Partitions = append(topic.Partitions, partition)
		}
		if n := len(r.Topics); n > 0 && words[0] == r.Topics[n-1].Topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, partition)
			continue
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

// repeated expands x*4097.
func repeated(text string) string {
	word, count, ok := strings.Cut(text, "*")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return text
	}
	return strings.Repeat(word, n)
}

func (a stepArgs) parse(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		a.player.t.Fatalf("line %d: %v", a.line, err)
	}
	return n
}

func (a stepArgs) fetch(version int16) kmsg.Request {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.RequireStable = a.text("stable", "") == "true"
	if version < 8 {
		r.Group = a.group()
		for _, t := range a.topics(a.values["topics"]) {
			topic := kmsg.NewOffsetFetchRequestTopic()
			topic.Topic, topic.Partitions = t.name, t.partitions
			r.Topics = append(r.Topics, topic)
		}
		return r
	}
	groups := strings.Split(a.text("groups", a.text("group", "g")+"!"+a.values["topics"]), "|")
	for _, text := range groups {
		name, topics, _ := strings.Cut(text, "!")
		group := kmsg.NewOffsetFetchRequestGroup()
		group.Group = a.player.groupName(name)
		group.MemberID = a.optional("member")
		group.MemberEpoch = int32(a.number("epoch", -1))
		for _, t := range a.topics(topics) {
			topic := kmsg.NewOffsetFetchRequestGroupTopic()
			topic.Topic, topic.Partitions = t.name, t.partitions
			topic.TopicID = a.player.target.topicID(t.name)
			group.Topics = append(group.Topics, topic)
		}
		if topics == "none" {
			group.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
		}
		r.Groups = append(r.Groups, group)
	}
	return r
}

type namedPartitions struct {
	name       string
	partitions []int32
}

// topics parses t1:0,1;t2:0. The word null or nothing means all topics.
func (a stepArgs) topics(text string) []namedPartitions {
	if text == "null" || text == "" || text == "none" {
		return nil
	}
	var topics []namedPartitions
	for _, word := range strings.Split(text, ";") {
		name, partitions, _ := strings.Cut(word, ":")
		t := namedPartitions{name: name}
		for _, p := range strings.Split(partitions, ",") {
			t.partitions = append(t.partitions, int32(a.parse(p)))
		}
		topics = append(topics, t)
	}
	return topics
}

func (a stepArgs) offsetDelete() kmsg.Request {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = a.group()
	for _, t := range a.topics(a.values["topics"]) {
		topic := kmsg.NewOffsetDeleteRequestTopic()
		topic.Topic = t.name
		for _, p := range t.partitions {
			partition := kmsg.NewOffsetDeleteRequestTopicPartition()
			partition.Partition = p
			topic.Partitions = append(topic.Partitions, partition)
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}
