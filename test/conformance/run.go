package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
	"klamm/internal/record"
)

// Script is a named list of requests. Scripts share one broker and run in order, each on a
// connection of its own.
type Script struct {
	Name string
	Run  func(*Run) error
}

// Run executes one script against one broker.
type Run struct {
	session *session
	log     transcript
	settle  time.Duration
}

// Execute runs a script against a broker and returns what it answered. ids collects the names of
// ids over all scripts. settle is how long to wait before asking for the effect of a change: Apache
// Kafka shows a change some time after it has acknowledged it, Klamm before.
func Execute(address string, s Script, ids map[string]string, settle time.Duration) (string, error) {
	session, err := dial(address)
	if err != nil {
		return "", err
	}
	defer session.close()
	r := &Run{session: session, log: transcript{names: ids}, settle: settle}
	if err := s.Run(r); err != nil {
		return "", fmt.Errorf("script %s: %w\nso far:\n%s", s.Name, err, r.log.out.String())
	}
	return r.log.out.String(), nil
}

// step sends a request and notes the answer.
func (r *Run) step(title string, req kmsg.Request) (kmsg.Response, error) {
	if strings.HasPrefix(title, "shown") {
		time.Sleep(r.settle)
	}
	resp, err := r.session.ask(req)
	return resp, r.log.request(title, req, resp, err)
}

// do is step for scripts that do not look at the answer.
func (r *Run) do(title string, req kmsg.Request) error {
	_, err := r.step(title, req)
	return err
}

// quiet sends a request whose answer is not noted, only that it succeeds.
func (r *Run) quiet(req kmsg.Request) (kmsg.Response, error) {
	resp, err := r.session.ask(req)
	if err != nil {
		return nil, fmt.Errorf("%s v%d: %w", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp, nil
}

// eachVersion calls fn for every version that Apache Kafka serves of a key.
func eachVersion(key kmsg.Key, fn func(version int16) error) error {
	span, ok := protocol.Kafka44().Range(key.Int16())
	if !ok {
		return fmt.Errorf("key %d is not served", key)
	}
	for v := span.Min; v <= span.Max; v++ {
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}

// until repeats a request until ok accepts the answer; brokers create topics and coordinators in
// their own time.
func (r *Run) until(what string, req kmsg.Request, ok func(kmsg.Response) bool) (kmsg.Response, error) {
	for deadline := time.Now().Add(answerLimit); ; {
		resp, err := r.quiet(req)
		if err != nil {
			return nil, err
		}
		if ok(resp) {
			return resp, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("waited in vain until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// createTopic makes a topic and waits until it has leaders; its id gets a name in transcripts.
func (r *Run) createTopic(name string, partitions int32, configs ...string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10000
	req.Topics = append(req.Topics, newTopic(name, partitions, 1, configs...))
	resp, err := r.quiet(req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		return fmt.Errorf("creating %s: error %d", name, code)
	}
	_, err = r.until("topic "+name+" has leaders", metadataOf(12, name), func(resp kmsg.Response) bool {
		t := resp.(*kmsg.MetadataResponse).Topics[0]
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
		r.log.names[string(t.TopicID[:])] = "<id of " + name + ">"
		return t.ErrorCode == 0 && len(t.Partitions) == int(partitions)
	})
	return err
}

// idOf returns the id of an existing topic.
func (r *Run) idOf(name string) ([16]byte, error) {
	resp, err := r.quiet(metadataOf(12, name))
	if err != nil {
		return [16]byte{}, err
	}
	t := resp.(*kmsg.MetadataResponse).Topics[0]
	r.log.names[string(t.TopicID[:])] = "<id of " + name + ">"
	return t.TopicID, nil
}

func newTopic(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	return t
}

func metadataOf(version int16, topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// recordTime is the time of every record the scripts write, in ms.
const recordTime = 1_700_000_000_000

// batchOf builds a batch of n small records.
func batchOf(n int, change func(*record.BatchOptions)) (record.Batch, error) {
	o := record.BatchOptions{
		ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch, BaseSequence: record.NoSequence,
		PartitionLeaderEpoch: -1, Level: record.DefaultLevel,
	}
	if change != nil {
		change(&o)
	}
	b := record.NewBuilder(o)
	for i := range n {
		b.Append(recordTime+int64(i), []byte{'k', byte('0' + i%10)}, []byte("value"), nil)
	}
	return b.Build()
}

// produce builds a Produce request of one batch.
func produce(version int16, topic string, id [16]byte, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// offsetsTopic makes the broker create __consumer_offsets, and waits for a coordinator.
func (r *Run) offsetsTopic() error {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKeys = 4, []string{"any"}
	_, err := r.until("a coordinator is there", req, func(resp kmsg.Response) bool {
		return resp.(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0
	})
	return err
}
