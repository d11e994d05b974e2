package crash

import (
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"klamm/test/harness"
	"klamm/test/history"
)

// moment is when the broker is killed.
type moment string

const (
	atRandom   moment = "at random"
	duringRoll moment = "while a segment is rolled"
	duringSync moment = "while appends wait for the group sync"
	duringSnap moment = "while a metadata snapshot is written"
	duringCmt  moment = "while an offset commit is on its way"
)

var moments = []moment{atRandom, duringRoll, duringSync, duringSnap, duringCmt}

// TestKill kills the real binary with kill -9, KLAMM_KILLS times (30), each time after at least
// 10,000 more acknowledged records, under load that never pauses, and judges the whole history once.
func TestKill(t *testing.T) {
	const recordsPerRound = 10_000
	kills := number(t, "KLAMM_KILLS", 30)
	random := rand.New(rand.NewSource(seed(t)))
	options := loadOptions{
		partitions: 3, buffered: 2000, valueBytes: 1024, batchBytes: 32 << 10, fetchBytes: 1 << 20, churn: true, seed: random.Int63(),
		topicConfigs: map[string]string{"segment.bytes": "1048576"},
	}
	v := newVictim(t, "metadata.log.max.record.bytes.between.snapshots=4096")
	record := history.NewRecorder()
	v.restart(t)
	if err := createTopic(harness.Context(t), v.addr, options, record); err != nil {
		t.Fatal(err)
	}
	l, err := startLoad(v.addr, options, record)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended { // the test gave up half way
			v.Kill()
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = l.stop(ctx)
		}
	}()
	for i := range kills {
		when := moments[int(i)%len(moments)]
		before := record.AckedCount()
		harness.WaitFor(t, "10,000 more acknowledged records", func() bool {
			return record.AckedCount() >= before+recordsPerRound || l.refused.Load() > 0
		})
		if l.refused.Load() > 0 {
			t.Fatalf("the producer gave up records: %v", l.errors.all())
		}
		l.await(t, when, v.dataDir, random)
		v.Kill()
		acked := record.AckedCount() - before
		took := v.restart(t)
		if err := askCommits(harness.Context(t), v.addr, record); err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d %s: %d acknowledged since the last, up again in %d ms", i+1, when, acked, took.Milliseconds())
	}
	if err := l.stop(harness.Context(t)); err != nil {
		t.Error(err)
	}
	ended = true
	v.Stop(t) // cleanly, so that the last start trusts what a clean end leaves
	v.restart(t)
	if err := readBack(harness.Context(t), v.addr, 1<<20, record); err != nil {
		t.Fatal(err)
	}
	t.Logf("measured: TestKill %d kills, %d records acknowledged, %d consumed, %d commits", kills, record.AckedCount(), record.PolledCount(), record.CommittedCount())
	judge(t, record, l)
	v.Stop(t)
}

// await returns at the given moment, give or take up to two milliseconds by chance.
func (l *load) await(t *testing.T, when moment, dataDir string, random *rand.Rand) {
	t.Helper()
	jitter := time.Duration(random.Int63n(int64(2 * time.Millisecond)))
	switch when {
	case atRandom:
		jitter = time.Duration(random.Int63n(int64(100 * time.Millisecond)))
	case duringRoll:
		newFile(t, filepath.Join(dataDir, topic+"-*", "*.log"))
	case duringSnap:
		newFile(t, filepath.Join(dataDir, "__cluster_metadata-0", "*.checkpoint*"))
	case duringSync:
		next(t, l.acked, "an acknowledgement")
	case duringCmt:
		next(t, l.committing, "an offset commit")
	}
	<-time.After(jitter)
}

// newFile waits until a file appears that was not there.
func newFile(t *testing.T, pattern string) {
	t.Helper()
	list := func() map[string]bool {
		names := map[string]bool{}
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names[name] = true
		}
		return names
	}
	before := list()
	harness.WaitFor(t, "a new file "+strings.TrimPrefix(pattern, os.TempDir()), func() bool {
		for name := range list() {
			if !before[name] {
				return true
			}
		}
		return false
	})
}

func next(t *testing.T, moments chan struct{}, what string) {
	t.Helper()
	drain(moments)
	select {
	case <-moments:
	case <-time.After(time.Minute):
		t.Fatalf("waited a minute in vain for %s", what)
	}
}
