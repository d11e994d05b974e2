package replica_test

import (
	"context"
	"errors"
	"os"
	"path"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/protocol"
	"klamm/internal/record"
	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// An append is answered before the sync; nobody sees the record until the sync has ended.
func TestCommitFollowsSync(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	g := h.holdSyncs("a-0")
	info := appendTo(t, p, batch(t, 3, 10))
	if info.FirstOffset != 0 || info.LastOffset != 2 {
		t.Fatalf("appended at %d-%d, want 0-2", info.FirstOffset, info.LastOffset)
	}
	done := committed(p, info.LastOffset)
	receive(t, "the sync", g.entered)
	if r := fetchOne(h, replica.FetchPartition{Topic: "a"}); len(r.Records) != 0 || r.State.HighWatermark != 0 || r.State.LogEndOffset != 3 {
		t.Fatalf("before the sync: %d bytes, high watermark %d, end %d", len(r.Records), r.State.HighWatermark, r.State.LogEndOffset)
	}
	mustBeOpen(t, "commit", done)
	g.leave <- struct{}{}
	if err := receive(t, "commit", done); err != nil {
		t.Fatal(err)
	}
	if r := fetchOne(h, replica.FetchPartition{Topic: "a"}); len(offsetsOf(t, r.Records)) != 1 || r.State.HighWatermark != 3 {
		t.Fatalf("after the sync: %d bytes, high watermark %d", len(r.Records), r.State.HighWatermark)
	}
}

// What is appended during a sync shares the next one: three appends, two syncs.
func TestGroupSync(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	g := h.holdSyncs("a-0")
	first := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	receive(t, "the first sync", g.entered)
	second := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	third := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	g.leave <- struct{}{}
	if err := receive(t, "the first commit", first); err != nil {
		t.Fatal(err)
	}
	receive(t, "the second sync", g.entered)
	mustBeOpen(t, "second commit", second)
	mustBeOpen(t, "third commit", third)
	g.leave <- struct{}{}
	for _, c := range []<-chan error{second, third} {
		if err := receive(t, "the later commits", c); err != nil {
			t.Fatal(err)
		}
	}
	mustBeOpen(t, "third sync", g.entered)
}

// Partitions are synced beside each other: a slow one does not hold up another.
func TestSyncsAreIndependent(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	slow, fast := h.topic("slow", 1), h.topic("fast", 1)
	g := h.holdSyncs("slow-0")
	waiting := committed(slow, appendTo(t, slow, batch(t, 1, 10)).LastOffset)
	receive(t, "the slow sync", g.entered)
	if err := receive(t, "the fast commit", committed(fast, appendTo(t, fast, batch(t, 1, 10)).LastOffset)); err != nil {
		t.Fatal(err)
	}
	mustBeOpen(t, "slow commit", waiting)
	g.leave <- struct{}{}
	if err := receive(t, "the slow commit", waiting); err != nil {
		t.Fatal(err)
	}
}

// A retry of an idempotent producer is answered with the first offsets, and waits for the commit
// of the first try.
func TestDuplicateWaitsForCommit(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	producer := func(o *record.BatchOptions) { o.ProducerID, o.ProducerEpoch, o.BaseSequence = 5, 0, 0 }
	g := h.holdSyncs("a-0")
	appendTo(t, p, batch(t, 2, 10, producer))
	receive(t, "the sync", g.entered)
	again := appendTo(t, p, batch(t, 2, 10, producer))
	if !again.Duplicate || again.FirstOffset != 0 || again.LastOffset != 1 {
		t.Fatalf("retry: duplicate %v at %d-%d", again.Duplicate, again.FirstOffset, again.LastOffset)
	}
	done := committed(p, again.LastOffset)
	mustBeOpen(t, "commit of the retry", done)
	g.leave <- struct{}{}
	if err := receive(t, "the commit of the retry", done); err != nil {
		t.Fatal(err)
	}
	mustBeOpen(t, "second sync", g.entered)
}

// With flush.policy=kafka a record is committed when it is written.
func TestFlushPolicyKafka(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "flush.policy", "kafka")
	p := h.topic("a", 1)
	h.disk.set(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && isSegment(op, "a-0") {
			t.Error("the segment was synced")
		}
		return nil
	})
	done := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	if err := receive(t, "commit", done); err != nil {
		t.Fatal(err)
	}
	if r := fetchOne(h, replica.FetchPartition{Topic: "a"}); len(offsetsOf(t, r.Records)) != 1 {
		t.Fatal("the record is not shown")
	}
	h.disk.set(nil)
}

// Under flush.policy=kafka a topic may still ask for syncs: after every record (then before the
// answer), after some, or some time after the first.
func TestFlushTopicConfigurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, vfs.NewMem(), "flush.policy", "kafka")
		each, some, later := h.topic("each", 1, "flush.messages", "1"), h.topic("some", 1, "flush.messages", "3"), h.topic("later", 1, "flush.ms", "1000")
		synced := map[string]int{}
		h.disk.set(func(op vfs.Op) error {
			if name := path.Base(path.Dir(op.Name)); op.Kind == vfs.OpSync && isSegment(op, name) {
				h.disk.mu.Lock()
				synced[name]++
				h.disk.mu.Unlock()
			}
			return nil
		})
		count := func(name string) int {
			synctest.Wait()
			h.disk.mu.Lock()
			defer h.disk.mu.Unlock()
			return synced[name]
		}
		if err := receive(t, "commit", committed(each, appendTo(t, each, batch(t, 1, 10)).LastOffset)); err != nil || count("each-0") != 1 {
			t.Errorf("flush.messages=1: %d syncs before the commit (%v)", count("each-0"), err)
		}
		for i, want := range []int{0, 0, 1, 1} {
			appendTo(t, some, batch(t, 1, 10))
			if got := count("some-0"); got != want {
				t.Errorf("flush.messages=3: %d syncs after %d records, want %d", got, i+1, want)
			}
		}
		appendTo(t, later, batch(t, 1, 10))
		time.Sleep(900 * time.Millisecond)
		appendTo(t, later, batch(t, 1, 10))
		if got := count("later-0"); got != 0 {
			t.Errorf("flush.ms=1000: %d syncs after 900 ms", got)
		}
		time.Sleep(200 * time.Millisecond)
		if got := count("later-0"); got != 1 {
			t.Errorf("flush.ms=1000: %d syncs after 1100 ms, want 1", got)
		}
		h.close(true)
	})
}

// A failed sync takes the directory offline: who waits gets KAFKA_STORAGE_ERROR, later appends to
// any partition too, and nothing that was not durable is ever shown.
func TestSyncFails(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p, other := h.topic("a", 1), h.topic("b", 1)
	kept := appendTo(t, other, batch(t, 1, 10))
	if err := receive(t, "commit", committed(other, kept.LastOffset)); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, "commit", committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)); err != nil {
		t.Fatal(err)
	}
	h.disk.set(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && isSegment(op, "a-0") {
			return syscall.EIO
		}
		return nil
	})
	failed := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	wantCode(t, receive(t, "the failure", failed), protocol.CodeKafkaStorageError)
	_, err := other.AppendAsLeader(batch(t, 1, 10), replica.AppendOptions{RequiredAcks: 1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, protocol.CodeKafkaStorageError)
	if h.replicas.Offline() == nil {
		t.Error("the directory is not offline")
	}
	for _, name := range []string{"a", "b"} {
		wantCode(t, fetchOne(h, replica.FetchPartition{Topic: name}).Err, protocol.CodeKafkaStorageError)
	}
}

// A full disk refuses produce and nothing else; when there is room again, appends go on.
func TestDiskFull(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	if err := receive(t, "commit", committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)); err != nil {
		t.Fatal(err)
	}
	h.disk.set(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && isSegment(op, "a-0") {
			return &vfs.ShortWrite{N: 30, Err: syscall.ENOSPC}
		}
		return nil
	})
	_, err := p.AppendAsLeader(batch(t, 1, 10), replica.AppendOptions{RequiredAcks: -1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, protocol.CodeKafkaStorageError)
	if r := fetchOne(h, replica.FetchPartition{Topic: "a"}); r.Err != nil || len(offsetsOf(t, r.Records)) != 1 {
		t.Fatalf("reading a full disk: %v", r.Err)
	}
	h.disk.set(nil)
	info := appendTo(t, p, batch(t, 1, 10))
	if info.FirstOffset != 1 {
		t.Fatalf("appended at %d after the disk had room again, want 1", info.FirstOffset)
	}
	if err := receive(t, "commit", committed(p, info.LastOffset)); err != nil {
		t.Fatal(err)
	}
	if r := fetchOne(h, replica.FetchPartition{Topic: "a"}); !cmp.Equal(offsetsOf(t, r.Records), []int64{0, 1}) {
		t.Fatalf("batches at %v", offsetsOf(t, r.Records))
	}
}

// Deleting a topic answers who waits for it.
func TestDeleteEndsWaiting(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	g := h.holdSyncs("a-0")
	done := committed(p, appendTo(t, p, batch(t, 1, 10)).LastOffset)
	receive(t, "the sync", g.entered)
	polled := make(chan replica.FetchResult, 1)
	go func() {
		polled <- h.replicas.Fetch(context.Background(), replica.FetchParams{MaxWait: time.Hour, MinBytes: 1, MaxBytes: 1000},
			[]replica.FetchPartition{{Topic: "a", MaxBytes: 1000, LeaderEpoch: replica.AnyEpoch, LastFetchedEpoch: replica.AnyEpoch}})[0]
	}()
	deleted := make(chan struct{})
	go func() {
		h.deleteTopic("a")
		close(deleted)
	}()
	wantCode(t, receive(t, "the waiting produce", done), protocol.CodeUnknownTopicOrPartition)
	// A poll that comes between the end of the replica and the new image is sent to look for a leader.
	if code := protocol.CodeOf(receive(t, "the long poll", polled).Err); code != protocol.CodeUnknownTopicOrPartition && code != protocol.CodeNotLeaderOrFollower {
		t.Errorf("the long poll got error code %d", code)
	}
	g.leave <- struct{}{}
	receive(t, "the deletion", deleted)
	if _, err := h.replicas.Partition("a", 0); err == nil {
		t.Error("the partition is still there")
	}
	if diff := cmp.Diff([]string{"leading a", "resigned a", "deleted a"}, h.led.entries()); diff != "" {
		t.Errorf("leadership: %s", diff)
	}
}

// Close answers who waits and leaves a directory that the next process opens without recovery;
// everything acknowledged is there.
func TestCloseAndReopen(t *testing.T) {
	disk := vfs.NewMem()
	h := newHost(t, disk)
	p := h.topic("a", 2)
	info := appendTo(t, p, batch(t, 5, 10))
	h.close(true)

	again := newHost(t, disk)
	if again.replicas.PreviousBrokerEpoch() != h.epoch {
		t.Errorf("the clean shutdown says broker epoch %d, want %d", again.replicas.PreviousBrokerEpoch(), h.epoch)
	}
	q := again.partition("a", 0)
	state, err := q.Leader(replica.AnyEpoch)
	if err != nil {
		t.Fatal(err)
	}
	if state.LogEndOffset != info.LastOffset+1 || state.HighWatermark != state.LogEndOffset {
		t.Errorf("reopened at end %d, high watermark %d, want %d", state.LogEndOffset, state.HighWatermark, info.LastOffset+1)
	}
	_, err = q.Leader(state.LeaderEpoch - 1)
	wantCode(t, err, protocol.CodeFencedLeaderEpoch)
	_, err = q.Leader(state.LeaderEpoch + 1)
	wantCode(t, err, protocol.CodeUnknownLeaderEpoch)
}

// A crash loses what was not synced, and only that; nobody had seen it.
func TestCrashLosesOnlyTheUnseen(t *testing.T) {
	disk := vfs.NewMem()
	h := newHost(t, disk)
	p := h.topic("a", 1)
	if err := receive(t, "commit", committed(p, appendTo(t, p, batch(t, 2, 10)).LastOffset)); err != nil {
		t.Fatal(err)
	}
	g := h.holdSyncs("a-0")
	appendTo(t, p, batch(t, 2, 10))
	receive(t, "the sync", g.entered)
	seen := fetchOne(h, replica.FetchPartition{Topic: "a"}).State.HighWatermark
	crashed := disk.Crash(nil)
	g.open()
	h.close(false)

	again := newHost(t, crashed)
	state, err := again.partition("a", 0).Leader(replica.AnyEpoch)
	if err != nil {
		t.Fatal(err)
	}
	if seen != 2 || state.HighWatermark < seen {
		t.Errorf("high watermark %d before the crash (want 2), %d after it", seen, state.HighWatermark)
	}
}

// One damaged partition answers KAFKA_STORAGE_ERROR; the others are served, and deleting the topic
// gets rid of it.
func TestCorruptPartition(t *testing.T) {
	disk := vfs.NewMem()
	h := newHost(t, disk)
	p, other := h.topic("a", 1), h.topic("b", 1)
	for range 3 {
		appendTo(t, p, batch(t, 1, 100))
	}
	if err := receive(t, "commit", committed(p, 2)); err != nil {
		t.Fatal(err)
	}
	appendTo(t, other, batch(t, 1, 10))
	h.close(true)
	cut(t, disk, "/data/a-0/00000000000000000000.log", 10)
	if err := disk.Remove("/data/.kafka_cleanshutdown"); err != nil {
		t.Fatal(err)
	}

	again := newHost(t, disk)
	_, err := again.partition("a", 0).Leader(replica.AnyEpoch)
	wantCode(t, err, protocol.CodeKafkaStorageError)
	wantCode(t, fetchOne(again, replica.FetchPartition{Topic: "a"}).Err, protocol.CodeKafkaStorageError)
	appendTo(t, again.partition("b", 0), batch(t, 1, 10))
	again.deleteTopic("a")
	appendTo(t, again.topic("a", 1), batch(t, 1, 10))
}

// cut takes away the end of a file that was durable.
func cut(t *testing.T, fsys vfs.FS, name string, size int64) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Changed topic configurations count at once.
func TestConfigurationChangesLive(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	appendTo(t, p, batch(t, 1, 1000))
	h.setTopicConfig("a", "max.message.bytes", "500")
	_, err := p.AppendAsLeader(batch(t, 1, 1000), replica.AppendOptions{RequiredAcks: 1, LeaderEpoch: replica.AnyEpoch})
	wantCode(t, err, protocol.CodeMessageTooLarge)
	h.setTopicConfig("a", "max.message.bytes", "5000")
	appendTo(t, p, batch(t, 1, 1000))
	h.setTopicConfig("a", "message.timestamp.type", "LogAppendTime")
	if info := appendTo(t, p, batch(t, 1, 10)); info.LogAppendTime < 0 {
		t.Error("no append time under LogAppendTime")
	}
	h.setTopicConfig("a", "compression.type", "zstd")
	info := appendTo(t, p, batch(t, 10, 100))
	if err := receive(t, "commit", committed(p, info.LastOffset)); err != nil {
		t.Fatal(err)
	}
	r := fetchOne(h, replica.FetchPartition{Topic: "a", Offset: info.FirstOffset})
	b, _, err := record.Next(r.Records)
	if err != nil || b.Codec() != record.Zstd || b.Count() != 10 {
		t.Errorf("stored as %v with %d records (%v), want zstd with 10", b.Codec(), b.Count(), err)
	}
}
