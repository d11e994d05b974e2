// Package crash kills the broker in every way it can die and holds what clients saw before against
// what they find afterwards.
package crash

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/history"
)

const (
	topic = "load"
	group = "readers"
	keys  = 12
)

// loadOptions shape the traffic.
type loadOptions struct {
	partitions   int32
	buffered     int // records in flight or waiting, at most
	valueBytes   int // longest value
	batchBytes   int32
	fetchBytes   int32
	churn        bool // create and delete topics all the time
	topicConfigs map[string]string
	seed         int64
}

// load is one idempotent acks=all producer, one group member that commits after every poll, and
// perhaps an admin that creates and deletes topics. All three live through the broker's deaths.
type load struct {
	options loadOptions
	record  *history.Recorder
	cancel  context.CancelFunc
	done    sync.WaitGroup

	producer, consumer *kgo.Client
	admin              *kadm.Client
	acked, committing  chan struct{} // wake whoever waits for such a moment
	assignments        atomic.Int64
	refused            atomic.Int64 // records the producer gave up, which it never should
	errors             errorList
	filler             []byte
}

// errorList keeps what clients reported, for the report of a failed run.
type errorList struct {
	mu   sync.Mutex
	list []string
}

func (l *errorList) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < 20 {
		l.list = append(l.list, fmt.Sprintf(format, args...))
	}
}

func (l *errorList) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.list...)
}

// impatient makes a client come back soon after the broker does.
func impatient(addr string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }),
		kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.DialTimeout(time.Second),
	}
}

// createTopic makes the topic before the first client speaks of it.
func createTopic(ctx context.Context, addr string, o loadOptions, record *history.Recorder) error {
	client, err := kgo.NewClient(impatient(addr)...)
	if err != nil {
		return err
	}
	defer client.Close()
	configs := map[string]*string{}
	for name, value := range o.topicConfigs {
		configs[name] = &value
	}
	record.ChangingName(topic)
	if _, err := kadm.NewClient(client).CreateTopic(ctx, o.partitions, 1, configs, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	record.ChangedName(topic, true)
	return nil
}

func startLoad(addr string, o loadOptions, record *history.Recorder) (*load, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{
		options: o, record: record, cancel: cancel,
		acked: make(chan struct{}, 1), committing: make(chan struct{}, 1),
		filler: bytes.Repeat([]byte("0123456789abcdef"), o.valueBytes/16+1),
	}
	var err error
	l.producer, err = kgo.NewClient(append(impatient(addr), kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(o.buffered),
		kgo.ProducerBatchMaxBytes(o.batchBytes), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))...)
	if err != nil {
		cancel()
		return nil, err
	}
	l.consumer, err = kgo.NewClient(append(impatient(addr), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxPartitionBytes(o.fetchBytes), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { l.assignments.Add(1) }))...)
	if err != nil {
		l.producer.Close()
		cancel()
		return nil, err
	}
	l.admin = kadm.NewClient(l.producer)
	l.done.Go(func() { l.produce(ctx) })
	l.done.Go(func() { l.consume(ctx) })
	if o.churn {
		l.done.Go(func() { l.churn(ctx) })
	}
	return l, nil
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain forgets a moment that passed before anybody waited for it.
func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func (l *load) produce(ctx context.Context) {
	random := rand.New(rand.NewSource(l.options.seed))
	var numbers [keys]int64
	for ctx.Err() == nil {
		k := random.Intn(keys)
		v := history.Value{Key: "key" + strconv.Itoa(k), Number: numbers[k]}
		numbers[k]++
		l.record.Sent(v)
		// The producer's own context: a record handed over is sent until the broker answers.
		l.producer.Produce(context.Background(), &kgo.Record{Key: []byte(v.Key), Value: l.encode(v.Number, random.Intn(l.options.valueBytes))}, func(r *kgo.Record, err error) {
			if err != nil {
				l.refused.Add(1)
				l.errors.add("produce %s: %v", v, err)
				return
			}
			l.record.Acked(history.Place{Partition: r.Partition, Offset: r.Offset}, v)
			notify(l.acked)
		})
	}
}

func (l *load) encode(number int64, filler int) []byte {
	return append(append(strconv.AppendInt(nil, number, 10), ' '), l.filler[:filler]...)
}

// decode reads a record back; bytes that are not ours become a value nobody sent.
func decode(r *kgo.Record) history.Value {
	digits, _, _ := bytes.Cut(r.Value, []byte(" "))
	number, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return history.Value{Key: fmt.Sprintf("damaged %q", r.Value[:min(len(r.Value), 40)]), Number: -1}
	}
	return history.Value{Key: string(r.Key), Number: number}
}

func place(r *kgo.Record) history.Place {
	return history.Place{Partition: r.Partition, Offset: r.Offset}
}

func (l *load) consume(ctx context.Context) {
	for {
		fetches := l.consumer.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(_ string, partition int32, err error) { l.errors.add("poll partition %d: %v", partition, err) })
		reader := fmt.Sprintf("group assignment %d", l.assignments.Load())
		var last []*kgo.Record
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				l.record.Polled(reader, place(r), decode(r))
			}
			if len(p.Records) > 0 {
				last = append(last, p.Records[len(p.Records)-1])
			}
		})
		if len(last) > 0 {
			l.commit(ctx, last)
		}
		l.consumer.AllowRebalance()
	}
}

func (l *load) commit(ctx context.Context, last []*kgo.Record) {
	for _, r := range last {
		l.record.Committing(r.Partition, r.Offset+1)
	}
	notify(l.committing)
	if err := l.consumer.CommitRecords(ctx, last...); err != nil {
		return // the group may have moved on, or the broker is gone: nothing is promised
	}
	for _, r := range last {
		l.record.Committed(r.Partition, r.Offset+1)
	}
}

// churn creates topics and deletes all but every fiftieth, so that the metadata log never rests.
func (l *load) churn(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("churn-%d", i)
		l.record.ChangingName(name)
		if !l.acknowledged(l.admin.CreateTopic(ctx, 1, 1, nil, name)) {
			continue
		}
		l.record.ChangedName(name, true)
		if i%50 == 0 {
			continue
		}
		l.record.ChangingName(name)
		if response, err := l.admin.DeleteTopic(ctx, name); err == nil && response.Err == nil {
			l.record.ChangedName(name, false)
		}
	}
}

// acknowledged: an error leaves open whether the topic exists, for its name is not used again.
func (l *load) acknowledged(_ kadm.CreateTopicResponse, err error) bool { return err == nil }

// stop ends the load: what was handed to the producer is still delivered, or reported as failed.
func (l *load) stop(ctx context.Context) error {
	l.cancel()
	flushed := l.producer.Flush(ctx)
	l.producer.Close()
	l.consumer.CloseAllowingRebalance()
	l.done.Wait()
	if flushed != nil {
		return fmt.Errorf("not everything handed to the producer was answered: %w", flushed)
	}
	return nil
}
