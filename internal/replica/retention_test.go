package replica_test

import (
	"testing"
	"testing/synctest"
	"time"

	"klamm/internal/replica"
	"klamm/internal/vfs"
)

// inBubble runs a test with a clock that moves only when everybody waits.
func inBubble(t *testing.T, f func(t *testing.T, h *host)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, vfs.NewMem())
		f(t, h)
		h.close(true)
	})
}

func startOf(t *testing.T, p *replica.Partition) int64 {
	t.Helper()
	s, err := p.Leader(replica.AnyEpoch)
	if err != nil {
		t.Fatal(err)
	}
	return s.LogStartOffset
}

// Records go when retention.ms is over, though nothing is appended any more, and then no timer is
// left behind.
func TestRetentionByTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *host) {
		p := h.topic("a", 1, "retention.ms", "7200000")
		fill(t, p, 3, 100)
		time.Sleep(time.Hour)
		if got := startOf(t, p); got != 0 {
			t.Errorf("after one of two hours the log starts at %d", got)
		}
		time.Sleep(2 * time.Hour)
		if got := startOf(t, p); got != 3 {
			t.Errorf("after three hours the log starts at %d, want 3", got)
		}
		time.Sleep(time.Hour)
		if h.replicas.RetentionArmed() {
			t.Error("a timer runs though nothing is left to delete")
		}
	})
}

// Without a limit nothing is ever deleted, and after one look nothing is scheduled.
func TestRetentionUnlimited(t *testing.T) {
	inBubble(t, func(t *testing.T, h *host) {
		p := h.topic("a", 1, "retention.ms", "-1")
		fill(t, p, 3, 100)
		time.Sleep(24 * time.Hour)
		if got := startOf(t, p); got != 0 {
			t.Errorf("the log starts at %d", got)
		}
		if h.replicas.RetentionArmed() {
			t.Error("a timer runs though nothing can expire")
		}
	})
}

// A shorter retention counts from the change on.
func TestRetentionShortened(t *testing.T) {
	inBubble(t, func(t *testing.T, h *host) {
		p := h.topic("a", 1, "retention.ms", "-1")
		fill(t, p, 3, 100)
		time.Sleep(24 * time.Hour)
		h.setTopicConfig("a", "retention.ms", "1000")
		time.Sleep(time.Hour)
		if got := startOf(t, p); got != 3 {
			t.Errorf("the log starts at %d, want 3", got)
		}
	})
}
