package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// scriptGroups takes one member through the life of a classic group, in every version of every
// group request.
func scriptGroups(r *Run) error {
	if err := r.offsetsTopic(); err != nil {
		return err
	}
	if err := r.createTopic("committed", 2); err != nil {
		return err
	}
	for _, f := range []func(*Run) error{joinGroups, memberRequests, commitOffsets, fetchOffsets, describeGroups, deleteGroups} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func join(version int16, group, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID = version, group, member
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 30000, 30000, "consumer"
	for _, name := range []string{"range", "roundrobin"} {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte("subscription of "+name)
		req.Protocols = append(req.Protocols, p)
	}
	return req
}

func sync(version int16, group, member string, generation int32) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = version, group, member, generation
	kind, protocol := "consumer", "range"
	req.ProtocolType, req.Protocol = &kind, &protocol
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, []byte("assignment")
	req.GroupAssignment = append(req.GroupAssignment, a)
	return req
}

// joined makes a group with one stable member.
func (r *Run) joined(group string) (member string, generation int32, err error) {
	resp, err := r.quiet(join(3, group, ""))
	if err != nil {
		return "", 0, err
	}
	j := resp.(*kmsg.JoinGroupResponse)
	if j.ErrorCode != 0 {
		return "", 0, fmt.Errorf("joining %s: error %d", group, j.ErrorCode)
	}
	resp, err = r.quiet(sync(3, group, j.MemberID, j.Generation))
	if err != nil {
		return "", 0, err
	}
	if code := resp.(*kmsg.SyncGroupResponse).ErrorCode; code != 0 {
		return "", 0, fmt.Errorf("synchronising %s: error %d", group, code)
	}
	return j.MemberID, j.Generation, nil
}

func leave(version int16, group, member string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = version, group, member
	if version >= 3 {
		req.MemberID = ""
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = member
		req.Members = append(req.Members, m)
	}
	return req
}

func joinGroups(r *Run) error {
	return eachVersion(kmsg.JoinGroup, func(v int16) error {
		group := fmt.Sprintf("join-v%d", v)
		resp, err := r.step("new member", join(v, group, ""))
		if err != nil {
			return err
		}
		j := resp.(*kmsg.JoinGroupResponse)
		if v >= 4 {
			if resp, err = r.step("new member with its id", join(v, group, j.MemberID)); err != nil {
				return err
			}
			j = resp.(*kmsg.JoinGroupResponse)
		}
		for _, s := range []int16{0, 5} {
			if err := r.do("of a joined member", sync(s, group, j.MemberID, j.Generation)); err != nil {
				return err
			}
		}
		unknown := join(v, group, "nobody")
		short := join(v, group+"-x", "")
		short.SessionTimeoutMillis = 1
		long := join(v, group+"-x", "")
		long.SessionTimeoutMillis = 3_000_000
		noProtocols := join(v, group+"-x", "")
		noProtocols.Protocols = nil
		noType := join(v, group+"-x", "")
		noType.ProtocolType = ""
		otherType := join(v, group, j.MemberID)
		otherType.ProtocolType = "connect"
		requests := []any{
			"unknown member", unknown, "session timeout too short", short, "session timeout too long", long,
			"no protocols", noProtocols, "no protocol type", noType, "other protocol type", otherType,
			"empty group", join(v, "", ""),
			"member again", join(v, group, j.MemberID),
		}
		if v >= 5 {
			static := join(v, group+"-static", "")
			instance := "instance"
			static.InstanceID = &instance
			requests = append(requests, "static member", static, "static member again", static)
		}
		return r.all(orderedRequests(append(requests, "last member", leave(2, group, j.MemberID))...))
	})
}

func memberRequests(r *Run) error {
	err := eachVersion(kmsg.SyncGroup, func(v int16) error {
		group := fmt.Sprintf("sync-v%d", v)
		member, generation, err := r.joined(group)
		if err != nil {
			return err
		}
		requests := []any{
			"stable", sync(v, group, member, generation),
			"unknown member", sync(v, group, "nobody", generation),
			"old generation", sync(v, group, member, generation-1),
			"unknown group", sync(v, group+"-x", member, generation),
			"empty group", sync(v, "", member, generation),
		}
		if v >= 5 {
			other := sync(v, group, member, generation)
			name := "sticky"
			other.Protocol = &name
			none := sync(v, group, member, generation)
			none.ProtocolType, none.Protocol = nil, nil
			requests = append(requests, "other protocol", other, "no protocol", none)
		}
		return r.all(orderedRequests(requests...))
	})
	if err != nil {
		return err
	}
	err = eachVersion(kmsg.Heartbeat, func(v int16) error {
		group := fmt.Sprintf("beat-v%d", v)
		member, generation, err := r.joined(group)
		if err != nil {
			return err
		}
		beat := func(group, member string, generation int32) *kmsg.HeartbeatRequest {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Version, req.Group, req.MemberID, req.Generation = v, group, member, generation
			return req
		}
		return r.all(orderedRequests(
			"stable", beat(group, member, generation), "unknown member", beat(group, "nobody", generation),
			"old generation", beat(group, member, generation-1), "unknown group", beat(group+"-x", member, generation),
			"empty group", beat("", member, generation),
		))
	})
	if err != nil {
		return err
	}
	return eachVersion(kmsg.LeaveGroup, func(v int16) error {
		group := fmt.Sprintf("leave-v%d", v)
		member, _, err := r.joined(group)
		if err != nil {
			return err
		}
		requests := []any{"unknown member", leave(v, group, "nobody"), "member", leave(v, group, member), "again", leave(v, group, member), "unknown group", leave(v, group+"-x", member), "empty group", leave(v, "", member)}
		if v >= 3 {
			two := leave(v, group, "a")
			instance := "i"
			m := kmsg.NewLeaveGroupRequestMember()
			m.InstanceID = &instance
			two.Members = append(two.Members, m)
			none := leave(v, group, "a")
			none.Members = nil
			requests = append(requests, "two unknown members", two, "no members", none)
		}
		return r.all(orderedRequests(requests...))
	})
}

func commit(v int16, group, member string, generation int32, topic string, id [16]byte, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = v, group, member, generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, offset, 0
	words := "metadata"
	p.Metadata = &words
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func commitOffsets(r *Run) error {
	id, err := r.idOf("committed")
	if err != nil {
		return err
	}
	return eachVersion(kmsg.OffsetCommit, func(v int16) error {
		group := fmt.Sprintf("commit-v%d", v)
		member, generation, err := r.joined(group)
		if err != nil {
			return err
		}
		large := commit(v, group, member, generation, "committed", id, 0, 5)
		words := string(make([]byte, 5000))
		large.Topics[0].Partitions[0].Metadata = &words
		noWords := commit(v, group, member, generation, "committed", id, 1, 6)
		noWords.Topics[0].Partitions[0].Metadata = nil
		nothing := commit(v, group, member, generation, "committed", id, 0, 5)
		nothing.Topics = nil
		return r.all(orderedRequests(
			"member", commit(v, group, member, generation, "committed", id, 0, 5),
			"without metadata", noWords,
			"metadata too large", large,
			"nothing", nothing,
			"unknown member", commit(v, group, "nobody", generation, "committed", id, 0, 5),
			"old generation", commit(v, group, member, generation-1, "committed", id, 0, 5),
			"unknown topic", commit(v, group, member, generation, "committed-unknown", [16]byte{4}, 0, 5),
			"unknown partition", commit(v, group, member, generation, "committed", id, 7, 5),
			"negative offset", commit(v, group, member, generation, "committed", id, 0, -5),
			"no member of an unknown group", commit(v, group+"-simple", "", -1, "committed", id, 0, 8),
			"no member of a living group", commit(v, group, "", -1, "committed", id, 0, 8),
			"member of an unknown group", commit(v, group+"-x", member, 3, "committed", id, 0, 8),
			"empty group", commit(v, "", "", -1, "committed", id, 0, 8),
		))
	})
}

func fetchOffsets(r *Run) error {
	id, err := r.idOf("committed")
	if err != nil {
		return err
	}
	if _, err := r.quiet(commit(9, "fetched", "", -1, "committed", [16]byte{}, 0, 42)); err != nil {
		return err
	}
	return eachVersion(kmsg.OffsetFetch, func(v int16) error {
		ask := func(group, topic string, id [16]byte, partitions ...int32) *kmsg.OffsetFetchRequest {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Version = v
			if v < 8 {
				req.Group = group
				t := kmsg.NewOffsetFetchRequestTopic()
				t.Topic, t.Partitions = topic, partitions
				req.Topics = append(req.Topics, t)
				return req
			}
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group, g.MemberEpoch = group, -1
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.TopicID, t.Partitions = topic, id, partitions
			g.Topics = append(g.Topics, t)
			req.Groups = append(req.Groups, g)
			return req
		}
		requests := []any{
			"committed and not", ask("fetched", "committed", id, 0, 1),
			"unknown topic", ask("fetched", "committed-unknown", [16]byte{4}, 0),
			"unknown group", ask("fetched-unknown", "committed", id, 0),
			"empty group", ask("", "committed", id, 0),
		}
		if v >= 2 {
			everything := ask("fetched", "committed", id, 0)
			everything.Topics = nil
			if v >= 8 {
				everything.Groups[0].Topics = nil
			}
			stable := ask("fetched", "committed", id, 0)
			stable.RequireStable = true
			requests = append(requests, "everything", everything, "stable", stable)
		}
		if v >= 8 {
			two := ask("fetched", "committed", id, 0)
			two.Groups = append(two.Groups, ask("fetched-unknown", "committed", id, 0).Groups...)
			requests = append(requests, "two groups", two)
		}
		return r.all(orderedRequests(requests...))
	})
}

func describeGroups(r *Run) error {
	if _, _, err := r.joined("described"); err != nil {
		return err
	}
	if _, err := r.quiet(commit(9, "described-empty", "", -1, "committed", [16]byte{}, 0, 42)); err != nil {
		return err
	}
	err := eachVersion(kmsg.DescribeGroups, func(v int16) error {
		ask := func(operations bool, groups ...string) *kmsg.DescribeGroupsRequest {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Version, req.Groups, req.IncludeAuthorizedOperations = v, groups, operations
			return req
		}
		return r.all(orderedRequests(
			"stable", ask(false, "described"), "operations", ask(v >= 3, "described"), "without members", ask(false, "described-empty"),
			"unknown", ask(false, "described-unknown"), "two", ask(false, "described", "described-unknown"), "empty name", ask(false, ""), "none", ask(false),
		))
	})
	if err != nil {
		return err
	}
	return eachVersion(kmsg.ListGroups, func(v int16) error {
		ask := func(states, types []string) *kmsg.ListGroupsRequest {
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = v, states, types
			return req
		}
		requests := []any{"all", ask(nil, nil)}
		if v >= 4 {
			requests = append(requests, "stable", ask([]string{"Stable"}, nil), "empty, in capitals", ask([]string{"EMPTY"}, nil), "unknown state", ask([]string{"Odd"}, nil))
		}
		if v >= 5 {
			requests = append(requests, "classic", ask(nil, []string{"classic"}), "consumer", ask(nil, []string{"consumer"}), "unknown type", ask(nil, []string{"odd"}))
		}
		return r.all(orderedRequests(requests...))
	})
}

func deleteGroups(r *Run) error {
	return eachVersion(kmsg.DeleteGroups, func(v int16) error {
		group := fmt.Sprintf("deleted-v%d", v)
		if _, _, err := r.joined(group); err != nil {
			return err
		}
		if _, err := r.quiet(commit(9, group+"-empty", "", -1, "committed", [16]byte{}, 0, 42)); err != nil {
			return err
		}
		ask := func(groups ...string) *kmsg.DeleteGroupsRequest {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Version, req.Groups = v, groups
			return req
		}
		return r.all(orderedRequests(
			"with members", ask(group), "without members", ask(group+"-empty"), "again", ask(group+"-empty"),
			"unknown", ask("deleted-unknown"), "two", ask(group, "deleted-unknown"), "empty name", ask(""), "none", ask(),
		))
	})
}

// scriptOffsetDelete deletes committed offsets of groups with and without members.
func scriptOffsetDelete(r *Run) error {
	if err := r.offsetsTopic(); err != nil {
		return err
	}
	if err := r.createTopic("dropped", 2); err != nil {
		return err
	}
	for _, partition := range []int32{0, 1} {
		if _, err := r.quiet(commit(9, "dropping", "", -1, "dropped", [16]byte{}, partition, 42)); err != nil {
			return err
		}
	}
	if _, _, err := r.joined("dropping-members"); err != nil {
		return err
	}
	ask := func(group, topic string, partitions ...int32) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = topic
		for _, id := range partitions {
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = id
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	left := kmsg.NewPtrOffsetFetchRequest()
	left.Version, left.Group = 7, "dropping"
	return r.all(orderedRequests(
		"one partition", ask("dropping", "dropped", 0),
		"again", ask("dropping", "dropped", 0),
		"what is left", left,
		"unknown partition", ask("dropping", "dropped", 9),
		"unknown topic", ask("dropping", "dropped-unknown", 0),
		"no partitions", ask("dropping", "dropped"),
		"unknown group", ask("dropping-unknown", "dropped", 0),
		"empty group", ask("", "dropped", 0),
		"group with members", ask("dropping-members", "dropped", 0),
	))
}
