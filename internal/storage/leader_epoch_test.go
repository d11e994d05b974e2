package storage

import (
	"slices"
	"testing"

	"klamm/internal/vfs"
)

func epochs(entries ...EpochEntry) *LeaderEpochCache {
	c := &LeaderEpochCache{}
	c.reset(entries)
	return c
}

func TestEndOffsetFor(t *testing.T) {
	c := epochs(EpochEntry{2, 10}, EpochEntry{3, 20}, EpochEntry{6, 50})
	for _, q := range []struct {
		asked, epoch int32
		end          int64
	}{
		{6, 6, 99},  // the current one ends at the log's end
		{7, -1, -1}, // the future is unknown
		{3, 3, 50},
		{5, 3, 50}, // nobody wrote in 4 and 5: the largest below
		{2, 2, 20},
		{1, 1, 10}, // older than the log: it ends where the log begins
		{-1, -1, -1},
	} {
		if epoch, end := c.EndOffsetFor(q.asked, 99); epoch != q.epoch || end != q.end {
			t.Errorf("epoch %d: (%d, %d), want (%d, %d)", q.asked, epoch, end, q.epoch, q.end)
		}
	}
	if epoch, end := epochs().EndOffsetFor(0, 99); epoch != -1 || end != -1 {
		t.Errorf("without epochs: (%d, %d)", epoch, end)
	}
	for offset, want := range map[int64]int32{9: -1, 10: 2, 19: 2, 20: 3, 49: 3, 50: 6, 1000: 6} {
		if epoch, ok := c.EpochFor(offset); epoch != want || ok != (want >= 0) {
			t.Errorf("offset %d was written in epoch %d, want %d", offset, epoch, want)
		}
	}
}

func TestAssignEpochs(t *testing.T) {
	for _, c := range []struct {
		name         string
		epoch        int32
		start        int64
		want         []EpochEntry
		staysWritten bool
	}{
		{"newer", 7, 60, []EpochEntry{{2, 10}, {6, 50}, {7, 60}}, false},
		{"the same, later", 6, 80, []EpochEntry{{2, 10}, {6, 50}}, true},
		{"the same, earlier", 6, 30, []EpochEntry{{2, 10}, {6, 30}}, false},
		{"newer at an offset that was another's", 7, 50, []EpochEntry{{2, 10}, {7, 50}}, false},
		{"older, later", 4, 60, []EpochEntry{{2, 10}, {4, 60}}, false},
		{"negative", -1, 60, []EpochEntry{{2, 10}, {6, 50}}, true},
	} {
		cache := epochs(EpochEntry{2, 10}, EpochEntry{6, 50})
		cache.Assign(c.epoch, c.start)
		if got := cache.Entries(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if _, _, changed := cache.unwritten(); changed == c.staysWritten {
			t.Errorf("%s: must be written: %v", c.name, changed)
		}
	}
}

func TestTruncateEpochs(t *testing.T) {
	all := []EpochEntry{{2, 10}, {3, 20}, {6, 50}}
	for end, want := range map[int64]int{51: 3, 50: 2, 20: 1, 11: 1, 10: 0, 0: 0} {
		c := epochs(slices.Clone(all)...)
		if c.truncateFromEnd(end); !slices.Equal(c.Entries(), all[:want]) {
			t.Errorf("cut at %d: %v", end, c.Entries())
		}
	}
	for start, want := range map[int64][]EpochEntry{
		5:  all,
		10: all,
		15: {{2, 15}, {3, 20}, {6, 50}},
		20: {{3, 20}, {6, 50}},
		60: {{6, 60}},
	} {
		c := epochs(slices.Clone(all)...)
		if c.truncateFromStart(start); !slices.Equal(c.Entries(), want) {
			t.Errorf("begin at %d: %v, want %v", start, c.Entries(), want)
		}
	}
}

// TestEpochsSurvive checks the epochs after a clean close and after a crash, when those of the last
// segment are found in its batches.
func TestEpochsSurvive(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.cfg.SegmentBytes = 500
	w.open()
	for i := range 12 {
		if _, err := w.l.AppendAsLeader(makeBatch(t, batchSpec{size: 100}), int32(i/4*2), w.now); err != nil {
			t.Fatal(err)
		}
	}
	w.sync()
	want := []EpochEntry{{0, 0}, {2, 4}, {4, 8}}
	l := w.crash(nil)
	if got := l.LeaderEpochs().Entries(); !slices.Equal(got, want) {
		t.Fatalf("after a crash %v", got)
	}
	w.closeClean()
	l = w.open()
	if got := l.LeaderEpochs().Entries(); !slices.Equal(got, want) {
		t.Fatalf("after a clean close %v", got)
	}
	if err := l.TruncateTo(8); err != nil {
		t.Fatal(err)
	}
	if got := w.crash(nil).LeaderEpochs().Entries(); !slices.Equal(got, want[:2]) {
		t.Fatalf("after a truncation %v", got)
	}
}
