package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// check is one promise of the product: it holds when its suite ended well and cases of the given
// name were among those that passed.
type check struct {
	number, name string
	suite        string
	cases        string // a pattern; empty for any
	least        int    // how many matching cases must have passed; 0 means 1
	command      string // how to run it alone; empty for `make suite-NAME`
}

// checks lists what the product is accepted by, in the order of the promises.
func checks() []check {
	return []check{
		{number: "1.1", name: "a fresh clone and `make run`, with Go alone, come to the ready line", suite: "start", cases: "FreshClone"},
		{number: "1.2", name: "start to first acknowledged record", suite: "start", cases: "FirstRecord"},
		{number: "1.3", name: "idle memory and processor time", suite: "start", cases: "Idle"},
		{number: "2.1", name: "kcat over localhost, 127.0.0.1 and ::1", suite: "kcat", least: 45},
		{number: "2.2", name: "Kafka's Java tools over localhost, 127.0.0.1 and ::1", suite: "javatools", least: 42},
		{number: "2.3", name: "a million records with producer-perf and consumer-perf", suite: "javatools", cases: "perf", least: 3},
		{number: "2.4", name: "franz-go over localhost, 127.0.0.1 and ::1", suite: "franz", least: 63},
		{number: "2.5", name: "KafkaJS over localhost, 127.0.0.1 and ::1", suite: "kafkajs", least: 24},
		{number: "2.6", name: "confluent-kafka-python over localhost, 127.0.0.1 and ::1", suite: "python", least: 39},
		{number: "2.7", name: "the client commands over localhost, 127.0.0.1 and ::1", suite: "commands", least: 27},
		{number: "2.8", name: "every version of every served key answers as Apache Kafka 4.4 was recorded to", suite: "conformance"},
		{number: "3.1", name: "Kafka's dump tool reads every file we write", suite: "files", cases: "TestOwnData", least: 6},
		{number: "3.2", name: "and what every other suite left behind, crashes included", suite: "files", cases: "TestLeftData", least: len(leaving)},
		{number: "3.3", name: "its judgement notices one flipped byte", suite: "files", cases: "Damage", least: 7},
		{number: "4.1", name: "30 x kill -9 under load: nothing lost, doubled, reordered or taken back", suite: "crash", cases: "TestKill"},
		{number: "4.2", name: "200 power cuts that drop every unsynced byte and directory entry", suite: "powercut", cases: "TestPowerCut", least: 200},
		{number: "4.3", name: "the checker catches brokers with a broken sync, dedupe, high watermark, index", suite: "mutants", least: 4},
		{number: "4.4", name: "the checker's own tests", suite: "history"},
		{number: "5.1", name: "the explorer in Chromium on Klamm", suite: "browser"},
		{number: "5.2", name: "the explorer in Chromium on Apache Kafka", suite: "browser-kafka"},
		{number: "5.3", name: "screenshots kept in build/screenshots; one in the README", suite: "browser", cases: "TestScreenshots"},
		{number: "5.4", name: "the page's own tests, types and lint; ui/dist is what its source builds", suite: "ui"},
		{number: "6.1", name: "every fuzz target 30 s without a finding", suite: "fuzz", least: 10},
		{number: "6.2", name: "unit tests under the race detector, no leaked goroutine", suite: "race"},
		{number: "6.3", name: "bad input: one plain sentence, the right code, nothing else lost", suite: "badinput"},
		{number: "7.1", name: "ARCHITECTURE.md tells where a produced record goes, and the code agrees", suite: "race", cases: "archtest.TestProducePath"},
		{number: "8.1", name: "import rules", suite: "race", cases: "archtest.TestImportRules"},
		{number: "8.2", name: "format and lint", suite: "lint"},
		{number: "8.3", name: "builds for Linux, macOS, Windows on amd64 and arm64", suite: "cross", least: 6},
	}
}

// judge returns the check's line and whether it holds.
func (c check) judge(results []result) (string, bool) {
	command := c.command
	if command == "" {
		command = "make suite-" + c.suite
	}
	line := func(word, detail string) string {
		return strings.TrimRight(fmt.Sprintf("%-4s %-8s %s  [%s]  %s", c.number, word, c.name, command, detail), " ")
	}
	i := slices.IndexFunc(results, func(r result) bool { return r.Suite == c.suite })
	if i < 0 {
		return line("NOT DONE", "no such suite"), false
	}
	r := results[i]
	matches := regexp.MustCompile(c.cases).MatchString
	matching := 0
	for _, name := range r.Passed {
		if matches(name) {
			matching++
		}
	}
	failing := slices.ContainsFunc(append(slices.Clone(r.Failed), r.Skipped...), func(name string) bool {
		return matches(name) || !strings.Contains(name, ".Test")
	})
	switch {
	case failing:
		return line("FAILED", fmt.Sprintf("%d passed, %d failed", len(r.Passed), len(r.Failed)+len(r.Skipped))), false
	case matching == 0:
		return line("NOT DONE", "no case of that name ran"), false
	case matching < c.least:
		return line("FAILED", fmt.Sprintf("%d cases passed, %d wanted", matching, c.least)), false
	}
	return line("ok", strings.Join(append([]string{fmt.Sprintf("%d cases", matching)}, c.measured(r)...), "; ")), true
}

// measured picks the numbers that belong to the check: `measured: WORD ...` where WORD is in the
// pattern of the cases, or any of the suite when the check is about all of it.
func (c check) measured(r result) (lines []string) {
	for _, m := range r.Measured {
		word, rest, _ := strings.Cut(m, " ")
		if c.cases == "" || strings.Contains(c.cases, word) {
			lines = append(lines, rest)
		}
	}
	return lines
}
