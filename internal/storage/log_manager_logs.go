package storage

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"klamm/internal/vfs"
)

// Suffixes of partition directories that are not in use: topic-partition.UUID + suffix.
const (
	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"
	maxNameLength   = 255
)

// GetOrCreate returns the log of a partition: open already, opened (and recovered after a crash), or
// new. A new one costs a directory and a small file; both become durable with its first Sync. A
// directory that belongs to another topic id is set aside with suffix -stray. A damaged log gives a
// *CorruptionError, on every call, until it is deleted. A zero topicID takes what is on disk.
func (m *LogManager) GetOrCreate(topic string, topicID [16]byte, partition int32, cfg LogConfig) (*Log, error) {
	if m.closed.Load() {
		return nil, ErrClosed
	}
	if err := m.Offline(); err != nil {
		return nil, err
	}
	tp := TopicPartition{topic, partition}
	m.mu.Lock()
	slot, found := m.logs[tp]
	if !found {
		slot = &logSlot{ready: make(chan struct{})}
		m.logs[tp] = slot
	}
	m.mu.Unlock()
	if found {
		<-slot.ready
		if slot.log != nil && topicID != [16]byte{} && slot.log.topicID != topicID {
			return nil, &InconsistentTopicID{slot.log.dir, FormatUUID(slot.log.topicID), FormatUUID(topicID)}
		}
		return slot.log, slot.err
	}
	log, err := m.openLog(tp, topicID, cfg)
	m.mu.Lock()
	defer m.mu.Unlock()
	slot.log, slot.err = log, err
	close(slot.ready)
	if bad := (*CorruptionError)(nil); err != nil && !errors.As(err, &bad) {
		delete(m.logs, tp) // may go better another time
	}
	return log, err
}

func (m *LogManager) openLog(tp TopicPartition, topicID [16]byte, cfg LogConfig) (*Log, error) {
	l := &Log{tp: tp, topicID: topicID, dir: filepath.Join(m.dir, tp.String()), manager: m, logger: m.logger, producers: newProducerStateManager()}
	l.config.Store(&cfg)
	l.sealed.Store(-1)
	exists, err := l.claimDir()
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := l.createDir(); err != nil {
			return nil, err
		}
	}
	m.checkpointMu.Lock()
	load := loader{
		Log: l, clean: !m.mustCheck(tp), sameBoot: m.sameBoot,
		recoveryPoint: m.written.recoveryPoints[tp], startOffset: m.written.startOffsets[tp],
	}
	mark := m.written.highWatermarks[tp]
	m.checkpointMu.Unlock()
	if exists {
		err = load.load()
	} else {
		err = load.startEmpty()
	}
	if err != nil {
		l.closeFiles(load.segments)
		return nil, err
	}
	l.rollJitter = l.jitter(&cfg)
	l.highWatermark.Store(min(max(mark, l.start.Load()), l.end.Load()))
	if len(l.pending) > 0 {
		l.sealSoon()
	}
	return l, nil
}

func (l *Log) closeFiles(segments []*LogSegment) {
	for _, s := range segments {
		s.file.close() // nothing was written through it that counts
	}
}

// claimDir looks at the partition's directory. One of another topic is set aside; one without a
// readable partition.metadata, left by a crash right after its creation, is given one.
func (l *Log) claimDir() (exists bool, err error) {
	fsys := l.manager.fs
	if _, err := fsys.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, &ReadError{l.dir, err}
	}
	file := filepath.Join(l.dir, partitionMetadataFile)
	data, err := vfs.ReadFile(fsys, file, smallFileMaxBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, &ReadError{file, err}
	}
	var found [16]byte
	if err == nil {
		found, err = ParsePartitionMetadata(file, data)
	}
	if err != nil {
		return true, l.repairMetadata(err)
	}
	if l.topicID == [16]byte{} || found == l.topicID {
		l.topicID = found
		return true, nil
	}
	return false, l.setAsideStray(found)
}

// repairMetadata writes partition.metadata anew, unless the directory holds records: then it is not
// known whose they are.
func (l *Log) repairMetadata(reason error) error {
	fsys := l.manager.fs
	entries, err := fsys.ReadDir(l.dir)
	if err != nil {
		return &ReadError{l.dir, err}
	}
	missing := errors.Is(reason, fs.ErrNotExist)
	for _, entry := range entries {
		if _, suffix, ok := parseFileName(entry.Name()); !ok || suffix != logSuffix || missing {
			continue // a directory of Kafka before 2.8 has records and no file
		}
		if info, err := entry.Info(); err != nil || info.Size() > 0 {
			return &CorruptionError{l.dir, partitionMetadataFile, 0, 0, reason}
		}
	}
	l.newDir = true
	return l.writeMetadata()
}

// setAsideStray renames a directory that an earlier topic of the same name left behind.
func (l *Log) setAsideStray(found [16]byte) error {
	to, err := l.manager.asideName(l.tp, strayDirSuffix)
	if err != nil {
		return err
	}
	l.logger.Warn("setting aside the directory of an earlier topic of the same name", "dir", l.dir, "its topic id", FormatUUID(found),
		"expected", FormatUUID(l.topicID), "now", to)
	if err := l.manager.fs.Rename(l.dir, to); err != nil {
		return l.manager.fail("renaming a directory", err)
	}
	return nil
}

// createDir makes the directory of a new partition.
func (l *Log) createDir() error {
	if err := l.manager.forget(l.tp); err != nil {
		return err
	}
	l.manager.mu.Lock()
	delete(l.manager.deleted, l.tp)
	l.manager.mu.Unlock()
	l.newDir = true
	if err := l.manager.fs.MkdirAll(l.dir); err != nil {
		return l.manager.failUnlessFull("creating a directory", err)
	}
	return l.writeMetadata()
}

func (l *Log) writeMetadata() error {
	f, err := l.manager.fs.OpenFile(filepath.Join(l.dir, partitionMetadataFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err == nil {
		_, err = f.WriteAt(AppendPartitionMetadata(nil, l.topicID), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return l.manager.failUnlessFull("writing partition.metadata", err)
	}
	return nil
}

// asideName is a name for a partition's directory that is taken out of use.
func (m *LogManager) asideName(tp TopicPartition, suffix string) (string, error) {
	id, err := m.newUUID()
	if err != nil {
		return "", err
	}
	suffix = "." + hex.EncodeToString(id[:]) + suffix
	name := tp.String()
	return filepath.Join(m.dir, name[:min(len(name), maxNameLength-len(suffix))]+suffix), nil
}

// Delete takes a partition away: its directory gets a name ending in -delete and is removed after
// file.delete.delay.ms. Deleting one that does not exist is no error.
func (m *LogManager) Delete(topic string, partition int32) error {
	if err := m.Offline(); err != nil {
		return err
	}
	tp := TopicPartition{topic, partition}
	m.mu.Lock()
	slot := m.logs[tp]
	m.mu.Unlock()
	delay := defaultFileDeleteDelay
	if slot != nil {
		<-slot.ready
		if slot.log != nil {
			delay = time.Duration(slot.log.config.Load().FileDeleteDelayMs) * time.Millisecond
			slot.log.abandon()
		}
	}
	from := filepath.Join(m.dir, tp.String())
	to, err := m.asideName(tp, deleteDirSuffix)
	if err != nil {
		return err
	}
	if err := m.fs.Rename(from, to); errors.Is(err, fs.ErrNotExist) {
		to = ""
	} else if err != nil {
		return m.fail("renaming a directory", err)
	}
	m.mu.Lock()
	delete(m.logs, tp)
	m.deleted[tp] = true
	m.mu.Unlock()
	m.noteProgress() // writes checkpoints without the partition, which also makes the rename durable
	if to != "" {
		m.removeLater([]string{to}, delay)
	}
	return nil
}

// abandon closes a log whose files are not needed any more.
func (l *Log) abandon() {
	l.sealMu.Lock()
	defer l.sealMu.Unlock()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.appendMu.Lock()
	l.closed = ErrClosed
	segments := *l.segments.Load()
	l.pending = nil
	l.appendMu.Unlock()
	l.closeFiles(segments)
}

// Stray lists the partitions on disk that were not asked for since the start: nothing is done to them.
func (m *LogManager) Stray() ([]TopicPartition, error) {
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil {
		return nil, &ReadError{m.dir, err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var stray []TopicPartition
	for _, entry := range entries {
		tp, ok := parseDirName(entry.Name())
		if !ok || !entry.IsDir() || tp.Topic == "__cluster_metadata" {
			continue
		}
		if _, known := m.logs[tp]; !known {
			stray = append(stray, tp)
		}
	}
	return stray, nil
}

// parseDirName reads the name of a partition's directory.
func parseDirName(name string) (TopicPartition, bool) {
	at := strings.LastIndexByte(name, '-')
	if at <= 0 {
		return TopicPartition{}, false
	}
	partition, err := strconv.ParseInt(name[at+1:], 10, 32)
	if err != nil || partition < 0 || name[at+1] == '+' {
		return TopicPartition{}, false
	}
	return TopicPartition{name[:at], int32(partition)}, true
}
