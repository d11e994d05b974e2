package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"klamm/internal/vfs"
)

const (
	// processFile says which process used the log directory last, and in which run of the machine all
	// its logs were recovered. It is not synced: after a power cut it may be anything, which is taken
	// as another run.
	processFile = ".klamm-process"

	// uncheckedFile lists partitions that a clean shutdown does not speak for: after a crash they
	// were not opened, or were found damaged, so that the next start must check them again.
	uncheckedFile = ".klamm-unchecked"

	// bootIDFile is where Linux tells one run of the machine from another.
	bootIDFile = "/proc/sys/kernel/random/boot_id"
)

// OpenLogManager takes a log directory into use, creating it when it is new. Its errors say what to
// do: *LockedError, *NotWritableError, *NewerVersionError, *WrongIdentityError, *FormatError.
// Partitions are opened by GetOrCreate and Recover.
func OpenLogManager(o LogManagerOptions) (*LogManager, error) {
	m := newLogManager(o)
	if err := mkdirSynced(m.fs, m.dir); err != nil {
		return nil, &NotWritableError{m.dir, err}
	}
	lock, err := m.fs.Lock(filepath.Join(m.dir, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		pid, _ := readProcessFile(m.fs, m.dir)
		return nil, &LockedError{m.dir, pid}
	}
	if err != nil {
		return nil, &NotWritableError{m.dir, err}
	}
	m.lock = lock
	if err := m.open(o); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return m, nil
}

func newLogManager(o LogManagerOptions) *LogManager {
	m := &LogManager{
		fs: o.FS, dir: filepath.Clean(o.Dir), logger: o.Logger, now: o.Now, rand: o.Rand,
		afterFunc: o.AfterFunc, onOffline: o.OnOffline, runLater: o.Background,
		checkpointInterval:   checkpointMaxInterval,
		producerExpirationMs: defaultProducerExpirationMs,
		logs:                 map[TopicPartition]*logSlot{},
		deleted:              map[TopicPartition]bool{},
		timers:               map[int]func() bool{},
		expanding:            make(chan struct{}, 1),
	}
	m.files.fs, m.files.limit = o.FS, o.MaxOpenFiles
	if m.files.limit <= 0 {
		m.files.limit = defaultMaxOpenFiles
	}
	if m.logger == nil {
		m.logger = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	if m.rand == nil {
		m.rand = rand.Reader
	}
	if m.afterFunc == nil {
		m.afterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.Config != nil {
		interval := time.Duration(o.Config.Long("log.flush.offset.checkpoint.interval.ms")) * time.Millisecond
		m.checkpointInterval = min(m.checkpointInterval, max(interval, checkpointMinInterval))
		m.producerExpirationMs = int64(o.Config.Int("producer.id.expiration.ms"))
		m.recoveryThreads = o.Config.Int("num.recovery.threads.per.data.dir")
	}
	return m
}

// mkdirSynced creates a directory with its parents and makes their entries durable.
func mkdirSynced(fsys vfs.FS, dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := fsys.Stat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		missing = append(missing, d)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := fsys.SyncDir(filepath.Dir(missing[i])); err != nil {
			return err
		}
	}
	return nil
}

func (m *LogManager) open(o LogManagerOptions) error {
	m.boot = readBootID(m.fs)
	_, lastBoot := readProcessFile(m.fs, m.dir)
	m.sameBoot = m.boot != "" && m.boot == lastBoot
	if err := m.openIdentity(o); err != nil {
		return err
	}
	if err := m.writeProcessFile(lastBoot); err != nil {
		return &NotWritableError{m.dir, err}
	}
	if err := m.readCheckpoints(); err != nil {
		return err
	}
	if err := m.takeCleanShutdown(); err != nil {
		return err
	}
	return m.resumeDeletes()
}

// openIdentity checks meta.properties against what this node is, or writes it in a new directory.
func (m *LogManager) openIdentity(o LogManagerOptions) error {
	file := filepath.Join(m.dir, metaPropertiesFile)
	data, err := vfs.ReadFile(m.fs, file, smallFileMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return m.createIdentity(o, file)
	}
	if err != nil {
		return &ReadError{file, err}
	}
	if m.meta, err = ParseMetaProperties(file, data); err != nil {
		return err
	}
	if o.ClusterID != "" && o.ClusterID != m.meta.ClusterID {
		return &WrongIdentityError{file, "cluster.id", m.meta.ClusterID, o.ClusterID}
	}
	if o.NodeID != m.meta.NodeID {
		return &WrongIdentityError{file, "node.id", strconv.Itoa(int(m.meta.NodeID)), strconv.Itoa(int(o.NodeID))}
	}
	if m.meta.DirectoryID != [16]byte{} {
		return nil
	}
	if m.meta.DirectoryID, err = m.newUUID(); err != nil {
		return err
	}
	return m.writeIdentity(file)
}

func (m *LogManager) createIdentity(o LogManagerOptions, file string) error {
	cluster, err := m.newUUID()
	if err != nil {
		return err
	}
	m.meta = MetaProperties{ClusterID: o.ClusterID, NodeID: o.NodeID}
	if m.meta.ClusterID == "" {
		m.meta.ClusterID = FormatUUID(cluster)
	}
	if m.meta.DirectoryID, err = m.newUUID(); err != nil {
		return err
	}
	return m.writeIdentity(file)
}

func (m *LogManager) writeIdentity(file string) error {
	if err := writeAtomic(m.fs, file, m.meta.AppendTo(nil)); err != nil {
		return &NotWritableError{m.dir, err}
	}
	return nil
}

// newUUID makes a random id. Ids that would begin with "-" are avoided, as Kafka does: they look
// like an option on a command line.
func (m *LogManager) newUUID() (id [16]byte, err error) {
	for {
		if _, err := io.ReadFull(m.rand, id[:]); err != nil {
			return id, fmt.Errorf("cannot make a random id: %w", err)
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		if !strings.HasPrefix(FormatUUID(id), "-") {
			return id, nil
		}
	}
}

// readCheckpoints reads the offset checkpoints. A damaged one is not fatal: without recovery points
// every log is checked from its start.
func (m *LogManager) readCheckpoints() error {
	for name, into := range map[string]*OffsetCheckpoint{
		recoveryPointFile: &m.written.recoveryPoints,
		logStartFile:      &m.written.startOffsets,
		highWatermarkFile: &m.written.highWatermarks,
		uncheckedFile:     &m.written.unchecked,
	} {
		content, err := readOffsetCheckpoint(m.fs, filepath.Join(m.dir, name))
		if bad := (*FormatError)(nil); errors.As(err, &bad) {
			m.logger.Warn("ignoring a damaged checkpoint", "error", err)
			content, err = OffsetCheckpoint{}, nil
		}
		if err != nil {
			return &ReadError{filepath.Join(m.dir, name), err}
		}
		*into = content
	}
	return nil
}

// takeCleanShutdown reads and removes .kafka_cleanshutdown. The removal is durable before anything
// is written: else a crash later would look like a clean shutdown.
func (m *LogManager) takeCleanShutdown() error {
	m.cleanEpoch = -1
	file := filepath.Join(m.dir, cleanShutdownFile)
	data, err := vfs.ReadFile(m.fs, file, smallFileMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &ReadError{file, err}
	}
	m.clean, m.cleanEpoch = true, ParseCleanShutdown(data)
	if err := m.fs.Remove(file); err != nil {
		return &NotWritableError{m.dir, err}
	}
	if err := m.fs.SyncDir(m.dir); err != nil {
		return &NotWritableError{m.dir, err}
	}
	return nil
}

// resumeDeletes goes on removing directories of deleted partitions.
func (m *LogManager) resumeDeletes() error {
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil {
		return &ReadError{m.dir, err}
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasSuffix(entry.Name(), deleteDirSuffix) {
			m.removeLater([]string{filepath.Join(m.dir, entry.Name())}, defaultFileDeleteDelay)
		}
	}
	return nil
}

func readBootID(fsys vfs.FS) string {
	f, err := fsys.OpenFile(bootIDFile, os.O_RDONLY)
	if err != nil {
		return "" // not Linux
	}
	defer f.Close()
	buf := make([]byte, 64) // the file has no size, so vfs.ReadFile would read nothing
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.TrimSpace(string(buf[:n]))
}

func (m *LogManager) writeProcessFile(boot string) error {
	f, err := m.fs.OpenFile(filepath.Join(m.dir, processFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), boot), 0)
	return errors.Join(err, f.Close())
}

// readProcessFile returns what it can make out; the file may be missing or anything.
func readProcessFile(fsys vfs.FS, dir string) (pid int, boot string) {
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, processFile), smallFileMaxBytes)
	if err != nil {
		return 0, ""
	}
	fields := strings.Fields(string(data))
	if len(fields) == 0 {
		return 0, ""
	}
	if pid, err = strconv.Atoi(fields[0]); err != nil || pid < 0 {
		return 0, ""
	}
	if len(fields) > 1 {
		boot = fields[1]
	}
	return pid, boot
}
