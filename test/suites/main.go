// Command suites runs the test suites of the repository, as many at once as the machine has cores
// for, counts their cases, holds the counts against test/floor.txt and prints one line per
// acceptance check. Nothing is skipped silently: what cannot run fails with its reason.
//
//	suites                run everything
//	suites NAME...        run some suites
//	suites -accept        run what has no result of this very tree yet, then print the checks
//	suites -list          print the suites
//	suites -raise         run everything, then raise test/floor.txt to the counts reached
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	accept := flag.Bool("accept", false, "reuse results of this very tree")
	list := flag.Bool("list", false, "print the suites")
	raise := flag.Bool("raise", false, "raise the floor to the counts reached")
	flag.Parse()
	if *list {
		for _, s := range table() {
			fmt.Printf("%-10s %s\n", s.name, s.line())
		}
		return
	}
	ok, err := run(flag.Args(), *accept, *raise)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run returns whether everything passed.
func run(names []string, reuse, raise bool) (bool, error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return false, fmt.Errorf("start it in the top directory of the repository: %w", err)
	}
	chosen, err := choose(table(), names)
	if err != nil {
		return false, err
	}
	tree, err := treeID()
	if err != nil {
		return false, err
	}
	for _, dir := range []string{"results", "logs", "bin"} {
		if err := os.MkdirAll(filepath.Join("build", dir), 0o755); err != nil {
			return false, err
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	results := schedule(chosen, tree, reuse, stop)
	return report(results, tree, len(names) == 0, raise)
}
