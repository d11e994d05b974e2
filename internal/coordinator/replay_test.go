package coordinator

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/kafkarecord"
	"klamm/internal/record"
)

func fuzzConfig() GroupConfig {
	return GroupConfig{
		MinSessionTimeout: time.Second, MaxSessionTimeout: time.Hour, MaxSize: 100, OffsetMetadataMaxBytes: 4096,
		OffsetsRetention: time.Hour, RetentionCheckInterval: time.Minute, LoadBufferBytes: 1 << 20, MaxBatchBytes: 1 << 20,
	}
}

func fuzzShard() *groupShard {
	return newGroupShard(fuzzConfig(), seededReader{rand.New(rand.NewPCG(1, 2))})
}

// use exercises a loaded shard: nothing that a log may say makes it panic or wake up for ever.
func use(t *testing.T, s *groupShard) {
	t.Helper()
	now := time.UnixMilli(1_700_000_000_000)
	s.loaded(now)
	s.handle(now, request{body: listGroups{}, ticket: 1})
	var ids []string
	for id := range s.groups {
		ids = append(ids, id)
	}
	for _, id := range ids {
		s.handle(now, request{body: describeGroup{id: id}, ticket: 2})
		s.handle(now, request{body: fetchOffsets{group: id, all: true}, ticket: 3})
	}
	for range 1000 {
		at, ok := s.nextDeadline()
		if !ok || at.After(now.Add(365*24*time.Hour)) {
			break
		}
		if at.After(now) {
			now = at
		}
		s.tick(now)
	}
	for _, id := range ids {
		s.handle(now, request{body: deleteGroup{id: id}, ticket: 4})
	}
}

func groupRecord(t testing.TB, key, value kafkarecord.Message, version int16) Record {
	t.Helper()
	rec, err := newRecord(key, value, version)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func sampleRecords(t testing.TB) []Record {
	meta := kafkarecord.NewGroupMetadataValue()
	name, leader := "range", "m1"
	meta.ProtocolType, meta.Generation, meta.Protocol, meta.Leader = "consumer", 3, &name, &leader
	one := kafkarecord.NewGroupMetadataValueMemberMetadata()
	one.MemberID, one.GroupInstanceID, one.SessionTimeout = "m1", &name, 30000
	one.Subscription = []byte{0, 0, 0, 0, 0, 1, 0, 2, 't', '1'}
	meta.Members = []kafkarecord.GroupMetadataValueMemberMetadata{one, one}
	offset := kafkarecord.NewOffsetCommitValue()
	offset.Offset, offset.Metadata = 7, "m"
	expiring := kafkarecord.NewOffsetCommitValue()
	expiring.ExpireTimestamp = 1 << 62
	return []Record{
		groupRecord(t, &kafkarecord.GroupMetadataKey{Group: "g"}, meta, 3),
		groupRecord(t, &kafkarecord.GroupMetadataKey{Group: "g"}, nil, 0),
		groupRecord(t, offsetKey("g", "t1", 0), offset, 4),
		groupRecord(t, offsetKey("h", "t1", 0), expiring, 1),
		groupRecord(t, offsetKey("g", "t1", 0), nil, 0),
		groupRecord(t, &kafkarecord.LegacyOffsetCommitKey{Group: "g", Topic: "t"}, kafkarecord.NewLegacyOffsetCommitValue(), 0),
	}
}

// FuzzReplay gives two arbitrary records to a shard.
func FuzzReplay(f *testing.F) {
	samples := sampleRecords(f)
	for i, a := range samples {
		b := samples[(i+1)%len(samples)]
		f.Add(a.Key, a.Value, a.Value == nil, b.Key, b.Value, b.Value == nil)
	}
	f.Fuzz(func(t *testing.T, key1, value1 []byte, gone1 bool, key2, value2 []byte, gone2 bool) {
		s := fuzzShard()
		for _, r := range []struct {
			key, value []byte
			gone       bool
		}{{key1, value1, gone1}, {key2, value2, gone2}} {
			rec := Record{Key: r.key, Value: r.value}
			if r.gone {
				rec.Value = nil
			} else if rec.Value == nil {
				rec.Value = []byte{}
			}
			if err := s.replay(rec); err != nil {
				return
			}
		}
		use(t, s)
	})
}

// FuzzLoad gives arbitrary bytes in place of the log.
func FuzzLoad(f *testing.F) {
	builder := record.NewBuilder(record.Plain())
	for _, r := range sampleRecords(f) {
		builder.Append(1, r.Key, r.Value, nil)
	}
	batch, err := builder.Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(batch))
	for _, path := range kafkaLogs(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for rest := log; ; {
			b, next, err := record.Next(rest)
			if err != nil {
				break
			}
			b.SetMaxTimestamp(b.MaxTimestamp() ^ 1) // renews the checksum
			rest = next
		}
		s := fuzzShard()
		var d record.Decompressor
		if replayBatches(&d, log, s) != nil {
			return
		}
		use(t, s)
	})
}

// kafkaLogs are segments of __consumer_offsets written by Apache Kafka 4.4.
func kafkaLogs(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/kafka/*.log")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no segments of Apache Kafka: %v", err)
	}
	return paths
}

func TestUnknownRecordsAreLeftAlone(t *testing.T) {
	s := fuzzShard()
	for _, rec := range []Record{
		{Key: []byte{0, 99, 1, 2, 3}, Value: []byte{0, 0}},         // a type of a newer Kafka
		{Key: []byte{0, 99}, Value: nil},                           // its tombstone
		{Key: []byte{0, 2, 0, 1, 'g'}, Value: []byte{0, 77, 1, 2}}, // a version of a newer Kafka
	} {
		if err := s.replay(rec); err != nil {
			t.Errorf("%v: %v", rec, err)
		}
	}
	if len(s.groups) != 0 || s.replayed() != 3 {
		t.Errorf("%d groups after %d records", len(s.groups), s.replayed())
	}
	if err := s.replay(Record{Key: []byte{0, 2, 0, 9, 'g'}, Value: []byte{}}); err == nil {
		t.Error("a key that ends too early is accepted")
	}
}

func TestGroupOverCapacityRebalancesWhenLoaded(t *testing.T) {
	s := fuzzShard()
	s.config.MaxSize = 1
	meta := kafkarecord.NewGroupMetadataValue()
	name := "range"
	meta.ProtocolType, meta.Generation, meta.Protocol = "consumer", 3, &name
	for _, id := range []string{"m1", "m2"} {
		member := kafkarecord.NewGroupMetadataValueMemberMetadata()
		member.MemberID, member.SessionTimeout, member.RebalanceTimeout = id, 30000, 30000
		meta.Members = append(meta.Members, member)
	}
	if err := s.replay(groupRecord(t, &kafkarecord.GroupMetadataKey{Group: "g"}, meta, 3)); err != nil {
		t.Fatal(err)
	}
	s.loaded(time.UnixMilli(0))
	if got := s.groups["g"].state; got != statePreparing {
		t.Errorf("state %v, want %v", got, statePreparing)
	}
}

// loadKafkaLog loads a segment of Apache Kafka.
func loadKafkaLog(t *testing.T, path string) *groupShard {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := fuzzShard()
	var d record.Decompressor
	if err := replayBatches(&d, data, s); err != nil {
		t.Fatal(err)
	}
	s.loaded(time.UnixMilli(0))
	return s
}

type loadedGroup struct {
	State      string
	Generation int32
	Type       string
	Members    int
	Offsets    map[string]int64
}

// TestLoadsLogOfApacheKafka compares what we load with what kafka-consumer-groups said of the same
// node.
func TestLoadsLogOfApacheKafka(t *testing.T) {
	for path, want := range map[string]map[string]loadedGroup{
		"testdata/kafka/groups.log": kafkaGroups(),
	} {
		s := loadKafkaLog(t, path)
		got := map[string]loadedGroup{}
		for id, g := range s.groups {
			entry := loadedGroup{State: g.state.String(), Generation: g.generation, Members: len(g.members), Offsets: map[string]int64{}}
			if g.protocolType != nil {
				entry.Type = *g.protocolType
			}
			for topic, partitions := range g.offsets {
				for _, c := range partitions {
					entry.Offsets[topic] += c.offset
				}
			}
			got[id] = entry
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Apache Kafka +ours)\n%s", path, diff)
		}
	}
}

// kafkaGroups is what the node that wrote groups.log showed: a group whose consumer left, one whose
// offsets were set by hand, a KIP-848 group (of which only the offsets are ours to load), and one
// with a dynamic and a static consumer. A fifth group had been deleted.
func kafkaGroups() map[string]loadedGroup {
	return map[string]loadedGroup{
		"left":   {State: "Empty", Generation: 2, Type: "consumer", Offsets: map[string]int64{"t1": 30}},
		"simple": {State: "Empty", Offsets: map[string]int64{"t2": 3}},
		"modern": {State: "Empty", Offsets: map[string]int64{"t2": 5}},
		"live":   {State: "Stable", Generation: 2, Type: "consumer", Members: 2, Offsets: map[string]int64{"t1": 30}},
	}
}
