package conformance

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill creates a topic and appends batches of 3 records each to its first partition.
func (r *Run) fill(topic string, partitions int32, batches int, configs ...string) ([16]byte, error) {
	if err := r.createTopic(topic, partitions, append(configs, "retention.ms", "-1")...); err != nil {
		return [16]byte{}, err
	}
	id, err := r.idOf(topic)
	if err != nil {
		return id, err
	}
	for i := range batches {
		b, err := batchOf(3, nil)
		if err != nil {
			return id, err
		}
		_, err = r.until("a batch is appended", produce(12, topic, id, 0, b), func(resp kmsg.Response) bool {
			p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			return p.ErrorCode == 0 && p.BaseOffset == int64(3*i)
		})
		if err != nil {
			return id, err
		}
	}
	return id, nil
}

func fetch(version int16, topic string, id [16]byte, partition int32, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.ReplicaID = version, 100, 1, 1<<20, -1
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	t.Partitions = append(t.Partitions, fetchPartition(partition, offset))
	req.Topics = append(req.Topics, t)
	return req
}

func fetchPartition(partition int32, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset = -1, -1, -1
	return p
}

// scriptFetch reads from everywhere in every version.
func scriptFetch(r *Run) error {
	id, err := r.fill("fetch", 2, 4)
	if err != nil {
		return err
	}
	part := func(f func(*kmsg.FetchRequestTopicPartition)) func(*kmsg.FetchRequest) {
		return func(req *kmsg.FetchRequest) { f(&req.Topics[0].Partitions[0]) }
	}
	cases := []struct {
		title  string
		offset int64
		change func(*kmsg.FetchRequest)
	}{
		{"all", 0, nil},
		{"middle of a batch", 4, nil},
		{"end", 12, nil},
		{"end, no bytes needed", 12, func(q *kmsg.FetchRequest) { q.MinBytes = 0 }},
		{"beyond the end", 13, nil},
		{"negative offset", -1, nil},
		{"partition limit of 1 byte", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = 1 })},
		{"partition limit of 0 bytes", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = 0 })},
		{"request limit of 1 byte", 0, func(q *kmsg.FetchRequest) { q.MaxBytes = 1 }},
		{"request limit of 0 bytes", 0, func(q *kmsg.FetchRequest) { q.MaxBytes = 0 }},
		{"read committed", 0, func(q *kmsg.FetchRequest) { q.IsolationLevel = 1 }},
		{"unknown partition", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 9 })},
		{"empty partition", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 1 })},
		{"empty, then full partition", 0, func(q *kmsg.FetchRequest) {
			q.Topics[0].Partitions = []kmsg.FetchRequestTopicPartition{fetchPartition(1, 0), fetchPartition(0, 3)}
		}},
		{"current leader epoch", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 0 })},
		{"later leader epoch", 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 5 })},
		{"last fetched epoch", 6, part(func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 0 })},
		{"last fetched epoch at the end", 12, part(func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 0 })},
		{"last fetched epoch, beyond the end", 13, part(func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 0 })},
		{"later last fetched epoch", 6, part(func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 3 })},
		{"session that does not exist", 0, func(q *kmsg.FetchRequest) { q.SessionID, q.SessionEpoch = 77, 1 }},
		{"session 0 with an epoch", 0, func(q *kmsg.FetchRequest) { q.SessionID, q.SessionEpoch = 0, 3 }},
		{"session that does not exist, final epoch", 0, func(q *kmsg.FetchRequest) { q.SessionID, q.SessionEpoch = 77, -1 }},
		{"nothing", 0, func(q *kmsg.FetchRequest) { q.Topics = nil }},
		{"rack", 0, func(q *kmsg.FetchRequest) { q.Rack = "r1" }},
	}
	return eachVersion(kmsg.Fetch, func(v int16) error {
		for _, c := range cases {
			req := fetch(v, "fetch", id, 0, c.offset)
			if c.change != nil {
				c.change(req)
			}
			if err := r.do(c.title, req); err != nil {
				return err
			}
		}
		return r.do("unknown topic", fetch(v, "fetch-unknown", [16]byte{9, 9}, 0, 0))
	})
}

// scriptListOffsets looks up times and the special offsets.
func scriptListOffsets(r *Run) error {
	if _, err := r.fill("offsets", 2, 3); err != nil {
		return err
	}
	ask := func(v int16, topic string, partition int32, at int64, epoch int32) *kmsg.ListOffsetsRequest {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID, req.TimeoutMillis = v, -1, 1000
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, at, epoch
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req
	}
	return eachVersion(kmsg.ListOffsets, func(v int16) error {
		for at := int64(-1); at >= -7; at-- {
			for _, partition := range []int32{0, 1} {
				if err := r.do(fmt.Sprintf("special time %d of partition %d", at, partition), ask(v, "offsets", partition, at, -1)); err != nil {
					return err
				}
			}
		}
		for _, at := range []int64{0, recordTime - 1, recordTime, recordTime + 1, recordTime + 2, recordTime + 3} {
			if err := r.do(fmt.Sprintf("time %d", at), ask(v, "offsets", 0, at, -1)); err != nil {
				return err
			}
		}
		committed := ask(v, "offsets", 0, -1, -1)
		committed.IsolationLevel = 1
		twice := ask(v, "offsets", 0, -1, -1)
		twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, twice.Topics[0].Partitions[0])
		replica := ask(v, "offsets", 0, -1, -1)
		replica.ReplicaID = -2
		for title, req := range orderedRequests(
			"read committed", committed, "named twice", twice, "debugging replica", replica,
			"current epoch", ask(v, "offsets", 0, -1, 0), "later epoch", ask(v, "offsets", 0, -1, 4),
			"unknown partition", ask(v, "offsets", 5, -1, -1), "unknown topic", ask(v, "offsets-unknown", 0, -1, -1),
		) {
			if err := r.do(title, req); err != nil {
				return err
			}
		}
		return nil
	})
}

// scriptLeaderEpochs asks where epochs end.
func scriptLeaderEpochs(r *Run) error {
	if _, err := r.fill("epochs", 2, 2); err != nil {
		return err
	}
	return eachVersion(kmsg.OffsetForLeaderEpoch, func(v int16) error {
		for _, c := range []struct {
			title                     string
			topic                     string
			partition, current, asked int32
		}{
			{"current", "epochs", 0, -1, 0},
			{"current, known", "epochs", 0, 0, 0},
			{"current of an empty partition", "epochs", 1, -1, 0},
			{"later", "epochs", 0, -1, 3},
			{"none", "epochs", 0, -1, -1},
			{"later current epoch", "epochs", 0, 3, 0},
			{"unknown partition", "epochs", 8, -1, 0},
			{"unknown topic", "epochs-unknown", 0, -1, 0},
		} {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version, req.ReplicaID = v, -1
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = c.topic
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = c.partition, c.current, c.asked
			t.Partitions = append(t.Partitions, p)
			req.Topics = append(req.Topics, t)
			if err := r.do(c.title, req); err != nil {
				return err
			}
		}
		return nil
	})
}

// scriptProducerIDs asks for ids of idempotent producers.
func scriptProducerIDs(r *Run) error {
	first := kmsg.NewPtrInitProducerIDRequest()
	first.Version, first.TransactionTimeoutMillis, first.ProducerID, first.ProducerEpoch = 5, 1000, -1, -1
	if _, err := r.until("the broker has a block of ids", first, func(resp kmsg.Response) bool {
		return resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0
	}); err != nil {
		return err
	}
	return eachVersion(kmsg.InitProducerID, func(v int16) error {
		for _, c := range []struct {
			title string
			id    int64
			epoch int16
		}{{"new", -1, -1}, {"with an id and an epoch", 5, 3}, {"with an id only", 5, -1}, {"with an epoch only", -1, 3}} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = v, 1000, c.id, c.epoch
			if err := r.do(c.title, req); err != nil {
				return err
			}
		}
		empty := kmsg.NewPtrInitProducerIDRequest()
		empty.Version, empty.TransactionalID, empty.TransactionTimeoutMillis = v, new(string), 1000
		return r.do("empty transactional id", empty)
	})
}

// scriptVersions asks for the served versions, in good and bad ways.
func scriptVersions(r *Run) error {
	err := eachVersion(kmsg.ApiVersions, func(v int16) error {
		for _, name := range []string{"klamm-conformance", "", "-x", "a b", "x."} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = v, name, "1.0"
			if err := r.versionsStep(fmt.Sprintf("client %q", name), req); err != nil {
				return err
			}
		}
		if v < 5 {
			return nil
		}
		for _, c := range []struct {
			cluster string
			node    int32
		}{{"other-cluster", -1}, {"other-cluster", 1}, {"", 7}, {"", 1}, {"", -1}} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion, req.NodeID = v, "x", "1", c.node
			if c.cluster != "" {
				req.ClusterID = &c.cluster
			}
			if err := r.versionsStep(fmt.Sprintf("cluster %q node %d", c.cluster, c.node), req); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.rawVersions()
}

// versionsStep keeps only the ranges of keys that Klamm serves: the others are added one by one.
func (r *Run) versionsStep(title string, req *kmsg.ApiVersionsRequest) error {
	resp, err := r.session.ask(req)
	if v, ok := resp.(*kmsg.ApiVersionsResponse); ok {
		kept := v.ApiKeys[:0]
		for _, k := range v.ApiKeys {
			if servedKeys[kmsg.Key(k.ApiKey)] {
				kept = append(kept, k)
			}
		}
		v.ApiKeys = kept
		v.SupportedFeatures, v.FinalizedFeatures = nil, nil // what is built differs
	}
	return r.log.request(title, req, resp, err)
}

// rawVersions sends ApiVersions of a version nobody knows, and requests that must close.
func (r *Run) rawVersions() error {
	header := func(key, version int16) []byte {
		r.session.correlation++
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		b = binary.BigEndian.AppendUint32(b, uint32(r.session.correlation))
		b = append(b, 0, 1, 'x', 0)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	for _, c := range []struct {
		title        string
		key, version int16
	}{
		{"ApiVersions v99", 18, 99},
		{"ApiVersions v-1", 18, -1},
		{"Metadata v99", 3, 99},
		{"Fetch v3", 1, 3},
		{"Produce v14", 0, 14},
		{"LeaderAndIsr v1", 4, 1},
		{"key 999", 999, 0},
		{"key -1", -1, 0},
	} {
		if err := r.session.sendRaw(header(c.key, c.version)); err != nil {
			return err
		}
		body, err := r.session.receive()
		var resp *kmsg.ApiVersionsResponse
		if err == nil {
			resp = kmsg.NewPtrApiVersionsResponse()
			err = resp.ReadFrom(body)
		}
		if err := r.log.raw(c.title, resp, err); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		title string
		bytes []byte
	}{
		{"size -1", []byte{255, 255, 255, 255}},
		{"size of 2 GiB", []byte{127, 255, 255, 255, 0, 0}},
		{"empty frame", []byte{0, 0, 0, 0}},
		{"frame of 3 bytes", []byte{0, 0, 0, 3, 1, 2, 3}},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"Metadata with a cut body", []byte{0, 0, 0, 13, 0, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 9}},
	} {
		if err := r.session.sendRaw(c.bytes); err != nil {
			return err
		}
		_, err := r.session.receive()
		if err := r.log.raw(c.title, nil, err); err != nil {
			return err
		}
	}
	return nil
}
