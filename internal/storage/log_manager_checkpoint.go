package storage

import (
	"bytes"
	"errors"
	"path/filepath"

	"klamm/internal/vfs"
)

// writeAtomic is vfs.WriteFileAtomic, with a failed sync told from other failures by its caller's
// treatment: whatever fails there, the old file is still whole.
func writeAtomic(fsys vfs.FS, name string, data []byte) error {
	return vfs.WriteFileAtomic(fsys, name, data)
}

// noteProgress has the checkpoints written within a few seconds. Without writes there is no timer.
func (m *LogManager) noteProgress() {
	if m.checkpointDue.Load() || m.checkpointDue.Swap(true) {
		return
	}
	m.later(m.checkpointInterval, func() {
		m.checkpointDue.Store(false)
		if err := m.Checkpoint(); err != nil {
			m.logger.Warn("cannot write checkpoints; will try again", "dir", m.dir, "error", err)
			m.noteProgress()
		}
	})
}

// noteSealed has the checkpoints written now, unless that happened a moment ago.
func (m *LogManager) noteSealed() {
	m.checkpointMu.Lock()
	recent := m.now().Sub(m.lastCheckpoint) < checkpointMinInterval
	m.checkpointMu.Unlock()
	if recent {
		m.noteProgress()
		return
	}
	if err := m.writeRecoveryPoints(); err != nil {
		m.logger.Warn("cannot write checkpoints; will try again", "dir", m.dir, "error", err)
		m.noteProgress()
	}
}

// Checkpoint writes the recovery points, log start offsets and high watermarks of all logs.
func (m *LogManager) Checkpoint() error {
	err := m.writeRecoveryPoints()
	m.checkpointMu.Lock()
	defer m.checkpointMu.Unlock()
	starts, marks := m.collect(m.written.startOffsets, logStart), m.collect(m.written.highWatermarks, markOf)
	return errors.Join(err,
		m.writeCheckpoint(logStartFile, starts, &m.written.startOffsets),
		m.writeCheckpoint(highWatermarkFile, marks, &m.written.highWatermarks))
}

func markOf(l *Log) (int64, bool) { return min(l.highWatermark.Load(), l.synced.Load()), true }

// logStart is listed only when it is not simply the first segment's offset, as in Kafka.
func logStart(l *Log) (int64, bool) {
	start := l.start.Load()
	return start, start > (*l.segments.Load())[0].base
}

// writeRecoveryPoints writes recovery-point-offset-checkpoint.
func (m *LogManager) writeRecoveryPoints() error {
	m.checkpointMu.Lock()
	defer m.checkpointMu.Unlock()
	points := m.collect(m.written.recoveryPoints, func(l *Log) (int64, bool) { return l.recoveryPoint(), true })
	m.lastCheckpoint = m.now()
	return m.writeCheckpoint(recoveryPointFile, points, &m.written.recoveryPoints)
}

// collect makes the content of a checkpoint: what open logs say, and the former entries of
// partitions that are not open.
func (m *LogManager) collect(former OffsetCheckpoint, of func(*Log) (int64, bool)) OffsetCheckpoint {
	out := OffsetCheckpoint{}
	m.mu.Lock()
	for tp, offset := range former {
		if slot := m.logs[tp]; !m.deleted[tp] && (slot == nil || slot.log == nil) {
			out[tp] = offset
		}
	}
	m.mu.Unlock()
	for _, l := range m.openLogs() {
		if offset, listed := of(l); listed {
			out[l.tp] = offset
		}
	}
	return out
}

// writeCheckpoint replaces a checkpoint file when its content changes.
func (m *LogManager) writeCheckpoint(name string, content OffsetCheckpoint, written *OffsetCheckpoint) error {
	if err := m.Offline(); err != nil {
		return err
	}
	data := content.AppendTo(nil)
	if bytes.Equal(data, written.AppendTo(nil)) {
		return nil
	}
	if err := writeAtomic(m.fs, filepath.Join(m.dir, name), data); err != nil {
		return m.failUnlessFull("writing "+name, err)
	}
	*written = content
	return nil
}

// forget removes a partition from the checkpoint files, so that a new one of the same name does not
// inherit its offsets.
func (m *LogManager) forget(tp TopicPartition) error {
	m.checkpointMu.Lock()
	defer m.checkpointMu.Unlock()
	for _, file := range []struct {
		name    string
		content *OffsetCheckpoint
	}{
		{recoveryPointFile, &m.written.recoveryPoints},
		{logStartFile, &m.written.startOffsets},
		{highWatermarkFile, &m.written.highWatermarks},
	} {
		if _, listed := (*file.content)[tp]; !listed {
			continue
		}
		without := OffsetCheckpoint{}
		for other, offset := range *file.content {
			if other != tp {
				without[other] = offset
			}
		}
		if err := m.writeCheckpoint(file.name, without, file.content); err != nil {
			return err
		}
	}
	return nil
}
