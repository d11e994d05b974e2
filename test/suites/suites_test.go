package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountGo(t *testing.T) {
	in := strings.Join([]string{
		`{"Action":"output","Package":"klamm/a","Test":"TestX/one","Output":"measured: speed 3 m/s\n"}`,
		`{"Action":"pass","Package":"klamm/a","Test":"TestX/one"}`,
		`{"Action":"output","Package":"klamm/a","Test":"TestX/two","Output":"it broke\n"}`,
		`{"Action":"fail","Package":"klamm/a","Test":"TestX/two"}`,
		`{"Action":"fail","Package":"klamm/a","Test":"TestX"}`,
		`{"Action":"skip","Package":"klamm/a","Test":"TestY"}`,
		`{"Action":"fail","Package":"klamm/a"}`,
	}, "\n")
	got, err := countGo(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := tally{
		Passed: []string{"a.TestX/one"}, Failed: []string{"a.TestX/two"}, Skipped: []string{"a.TestY"},
		Measured: []string{"speed 3 m/s"}, Trouble: []string{"it broke"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What fails outside of a case must not be lost: a build, a package, a parent of subtests.
func TestCountGoFailureOutsideCases(t *testing.T) {
	for name, in := range map[string]string{
		"package": `{"Action":"fail","Package":"klamm/a"}`,
		"build":   `{"Action":"build-output","ImportPath":"klamm/a","Output":"x.go:1: no\n"}` + "\n" + `{"Action":"build-fail","ImportPath":"klamm/a"}`,
		"parent":  `{"Action":"pass","Package":"klamm/a","Test":"TestX/one"}` + "\n" + `{"Action":"fail","Package":"klamm/a","Test":"TestX"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := countGo(strings.NewReader(in))
			if err != nil || len(got.Failed) == 0 {
				t.Errorf("nothing failed: %+v, %v", got, err)
			}
		})
	}
}

func TestCountLines(t *testing.T) {
	got, err := countLines(strings.NewReader("hello\nok one\nnot ok two: broke: badly\nmeasured: a 1\n"))
	want := tally{Passed: []string{"one"}, Failed: []string{"two"}, Measured: []string{"a 1"}, Trouble: []string{"two: broke: badly"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFloor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "floor.txt")
	if err := os.WriteFile(file, []byte("# why\nkcat 3\nfranz 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	below, err := belowFloor(file, map[string]int{"kcat": 2, "franz": 6, "new": 1})
	if err != nil || len(below) != 2 || !strings.Contains(below[0], "kcat passed 2 cases") || !strings.Contains(below[1], "new has no line") {
		t.Errorf("below the floor: %q, %v", below, err)
	}
	if err := raiseFloor(file, map[string]int{"kcat": 2, "franz": 6, "new": 1}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if want := "# why\nfranz 6\nkcat 3\nnew 1\n"; err != nil || string(text) != want {
		t.Errorf("raised to %q, %v; want %q", text, err, want)
	}
}

func TestCheckNeedsItsCases(t *testing.T) {
	c := check{number: "1", suite: "s", cases: "Flow", least: 2}
	for _, test := range []struct {
		name string
		r    result
		want string
	}{
		{"all there", result{Suite: "s", tally: tally{Passed: []string{"a.TestFlow/1", "a.TestFlow/2"}}}, "ok"},
		{"too few", result{Suite: "s", tally: tally{Passed: []string{"a.TestFlow/1"}}}, "FAILED"},
		{"none", result{Suite: "s", tally: tally{Passed: []string{"a.TestOther"}}}, "NOT DONE"},
		{"one failed", result{Suite: "s", tally: tally{Passed: []string{"a.TestFlow/1", "a.TestFlow/2"}, Failed: []string{"a.TestFlow/3"}}}, "FAILED"},
		{"the suite failed", result{Suite: "s", tally: tally{Passed: []string{"a.TestFlow/1", "a.TestFlow/2"}, Failed: []string{"the suite as a whole"}}}, "FAILED"},
		{"no suite", result{Suite: "other"}, "NOT DONE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			line, ok := c.judge([]result{test.r})
			if word := strings.TrimSpace(line[5:13]); word != test.want || ok != (test.want == "ok") {
				t.Errorf("%q, %t; want %s", line, ok, test.want)
			}
		})
	}
}

// Every check names a suite that exists, every suite is part of a check, and all have a floor.
func TestTableIsComplete(t *testing.T) {
	used, known := map[string]bool{"build": true}, map[string]bool{}
	for _, s := range table() {
		known[s.name] = true
	}
	for _, c := range checks() {
		used[c.suite] = true
		if !known[c.suite] {
			t.Errorf("check %s: no suite %s", c.number, c.suite)
		}
	}
	floor, _, err := readFloor("../floor.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if _, has := floor[name]; !used[name] || !has {
			t.Errorf("suite %s: part of a check %t, has a floor %t", name, used[name], has)
		}
	}
}
