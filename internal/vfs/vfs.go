// Package vfs is the seam between Klamm and the disk. Everything the broker writes goes through
// an FS, so that tests can lose unsynced bytes (Mem.Crash), inject errors (Fault) and count calls.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is one open file. Reads and writes carry their own position (bytes from the start), so a
// File may be used by several goroutines at once.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Truncate cuts or zero-extends the file to size bytes.
	Truncate(size int64) error
	// Sync makes the content and length durable (fdatasync). The directory entry of a new file
	// is durable only after FS.SyncDir.
	Sync() error
}

// FS is a file system. Names are paths in the form of the host. Errors of missing and existing
// files satisfy errors.Is(err, fs.ErrNotExist) and fs.ErrExist.
type FS interface {
	// OpenFile opens name; flag takes os.O_RDONLY, os.O_RDWR, os.O_CREATE, os.O_EXCL, os.O_TRUNC.
	OpenFile(name string, flag int) (File, error)
	// MkdirAll creates name and its missing parents. Durable only after SyncDir of each parent.
	MkdirAll(name string) error
	// ReadDir lists a directory sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Rename replaces newName. Durable only after SyncDir of the directory.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty directory; RemoveAll a whole tree (no error if missing).
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the entries of directory name durable.
	SyncDir(name string) error
	// Lock takes an exclusive advisory lock on the file name, creating it; ErrLocked when another
	// process (or another holder in this process) has it. Close releases it.
	Lock(name string) (io.Closer, error)
}

// ErrLocked is returned by FS.Lock when somebody else holds the lock.
var ErrLocked = errors.New("locked by another process")

// ReadFile returns the whole content of name, refusing files larger than limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("file is larger than expected")}
	}
	buf := make([]byte, size)
	if n, err := f.ReadAt(buf, 0); err != nil && (err != io.EOF || int64(n) != size) {
		return nil, err
	}
	return buf, nil
}

// WriteFileAtomic replaces name by data so that after a crash either the old or the new content
// is there: write name.tmp, sync, rename, sync the directory (Kafka's CheckpointFile does the same).
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}
