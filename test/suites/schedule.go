package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// result is what a run of a suite came to; it is kept in build/results.
type result struct {
	Suite, Command, Tree string
	Seconds              float64
	Reused               bool `json:"-"`
	tally
}

func (r result) ok() bool { return len(r.Failed) == 0 && len(r.Skipped) == 0 && len(r.Passed) > 0 }

// treeID names the content of the work tree, committed or not.
func treeID() (string, error) {
	sum := sha256.New()
	for _, args := range [][]string{{"ls-files", "-s"}, {"diff", "HEAD"}, {"ls-files", "--others", "--exclude-standard"}} {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		sum.Write(out)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// schedule starts suites in order as soon as cores are free and what they wait for has ended.
func schedule(waiting []suite, tree string, reuse bool, stop <-chan os.Signal) []result {
	ended := make(chan result)
	results := map[string]result{}
	order := make([]string, 0, len(waiting))
	for _, s := range waiting {
		order = append(order, s.name)
	}
	cores, running := min(runtime.NumCPU(), 2), map[string]suite{}
	free := func() int {
		used := 0
		for _, s := range running {
			used += s.cores
		}
		return cores - used
	}
	for len(waiting)+len(running) > 0 {
		for i := 0; i < len(waiting); i++ {
			s := waiting[i]
			if !done(s.after, results) || min(s.cores, cores) > free() {
				continue
			}
			waiting = slices.Delete(waiting, i, i+1)
			running[s.name] = s
			i = -1
			go func() { ended <- runSuite(s, tree, reuse) }()
		}
		select {
		case r := <-ended:
			delete(running, r.Suite)
			results[r.Suite] = r
			progress(r)
		case <-stop:
			fmt.Println("interrupted")
			os.Exit(130)
		}
	}
	var list []result
	for _, name := range order {
		list = append(list, results[name])
	}
	return list
}

func done(names []string, results map[string]result) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return results[name].Suite == "" })
}

func runSuite(s suite, tree string, reuse bool) result {
	file := filepath.Join("build", "results", s.name+".json")
	if text, err := os.ReadFile(file); reuse && err == nil {
		var old result
		if json.Unmarshal(text, &old) == nil && old.Tree == tree && old.ok() {
			old.Reused = true
			return old
		}
	}
	began := time.Now()
	r := result{Suite: s.name, Command: s.line(), Tree: tree}
	var err error
	if r.tally, err = execute(s); err != nil {
		r.Trouble = append(r.Trouble, err.Error())
		if len(r.Failed) == 0 {
			r.Failed = append(r.Failed, "the suite as a whole")
		}
		if isOne := len(r.Passed) == 1 && r.Passed[0] == "ends well"; isOne {
			r.Passed = nil
		}
	}
	r.Seconds = time.Since(began).Seconds()
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		r.Failed = append(r.Failed, "keeping the result: "+err.Error())
	}
	return r
}

// execute runs the command; both its streams are kept in build/logs, and its end is an error unless
// it is exit code 0.
func execute(s suite) (tally, error) {
	log, err := os.Create(filepath.Join("build", "logs", s.name+".log"))
	if err != nil {
		return tally{}, err
	}
	defer log.Close()
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), s.env...)
	if binary := filepath.Join("build", "bin", "klamm"); slices.Contains(s.after, "build") {
		if path, err := filepath.Abs(binary); err == nil {
			cmd.Env = append(cmd.Env, "KLAMM_BIN="+path)
		}
	}
	var errs bytes.Buffer
	cmd.Stderr = io.MultiWriter(log, &errs)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return tally{}, err
	}
	if err := cmd.Start(); err != nil {
		return tally{}, err
	}
	t, err := s.cases(io.TeeReader(stdout, log))
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("%s: %w", s.line(), ended)
		t.Trouble = append(t.Trouble, tail(errs.String())...)
	}
	return t, err
}

func tail(text string) []string {
	lines := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	var out []string
	for _, line := range lines[max(0, len(lines)-40):] {
		out = append(out, string(line))
	}
	return out
}

func sortedNames(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
