package coordinator

import (
	"encoding/binary"
	"unicode/utf16"
)

// vote chooses the protocol of the next generation: of those that all members support, the one
// that most members list first (Kafka's ClassicGroup.selectProtocol). There is one, because a
// member that shares none with the rest is not admitted.
func (g *group) vote() string {
	votes := map[string]int{}
	var candidates []string // in the order of their first vote
	for _, m := range g.order {
		for _, p := range m.protocols {
			if g.votes[p.name] == len(g.members) {
				if votes[p.name] == 0 {
					candidates = append(candidates, p.name)
				}
				votes[p.name]++
				break
			}
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	best := candidates[0]
	for _, name := range candidates[1:] {
		if votes[name] > votes[best] || votes[name] == votes[best] && tieBefore(name, best, len(candidates)) {
			best = name
		}
	}
	return best
}

// tieBefore orders protocols with equal votes as Apache Kafka does, which takes the first one in
// the iteration order of a Java hash map: a coordinator that moves between the two then chooses
// the same. Names of the same bucket keep the order of their first vote.
func tieBefore(a, b string, size int) bool {
	buckets := int32(16)
	for int32(size) > buckets*3/4 {
		buckets *= 2
	}
	bucket := func(name string) int32 {
		hash := javaHash(name)
		return (hash ^ int32(uint32(hash)>>16)) & (buckets - 1)
	}
	return bucket(a) < bucket(b)
}

// javaHash is Java's String.hashCode: over UTF-16 units, wrapping.
func javaHash(s string) int32 {
	var hash int32
	for i := range len(s) {
		if s[i] >= 0x80 {
			hash = 0
			for _, unit := range utf16.Encode([]rune(s)) {
				hash = 31*hash + int32(unit)
			}
			return hash
		}
		hash = 31*hash + int32(s[i])
	}
	return hash
}

// subscribedTopics are the topics that the members of a consumer group read. The zero value means
// that they are not known.
type subscribedTopics struct {
	known bool
	names map[string]bool
}

// contains tells whether a member reads the topic, or may read it for all the broker can see.
func (s subscribedTopics) contains(topic string, protocolType *string) bool {
	if s.known {
		return s.names[topic]
	}
	return protocolType != nil && *protocolType == consumerProtocolType
}

// subscriptions reads the members' subscriptions for the chosen protocol.
func (g *group) subscriptions() subscribedTopics {
	if g.protocolType == nil || *g.protocolType != consumerProtocolType {
		return subscribedTopics{}
	}
	names := map[string]bool{}
	for _, m := range g.order {
		if g.protocol == nil || !readSubscription(m.metadata(*g.protocol), names) {
			return subscribedTopics{}
		}
	}
	return subscribedTopics{known: true, names: names}
}

// readSubscription adds the topics of a consumer protocol subscription to names: version int16,
// then an array of int16-prefixed strings. What follows them differs by version and is not needed.
func readSubscription(b []byte, names map[string]bool) bool {
	if len(b) < 6 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return false
	}
	count := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for ; count > 0; count-- {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || size > len(b)-2 {
			return false
		}
		names[string(b[2:2+size])] = true
		b = b[2+size:]
	}
	return count == 0
}
