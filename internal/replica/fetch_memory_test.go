package replica_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// Answers that are not written yet leave later fetches their first batch only, until they are.
func TestFetchMemory(t *testing.T) {
	h := newHost(t, vfs.NewMem())
	h.topic("a", 2)
	fill(t, h.partition("a", 0), 4, 100)
	fill(t, h.partition("a", 1), 4, 100)
	h.replicas.LimitFetchMemory(3 * sizeOf(t, 100))
	fetch := func() []replica.FetchResult {
		return h.replicas.Fetch(context.Background(), replica.FetchParams{MaxBytes: 1 << 20}, []replica.FetchPartition{asked("a", 0, 0, 1<<20), asked("a", 1, 0, 1<<20)})
	}
	want := func(name string, results []replica.FetchResult, offsets ...[]int64) {
		t.Helper()
		var got [][]int64
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			got = append(got, offsetsOf(t, r.Records))
		}
		if diff := cmp.Diff(offsets, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for range 2 {
		first, second := fetch(), fetch()
		want("the first", first, []int64{0, 1, 2}, nil)
		want("beside it", second, []int64{0}, nil)
		for _, results := range [][]replica.FetchResult{first, second} {
			for i := range results {
				results[i].Release()
			}
		}
	}
}
