package storage

import (
	"os"
	"sync"

	"klamm/internal/vfs"
)

// defaultMaxOpenFiles bounds the segment files held open beside those that are in use or dirty.
const defaultMaxOpenFiles = 1024

// openFiles keeps the segment files of one log directory open, up to a limit; beyond it the ones
// not used lately are closed and opened again when needed.
type openFiles struct {
	fs    vfs.FS
	limit int

	mu   sync.Mutex
	list []*segmentFile // open ones
	hand int            // of the second-chance clock
}

// segmentFile is a file that opens itself when used.
type segmentFile struct {
	path  string
	files *openFiles

	mu    sync.Mutex
	idle  sync.Cond // signalled when users drops to 0
	file  vfs.File
	users int
	used  bool // since the clock last came by
	gone  bool // closed for good

	segment *LogSegment
}

func newSegmentFile(files *openFiles, segment *LogSegment) *segmentFile {
	f := &segmentFile{path: segment.name(logSuffix), files: files, segment: segment}
	f.idle.L = &f.mu
	return f
}

// acquire returns the open file; release must follow. A file closed for good gives ErrClosed.
func (f *segmentFile) acquire() (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return nil, ErrClosed
	}
	if f.file == nil {
		file, err := f.files.fs.OpenFile(f.path, os.O_RDWR)
		if err != nil {
			return nil, err
		}
		f.file = file
		f.files.add(f)
	}
	f.users++
	f.used = true
	return f.file, nil
}

// create makes the file, which must not exist, and keeps it open.
func (f *segmentFile) create() error {
	file, err := f.files.fs.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file = file
	f.files.add(f)
	return nil
}

func (f *segmentFile) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.idle.Broadcast()
	}
}

// close waits for the users and closes the file for good: on Windows an open file can neither be
// renamed nor removed.
func (f *segmentFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	for f.users > 0 {
		f.idle.Wait()
	}
	return f.closeLocked()
}

func (f *segmentFile) closeLocked() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	f.files.remove(f)
	return file.Close()
}

// add registers an open file and closes others beyond the limit. The caller holds f.mu.
func (o *openFiles) add(f *segmentFile) {
	o.mu.Lock()
	o.list = append(o.list, f)
	var victim *segmentFile
	if len(o.list) > o.limit {
		victim = o.victimLocked(f)
	}
	o.mu.Unlock()
	if victim != nil { // its mutex was taken by victimLocked
		victim.closeLocked() // nothing unsynced is in it, so a failure to close loses nothing
		victim.segment.unload()
		victim.mu.Unlock()
	}
}

// victimLocked finds a file nobody uses and returns it with its mutex held; TryLock keeps the lock
// order (segmentFile.mu before openFiles.mu).
func (o *openFiles) victimLocked(except *segmentFile) *segmentFile {
	for range 2 * len(o.list) {
		o.hand = (o.hand + 1) % len(o.list)
		f := o.list[o.hand]
		if f == except || !f.mu.TryLock() {
			continue
		}
		// A file with unsynced bytes stays open: its descriptor learns about a failed write-back.
		if f.users == 0 && !f.used && !f.segment.isDirty() {
			return f
		}
		f.used = false
		f.mu.Unlock()
	}
	return nil
}

func (o *openFiles) remove(f *segmentFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, other := range o.list {
		if other == f {
			last := len(o.list) - 1
			o.list[i] = o.list[last]
			o.list = o.list[:last]
			return
		}
	}
}
