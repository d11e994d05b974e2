// Command fuzz finds every fuzz target of the module and runs each for the same time, several at
// once. It prints a case per target; a finding is a failure, with the input that shows it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// target is one Fuzz function with its package's instrumented test binary.
type target struct {
	dir, name, binary string
}

func main() {
	duration := flag.Duration("time", 30*time.Second, "how long to run each target")
	only := flag.String("only", "", "run targets whose name matches this pattern")
	atOnce := flag.Int("at-once", 3*runtime.NumCPU(), "how many to run at the same time, one worker each")
	flag.Parse()
	ok, err := run(*duration, *only, *atOnce)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(duration time.Duration, only string, atOnce int) (bool, error) {
	packages, err := find(only)
	if err != nil {
		return false, err
	}
	if len(packages) == 0 {
		return false, fmt.Errorf("no fuzz target matches %q", only)
	}
	report := report{ok: true}
	queue := make(chan target)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for t := range queue {
				report.add(t.dir+" "+t.name, t.fuzz(duration))
			}
		})
	}
	for _, p := range packages { // the next package is built while the last one's targets run
		binary, err := build(p.dir)
		if err != nil {
			report.add(p.dir+" builds", err.Error())
			continue
		}
		for _, name := range p.names {
			queue <- target{p.dir, name, binary}
		}
	}
	close(queue)
	workers.Wait()
	return report.ok, nil
}

// report prints a case per target.
type report struct {
	mu sync.Mutex
	ok bool
}

func (r *report) add(name, trouble string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if trouble == "" {
		fmt.Printf("ok %s\n", name)
		return
	}
	r.ok = false
	fmt.Printf("%s\nnot ok %s: %s\n", trouble, name, strings.ReplaceAll(last(trouble, 20), "\n", "|"))
}

// fuzzed is a package and its targets.
type fuzzed struct {
	dir   string
	names []string
}

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find lists the targets of all packages, those with most targets first.
func find(only string) ([]fuzzed, error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*_test.go").Output()
	if err != nil {
		return nil, fmt.Errorf("list of test files: %w", err)
	}
	perDir := map[string][]string{}
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			return nil, err
		}
		for _, found := range declaration.FindAllStringSubmatch(string(text), -1) {
			if wanted.MatchString(found[1]) {
				perDir[filepath.Dir(file)] = append(perDir[filepath.Dir(file)], found[1])
			}
		}
	}
	var packages []fuzzed
	for dir, names := range perDir {
		packages = append(packages, fuzzed{dir, names})
	}
	slices.SortFunc(packages, func(a, b fuzzed) int {
		return cmp.Or(len(b.names)-len(a.names), strings.Compare(a.dir, b.dir))
	})
	return packages, nil
}

// build returns the package's test binary, with the coverage counters that guide the search.
func build(dir string) (string, error) {
	binary, err := filepath.Abs(filepath.Join("build", "fuzz", strings.ReplaceAll(dir, string(filepath.Separator), "-")+".test"))
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "test", "-c", "-fuzz=.", "-o", binary, "./"+dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", dir, err, out)
	}
	return binary, nil
}

// fuzz returns what went wrong, or nothing. The corpus that guides the next run is kept in build.
func (t target) fuzz(duration time.Duration) string {
	corpus, err := filepath.Abs(filepath.Join("build", "fuzz", "corpus", t.dir))
	if err == nil {
		err = os.MkdirAll(corpus, 0o755)
	}
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), duration+2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.binary, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+duration.String(),
		"-test.parallel=1", "-test.fuzzcachedir="+corpus)
	cmd.Dir = t.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String() + err.Error()
	}
	return ""
}

func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
