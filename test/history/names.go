package history

import (
	"fmt"
	"slices"
)

// nameLog follows the existence of named things (topics): what was asked, what was acknowledged.
type nameLog struct {
	exists  map[string]bool // after the last acknowledged change
	pending map[string]bool // a change was sent and not acknowledged: either state is right
	listed  []string
	checked bool
}

func newNameLog() nameLog {
	return nameLog{exists: map[string]bool{}, pending: map[string]bool{}}
}

// ChangingName is called before a topic is created or deleted, ChangedName when the broker has
// acknowledged it. Changes of one name must not overlap.
func (r *Recorder) ChangingName(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names.pending[name] = true
}

// ChangedName: see ChangingName.
func (r *Recorder) ChangedName(name string, exists bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names.pending, name)
	r.names.exists[name] = exists
}

// ListedNames is the broker's own list after the last restart.
func (r *Recorder) ListedNames(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names.listed, r.names.checked = slices.Clone(names), true
}

func (n *nameLog) check(report func(Kind, string)) {
	if !n.checked {
		return
	}
	for name, want := range n.exists {
		if n.pending[name] {
			continue
		}
		if got := slices.Contains(n.listed, name); got != want {
			report(NameLost, fmt.Sprintf("%s: acknowledged as existing=%t, listed=%t", name, want, got))
		}
	}
	for _, name := range n.listed {
		if _, known := n.exists[name]; !known && !n.pending[name] {
			report(NameLost, fmt.Sprintf("%s is listed, but nobody created it", name))
		}
	}
}
