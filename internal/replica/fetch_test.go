package replica_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"klamm/internal/protocol"
	"klamm/internal/replica"
	"klamm/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fill appends n batches of one record and waits until they are committed.
func fill(t *testing.T, p *replica.Partition, n, size int) int64 {
	t.Helper()
	var last int64
	for range n {
		last = appendTo(t, p, batch(t, 1, size)).LastOffset
	}
	if err := receive(t, "commit", committed(p, last)); err != nil {
		t.Fatal(err)
	}
	return last
}

func asked(topic string, id int32, offset, maxBytes int64) replica.FetchPartition {
	return replica.FetchPartition{Topic: topic, ID: id, Offset: offset, MaxBytes: maxBytes, LeaderEpoch: replica.AnyEpoch, LastFetchedEpoch: replica.AnyEpoch}
}

// sizeOf is the size of a batch of one record with that many bytes.
func sizeOf(t *testing.T, size int) int64 { return int64(len(batch(t, 1, size))) }

// KIP-74: the first batch of the first non-empty partition always, the rest within the limits.
func TestFetchLimits(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	h.topic("a", 3)
	fill(t, h.partition("a", 1), 4, 100)
	fill(t, h.partition("a", 2), 4, 100)
	one := sizeOf(t, 100)
	for _, c := range []struct {
		name       string
		total, per int64
		hard       bool
		want       [][]int64
	}{
		{"everything", 1 << 20, 1 << 20, false, [][]int64{nil, {0, 1, 2, 3}, {0, 1, 2, 3}}},
		{"no room at all", 0, 0, false, [][]int64{nil, {0}, nil}},
		{"one byte", 1, 1, false, [][]int64{nil, {0}, nil}},
		{"one byte each", 1 << 20, 1, false, [][]int64{nil, {0}, nil}},
		{"two batches each", 1 << 20, 2*one + 1, false, [][]int64{nil, {0, 1}, {0, 1}}},
		{"five batches", 5*one + 1, 1 << 20, false, [][]int64{nil, {0, 1, 2, 3}, {0}}},
		{"four batches", 4 * one, 1 << 20, false, [][]int64{nil, {0, 1, 2, 3}, nil}},
		{"a hard limit", one - 1, 1 << 20, true, [][]int64{nil, nil, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := h.replicas.Fetch(context.Background(), replica.FetchParams{MaxBytes: c.total, HardMaxBytes: c.hard},
				[]replica.FetchPartition{asked("a", 0, 0, c.per), asked("a", 1, 0, c.per), asked("a", 2, 0, c.per)})
			var got [][]int64
			for _, r := range results {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				got = append(got, offsetsOf(t, r.Records))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// poll starts a long poll and returns its results.
func poll(h *host, minBytes int64, partitions ...replica.FetchPartition) <-chan []replica.FetchResult {
	out := make(chan []replica.FetchResult, 1)
	go func() {
		out <- h.replicas.Fetch(context.Background(), replica.FetchParams{MaxWait: time.Hour, MinBytes: minBytes, MaxBytes: 1 << 20}, partitions)
	}()
	return out
}

// A long poll ends with the commit that gives it enough bytes, from whatever partition.
func TestLongPoll(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	h.topic("a", 2)
	one := sizeOf(t, 100)
	got := poll(h, 3*one, asked("a", 0, 0, 1<<20), asked("a", 1, 0, 1<<20))
	fill(t, h.partition("a", 0), 2, 100)
	mustBeOpen(t, "end of the poll", got)
	fill(t, h.partition("a", 1), 1, 100)
	results := receive(t, "the poll", got)
	if diff := cmp.Diff([][]int64{{0, 1}, {0}}, [][]int64{offsetsOf(t, results[0].Records), offsetsOf(t, results[1].Records)}); diff != "" {
		t.Error(diff)
	}
}

// A poll counts what it found at first.
func TestLongPollCountsWhatIsThere(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	fill(t, p, 2, 100)
	got := poll(h, 3*sizeOf(t, 100), asked("a", 0, 0, 1<<20))
	fill(t, p, 1, 100)
	if n := len(offsetsOf(t, receive(t, "the poll", got)[0].Records)); n < 3 {
		t.Errorf("the poll ended with %d batches", n)
	}
}

// Appends alone do not end a poll: only what is committed counts.
func TestLongPollWaitsForCommit(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	g := h.holdSyncs("a-0")
	got := poll(h, 1, asked("a", 0, 0, 1<<20))
	appendTo(t, p, batch(t, 1, 100))
	receive(t, "the sync", g.entered)
	mustBeOpen(t, "end of the poll", got)
	g.leave <- struct{}{}
	if r := receive(t, "the poll", got)[0]; len(offsetsOf(t, r.Records)) != 1 {
		t.Errorf("the poll ended with %d bytes", len(r.Records))
	}
}

// Errors and diverging logs are answered at once, whatever MinBytes says.
func TestFetchErrorsDoNotWait(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 1)
	fill(t, p, 2, 100)
	state, err := p.Leader(replica.AnyEpoch)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*replica.FetchPartition)) replica.FetchPartition {
		q := asked("a", 0, 0, 1<<20)
		f(&q)
		return q
	}
	for name, c := range map[string]struct {
		ask      replica.FetchPartition
		code     int16
		diverged *replica.EpochEnd
	}{
		"beyond the end":           {asked("a", 0, 3, 100), protocol.CodeOffsetOutOfRange, nil},
		"before the start":         {asked("a", 0, -1, 100), protocol.CodeOffsetOutOfRange, nil},
		"unknown partition":        {asked("a", 9, 0, 100), protocol.CodeUnknownTopicOrPartition, nil},
		"unknown topic":            {asked("b", 0, 0, 100), protocol.CodeUnknownTopicOrPartition, nil},
		"later epoch":              {change(func(q *replica.FetchPartition) { q.LeaderEpoch = state.LeaderEpoch + 1 }), protocol.CodeUnknownLeaderEpoch, nil},
		"other topic id":           {change(func(q *replica.FetchPartition) { q.TopicID = [16]byte{1} }), protocol.CodeInconsistentTopicID, nil},
		"refused by the caller":    {change(func(q *replica.FetchPartition) { q.Refused = &replica.Error{Code: 42} }), 42, nil},
		"diverged at the end":      {change(func(q *replica.FetchPartition) { q.Offset, q.LastFetchedEpoch = 3, state.LeaderEpoch }), 0, &replica.EpochEnd{Epoch: state.LeaderEpoch, EndOffset: 2}},
		"epoch nobody has written": {change(func(q *replica.FetchPartition) { q.LastFetchedEpoch = state.LeaderEpoch + 4 }), protocol.CodeOffsetOutOfRange, nil},
		"start before divergence":  {change(func(q *replica.FetchPartition) { q.Offset, q.LastFetchedEpoch = -1, state.LeaderEpoch+4 }), protocol.CodeOffsetOutOfRange, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, "an answer", poll(h, 1<<20, c.ask))[0]
			wantCode(t, r.Err, c.code)
			if diff := cmp.Diff(c.diverged, r.Diverged); diff != "" || len(r.Records) > 0 {
				t.Errorf("diverged %s, %d bytes", diff, len(r.Records))
			}
		})
	}
}

// A stopped server ends polls.
func TestLongPollEndsWithContext(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	h.topic("a", 1)
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan []replica.FetchResult, 1)
	go func() {
		out <- h.replicas.Fetch(ctx, replica.FetchParams{MaxWait: time.Hour, MinBytes: 1, MaxBytes: 1000}, []replica.FetchPartition{asked("a", 0, 0, 1000)})
	}()
	cancel()
	if r := receive(t, "the end of the poll", out)[0]; r.Err != nil || len(r.Records) != 0 {
		t.Errorf("error %v, %d bytes", r.Err, len(r.Records))
	}
}

// Offsets by time and by the special times (item 25), bounded by the high watermark.
func TestListOffsets(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	p := h.topic("a", 2)
	last := fill(t, p, 3, 10)
	g := h.holdSyncs("a-0")
	appendTo(t, p, batch(t, 1, 10)) // not committed: shown to nobody
	receive(t, "the sync", g.entered)
	newest, err := p.ListOffset(replica.TimestampMax, replica.AnyEpoch, false)
	if err != nil {
		t.Fatal(err)
	}
	if newest.Offset > last {
		t.Errorf("the newest record is at %d, which is not committed", newest.Offset)
	}
	for _, c := range []struct {
		at   int64
		want int64
	}{
		{replica.TimestampLatest, last + 1},
		{replica.TimestampEarliest, 0},
		{replica.TimestampEarliestLocal, 0},
		{replica.TimestampLatestTiered, -1},
		{replica.TimestampEarliestUpload, -1},
		{0, 0},
		{time.Now().Add(time.Hour).UnixMilli(), -1},
	} {
		t.Run(fmt.Sprint(c.at), func(t *testing.T) {
			got, err := p.ListOffset(c.at, replica.AnyEpoch, c.at == 0)
			if err != nil || got.Offset != c.want {
				t.Errorf("offset %d (%v), want %d", got.Offset, err, c.want)
			}
		})
	}
	g.leave <- struct{}{}
	if got, err := h.partition("a", 1).ListOffset(replica.TimestampLatest, replica.AnyEpoch, true); err != nil || got.Offset != 0 {
		t.Errorf("latest of an empty partition: %d (%v)", got.Offset, err)
	}
}

// Where epochs end (item 22), over two leader epochs.
func TestEpochEndOffset(t *testing.T) {
	disk := vfs.NewMem()
	h := newHost(t, disk)
	p := h.topic("a", 1)
	fill(t, p, 2, 10)
	old, err := p.Leader(replica.AnyEpoch)
	if err != nil {
		t.Fatal(err)
	}
	h.close(true)
	h = newHost(t, disk) // a restart begins a new epoch
	p = h.partition("a", 0)
	fill(t, p, 3, 10)
	now, err := p.Leader(replica.AnyEpoch)
	if err != nil || now.LeaderEpoch <= old.LeaderEpoch {
		t.Fatalf("epoch %d after %d (%v)", now.LeaderEpoch, old.LeaderEpoch, err)
	}
	for _, c := range []struct {
		epoch int32
		want  replica.EpochEnd
	}{
		{now.LeaderEpoch, replica.EpochEnd{Epoch: now.LeaderEpoch, EndOffset: 5}},
		{now.LeaderEpoch + 1, replica.EpochEnd{Epoch: -1, EndOffset: -1}},
		{old.LeaderEpoch, replica.EpochEnd{Epoch: old.LeaderEpoch, EndOffset: 2}},
	} {
		if got, err := p.EpochEndOffset(c.epoch, replica.AnyEpoch); err != nil || got != c.want {
			t.Errorf("epoch %d ends %v (%v), want %v", c.epoch, got, err, c.want)
		}
	}
	r := h.replicas.Fetch(context.Background(), replica.FetchParams{MaxBytes: 1000}, []replica.FetchPartition{{
		Topic: "a", Offset: 4, MaxBytes: 1000, LeaderEpoch: replica.AnyEpoch, LastFetchedEpoch: old.LeaderEpoch,
	}})[0]
	if r.Diverged == nil || *r.Diverged != (replica.EpochEnd{Epoch: old.LeaderEpoch, EndOffset: 2}) {
		t.Errorf("a client of epoch %d at offset 4: diverged %v", old.LeaderEpoch, r.Diverged)
	}
	_, err = p.EpochEndOffset(now.LeaderEpoch, old.LeaderEpoch)
	wantCode(t, err, protocol.CodeFencedLeaderEpoch)
}
