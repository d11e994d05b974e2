package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrCrashed is what every call on a Mem returns after Crash: its process is dead.
var ErrCrashed = errors.New("the file system crashed")

// Mem is a file system in memory that knows which bytes and directory entries were synced. It is
// stricter than most disks: a new file's entry is lost without SyncDir, as POSIX allows.
type Mem struct {
	mu      sync.Mutex
	root    *memDir
	locks   map[string]bool
	crashed bool
}

// NewMem returns an empty file system.
func NewMem() *Mem { return &Mem{root: newMemDir(), locks: map[string]bool{}} }

// memDir keeps the entries a running process sees and those a power cut would leave.
type memDir struct {
	entries, durable map[string]any // *memDir or *memNode
}

func newMemDir() *memDir { return &memDir{entries: map[string]any{}, durable: map[string]any{}} }

// memNode is a file's content: what is read now, what is durable, and the byte ranges between.
type memNode struct {
	data, durable []byte
	dirty         []memRange
	modified      time.Time
}

type memRange struct{ from, to int64 } // to is exclusive

// Crash kills the file system and returns what a power cut leaves: only synced bytes and synced
// directory entries. With rnd, each unsynced 512-byte piece of a file survives or not by chance, as
// on a disk that reorders writes; with nil nothing unsynced survives.
func (m *Mem) Crash(rnd *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashed = true
	after := NewMem()
	after.root = m.root.survivor(rnd, map[any]any{})
	return after
}

func (d *memDir) survivor(rnd *rand.Rand, seen map[any]any) *memDir {
	if s, ok := seen[d]; ok {
		return s.(*memDir)
	}
	out := newMemDir()
	seen[d] = out
	names := make([]string, 0, len(d.durable))
	for name := range d.durable {
		names = append(names, name)
	}
	slices.Sort(names) // the same seed must give the same disk
	for _, name := range names {
		var left any
		switch child := d.durable[name].(type) {
		case *memDir:
			left = child.survivor(rnd, seen)
		case *memNode:
			left = child.survivor(rnd, seen)
		}
		out.entries[name], out.durable[name] = left, left
	}
	return out
}

const sector = 512

func (n *memNode) survivor(rnd *rand.Rand, seen map[any]any) *memNode {
	if s, ok := seen[n]; ok {
		return s.(*memNode)
	}
	data := slices.Clone(n.durable)
	if rnd != nil {
		for _, r := range n.dirty {
			for at := r.from; at < r.to; at += sector {
				if end := min(at+sector, r.to, int64(len(n.data))); rnd.Intn(2) == 0 && end > at {
					data = writeAt(data, n.data[at:end], at)
				}
			}
		}
	}
	out := &memNode{data: data, durable: slices.Clone(data), modified: n.modified}
	seen[n] = out
	return out
}

func writeAt(dst, p []byte, off int64) []byte {
	if end := off + int64(len(p)); end > int64(len(dst)) {
		dst = resize(dst, end)
	}
	copy(dst[off:], p)
	return dst
}

func resize(b []byte, size int64) []byte {
	old := int64(len(b))
	if size <= old {
		return b[:size]
	}
	if int64(cap(b)) < size {
		b = slices.Grow(b, int(size-old))
	}
	b = b[:size]
	clear(b[old:])
	return b
}

func split(name string) []string {
	name = filepath.ToSlash(filepath.Clean(name))
	return slices.DeleteFunc(strings.Split(name, "/"), func(s string) bool { return s == "" || s == "." })
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// lookup returns the directory that holds name, its last element and what is there (nil if nothing).
func (m *Mem) lookup(op, name string) (*memDir, string, any, error) {
	if m.crashed {
		return nil, "", nil, pathError(op, name, ErrCrashed)
	}
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", m.root, nil
	}
	dir := m.root
	for _, part := range parts[:len(parts)-1] {
		next, ok := dir.entries[part].(*memDir)
		if !ok {
			return nil, "", nil, pathError(op, name, fs.ErrNotExist)
		}
		dir = next
	}
	last := parts[len(parts)-1]
	return dir, last, dir.entries[last], nil
}

func (m *Mem) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, found, err := m.lookup("open", name)
	if err != nil {
		return nil, err
	}
	node, isFile := found.(*memNode)
	switch {
	case found != nil && !isFile:
		return nil, pathError("open", name, errors.New("is a directory"))
	case found == nil && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case found != nil && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case found == nil:
		node = &memNode{modified: time.Unix(0, 0)}
		dir.entries[last] = node
	case flag&os.O_TRUNC != 0:
		node.truncate(0)
	}
	return &memFile{mem: m, node: node, name: name, writable: flag&(os.O_RDWR|os.O_WRONLY) != 0}, nil
}

func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return pathError("mkdir", name, ErrCrashed)
	}
	dir := m.root
	for _, part := range split(name) {
		switch child := dir.entries[part].(type) {
		case *memDir:
			dir = child
		case nil:
			next := newMemDir()
			dir.entries[part] = next
			dir = next
		default:
			return pathError("mkdir", name, errors.New("not a directory"))
		}
	}
	return nil
}

func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, found, err := m.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	dir, ok := found.(*memDir)
	if !ok {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	var out []fs.DirEntry
	for entry, child := range dir.entries {
		out = append(out, fs.FileInfoToDirEntry(memInfoOf(entry, child)))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, last, found, err := m.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return memInfoOf(last, found), nil
}

func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, old, found, err := m.lookup("rename", oldName)
	if err != nil {
		return err
	}
	if found == nil {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	to, last, existing, err := m.lookup("rename", newName)
	if err != nil {
		return err
	}
	if dir, ok := existing.(*memDir); ok && len(dir.entries) > 0 {
		return pathError("rename", newName, fs.ErrExist)
	}
	delete(from.entries, old)
	to.entries[last] = found
	return nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, found, err := m.lookup("remove", name)
	if err != nil {
		return err
	}
	if found == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if d, ok := found.(*memDir); ok && len(d.entries) > 0 {
		return pathError("remove", name, errors.New("directory not empty"))
	}
	delete(dir.entries, last)
	return nil
}

func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, _, err := m.lookup("remove", name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	delete(dir.entries, last)
	return nil
}

func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, found, err := m.lookup("syncdir", name)
	if err != nil {
		return err
	}
	dir, ok := found.(*memDir)
	if !ok {
		return pathError("syncdir", name, fs.ErrNotExist)
	}
	if syncNothing {
		return nil
	}
	clear(dir.durable)
	for entry, child := range dir.entries {
		dir.durable[entry] = child
	}
	return nil
}

func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := filepath.Clean(name)
	if m.locks[key] {
		return nil, ErrLocked
	}
	m.locks[key] = true
	return memLock{f, m, key}, nil
}

type memLock struct {
	File
	mem *Mem
	key string
}

func (l memLock) Close() error {
	l.mem.mu.Lock()
	delete(l.mem.locks, l.key)
	l.mem.mu.Unlock()
	return l.File.Close()
}

type memFile struct {
	mem      *Mem
	node     *memNode
	name     string
	writable bool
	closed   bool
}

func (f *memFile) usable(op string, write bool) error {
	switch {
	case f.mem.crashed:
		return pathError(op, f.name, ErrCrashed)
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case write && !f.writable:
		return pathError(op, f.name, fs.ErrPermission)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if err := f.usable("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if err := f.usable("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	size := int64(len(f.node.data))
	f.node.data = writeAt(f.node.data, p, off)
	f.node.mark(min(off, size), off+int64(len(p)))
	return len(p), nil
}

func (f *memFile) Size() (int64, error) {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	return int64(len(f.node.data)), f.usable("size", false)
}

func (f *memFile) Truncate(size int64) error {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if err := f.usable("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	f.node.truncate(size)
	return nil
}

func (f *memFile) Sync() error {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if err := f.usable("sync", false); err != nil || syncNothing {
		return err
	}
	n := f.node
	n.durable = resize(n.durable, int64(len(n.data)))
	for _, r := range n.dirty {
		if to := min(r.to, int64(len(n.data))); to > r.from {
			copy(n.durable[r.from:to], n.data[r.from:to])
		}
	}
	n.dirty = n.dirty[:0]
	return nil
}

func (f *memFile) Close() error {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	return nil
}

// mark adds a written range; consecutive appends grow the last one.
func (n *memNode) mark(from, to int64) {
	if last := len(n.dirty) - 1; last >= 0 && from >= n.dirty[last].from && from <= n.dirty[last].to {
		n.dirty[last].to = max(n.dirty[last].to, to)
		return
	}
	n.dirty = append(n.dirty, memRange{from, to})
}

func (n *memNode) truncate(size int64) {
	old := int64(len(n.data))
	n.data = resize(n.data, size)
	if size > old {
		n.mark(old, size)
	} else if size < old {
		// Bytes that are cut and written again later must not be taken from the durable copy.
		n.mark(size, old)
	}
}

type memInfo struct {
	name string
	dir  bool
	size int64
	mod  time.Time
}

func memInfoOf(name string, child any) memInfo {
	if n, ok := child.(*memNode); ok {
		return memInfo{name: name, size: int64(len(n.data)), mod: n.modified}
	}
	return memInfo{name: name, dir: true}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.mod }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
