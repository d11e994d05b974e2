// Command fuzz finds every fuzz target of the module and runs each for the same time, several at
// once. It prints a case per target; a finding is a failure, with the input that shows it.
package main

import (
	"bytes"
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
	atOnce := flag.Int("at-once", 2*runtime.NumCPU(), "how many to run at the same time, one worker each")
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
	targets, err := find(only)
	if err != nil {
		return false, err
	}
	if len(targets) == 0 {
		return false, fmt.Errorf("no fuzz target matches %q", only)
	}
	queue := make(chan target)
	var mu sync.Mutex // the output and ok
	ok := true
	var workers sync.WaitGroup
	for range min(atOnce, len(targets)) {
		workers.Go(func() {
			for t := range queue {
				trouble := t.fuzz(duration)
				mu.Lock()
				if trouble == "" {
					fmt.Printf("ok %s %s\n", t.dir, t.name)
				} else {
					ok = false
					fmt.Printf("%s\nnot ok %s %s: %s\n", trouble, t.dir, t.name, strings.ReplaceAll(last(trouble, 20), "\n", "|"))
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range targets {
		queue <- t
	}
	close(queue)
	workers.Wait()
	return ok, nil
}

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find lists the targets of all packages and builds their instrumented test binaries.
func find(only string) ([]target, error) {
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
	return build(perDir)
}

func build(perDir map[string][]string) ([]target, error) {
	var targets []target
	for dir, names := range perDir {
		binary, err := filepath.Abs(filepath.Join("build", "fuzz", strings.ReplaceAll(dir, string(filepath.Separator), "-")+".test"))
		if err != nil {
			return nil, err
		}
		// -fuzz makes the compiler add the coverage counters that guide the search.
		if out, err := exec.Command("go", "test", "-c", "-fuzz=.", "-o", binary, "./"+dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", dir, err, out)
		}
		for _, name := range names {
			targets = append(targets, target{dir, name, binary})
		}
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.dir+a.name, b.dir+b.name) })
	return targets, nil
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
