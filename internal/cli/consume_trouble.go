package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"klamm/internal/explorer"
)

// scanTrouble collects what went wrong in a scan, so that each thing is told once, with all
// partitions it is about.
type scanTrouble struct {
	first   error // that was told
	waiting []trouble
	told    map[string]bool
}

// trouble is one thing that went wrong. No partitions: it is about the whole topic.
type trouble struct {
	words      string
	partitions []int32
}

// add notes a problem. One that may pass is not worth a word: the partition is tried until it is
// given up, and that is told.
func (s *scanTrouble) add(p explorer.ScanProblem) {
	if p.Passing {
		return
	}
	words := problemWords(p.Problem)
	i := slices.IndexFunc(s.waiting, func(t trouble) bool { return t.words == words })
	if i < 0 {
		i = len(s.waiting)
		s.waiting = append(s.waiting, trouble{words: words})
	}
	if t := &s.waiting[i]; p.Partition != nil && !slices.Contains(t.partitions, *p.Partition) {
		t.partitions = append(t.partitions, *p.Partition)
	}
}

// tell writes what was not told yet, a line each.
func (s *scanTrouble) tell(w io.Writer, topic string) {
	for _, t := range s.waiting {
		line := t.line(topic)
		if s.told[line] {
			continue
		}
		if s.told == nil {
			s.told = map[string]bool{}
		}
		s.told[line] = true
		if s.first == nil {
			s.first = errors.New(line)
		}
		fmt.Fprintf(w, "klamm: %s\n", line)
	}
	s.waiting = nil
}

func (t trouble) line(topic string) string {
	slices.Sort(t.partitions)
	switch len(t.partitions) {
	case 0:
		return fmt.Sprintf("topic %s: %s", printable(topic), t.words)
	case 1:
		return fmt.Sprintf("topic %s, partition %d: %s", printable(topic), t.partitions[0], t.words)
	}
	return fmt.Sprintf("topic %s, partitions %s: %s", printable(topic), numbers(t.partitions), t.words)
}

// problemWords makes one sentence of a problem. The system's own words are left out where there is
// advice, because then ours say it all.
func problemWords(p explorer.Problem) string {
	text := strings.TrimSuffix(p.Title, ".")
	if strings.HasPrefix(p.Resource, "broker ") && !strings.Contains(text, p.Resource) {
		text += " (" + p.Resource + ")"
	}
	if p.Help != "" {
		return printable(text + "; " + lowerFirst(strings.TrimSuffix(p.Help, ".")))
	}
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return printable(text)
}

// lowerFirst makes the first word of a sentence one inside a sentence.
func lowerFirst(s string) string {
	return strings.ToLower(s[:1]) + s[1:]
}
