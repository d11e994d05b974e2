package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"klamm/internal/cli"
	"klamm/internal/config"
	"klamm/internal/vfs"
	"klamm/test/harness"
)

// machine is a computer whose power can be cut: a disk in memory, and a node on it.
type machine struct {
	node   *cli.Node
	listen string
	log    harness.Output
	random *lockedRand
	pieces bool // whether pieces of what was not synced survive, as on a disk that reorders writes

	mu    sync.Mutex
	disk  *vfs.Mem
	armed *trigger
}

// trigger cuts the power at a call to the disk that matches, or a few calls later.
type trigger struct {
	matches func(vfs.Op) bool
	later   int
	cut     chan error // the end of the cut
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
func (m *machine) boot() error {
	conf, err := config.New(nil, map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "2048",
		"offsets.topic.num.partitions":                    "3",
	})
	if err != nil {
		return err
	}
	watched := vfs.Fault{FS: m.disk, Inject: func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			<-time.After(time.Duration(m.random.Intn(1000)) * time.Microsecond)
		}
		m.watch(op)
		return nil
	}}
	logger := slog.New(slog.NewTextHandler(&m.log, nil))
	m.node, err = cli.StartNode(cli.NodeOptions{FS: watched, DataDir: dataDir, Listen: m.listen, Config: conf, Now: time.Now, Logger: logger})
	if err == nil {
		m.listen = m.node.Addr()
	}
	return err
}

// watch cuts the power when the armed trigger says so: the call that is about to be made fails, as
// do all after it.
func (m *machine) watch(op vfs.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.armed == nil || m.armed.matches != nil && !m.armed.matches(op) {
		return
	}
	m.armed.matches = nil // from here on every call counts
	if m.armed.later--; m.armed.later < 0 {
		m.armed.cut <- m.cut()
		m.armed = nil
	}
}

// cutAt waits until the power was cut at the moment the trigger describes, and buries the node.
func (m *machine) cutAt(when moment) error {
	t := &trigger{matches: calls[when], later: m.random.Intn(4), cut: make(chan error, 1)}
	if when == atRandom {
		<-time.After(time.Duration(m.random.Intn(20_000)) * time.Microsecond)
	}
	m.mu.Lock()
	m.armed = t
	m.mu.Unlock()
	select {
	case err := <-t.cut:
		_ = m.node.Stop(false) // it complains about the dead disk
		m.node = nil
		return err
	case <-time.After(20 * time.Second):
		return fmt.Errorf("the moment never came: %s", when)
	}
}

// calls tells the calls to the disk that stand for a moment; none means the very next call.
var calls = map[moment]func(vfs.Op) bool{
	duringRoll: func(op vfs.Op) bool {
		return op.Kind == vfs.OpOpen && op.Flag&os.O_CREATE != 0 && isLoad(op.Name) && filepath.Ext(op.Name) == ".log"
	},
	duringSync: func(op vfs.Op) bool {
		return op.Kind == vfs.OpSync && isLoad(op.Name) && filepath.Ext(op.Name) == ".log"
	},
	duringSnap: func(op vfs.Op) bool {
		return strings.Contains(op.Name, ".checkpoint") && strings.Contains(op.Name, "__cluster_metadata-0")
	},
	duringCmt: func(op vfs.Op) bool {
		return (op.Kind == vfs.OpWrite || op.Kind == vfs.OpSync) && strings.Contains(op.Name, "__consumer_offsets-")
	},
}

func isLoad(name string) bool { return strings.HasPrefix(filepath.Base(filepath.Dir(name)), topic+"-") }

// cut takes the power away and leaves the disk as the next boot finds it. m.mu is held.
func (m *machine) cut() error {
	indexes, err := readIndexes(m.disk)
	if err != nil {
		return err
	}
	var survive *rand.Rand
	if m.pieces {
		survive = rand.New(rand.NewSource(int64(m.random.Intn(1 << 30))))
	}
	m.disk = m.disk.Crash(survive)
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
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.WriteAt(content, 0)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
