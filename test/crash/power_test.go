package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"klamm/internal/cli"
	"klamm/internal/config"
	"klamm/internal/vfs"
	"klamm/test/harness"
	"klamm/test/history"
)

// TestPowerCut runs the broker in this process on a disk in memory and takes the power away, twice
// per seed, for KLAMM_SEEDS seeds (200). What was not synced is gone: every byte of it with an even
// seed, pieces of it with an odd one, and every directory entry that nobody synced.
func TestPowerCut(t *testing.T) {
	first, seeds := seed(t), number(t, "KLAMM_SEEDS", 200)
	for i := range seeds {
		s := first + i
		t.Run(fmt.Sprintf("seed %d", i), func(t *testing.T) {
			t.Parallel()
			if os.Getenv("KLAMM_VERDICT") != "" && verdictKnown() {
				t.Skip("this mutant is caught already: its first failing seed is enough")
			}
			powerCut(t, s)
		})
	}
}

func verdictKnown() bool {
	_, err := os.Stat(os.Getenv("KLAMM_VERDICT"))
	return err == nil
}

// machine is a computer whose power can be cut: a disk, and a node on it.
type machine struct {
	disk   *vfs.Mem
	node   *cli.Node
	listen string
	log    harness.Output
	random *lockedRand
}

// lockedRand is shared by the machine's disk and the test.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (l *lockedRand) Intn(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Intn(n)
}

const dataDir = "data"

// boot starts the node. The disk takes up to a millisecond for a sync, as real ones do: without
// that the time between write and sync would be too short for anything to fall into it.
func (m *machine) boot(ctx context.Context) error {
	conf, err := config.New(nil, map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "2048",
		"offsets.topic.num.partitions":                    "3",
		"log.index.interval.bytes":                        "256",
	})
	if err != nil {
		return err
	}
	slow := vfs.Fault{FS: m.disk, Inject: func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			<-time.After(time.Duration(m.random.Intn(1000)) * time.Microsecond)
		}
		return nil
	}}
	logger := slog.New(slog.NewTextHandler(&m.log, nil))
	m.node, err = cli.StartNode(cli.NodeOptions{FS: slow, DataDir: dataDir, Listen: m.listen, Config: conf, Now: time.Now, Logger: logger})
	if err == nil {
		m.listen = m.node.Addr()
	}
	return err
}

// cut takes the power away and leaves the disk as the next boot finds it.
func (m *machine) cut(pieces bool) error {
	indexes, err := readIndexes(m.disk)
	if err != nil {
		return err
	}
	var survive *rand.Rand
	if pieces {
		survive = rand.New(rand.NewSource(int64(m.random.Intn(1 << 30))))
	}
	after := m.disk.Crash(survive)
	_ = m.node.Stop(false) // it complains about the dead disk
	m.disk = after
	return m.restoreIndexes(indexes)
}

// readIndexes copies what the index files hold in memory.
func readIndexes(disk *vfs.Mem) (map[string][]byte, error) {
	indexes := map[string][]byte{}
	dirs, err := disk.ReadDir(dataDir)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if !strings.HasPrefix(dir.Name(), topic+"-") {
			continue
		}
		files, err := disk.ReadDir(filepath.Join(dataDir, dir.Name()))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name := filepath.Join(dataDir, dir.Name(), file.Name())
			if ext := filepath.Ext(name); ext == ".index" || ext == ".timeindex" {
				if indexes[name], err = vfs.ReadFile(disk, name, 16<<20); err != nil {
					return nil, err
				}
			}
		}
	}
	return indexes, nil
}

// restoreIndexes lets some index files come through the power cut whole, where their entry in the
// directory did: the system writes a file's pages back when it likes, an index before its log too.
// The broker must not believe entries about records that are gone.
func (m *machine) restoreIndexes(indexes map[string][]byte) error {
	for name, content := range indexes {
		if m.random.Intn(2) == 0 {
			continue
		}
		f, err := m.disk.OpenFile(name, os.O_RDWR)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return err
		}
		_, err = f.WriteAt(content, 0)
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func powerCut(t *testing.T, s int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	random := &lockedRand{r: rand.New(rand.NewSource(s))}
	m := &machine{disk: vfs.NewMem(), listen: "localhost:0", random: random}
	record := history.NewRecorder()
	options := loadOptions{
		partitions: 2, buffered: 150, valueBytes: 200, batchBytes: 1000, fetchBytes: 3000, churn: random.Intn(2) == 0, seed: s,
		topicConfigs: map[string]string{"segment.bytes": "1048576", "index.interval.bytes": "256"},
	}
	l, err := m.runAndCut(ctx, options, record, s%2 == 1)
	defer func() {
		if m.node != nil {
			_ = m.node.Stop(false)
		}
		if t.Failed() {
			t.Logf("the broker's log:\n%s", lastLines(m.log.String(), 20))
		}
	}()
	if err != nil {
		t.Error(err)
		if again := m.evidence(options, record); again != nil {
			record = history.NewRecorder() // without the final read there is nothing to hold the rest against
			record.Unreadable(err.Error() + "; " + again.Error())
		}
	}
	judge(t, record, l)
}

// runAndCut boots, loads and cuts twice, boots again and reads everything back.
func (m *machine) runAndCut(ctx context.Context, o loadOptions, record *history.Recorder, pieces bool) (l *load, err error) {
	if err := m.boot(ctx); err != nil {
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
	for cut := range 2 {
		if err := l.progress(ctx, 200+m.random.Intn(800)); err != nil {
			return l, err
		}
		if err := m.cut(pieces); err != nil {
			return l, err
		}
		if err := m.boot(ctx); err != nil {
			return l, fmt.Errorf("start after power cut %d: %w", cut+1, err)
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
		return errors.New("the node did not start")
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
			return fmt.Errorf("no progress: %d of %d acknowledged, clients say %v", l.record.AckedCount(), acked, l.errors.all())
		}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := bytes.Split([]byte(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
