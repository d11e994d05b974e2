package metadata

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/kafkarecord"
)

// TestRecordsOfALoneBroker compares the records of a broker's life with those that a real Kafka 4.4
// node wrote for the same events (read with kafka-dump-log): create, clean stop, start, kill, start.
func TestRecordsOfALoneBroker(t *testing.T) {
	c := &Controller{NodeID: 1, Config: testConfig(t, nil)}
	img := singleBrokerImage(t, c)
	rnd := rand.New(rand.NewSource(1))
	do := func(req kmsg.Request) []Record {
		d, err := c.Handle(img, req, time.UnixMilli(1), rnd)
		if err != nil {
			t.Fatal(err)
		}
		img = d.Image
		return d.Records
	}
	check := func(event string, got []Record, want ...string) {
		t.Helper()
		var lines []string
		for _, r := range got {
			line := string(kafkarecord.AppendJSON(nil, r.Message, r.Version))
			if i := strings.Index(line, `"endPoints"`); i >= 0 {
				line = line[:i] + "..." // addresses and features differ
			}
			lines = append(lines, line)
		}
		id := kafkarecord.FormatUUID(img.Topic("orders").ID)
		text := strings.ReplaceAll(strings.Join(lines, "\n"), id, "ID")
		if diff := cmp.Diff(strings.Join(want, "\n"), text); diff != "" {
			t.Errorf("%s (-Kafka +ours):\n%s", event, diff)
		}
	}
	check("create", do(createRequest(false, topicOf("orders", 2, 1, "retention.ms", "86400000", "cleanup.policy", "compact"))),
		`{"type":"TOPIC_RECORD","version":0,"data":{"name":"orders","topicId":"ID"}}`,
		`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"orders","name":"cleanup.policy","value":"compact"}}`,
		`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"orders","name":"retention.ms","value":"86400000"}}`,
		`{"type":"PARTITION_RECORD","version":2,"data":{"partitionId":0,"topicId":"ID","replicas":[1],"isr":[1],"removingReplicas":[],"addingReplicas":[],"leader":1,"leaderEpoch":0,"partitionEpoch":0,"directories":["BwAAAAAAQACAAAAAAAAACQ"]}}`,
		`{"type":"PARTITION_RECORD","version":2,"data":{"partitionId":1,"topicId":"ID","replicas":[1],"isr":[1],"removingReplicas":[],"addingReplicas":[],"leader":1,"leaderEpoch":0,"partitionEpoch":0,"directories":["BwAAAAAAQACAAAAAAAAACQ"]}}`)
	epoch := img.Broker(1).Epoch
	check("min.insync.replicas", do(alterRequest(kmsg.ConfigResourceTypeTopic, "orders", "min.insync.replicas", kmsg.IncrementalAlterConfigOpSet, "1")),
		`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"orders","name":"min.insync.replicas","value":"1"}}`,
		`{"type":"CLEAR_ELR_RECORD","version":0,"data":{"topicName":"orders"}}`)
	check("clean stop", do(heartbeatRequest(img.Broker(1), false, true)),
		`{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":1,"data":{"brokerId":1,"brokerEpoch":5,"inControlledShutdown":1}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":0,"topicId":"ID","isr":[],"leader":-1,"eligibleLeaderReplicas":[1],"lastKnownElr":[1]}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":1,"topicId":"ID","isr":[],"leader":-1,"eligibleLeaderReplicas":[1],"lastKnownElr":[1]}}`,
		`{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":1,"brokerEpoch":5,"fenced":1}}`)
	check("start after a clean stop", do(registrationRequest(1, 2, epoch)),
		`{"type":"REGISTER_BROKER_RECORD","version":4,"data":{"brokerId":1,"isMigratingZkBroker":false,"incarnationId":"AgAAAAAAAAAAAAAAAAAAAA","brokerEpoch":18,...`)
	check("unfence after a clean stop", do(heartbeatRequest(img.Broker(1), false, false)),
		`{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":1,"brokerEpoch":18,"fenced":-1}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":0,"topicId":"ID","isr":[1],"leader":1,"eligibleLeaderReplicas":[],"lastKnownElr":[]}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":1,"topicId":"ID","isr":[1],"leader":1,"eligibleLeaderReplicas":[],"lastKnownElr":[]}}`)
	// Kafka waits for the session of a killed broker to end and fences it first (leader -1, ELR [1]), then
	// empties the ELR at the registration. Here both are one step, as the lock of the data directory
	// proves that the former process is gone.
	check("start after a kill", do(registrationRequest(1, 3, -1)),
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":0,"topicId":"ID","isr":[],"leader":-1,"lastKnownElr":[1]}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":1,"topicId":"ID","isr":[],"leader":-1,"lastKnownElr":[1]}}`,
		`{"type":"REGISTER_BROKER_RECORD","version":4,"data":{"brokerId":1,"isMigratingZkBroker":false,"incarnationId":"AwAAAAAAAAAAAAAAAAAAAA","brokerEpoch":24,...`)
	check("unfence after a kill", do(heartbeatRequest(img.Broker(1), false, false)),
		`{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":1,"brokerEpoch":24,"fenced":-1}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":0,"topicId":"ID","isr":[1],"leader":1,"leaderRecoveryState":1,"lastKnownElr":[]}}`,
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":1,"topicId":"ID","isr":[1],"leader":1,"leaderRecoveryState":1,"lastKnownElr":[]}}`)
	if got := do(heartbeatRequest(img.Broker(1), false, false)); len(got) != 0 {
		t.Errorf("a heartbeat with nothing new wrote %d records", len(got))
	}
}

// TestFailedDirectory: a broker that loses a log directory leads nothing in it any more.
func TestFailedDirectory(t *testing.T) {
	c := &Controller{NodeID: 1, Config: testConfig(t, nil)}
	img := singleBrokerImage(t, c)
	second := [16]byte{1, 2, 3}
	do := func(req kmsg.Request) kmsg.Response {
		t.Helper()
		d, err := c.Handle(img, req, time.UnixMilli(1), rand.New(rand.NewSource(int64(img.offset))))
		if err != nil {
			t.Fatal(err)
		}
		img = d.Image
		return d.Response
	}
	do(createRequest(false, topicOf("orders", 1, 1))) // in the only directory there is
	again := registrationRequest(1, 2, img.Broker(1).Epoch)
	again.LogDirs = append(again.LogDirs, second)
	do(again)
	do(heartbeatRequest(img.Broker(1), false, false))
	if img.Topic("orders").Partitions[0].Leader != 1 {
		t.Fatal("no leader before the failure")
	}
	beat := heartbeatRequest(img.Broker(1), false, false)
	beat.OfflineLogDirs = [][16]byte{testDirectory}
	do(beat)
	if p := img.Topic("orders").Partitions[0]; p.Leader != NoLeader {
		t.Errorf("partition in the failed directory: %+v", p)
	}
	if b := img.Broker(1); b.Fenced || len(b.LogDirs) != 1 || b.LogDirs[0] != second {
		t.Errorf("broker after the failure: %+v", b)
	}
}

// TestRegistrationIsChecked walks the refusals.
func TestRegistrationIsChecked(t *testing.T) {
	c := &Controller{NodeID: 1, Config: testConfig(t, nil)}
	img := withBroker(t, c, singleBrokerImage(t, c), 2)
	for name, change := range map[string]struct {
		edit func(*kmsg.BrokerRegistrationRequest)
		code int16
	}{
		"cluster":           {func(r *kmsg.BrokerRegistrationRequest) { r.ClusterID = "other" }, 104},
		"no directory":      {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = nil }, 119},
		"reserved":          {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{{15: 1}} }, 119},
		"twice":             {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = append(r.LogDirs, r.LogDirs[0]) }, 119},
		"another's":         {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{testDirectory} }, 101},
		"running":           {func(r *kmsg.BrokerRegistrationRequest) { r.IncarnationID = [16]byte{77} }, 101},
		"old feature level": {func(r *kmsg.BrokerRegistrationRequest) { r.Features = nil }, 35},
		"repeated":          {func(*kmsg.BrokerRegistrationRequest) {}, 0},
	} {
		req := registrationRequest(2, 2, -1)
		change.edit(req)
		d, err := c.Handle(img, req, time.UnixMilli(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp := d.Response.(*kmsg.BrokerRegistrationResponse)
		if resp.ErrorCode != change.code {
			t.Errorf("%s: error %d, want %d", name, resp.ErrorCode, change.code)
		}
		if change.code == 0 && resp.BrokerEpoch != img.Broker(2).Epoch {
			t.Errorf("%s: epoch %d, it was %d", name, resp.BrokerEpoch, img.Broker(2).Epoch)
		}
	}
	stale := heartbeatRequest(img.Broker(2), false, false)
	stale.BrokerEpoch--
	d, err := c.Handle(img, stale, time.UnixMilli(1), nil)
	if err != nil || d.Response.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 77 || !d.Response.(*kmsg.BrokerHeartbeatResponse).IsFenced {
		t.Errorf("a heartbeat with an old epoch gave %+v, %v", d.Response, err)
	}
}
