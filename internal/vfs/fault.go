package vfs

import (
	"io"
	"io/fs"
)

// Kind names one call of FS or File.
type Kind string

// The calls that Fault reports, in the words of the interfaces.
const (
	OpOpen     Kind = "open"
	OpMkdir    Kind = "mkdir"
	OpReadDir  Kind = "readdir"
	OpStat     Kind = "stat"
	OpRename   Kind = "rename"
	OpRemove   Kind = "remove"
	OpSyncDir  Kind = "syncdir"
	OpLock     Kind = "lock"
	OpRead     Kind = "read"
	OpWrite    Kind = "write"
	OpTruncate Kind = "truncate"
	OpSync     Kind = "sync"
	OpClose    Kind = "close"
)

// Op describes a call before it is made. Offset and Length are in bytes and belong to reads,
// writes and (Length) truncations; Target is the new name of a rename; Flag is that of an open.
type Op struct {
	Kind   Kind
	Name   string
	Target string
	Flag   int
	Offset int64
	Length int64
}

// ShortWrite, returned by Fault.Inject for a write, lets the first N bytes through and then fails
// with Err: what a disk does that fills up in the middle.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return e.Err.Error() }
func (e *ShortWrite) Unwrap() error { return e.Err }

// Fault is an FS that asks Inject before every call. A non-nil error is returned instead of making
// the call, so tests fail the n-th write, log the order of calls, or stop one to look around.
// Inject is called from any goroutine.
type Fault struct {
	FS     FS
	Inject func(Op) error
}

func (f Fault) OpenFile(name string, flag int) (File, error) {
	if err := f.Inject(Op{Kind: OpOpen, Name: name, Flag: flag}); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	inner, err := f.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return faultFile{inner, name, f.Inject}, nil
}

func (f Fault) MkdirAll(name string) error {
	return f.do(Op{Kind: OpMkdir, Name: name}, func() error { return f.FS.MkdirAll(name) })
}

func (f Fault) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.do(Op{Kind: OpReadDir, Name: name}, func() error { entries, err = f.FS.ReadDir(name); return err })
	return entries, err
}

func (f Fault) Stat(name string) (info fs.FileInfo, err error) {
	err = f.do(Op{Kind: OpStat, Name: name}, func() error { info, err = f.FS.Stat(name); return err })
	return info, err
}

func (f Fault) Rename(oldName, newName string) error {
	return f.do(Op{Kind: OpRename, Name: oldName, Target: newName}, func() error { return f.FS.Rename(oldName, newName) })
}

func (f Fault) Remove(name string) error {
	return f.do(Op{Kind: OpRemove, Name: name}, func() error { return f.FS.Remove(name) })
}

func (f Fault) RemoveAll(name string) error {
	return f.do(Op{Kind: OpRemove, Name: name}, func() error { return f.FS.RemoveAll(name) })
}

func (f Fault) SyncDir(name string) error {
	return f.do(Op{Kind: OpSyncDir, Name: name}, func() error { return f.FS.SyncDir(name) })
}

func (f Fault) Lock(name string) (c io.Closer, err error) {
	err = f.do(Op{Kind: OpLock, Name: name}, func() error { c, err = f.FS.Lock(name); return err })
	return c, err
}

func (f Fault) do(op Op, call func() error) error {
	if err := f.Inject(op); err != nil {
		return &fs.PathError{Op: string(op.Kind), Path: op.Name, Err: err}
	}
	return call()
}

type faultFile struct {
	File
	name   string
	inject func(Op) error
}

func (f faultFile) check(op Op) error {
	op.Name = f.name
	if err := f.inject(op); err != nil {
		return &fs.PathError{Op: string(op.Kind), Path: f.name, Err: err}
	}
	return nil
}

func (f faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check(Op{Kind: OpRead, Offset: off, Length: int64(len(p))}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f faultFile) WriteAt(p []byte, off int64) (int, error) {
	err := f.inject(Op{Kind: OpWrite, Name: f.name, Offset: off, Length: int64(len(p))})
	if err == nil {
		return f.File.WriteAt(p, off)
	}
	n := 0
	if short, ok := err.(*ShortWrite); ok {
		if n, err = f.File.WriteAt(p[:min(short.N, len(p))], off); err == nil {
			err = short.Err
		}
	}
	return n, &fs.PathError{Op: "write", Path: f.name, Err: err}
}

func (f faultFile) Truncate(size int64) error {
	if err := f.check(Op{Kind: OpTruncate, Length: size}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f faultFile) Sync() error {
	if err := f.check(Op{Kind: OpSync}); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultFile) Close() error {
	if err := f.check(Op{Kind: OpClose}); err != nil {
		f.File.Close()
		return err
	}
	return f.File.Close()
}
