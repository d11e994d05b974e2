package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The floor file has a line `suite count` per suite; lines that begin with # are comments.

func readFloor(file string) (map[string]int, string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	floor, head := map[string]int{}, ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			head += line + "\n"
			continue
		}
		if line == "" {
			continue
		}
		name, count, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %q is not `suite count`", file, line)
		}
		floor[name] = n
	}
	return floor, head, nil
}

// belowFloor lists the suites that ran fewer cases than the floor asks for, or have no floor.
func belowFloor(file string, counts map[string]int) ([]string, error) {
	floor, _, err := readFloor(file)
	if err != nil {
		return nil, err
	}
	var below []string
	for _, name := range sortedNames(counts) {
		least, known := floor[name]
		switch {
		case !known:
			below = append(below, fmt.Sprintf("suite %s has no line in %s", name, file))
		case counts[name] < least:
			below = append(below, fmt.Sprintf("suite %s passed %d cases, %s asks for %d", name, counts[name], file, least))
		}
	}
	return below, nil
}

func raiseFloor(file string, counts map[string]int) error {
	floor, head, err := readFloor(file)
	if err != nil {
		return err
	}
	for name, count := range counts {
		floor[name] = max(floor[name], count)
	}
	for _, name := range sortedNames(floor) {
		head += fmt.Sprintf("%s %d\n", name, floor[name])
	}
	return os.WriteFile(file, []byte(head), 0o644)
}
