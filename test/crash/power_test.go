package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"klamm/internal/vfs"
	"klamm/test/history"
)

// TestPowerCut runs the broker in this process on a disk in memory and takes the power away, twice
// per seed, for KLAMM_SEEDS seeds (200). What was not synced is gone: every byte of it with an even
// seed, pieces of it with an odd one, and always every directory entry that nobody synced. The
// moments take turns: at random, and at the calls to the disk that make a segment roll, a group
// sync, a metadata snapshot, an offset commit.
func TestPowerCut(t *testing.T) {
	first, seeds := seed(t), number(t, "KLAMM_SEEDS", 200)
	for i := range seeds {
		t.Run(fmt.Sprintf("seed %d", i), func(t *testing.T) {
			t.Parallel()
			if mutantIsCaught() {
				t.Skip("this mutant is caught already: its first failing seed is enough")
			}
			powerCut(t, first+i, i)
		})
	}
}

// mutantIsCaught is never true outside the proof of the checker.
func mutantIsCaught() bool {
	file := os.Getenv("KLAMM_VERDICT")
	if file == "" {
		return false
	}
	_, err := os.Stat(file)
	return err == nil
}

func powerCut(t *testing.T, s, turn int64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m := &machine{disk: vfs.NewMem(), listen: "localhost:0", random: &lockedRand{r: rand.New(rand.NewSource(s))}, pieces: s%2 == 1}
	record := history.NewRecorder()
	options := loadOptions{
		partitions: 2, buffered: 150, valueBytes: 200, batchBytes: 1000, fetchBytes: 3000, churn: true, seed: s,
		// Rolling by time makes many small segments; dense index entries make every lookup count.
		topicConfigs: map[string]string{"segment.ms": "40", "index.interval.bytes": "256"},
	}
	moments := []moment{moments[turn%5], moments[(turn/5)%5]}
	l, err := m.loadAndCut(ctx, options, record, moments)
	if err != nil {
		t.Error(err)
		if again := m.evidence(options, record); again != nil {
			record = history.NewRecorder() // without the final read there is nothing to hold the rest against
			record.Unreadable(err.Error() + "; " + again.Error())
		}
	}
	judge(t, record, l)
	if m.node != nil {
		_ = m.node.Stop(false)
	}
	t.Logf("seed %d, cut %s: %d acknowledged, %d consumed, %d commits", s, moments, record.AckedCount(), record.PolledCount(), record.CommittedCount())
	if t.Failed() {
		lines := strings.Split(m.log.String(), "\n")
		t.Logf("the broker's log ends with:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
}

// loadAndCut boots, loads and cuts at each moment, boots again and reads everything back.
func (m *machine) loadAndCut(ctx context.Context, o loadOptions, record *history.Recorder, when []moment) (l *load, err error) {
	if err := m.boot(); err != nil {
		return nil, fmt.Errorf("first start: %w", err)
	}
	if err := createTopic(ctx, m.listen, o, record); err != nil {
		return nil, err
	}
	if l, err = startLoad(m.listen, o, record); err != nil {
		return nil, err
	}
	stopped := false
	defer func() {
		if !stopped {
			now, cancel := context.WithCancel(ctx)
			cancel()
			_ = l.stop(now)
		}
	}()
	for _, moment := range when {
		if err := l.progress(ctx, 200+m.random.Intn(800)); err != nil {
			return l, err
		}
		if err := m.cutAt(moment); err != nil {
			return l, err
		}
		if err := m.boot(); err != nil {
			return l, fmt.Errorf("start after a power cut %s: %w", moment, err)
		}
		if err := askCommits(ctx, m.listen, record); err != nil {
			return l, err
		}
	}
	stopped = true
	if err := l.stop(ctx); err != nil {
		return l, err
	}
	return l, readBack(ctx, m.listen, o.fetchBytes, record)
}

// evidence reads back what is there after a run that could not be finished.
func (m *machine) evidence(o loadOptions, record *history.Recorder) error {
	if m.node == nil {
		return errors.New("the node does not run")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return readBack(ctx, m.listen, o.fetchBytes, record)
}

// progress waits for more acknowledged records and for the group to have read some.
func (l *load) progress(ctx context.Context, records int) error {
	acked, polled := l.record.AckedCount()+records, l.record.PolledCount()+1
	for l.record.AckedCount() < acked || l.record.PolledCount() < polled {
		if l.refused.Load() > 0 {
			return fmt.Errorf("the producer gave up records: %v", l.errors.all())
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("no progress: %d of %d acknowledged, %d of %d consumed, clients say %v",
				l.record.AckedCount(), acked, l.record.PolledCount(), polled, l.errors.all())
		}
	}
	return nil
}
