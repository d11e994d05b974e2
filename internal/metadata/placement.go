package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// maxTopicName is the longest topic name in bytes: it must fit a directory name with its suffixes.
const maxTopicName = 249

// CheckTopicName says whether a name may be a topic's: 1 to 249 of [a-zA-Z0-9._-], not "." or "..".
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return errors.New("a topic name must not be empty")
	case name == "." || name == "..":
		return fmt.Errorf("'%s' cannot be a topic name", name)
	case len(name) > maxTopicName:
		return fmt.Errorf("a topic name has at most %d characters, this one has %d", maxTopicName, len(name))
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return fmt.Errorf("'%s' has a character other than ASCII letters and digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// newAssignment gives the replicas of each partition of a new topic.
func (s *step) newAssignment(want *kmsg.CreateTopicsRequestTopic) ([][]int32, *apiError) {
	if len(want.ReplicaAssignment) > 0 {
		return s.manualAssignment(want)
	}
	partitions, replication := int(want.NumPartitions), int(want.ReplicationFactor)
	if partitions == -1 {
		partitions = s.brokerConfig().Int("num.partitions")
	}
	if replication == -1 {
		replication = s.brokerConfig().Int("default.replication.factor")
	}
	switch {
	case partitions <= 0:
		return nil, refuse(protocol.CodeInvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case replication <= 0 || replication > math.MaxInt16:
		return nil, refuse(protocol.CodeInvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions > maxPartitionsPerRequest:
		return nil, refuse(protocol.CodePolicyViolation, "One request may create at most %d partitions.", maxPartitionsPerRequest)
	}
	return s.place(partitions, replication)
}

// manualAssignment checks an assignment given by the client: partitions 0, 1, 2, ... with equally
// many replicas on registered brokers.
func (s *step) manualAssignment(want *kmsg.CreateTopicsRequestTopic) ([][]int32, *apiError) {
	given := want.ReplicaAssignment
	switch {
	case want.ReplicationFactor != -1:
		return nil, refuse(protocol.CodeInvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case want.NumPartitions != -1:
		return nil, refuse(protocol.CodeInvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	replicas := make([][]int32, len(given))
	for i := range given {
		id := int(given[i].Partition)
		if id < 0 || id >= len(given) || replicas[id] != nil {
			return nil, refuse(protocol.CodeInvalidReplicaAssignment, "Partitions of a manual assignment must be numbered from 0 without gaps or repetition; %d is not.", id)
		}
		if err := s.checkReplicas(given[i].Replicas, len(given[0].Replicas)); err != nil {
			return nil, err
		}
		replicas[id] = slices.Clone(given[i].Replicas)
	}
	return replicas, nil
}

// checkReplicas checks one partition of a manual assignment.
func (s *step) checkReplicas(replicas []int32, replication int) *apiError {
	if len(replicas) == 0 {
		return refuse(protocol.CodeInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	active := false
	for i, id := range replicas {
		b := s.img().Broker(id)
		switch {
		case b == nil:
			return refuse(protocol.CodeInvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		case slices.Contains(replicas[:i], id):
			return refuse(protocol.CodeInvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		active = active || b.active()
	}
	switch {
	case len(replicas) != replication:
		return refuse(protocol.CodeInvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), replication)
	case !active:
		return refuse(protocol.CodeInvalidReplicaAssignment, "All brokers of the manual partition assignment are fenced or shutting down.")
	}
	return nil
}

// place spreads partitions over brokers: striped over racks, then over the brokers of a rack, from a
// random start, no two replicas on one broker, the first replica on an active one.
func (s *step) place(partitions, replication int) ([][]int32, *apiError) {
	order := s.stripedBrokers()
	if len(order) < replication {
		return nil, refuse(protocol.CodeInvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered.", replication, replication, len(order))
	}
	leaders := slices.DeleteFunc(slices.Clone(order), func(id int32) bool { return !s.img().Broker(id).active() })
	if len(leaders) == 0 {
		return nil, refuse(protocol.CodeInvalidReplicationFactor, "Unable to replicate the partition %d time(s): All brokers are currently fenced.", replication)
	}
	start := s.randomBelow(len(leaders))
	out := make([][]int32, partitions)
	for i := range out {
		out[i] = append(out[i], leaders[(start+i)%len(leaders)])
		at := slices.Index(order, out[i][0]) + 1 + (start+i)/len(leaders) // shift followers round by round
		for j := 0; len(out[i]) < replication; j++ {
			if id := order[(at+j)%len(order)]; !slices.Contains(out[i], id) {
				out[i] = append(out[i], id)
			}
		}
	}
	return out, nil
}

// stripedBrokers orders the registered brokers so that neighbours are in different racks.
func (s *step) stripedBrokers() []int32 {
	racks := map[string][]int32{}
	for _, b := range s.img().Brokers() {
		rack := ""
		if b.Rack != nil {
			rack = *b.Rack
		}
		if !b.InControlledShutdown {
			racks[rack] = append(racks[rack], b.ID)
		}
	}
	var order []int32
	for i := 0; ; i++ {
		before := len(order)
		for _, rack := range sortedKeys(racks) {
			if i < len(racks[rack]) {
				order = append(order, racks[rack][i])
			}
		}
		if len(order) == before {
			return order
		}
	}
}

// randomBelow draws a number below n.
func (s *step) randomBelow(n int) int {
	id := randomID(s.rnd)
	return int(binary.BigEndian.Uint32(id[:]) % uint32(n))
}
