package main

import (
	"fmt"
	"slices"
	"strings"
)

// progress prints a suite's end.
func progress(r result) {
	word := "ok"
	if !r.ok() {
		word = "FAILED"
	}
	how := fmt.Sprintf("%.0f s", r.Seconds)
	if r.Reused {
		how = "from an earlier run of this tree"
	}
	fmt.Printf("%-7s %-14s %4d passed, %d failed  %s\n", word, r.Suite, len(r.Passed), len(r.Failed)+len(r.Skipped), how)
	if r.ok() {
		return
	}
	fmt.Printf("        %s\n", r.Command)
	for _, name := range r.Failed {
		fmt.Printf("        failed: %s\n", name)
	}
	for _, name := range r.Skipped {
		fmt.Printf("        skipped, which counts as failed: %s\n", name)
	}
	const most = 150
	for _, line := range r.Trouble[:min(len(r.Trouble), most)] {
		fmt.Printf("        | %.400s\n", line)
	}
	if len(r.Trouble) > most {
		fmt.Printf("        | ... %d more lines in build/logs/%s.log\n", len(r.Trouble)-most, r.Suite)
	}
}

// report prints the acceptance checks (of a whole run), compares the counts with the floor and
// closes with the line that sums everything up.
func report(results []result, tree string, whole, raise bool) (bool, error) {
	counts, passed, failed := map[string]int{}, 0, 0
	for _, r := range results {
		counts[r.Suite] = len(r.Passed)
		passed += len(r.Passed)
		failed += len(r.Failed) + len(r.Skipped)
		if !r.ok() && len(r.Failed)+len(r.Skipped) == 0 {
			failed++ // no case at all
		}
	}
	if whole {
		now, err := treeID()
		if err != nil {
			return false, err
		}
		if now != tree {
			fmt.Println("note: the work tree changed while the suites ran")
		}
		fmt.Println()
		for _, c := range checks() {
			line, ok := c.judge(results)
			fmt.Println(line)
			if !ok {
				failed++
			}
		}
		fmt.Println()
	}
	below, err := belowFloor("test/floor.txt", counts)
	if err != nil {
		return false, err
	}
	for _, line := range below {
		fmt.Println("floor: " + line)
		failed++
	}
	if raise && failed == 0 {
		if err := raiseFloor("test/floor.txt", counts); err != nil {
			return false, err
		}
	}
	printSeconds(results)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return failed == 0, nil
}

func printSeconds(results []result) {
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b result) int { return int(b.Seconds) - int(a.Seconds) })
	var parts []string
	for _, r := range sorted {
		parts = append(parts, fmt.Sprintf("%s %.0f", r.Suite, r.Seconds))
	}
	fmt.Println("seconds: " + strings.Join(parts, ", "))
}
