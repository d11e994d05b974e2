package storage

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"
)

const leaderEpochFile = "leader-epoch-checkpoint"

// UndefinedEpoch and UndefinedOffset answer a question about an epoch nobody knows (KIP-101).
const (
	UndefinedEpoch  int32 = -1
	UndefinedOffset int64 = -1
)

// EpochEntry says that the leader of Epoch wrote from StartOffset on.
type EpochEntry struct {
	Epoch       int32
	StartOffset int64
}

// LeaderEpochCache knows which leader epoch wrote which offsets (Kafka's LeaderEpochFileCache). It
// is safe for concurrent use. Epochs and start offsets both increase strictly.
type LeaderEpochCache struct {
	mu      sync.RWMutex
	entries []EpochEntry
	changes uint64 // grows with every change, so that the file is written only when needed
	written uint64
}

// Assign notes that epoch starts at startOffset. Entries that contradict it are dropped: a later
// assignment is the truth.
func (c *LeaderEpochCache) Assign(epoch int32, startOffset int64) {
	if epoch < 0 || startOffset < 0 {
		return
	}
	c.mu.RLock()
	known := c.coversLocked(epoch, startOffset)
	c.mu.RUnlock()
	if known {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.coversLocked(epoch, startOffset) {
		return
	}
	n := len(c.entries)
	for n > 0 && (c.entries[n-1].Epoch >= epoch || c.entries[n-1].StartOffset >= startOffset) {
		n--
	}
	c.entries = append(c.entries[:n], EpochEntry{epoch, startOffset})
	c.changes++
}

func (c *LeaderEpochCache) coversLocked(epoch int32, startOffset int64) bool {
	n := len(c.entries)
	return n > 0 && c.entries[n-1].Epoch == epoch && startOffset >= c.entries[n-1].StartOffset
}

// Latest is the newest epoch.
func (c *LeaderEpochCache) Latest() (epoch int32, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.entries) == 0 {
		return UndefinedEpoch, false
	}
	return c.entries[len(c.entries)-1].Epoch, true
}

// EndOffsetFor answers OffsetForLeaderEpoch: the largest known epoch that is not above the asked one
// and the offset at which it ends (exclusive). logEnd is the end of the newest epoch. An epoch
// nobody knows yet answers UndefinedEpoch, UndefinedOffset.
func (c *LeaderEpochCache) EndOffsetFor(epoch int32, logEnd int64) (foundEpoch int32, endOffset int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := len(c.entries)
	if epoch < 0 || n == 0 {
		return UndefinedEpoch, UndefinedOffset
	}
	if c.entries[n-1].Epoch == epoch {
		return epoch, logEnd
	}
	higher := sort.Search(n, func(i int) bool { return c.entries[i].Epoch > epoch })
	switch {
	case higher == n:
		return UndefinedEpoch, UndefinedOffset
	case higher == 0: // older than everything kept: it ends where the log begins
		return epoch, c.entries[0].StartOffset
	default:
		return c.entries[higher-1].Epoch, c.entries[higher].StartOffset
	}
}

// EpochFor is the epoch that wrote offset; ok is false when it is not known.
func (c *LeaderEpochCache) EpochFor(offset int64) (epoch int32, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].StartOffset > offset })
	if i == 0 {
		return UndefinedEpoch, false
	}
	return c.entries[i-1].Epoch, true
}

// Entries is a copy of all entries, oldest first.
func (c *LeaderEpochCache) Entries() []EpochEntry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.entries)
}

// truncateFromEnd forgets epochs that start at endOffset or later.
func (c *LeaderEpochCache) truncateFromEnd(endOffset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.entries)
	for n > 0 && c.entries[n-1].StartOffset >= endOffset {
		n--
	}
	if n < len(c.entries) {
		c.entries = c.entries[:n]
		c.changes++
	}
}

// truncateFromStart forgets epochs that end at startOffset or before; the one that holds it now
// starts there.
func (c *LeaderEpochCache) truncateFromStart(startOffset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].StartOffset > startOffset })
	if i == 0 || (i == 1 && c.entries[0].StartOffset == startOffset) {
		return
	}
	c.entries = slices.Clone(c.entries[i-1:])
	c.entries[0].StartOffset = startOffset
	c.changes++
}

func (c *LeaderEpochCache) reset(entries []EpochEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = entries
	c.written = c.changes
}

// unwritten returns the file content when it changed since markWritten, and the version to mark.
func (c *LeaderEpochCache) unwritten() (data []byte, version uint64, changed bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.changes == c.written {
		return nil, 0, false
	}
	return AppendLeaderEpochs(nil, c.entries), c.changes, true
}

func (c *LeaderEpochCache) markWritten(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = max(c.written, version)
}

// AppendLeaderEpochs writes leader-epoch-checkpoint: version, count, "epoch startOffset" lines.
func AppendLeaderEpochs(dst []byte, entries []EpochEntry) []byte {
	dst = fmt.Appendf(dst, "%d\n%d\n", checkpointVersion, len(entries))
	for _, e := range entries {
		dst = fmt.Appendf(dst, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return dst
}

// ParseLeaderEpochs reads leader-epoch-checkpoint; a malformed one is a *FormatError.
func ParseLeaderEpochs(file string, data []byte) ([]EpochEntry, error) {
	var out []EpochEntry
	err := parseCheckpoint(file, data, func(fields []string) bool {
		if len(fields) != 2 {
			return false
		}
		epoch, err1 := strconv.ParseInt(fields[0], 10, 32)
		start, err2 := strconv.ParseInt(fields[1], 10, 64)
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return false
		}
		if n := len(out); n > 0 && (out[n-1].Epoch >= int32(epoch) || out[n-1].StartOffset >= start) {
			return false
		}
		out = append(out, EpochEntry{int32(epoch), start})
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
