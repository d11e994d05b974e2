package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Difference is one place where two transcripts of a script do not agree.
type Difference struct {
	Step        string // "Fetch v13: middle of a batch"
	Path        string // of the field, "" for the whole answer
	Kafka, Ours string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s: Kafka answers %s, Klamm %s", d.Step, d.Path, d.Kafka, d.Ours)
}

// Compare returns the differences between the transcript of Kafka and ours.
func Compare(kafka, ours string) []Difference {
	want, got := steps(kafka), steps(ours)
	var all []Difference
	for _, s := range want.order {
		if want.answers[s] == got.answers[s] {
			continue
		}
		var a, b any
		if json.Unmarshal([]byte(want.answers[s]), &a) != nil || json.Unmarshal([]byte(got.answers[s]), &b) != nil {
			all = append(all, Difference{s, "", want.answers[s], got.answers[s]})
			continue
		}
		walk(s, "", a, b, &all)
	}
	for _, s := range got.order {
		if _, ok := want.answers[s]; !ok {
			all = append(all, Difference{s, "", "nothing", got.answers[s]})
		}
	}
	return all
}

// answers are the steps of a transcript with "as vN" resolved.
type answers struct {
	order   []string
	answers map[string]string
}

var versionOf = regexp.MustCompile(` v-?\d+: `)

func steps(text string) answers {
	out := answers{answers: map[string]string{}}
	seen := map[string]int{}
	var title string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if t, ok := strings.CutPrefix(line, "## "); ok {
			seen[t]++
			title = t
			if n := seen[t]; n > 1 {
				title = fmt.Sprintf("%s (%d)", t, n)
			}
			out.order = append(out.order, title)
			continue
		}
		if v, ok := strings.CutPrefix(line, "as "); ok {
			line = out.answers[versionOf.ReplaceAllString(title, " "+v+": ")]
		}
		out.answers[title] = line
	}
	return out
}

// walk compares two JSON values. Words where Kafka has none are no difference.
func walk(step, path string, a, b any, all *[]Difference) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			walk(step, path+"."+k, x[k], y[k], all)
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			walk(step, fmt.Sprintf("%s[%d]", path, i), x[i], y[i], all)
		}
		return
	default:
		if a == b || (strings.HasSuffix(path, ".ErrorMessage") && b == "<words>" && (a == nil || a == "")) {
			return
		}
	}
	*all = append(*all, Difference{step, path, asText(a), asText(b)})
}
