package coordinator

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkCommit is one client committing one partition at a time over a log in memory.
func BenchmarkCommit(b *testing.B) {
	r := newTestRuntime(b, newMemLog(), testConfig(b, nil))
	defer r.Close()
	leadAll(r, 0)
	done := make(chan kmsg.Response, 1)
	ask := func(req kmsg.Request, version int16) kmsg.Response {
		req.SetVersion(version)
		r.Request(context.Background(), req, "c", "/h", func(resp kmsg.Response) { done <- resp })
		return <-done
	}
	for ask(kmsg.NewPtrListGroupsRequest(), 5).(*kmsg.ListGroupsResponse).ErrorCode != 0 {
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		resp := ask(commitRequest("g", int64(i)), 9)
		if code := resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
			b.Fatalf("commit: %d", code)
		}
	}
}

// BenchmarkReplay is loading: one committed offset a record.
func BenchmarkReplay(b *testing.B) {
	s := fuzzShard()
	var records []Record
	for p := range int32(1000) {
		rec, err := committedOffset{offset: 5, leaderEpoch: 1, expiresAt: -1}.record("group", "topic", p)
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, rec)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.replay(records[i%len(records)]); err != nil {
			b.Fatal(err)
		}
	}
}
