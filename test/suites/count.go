package main

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
)

// tally is the cases of one suite.
type tally struct {
	Passed   []string
	Failed   []string
	Skipped  []string
	Measured []string // lines that begin with "measured: "
	Trouble  []string // the output of what failed
}

// counter reads a suite's standard output while it runs.
type counter func(io.Reader) (tally, error)

const longestLine = 4 << 20

func scan(r io.Reader, each func(line string)) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), longestLine)
	for scanner.Scan() {
		each(scanner.Text())
	}
	return scanner.Err()
}

// countOne: the command itself is the case; the caller fails it by the exit code.
func countOne(r io.Reader) (tally, error) {
	t := tally{Passed: []string{"ends well"}}
	err := scan(r, func(line string) { t.Trouble = append(t.Trouble, line) })
	return t, err
}

// countLines reads `ok NAME`, `not ok NAME: reason` and `measured: ...` among other lines.
func countLines(r io.Reader) (tally, error) {
	var t tally
	err := scan(r, func(line string) {
		if name, is := strings.CutPrefix(line, "ok "); is {
			t.Passed = append(t.Passed, name)
		} else if text, is := strings.CutPrefix(line, "not ok "); is {
			name, _, _ := strings.Cut(text, ": ")
			t.Failed = append(t.Failed, name)
			t.Trouble = append(t.Trouble, text)
		} else {
			t.measure(line)
		}
	})
	return t, err
}

func (t *tally) measure(line string) {
	if _, text, is := strings.Cut(line, "measured: "); is {
		t.Measured = append(t.Measured, strings.TrimSpace(text))
	}
}

// goEvent is one line of go test -json.
type goEvent struct {
	Action, Package, Test, Output string
}

// goCases follows the events of one run. A test that has subtests is not a case itself: its
// subtests are.
type goCases struct {
	tally
	output  map[string][]string
	parents map[string]bool
	ended   map[string]string // case -> action
}

func countGo(r io.Reader) (tally, error) {
	c := goCases{output: map[string][]string{}, parents: map[string]bool{}, ended: map[string]string{}}
	err := scan(r, func(line string) {
		var e goEvent
		if json.Unmarshal([]byte(line), &e) != nil {
			c.Trouble = append(c.Trouble, line) // not of the test runner: a build failure, a crash
			return
		}
		c.event(e)
	})
	c.finish()
	return c.tally, err
}

func (c *goCases) event(e goEvent) {
	name := strings.TrimPrefix(e.Package, "klamm/")
	if e.Test != "" {
		name += "." + e.Test
		for at := strings.LastIndexByte(e.Test, '/'); at > 0; at = strings.LastIndexByte(e.Test[:at], '/') {
			c.parents[strings.TrimPrefix(e.Package, "klamm/")+"."+e.Test[:at]] = true
		}
	}
	switch e.Action {
	case "output", "build-output":
		c.measure(e.Output)
		c.output[name] = append(c.output[name], strings.TrimRight(e.Output, "\n"))
	case "pass", "fail", "skip":
		if e.Test != "" || e.Action == "fail" {
			c.ended[name] = e.Action
		}
		if e.Action == "pass" {
			delete(c.output, name)
		}
	case "build-fail":
		c.ended["build"] = "fail"
	}
}

func (c *goCases) finish() {
	anyCase := false
	for _, name := range slices.Sorted(maps.Keys(c.ended)) {
		leaf := strings.Contains(name, ".Test") || strings.Contains(name, ".Fuzz") || strings.Contains(name, ".Example")
		switch action := c.ended[name]; {
		case action == "fail":
			c.Trouble = append(c.Trouble, c.output[name]...)
			if leaf && !c.parents[name] {
				c.Failed, anyCase = append(c.Failed, name), true
			}
		case c.parents[name]:
		case action == "skip":
			c.Skipped = append(c.Skipped, name)
			c.Trouble = append(c.Trouble, c.output[name]...)
		default:
			c.Passed = append(c.Passed, name)
		}
	}
	failed := slices.Contains(slices.Collect(maps.Values(c.ended)), "fail")
	if failed && !anyCase { // a parent, a package or the build failed by itself
		c.Failed = append(c.Failed, "outside of any case")
		for _, name := range slices.Sorted(maps.Keys(c.output)) {
			if c.ended[name] == "" {
				c.Trouble = append(c.Trouble, c.output[name]...)
			}
		}
	}
}
