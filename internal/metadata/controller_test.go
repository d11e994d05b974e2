package metadata

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
	"klamm/internal/record"
	"klamm/internal/vfs"
)

// cluster drives the pure controller with several brokers and remembers what its records must mean.
type cluster struct {
	t           *rapid.T
	c           *Controller
	img         *Image
	rnd         *rand.Rand
	log         []byte // every batch so far
	incarnation byte
}

func newCluster(t *rapid.T, c *Controller, brokers int32) *cluster {
	w := &cluster{t: t, c: c, img: NewImage("testClusterTestCluster"), rnd: rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))}
	w.apply(bootstrapRecords(nil))
	for id := int32(1); id <= brokers; id++ {
		w.register(id, -1)
		w.handle(heartbeatRequest(w.img.Broker(id), false, false))
	}
	return w
}

// apply replays records as the log would: encoded, decoded, applied.
func (w *cluster) apply(records []Record) {
	if len(records) == 0 {
		return
	}
	batches, err := encodeBatches(records, w.img.offset+1, 1, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	before := w.img
	d := newDraft(w.img)
	var dec record.Decompressor
	if err := forEachBatch(batches, w.img.offset+1, 1, func(b record.Batch) error { return d.replayBatch(&dec, b) }); err != nil {
		w.t.Fatal(err)
	}
	w.log = append(w.log, batches...)
	w.img = d.finish()
	w.checkDelta(d.diff(before, w.img))
}

// handle sends a request through the controller and its records through the log.
func (w *cluster) handle(req kmsg.Request) kmsg.Response {
	before := w.img
	d, err := w.c.Handle(w.img, req, time.UnixMilli(1), w.rnd)
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(d.Records)
	if got, want := w.text(w.img), w.text(d.Image); got != want {
		w.t.Fatalf("the log gives another state than the decision (-decided +log):\n%s", cmp.Diff(want, got))
	}
	w.checkPartitions(before)
	return d.Response
}

func (w *cluster) text(img *Image) string {
	var b []byte
	for _, r := range img.records() {
		b = append(kafkarecord.AppendJSON(b, r.Message, r.Version), '\n')
	}
	return string(b)
}

// register gives a broker a new incarnation. A previous epoch that is not the broker's means it
// stopped uncleanly.
func (w *cluster) register(id int32, previous int64) {
	w.incarnation++
	unclean := w.img.Broker(id) != nil && w.img.Broker(id).Epoch != previous
	c := *w.c
	c.NodeID = id // so that it may replace itself at once
	old := w.c
	w.c = &c
	resp := w.handle(registrationRequest(id, w.incarnation, previous)).(*kmsg.BrokerRegistrationResponse)
	w.c = old
	if resp.ErrorCode != 0 {
		w.t.Fatalf("registration of broker %d gave %d", id, resp.ErrorCode)
	}
	if b := w.img.Broker(id); b.Epoch != resp.BrokerEpoch || !b.Fenced || b.Epoch > w.img.offset {
		w.t.Fatalf("broker after registration with epoch %d: %+v", resp.BrokerEpoch, b)
	}
	for _, t := range w.img.Topics() {
		for _, p := range t.Partitions {
			if slices.Contains(p.ISR, id) || unclean && slices.Contains(p.ELR, id) {
				w.t.Fatalf("broker %d came back (unclean: %t) and counts as complete in %s: %+v", id, unclean, t.Name, p)
			}
		}
	}
}

// checkPartitions checks what must hold of every partition, and of every change.
func (w *cluster) checkPartitions(before *Image) {
	for _, t := range w.img.Topics() {
		for i, p := range t.Partitions {
			old := before.TopicByID(t.ID).Partition(int32(i))
			if err := checkPartition(w.img, p, old); err != nil {
				w.t.Fatalf("topic %s partition %d: %v\nis  %+v\nwas %+v", t.Name, i, err, p, old)
			}
		}
	}
}

func checkPartition(img *Image, p, old *Partition) error {
	subset := func(a, b []int32) bool {
		return !slices.ContainsFunc(a, func(id int32) bool { return !slices.Contains(b, id) })
	}
	switch {
	case p.Leader != NoLeader && !slices.Contains(p.ISR, p.Leader):
		return fmt.Errorf("the leader is not in the ISR")
	case p.Leader != NoLeader && !img.Broker(p.Leader).active():
		return fmt.Errorf("the leader is not active")
	case !subset(p.ISR, p.Replicas) || !subset(p.ELR, p.Replicas):
		return fmt.Errorf("ISR or ELR has brokers that hold no replica")
	case slices.ContainsFunc(p.ELR, func(id int32) bool { return slices.Contains(p.ISR, id) }):
		return fmt.Errorf("ISR and ELR overlap")
	case len(p.Dirs) != len(p.Replicas):
		return fmt.Errorf("%d directories for %d replicas", len(p.Dirs), len(p.Replicas))
	case len(p.LastKnownELR) > 1 || len(p.LastKnownELR) > 0 && p.Leader != NoLeader:
		return fmt.Errorf("a last known leader beside a leader")
	}
	if old == nil || old == p {
		return nil
	}
	switch {
	case p.PartitionEpoch <= old.PartitionEpoch:
		return fmt.Errorf("a change without a new partition epoch")
	case (p.Leader != old.Leader) != (p.LeaderEpoch > old.LeaderEpoch) && p.LeaderEpoch-old.LeaderEpoch < 2:
		return fmt.Errorf("leader and leader epoch do not change together")
	}
	return nil
}

// checkDelta: the delta names exactly what differs between its images.
func (w *cluster) checkDelta(d *Delta) {
	var created, deleted []string
	changed := map[string]bool{}
	for _, t := range d.New.Topics() {
		old := d.Old.TopicByID(t.ID)
		if old == nil {
			created = append(created, t.Name)
		}
		for i, p := range t.Partitions {
			if !cmp.Equal(old.Partition(int32(i)), p) {
				changed[fmt.Sprint(t.Name, i)] = true
			}
		}
	}
	for _, t := range d.Old.Topics() {
		if d.New.TopicByID(t.ID) == nil {
			deleted = append(deleted, t.Name)
		}
	}
	names := func(topics []*Topic) (out []string) {
		for _, t := range topics {
			out = append(out, t.Name)
		}
		return out
	}
	told := map[string]bool{}
	for _, p := range d.PartitionsChanged {
		told[fmt.Sprint(p.Topic.Name, p.New.ID)] = true
	}
	if !slices.Equal(created, names(d.TopicsCreated)) || !slices.Equal(deleted, names(d.TopicsDeleted)) {
		w.t.Fatalf("topics created %v deleted %v, the delta says %v and %v", created, deleted, names(d.TopicsCreated), names(d.TopicsDeleted))
	}
	for p := range changed {
		if !told[p] {
			w.t.Fatalf("partition %s changed, the delta does not say so", p)
		}
	}
	for _, b := range d.New.Brokers() {
		if d.Old.Broker(b.ID) != b && !slices.Contains(d.BrokersChanged, b.ID) {
			w.t.Fatalf("broker %d changed, the delta does not say so", b.ID)
		}
	}
	for _, r := range d.New.Resources(ResourceTopic) {
		key := Resource{ResourceTopic, r}
		if !maps.Equal(d.Old.Config(key.Type, r), d.New.Config(key.Type, r)) && !slices.Contains(d.ConfigsChanged, key) {
			w.t.Fatalf("the configuration of topic %s changed, the delta does not say so", r)
		}
	}
}

// TestRandomRequestsOnManyBrokers: whatever is asked in whatever order, the partitions stay sound,
// and the log, the snapshot and the live state agree.
func TestRandomRequestsOnManyBrokers(t *testing.T) {
	controller := &Controller{NodeID: 1, Config: testConfig(t, nil)}
	rapid.Check(t, func(t *rapid.T) {
		w := newCluster(t, controller, 4)
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			w.one()
		}
		w.compareWithSnapshot()
	})
}

// one sends one random request.
func (w *cluster) one() {
	t := w.t
	id := rapid.Int32Range(1, 4).Draw(t, "broker")
	b := w.img.Broker(id)
	name := fmt.Sprintf("t%d", rapid.IntRange(0, 5).Draw(t, "topic"))
	switch rapid.IntRange(0, 10).Draw(t, "request") {
	case 0, 1:
		w.handle(createRequest(rapid.Bool().Draw(t, "validate"), topicOf(name, rapid.Int32Range(-1, 4).Draw(t, "partitions"), rapid.Int16Range(-1, 5).Draw(t, "rf"))))
	case 2:
		w.handle(&kmsg.DeleteTopicsRequest{Version: 6, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}})
	case 3:
		w.register(id, rapid.SampledFrom([]int64{-1, b.Epoch}).Draw(t, "previous epoch"))
	case 4, 5:
		w.handle(heartbeatRequest(b, false, false))
	case 6:
		w.handle(heartbeatRequest(b, true, false))
	case 7:
		w.handle(heartbeatRequest(b, false, true))
	case 8:
		w.alterISR()
	case 9:
		w.handle(&kmsg.CreatePartitionsRequest{Version: 3, Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: rapid.Int32Range(0, 7).Draw(t, "count")}}})
	case 10:
		value := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "min isr")
		w.handle(alterRequest(kmsg.ConfigResourceTypeTopic, name, minISRConfig, kmsg.IncrementalAlterConfigOpSet, value))
	}
}

// alterISR lets the leader of some partition propose a random ISR, sometimes with stale epochs.
func (w *cluster) alterISR() {
	t := w.t
	topics := w.img.Topics()
	if len(topics) == 0 {
		return
	}
	topic := rapid.SampledFrom(topics).Draw(t, "topic")
	p := rapid.SampledFrom(topic.Partitions).Draw(t, "partition")
	if p.Leader == NoLeader {
		return
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, p.Leader, w.img.Broker(p.Leader).Epoch
	want := kmsg.NewAlterPartitionRequestTopicPartition()
	want.Partition, want.LeaderEpoch = p.ID, p.LeaderEpoch
	want.PartitionEpoch = p.PartitionEpoch + rapid.Int32Range(-1, 1).Draw(t, "epoch error")
	var isr []int32
	for _, id := range p.Replicas {
		if id == p.Leader || rapid.Bool().Draw(t, "in sync") {
			isr = append(isr, id)
			want.NewEpochISR = append(want.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: w.img.Broker(id).Epoch})
		}
	}
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: topic.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{want}}}
	got := w.handle(req).(*kmsg.AlterPartitionResponse).Topics[0].Partitions[0]
	active := !slices.ContainsFunc(isr, func(id int32) bool { return !w.img.Broker(id).active() })
	wantCode := map[int32]int16{-1: protocol.CodeInvalidUpdateVersion, 0: 0, 1: protocol.CodeNotController}[want.PartitionEpoch-p.PartitionEpoch]
	if wantCode == 0 && !active {
		wantCode = protocol.CodeIneligibleReplica
	}
	if got.ErrorCode != wantCode {
		t.Fatalf("the proposal %v at %+v gave %d, want %d", isr, p, got.ErrorCode, wantCode)
	}
	if got.ErrorCode == 0 && !slices.Equal(got.ISR, isr) {
		t.Fatalf("the ISR %v was proposed, it is %v", isr, got.ISR)
	}
}

// compareWithSnapshot: replaying the log from the start and reading a snapshot give the live state.
func (w *cluster) compareWithSnapshot() {
	img := NewImage("testClusterTestCluster")
	d := newDraft(img)
	var dec record.Decompressor
	if err := forEachBatch(w.log, 0, 1, func(b record.Batch) error { return d.replayBatch(&dec, b) }); err != nil {
		w.t.Fatal(err)
	}
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/d"); err != nil {
		w.t.Fatal(err)
	}
	id, err := writeCheckpoint(fsys, "/d", w.img, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	snapshot, err := readCheckpoint(fsys, "/d", id, "testClusterTestCluster")
	if err != nil {
		w.t.Fatal(err)
	}
	live := w.text(w.img)
	if diff := cmp.Diff(live, w.text(d.finish())); diff != "" {
		w.t.Fatalf("(-live +log):\n%s", diff)
	}
	if diff := cmp.Diff(live, w.text(snapshot)); diff != "" {
		w.t.Fatalf("(-live +snapshot):\n%s", diff)
	}
}
