package coordinator

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"klamm/internal/protocol"
	"klamm/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers collects the responses of one runtime.
type answers struct {
	t       *testing.T
	runtime *Runtime
	got     map[string]kmsg.Response
}

func newAnswers(t *testing.T, r *Runtime) *answers {
	return &answers{t: t, runtime: r, got: map[string]kmsg.Response{}}
}

// ask sends a request and settles; the answer, if there is one already, is found under name.
func (a *answers) ask(name string, req kmsg.Request, version int16) kmsg.Response {
	a.t.Helper()
	req.SetVersion(version)
	a.runtime.Request(context.Background(), req, "client", "/127.0.0.1", func(resp kmsg.Response) {
		if a.got[name] != nil {
			a.t.Errorf("%s is answered twice", name)
		}
		a.got[name] = resp
	})
	synctest.Wait()
	return a.got[name]
}

func commitRequest(group string, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = group, -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t1"
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = offset
	topic.Partitions = append(topic.Partitions, partition)
	r.Topics = append(r.Topics, topic)
	return r
}

func fetchRequest(group string) *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	r.Groups = append(r.Groups, g)
	return r
}

func commitCode(t *testing.T, resp kmsg.Response) int16 {
	t.Helper()
	if resp == nil {
		t.Fatal("the commit is not answered")
	}
	return resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

// fetchedOffsetOf is the offset of t1-0 in a fetch of all topics, -1 without one.
func fetchedOffsetOf(t *testing.T, resp kmsg.Response) int64 {
	t.Helper()
	if resp == nil {
		t.Fatal("the fetch is not answered")
	}
	group := resp.(*kmsg.OffsetFetchResponse).Groups[0]
	if group.ErrorCode != 0 {
		t.Fatalf("fetch: %s", protocol.CodeName(group.ErrorCode))
	}
	if len(group.Topics) == 0 {
		return -1
	}
	return group.Topics[0].Partitions[0].Offset
}

func joinRequest(group, member string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = group, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30000, 30000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	r.Protocols = append(r.Protocols, p)
	return r
}

func syncRequest(group, member string, generation int32) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, []byte("mine")
	r.GroupAssignment = append(r.GroupAssignment, a)
	return r
}

func heartbeatCode(a *answers, name, group, member string, generation int32) int16 {
	a.t.Helper()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	return a.ask(name, r, 3).(*kmsg.HeartbeatResponse).ErrorCode
}

// inBubble runs a test with a virtual clock and a runtime that leads everything.
func inBubble(t *testing.T, test func(t *testing.T, log *memLog, a *answers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := newMemLog()
		r := newTestRuntime(t, log, testConfig(t, nil))
		leadAll(r, 0)
		synctest.Wait()
		test(t, log, newAnswers(t, r))
		r.Close()
	})
}

func TestAnswerWaitsUntilCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		log.manual = true
		if resp := a.ask("commit", commitRequest("g", 5), 8); resp != nil {
			t.Fatalf("answered before it is committed: %v", resp)
		}
		if resp := a.ask("fetch", fetchRequest("g"), 8); resp != nil {
			t.Fatalf("a fetch shows an offset that is not committed: %v", resp)
		}
		if got := fetchedOffsetOf(t, a.ask("other", fetchRequest("other"), 8)); got != -1 {
			t.Fatalf("an unknown group has offset %d", got)
		}
		log.commit()
		synctest.Wait()
		if code := commitCode(t, a.got["commit"]); code != 0 {
			t.Errorf("commit: %s", protocol.CodeName(code))
		}
		if got := fetchedOffsetOf(t, a.got["fetch"]); got != 5 {
			t.Errorf("fetched %d, want 5", got)
		}
	})
}

func TestDeletedGroupIsNotShownBeforeItIsCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		a.ask("commit", commitRequest("g", 5), 8)
		log.manual = true
		del := kmsg.NewPtrDeleteGroupsRequest()
		del.Groups = []string{"g"}
		a.ask("delete", del, 2)
		if resp := a.ask("fetch", fetchRequest("g"), 8); resp != nil {
			t.Fatalf("a fetch shows a deletion that is not committed: %v", resp)
		}
		log.crash()
		synctest.Wait()
		if code := a.got["delete"].(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode; code != protocol.CodeCoordinatorNotAvailable {
			t.Errorf("delete: %s", protocol.CodeName(code))
		}
		time.Sleep(2 * reloadPause)
		a.ask("wake", fetchRequest("g"), 8)
		if got := fetchedOffsetOf(t, a.ask("again", fetchRequest("g"), 8)); got != 5 {
			t.Errorf("after the crash the offset is %d, want 5", got)
		}
	})
}

func TestSyncIsAnsweredWhenTheAssignmentIsCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		member := a.ask("join", joinRequest("g", ""), 3).(*kmsg.JoinGroupResponse).MemberID
		log.manual = true
		if resp := a.ask("sync", syncRequest("g", member, 1), 3); resp != nil {
			t.Fatal("the assignment is handed out before it is stored")
		}
		if code := heartbeatCode(a, "beat", "g", member, 1); code != 0 {
			t.Errorf("heartbeat while the assignment is being stored: %s", protocol.CodeName(code))
		}
		log.commit()
		synctest.Wait()
		if got := string(a.got["sync"].(*kmsg.SyncGroupResponse).MemberAssignment); got != "mine" {
			t.Errorf("assignment %q", got)
		}
	})
}

// TestCloseAnswers finds every waiting request answered when Close returns.
func TestCloseAnswers(t *testing.T) {
	r := newTestRuntime(t, newMemLog(), testConfig(t, nil))
	leadAll(r, 0)
	waitLoaded(t, r)
	joined := make(chan kmsg.Response, 2)
	for range 2 {
		r.Request(context.Background(), joinRequest("g", ""), "c", "/h", func(resp kmsg.Response) { joined <- resp })
	}
	<-joined // the second one waits for the first to come back
	r.Close()
	select {
	case resp := <-joined:
		if code := resp.(*kmsg.JoinGroupResponse).ErrorCode; code != protocol.CodeNotCoordinator {
			t.Errorf("the waiting join got %s", protocol.CodeName(code))
		}
	default:
		t.Error("a waiting join is not answered")
	}
	goleak.VerifyNone(t)
}

func TestNotLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRuntime(t, newMemLog(), testConfig(t, nil))
		defer r.Close()
		a := newAnswers(t, r)
		if code := commitCode(t, a.ask("commit", commitRequest("g", 1), 8)); code != protocol.CodeNotCoordinator {
			t.Errorf("commit: %s", protocol.CodeName(code))
		}
		if resp := a.ask("list", kmsg.NewPtrListGroupsRequest(), 4).(*kmsg.ListGroupsResponse); resp.ErrorCode != 0 || len(resp.Groups) != 0 {
			t.Errorf("list: %v", resp)
		}
		if code := heartbeatCode(a, "beat", "g", "m", 1); code != protocol.CodeNotCoordinator {
			t.Errorf("heartbeat: %s", protocol.CodeName(code))
		}
		one := kmsg.NewPtrOffsetFetchRequest()
		one.Group = "g"
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = "t1", []int32{0}
		one.Topics = append(one.Topics, topic)
		v1 := a.ask("v1", one, 1).(*kmsg.OffsetFetchResponse)
		if len(v1.Topics) != 1 || v1.Topics[0].Partitions[0].ErrorCode != protocol.CodeNotCoordinator {
			t.Errorf("fetch version 1 has no code for the group, so its partitions carry it: %v", v1)
		}
		if v2 := a.ask("v2", one, 2).(*kmsg.OffsetFetchResponse); v2.ErrorCode != protocol.CodeNotCoordinator {
			t.Errorf("fetch version 2: %s", protocol.CodeName(v2.ErrorCode))
		}
	})
}

func TestResignAnswersWaitingRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *memLog, a *answers) {
		first := a.ask("first", joinRequest("g", ""), 3).(*kmsg.JoinGroupResponse).MemberID
		a.ask("sync", syncRequest("g", first, 1), 3)
		if a.ask("second", joinRequest("g", ""), 3) != nil {
			t.Fatal("the second member does not wait for the first one")
		}
		p := PartitionFor("g", DefaultPartitions)
		a.runtime.Resigned(p, 1)
		synctest.Wait()
		if code := a.got["second"].(*kmsg.JoinGroupResponse).ErrorCode; code != protocol.CodeNotCoordinator {
			t.Errorf("waiting join: %s", protocol.CodeName(code))
		}
		a.runtime.PartitionLeader(p, 1)
		synctest.Wait()
		if code := heartbeatCode(a, "old epoch", "g", first, 1); code != protocol.CodeNotCoordinator {
			t.Errorf("leadership in an epoch that ended was taken up: %s", protocol.CodeName(code))
		}
		a.runtime.PartitionLeader(p, 2)
		synctest.Wait()
		a.runtime.Resigned(p, 1)
		synctest.Wait()
		if code := heartbeatCode(a, "new epoch", "g", first, 1); code != 0 {
			t.Errorf("the loaded group does not know its member: %s", protocol.CodeName(code))
		}
	})
}

func TestFailedAppendReloads(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("batch kept %v", kept), func(t *testing.T) {
			inBubble(t, func(t *testing.T, log *memLog, a *answers) {
				a.ask("before", commitRequest("g", 1), 8)
				member := a.ask("join", joinRequest("stable", ""), 3).(*kmsg.JoinGroupResponse).MemberID
				a.ask("sync", syncRequest("stable", member, 1), 3)
				time.Sleep(2 * reloadPause)
				log.keepFailed = kept
				log.failAppends(&protocol.CodeError{Code: protocol.CodeNotEnoughReplicas, Message: "too few replicas"})
				if code := commitCode(t, a.ask("failing", commitRequest("g", 2), 8)); code != protocol.CodeCoordinatorNotAvailable {
					t.Fatalf("failing commit: %s", protocol.CodeName(code))
				}
				log.failAppends(nil)
				want := int64(1)
				if kept {
					want = 2
				}
				if got := fetchedOffsetOf(t, a.ask("after", fetchRequest("g"), 8)); got != want {
					t.Errorf("offset %d, want %d", got, want)
				}
				if code := heartbeatCode(a, "beat", "stable", member, 1); code != 0 {
					t.Errorf("a stable group did not survive the reload: %s", protocol.CodeName(code))
				}
			})
		})
	}
}

func TestStorageErrorSendsClientsElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		log.failAppends(&protocol.CodeError{Code: protocol.CodeKafkaStorageError, Message: "disk gone"})
		log.failReads(errors.New("disk gone"))
		if code := commitCode(t, a.ask("failing", commitRequest("g", 2), 8)); code != protocol.CodeNotCoordinator {
			t.Fatalf("failing commit: %s", protocol.CodeName(code))
		}
		if code := commitCode(t, a.ask("broken", commitRequest("g", 2), 8)); code != protocol.CodeCoordinatorLoadInProgress {
			t.Fatalf("commit while the log is broken: %s", protocol.CodeName(code))
		}
		_, before := log.counts()
		for i := range 100 {
			a.ask(fmt.Sprint("hammer", i), commitRequest("g", 2), 8)
		}
		if _, after := log.counts(); after > before+1 {
			t.Errorf("100 requests made the broken log be read %d times", after-before)
		}
		log.failAppends(nil)
		log.failReads(nil)
		time.Sleep(2 * reloadPause)
		a.ask("wakes", commitRequest("g", 2), 8)
		if code := commitCode(t, a.ask("mended", commitRequest("g", 3), 8)); code != 0 {
			t.Errorf("commit after the log is mended: %s", protocol.CodeName(code))
		}
	})
}

// slowLog holds reads until the test lets them go.
type slowLog struct {
	*memLog
	gate chan struct{}
}

func (l *slowLog) Read(topic string, partition int32, from int64, maxBytes int) ([]byte, int64, error) {
	<-l.gate
	return l.memLog.Read(topic, partition, from, maxBytes)
}

func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &slowLog{memLog: newMemLog(), gate: make(chan struct{})}
		r := newTestRuntime(t, log, testConfig(t, nil))
		p := PartitionFor("g", DefaultPartitions)
		r.PartitionLeader(p, 3)
		a := newAnswers(t, r)
		if code := commitCode(t, a.ask("early", commitRequest("g", 1), 8)); code != protocol.CodeCoordinatorLoadInProgress {
			t.Errorf("commit while loading: %s", protocol.CodeName(code))
		}
		if code := a.ask("list", kmsg.NewPtrListGroupsRequest(), 4).(*kmsg.ListGroupsResponse).ErrorCode; code != protocol.CodeCoordinatorLoadInProgress {
			t.Errorf("list while a partition is loading: %s", protocol.CodeName(code))
		}
		r.TopicsDeleted([]string{"t1"})
		close(log.gate)
		synctest.Wait()
		if code := commitCode(t, a.ask("loaded", commitRequest("g", 1), 8)); code != 0 {
			t.Errorf("commit after loading: %s", protocol.CodeName(code))
		}
		r.Close()
	})
}

func TestResignWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &slowLog{memLog: newMemLog(), gate: make(chan struct{})}
		r := newTestRuntime(t, log, testConfig(t, nil))
		p := PartitionFor("g", DefaultPartitions)
		r.PartitionLeader(p, 3)
		synctest.Wait()
		r.Resigned(p, 4)
		close(log.gate)
		synctest.Wait()
		if code := commitCode(t, newAnswers(t, r).ask("late", commitRequest("g", 1), 8)); code != protocol.CodeNotCoordinator {
			t.Errorf("commit: %s", protocol.CodeName(code))
		}
		r.Close()
	})
}

func TestLoadedButUncommittedIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemLog()
		log.manual = true
		first := newTestRuntime(t, log, testConfig(t, nil))
		leadAll(first, 0)
		synctest.Wait()
		newAnswers(t, first).ask("commit", commitRequest("g", 7), 8)
		first.Close()
		second := newTestRuntime(t, log, testConfig(t, nil))
		leadAll(second, 1)
		synctest.Wait()
		a := newAnswers(t, second)
		if resp := a.ask("fetch", fetchRequest("g"), 8); resp != nil {
			t.Fatalf("shows an offset below no high watermark: %v", resp)
		}
		log.commit()
		synctest.Wait()
		if got := fetchedOffsetOf(t, a.got["fetch"]); got != 7 {
			t.Errorf("offset %d, want 7", got)
		}
		second.Close()
	})
}

func TestTopicsDeletedDropsOffsets(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		a.ask("commit", commitRequest("g", 5), 8)
		a.runtime.TopicsDeleted([]string{"t2"})
		if got := fetchedOffsetOf(t, a.ask("kept", fetchRequest("g"), 8)); got != 5 {
			t.Errorf("the offset of another topic is %d", got)
		}
		a.runtime.TopicsDeleted([]string{"t1"})
		if got := fetchedOffsetOf(t, a.ask("gone", fetchRequest("g"), 8)); got != -1 {
			t.Errorf("the offset of a deleted topic is %d", got)
		}
	})
}

// changingTopics lets a topic be deleted and created again with another id.
type changingTopics struct{ fixedTopics }

func TestOffsetOfAnEarlierTopicOfTheSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topics := &changingTopics{testTopics()}
		r, err := NewRuntime(Options{
			Log: newMemLog(), Topics: topics, Config: testConfig(t, nil),
			Now: time.Now, Rand: rand.Reader, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		leadAll(r, 0)
		synctest.Wait()
		a := newAnswers(t, r)
		a.ask("commit", commitRequest("g", 5), 8)
		topics.fixedTopics[0].ID = [16]byte{9}
		if got := fetchedOffsetOf(t, a.ask("all", fetchRequest("g"), 8)); got != -1 {
			t.Errorf("all topics: offset %d of the old topic", got)
		}
		one := fetchRequest("g")
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = "t1", []int32{0}
		one.Groups[0].Topics = append(one.Groups[0].Topics, topic)
		if got := fetchedOffsetOf(t, a.ask("one", one, 8)); got != -1 {
			t.Errorf("by name: offset %d of the old topic", got)
		}
		a.ask("again", commitRequest("g", 1), 8)
		if got := fetchedOffsetOf(t, a.ask("new", fetchRequest("g"), 8)); got != 1 {
			t.Errorf("offset of the new topic is %d, want 1", got)
		}
		r.Close()
	})
}

// TestIdleCostsNothing finds no goroutine and no timer in a runtime that leads all partitions and
// holds groups, once nobody waits and no member is there.
func TestIdleCostsNothing(t *testing.T) {
	r := newTestRuntime(t, newMemLog(), testConfig(t, nil))
	leadAll(r, 0)
	done := make(chan struct{})
	leave := kmsg.NewPtrLeaveGroupRequest()
	waitLoaded(t, r)
	r.Request(context.Background(), joinRequest("g", ""), "c", "/h", func(resp kmsg.Response) {
		leave.Group, leave.MemberID = "g", resp.(*kmsg.JoinGroupResponse).MemberID
		go r.Request(context.Background(), leave, "c", "/h", func(kmsg.Response) { close(done) })
	})
	<-done
	goleak.VerifyNone(t)
	r.Close()
}

// TestTimersEnd finds no timer once the last group is gone.
func TestTimersEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *memLog, a *answers) {
		timers := func() (n int) {
			for _, runner := range a.runtime.runners {
				runner.mu.Lock()
				if runner.timer != nil {
					n++
				}
				runner.mu.Unlock()
			}
			return n
		}
		member := a.ask("join", joinRequest("g", ""), 3).(*kmsg.JoinGroupResponse).MemberID
		a.ask("sync", syncRequest("g", member, 1), 3)
		if timers() != 1 {
			t.Errorf("%d timers for one member, want 1", timers())
		}
		time.Sleep(time.Minute) // the session ends
		synctest.Wait()
		time.Sleep(20 * time.Minute) // the empty group is removed
		synctest.Wait()
		if timers() != 0 {
			t.Errorf("%d timers without a group", timers())
		}
	})
}

// waitLoaded waits until every partition is served.
func waitLoaded(t *testing.T, r *Runtime) {
	t.Helper()
	for {
		loaded := make(chan int16, 1)
		r.Request(context.Background(), kmsg.NewPtrListGroupsRequest(), "c", "/h", func(resp kmsg.Response) {
			loaded <- resp.(*kmsg.ListGroupsResponse).ErrorCode
		})
		switch code := <-loaded; code {
		case 0:
			return
		case protocol.CodeCoordinatorLoadInProgress:
		default:
			t.Fatalf("list: %s", protocol.CodeName(code))
		}
	}
}

func TestTimersOfTheRuntime(t *testing.T) {
	inBubble(t, func(t *testing.T, log *memLog, a *answers) {
		member := a.ask("join", joinRequest("g", ""), 3).(*kmsg.JoinGroupResponse).MemberID
		a.ask("sync", syncRequest("g", member, 1), 3)
		for i := range 10 {
			time.Sleep(20 * time.Second)
			if code := heartbeatCode(a, fmt.Sprint("beat", i), "g", member, 1); code != 0 {
				t.Fatalf("heartbeat %d: %s", i, protocol.CodeName(code))
			}
		}
		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		if code := heartbeatCode(a, "just in time", "g", member, 1); code != 0 {
			t.Fatalf("heartbeat before the session ends: %s", protocol.CodeName(code))
		}
		before, _ := log.counts()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if after, _ := log.counts(); after != before+1 {
			t.Errorf("the end of the session wrote %d batches, want 1 without anybody asking", after-before)
		}
		if code := heartbeatCode(a, "late", "g", member, 1); code != protocol.CodeUnknownMemberID {
			t.Fatalf("heartbeat after the session ended: %s", protocol.CodeName(code))
		}
	})
}

// gatedLog holds appends until the test lets them go.
type gatedLog struct {
	*memLog
	gate chan struct{}
}

func (l *gatedLog) Append(ctx context.Context, topic string, partition int32, batch record.Batch) (int64, error) {
	<-l.gate
	return l.memLog.Append(ctx, topic, partition, batch)
}

// TestRequestsShareBatches lets 50 commits arrive while the log is busy: they are one batch.
func TestRequestsShareBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &gatedLog{memLog: newMemLog(), gate: make(chan struct{})}
		r := newTestRuntime(t, log, testConfig(t, nil))
		leadAll(r, 0)
		synctest.Wait()
		a := newAnswers(t, r)
		for i := range 51 {
			a.ask(fmt.Sprint(i), commitRequest("g", int64(i)), 8)
		}
		close(log.gate)
		synctest.Wait()
		for i := range 51 {
			if code := commitCode(t, a.got[fmt.Sprint(i)]); code != 0 {
				t.Fatalf("commit: %s", protocol.CodeName(code))
			}
		}
		if appends, _ := log.counts(); appends != 2 {
			t.Errorf("%d appends, want 2: one for the first commit, one for the rest", appends)
		}
		r.Close()
	})
}

func TestLongNamesAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *memLog, a *answers) {
		long := strings.Repeat("x", 40000)
		if code := commitCode(t, a.ask("commit", commitRequest(long, 1), 8)); code != protocol.CodeInvalidGroupID {
			t.Errorf("commit with a long group id: %s", protocol.CodeName(code))
		}
		join := joinRequest("g", "")
		join.ProtocolType = long
		if code := a.ask("type", join, 9).(*kmsg.JoinGroupResponse).ErrorCode; code != protocol.CodeInvalidRequest {
			t.Errorf("join with a long protocol type: %s", protocol.CodeName(code))
		}
		join = joinRequest("g", "")
		join.InstanceID = &long
		if code := a.ask("instance", join, 9).(*kmsg.JoinGroupResponse).ErrorCode; code != protocol.CodeInvalidRequest {
			t.Errorf("join with a long instance id: %s", protocol.CodeName(code))
		}
	})
}

func TestTooLargeAssignmentFailsTheSyncAndRebalances(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *memLog, a *answers) {
		member := a.ask("join", joinRequest("g", ""), 3).(*kmsg.JoinGroupResponse).MemberID
		sync := syncRequest("g", member, 1)
		sync.GroupAssignment[0].MemberAssignment = bytes.Repeat([]byte{1}, 2<<20)
		if code := a.ask("sync", sync, 3).(*kmsg.SyncGroupResponse).ErrorCode; code != protocol.CodeUnknownServerError {
			t.Errorf("sync: %s", protocol.CodeName(code))
		}
		if code := heartbeatCode(a, "beat", "g", member, 1); code != protocol.CodeRebalanceInProgress {
			t.Errorf("heartbeat: %s", protocol.CodeName(code))
		}
	})
}

func TestPartitionFor(t *testing.T) {
	for _, test := range []struct {
		name string
		want int32
	}{
		{"", 0},
		{"g", 103 % 50},
		{"polygenelubricants", 0}, // its Java hash is the smallest int32
		{"GydZG_", 0},             // another of those
		{"my-group", 12},
		{"ä", 228 % 50},
		{"𝄞", 44},
	} {
		if got := PartitionFor(test.name, 50); got != test.want {
			t.Errorf("PartitionFor(%q) = %d, want %d", test.name, got, test.want)
		}
	}
}
