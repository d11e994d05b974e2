package main

import (
	"fmt"
	"slices"
	"strings"
)

// suite is one row of the test plan.
type suite struct {
	name    string
	command []string
	env     []string
	// cores is how many of the machine's cores it keeps busy, 1 or 2; two-core suites run alone.
	cores int
	// after names suites whose files this one needs.
	after []string
	// cases turns the output into counted cases.
	cases counter
}

func (s suite) line() string {
	return strings.Join(append(slices.Clone(s.env), s.command...), " ")
}

func goTest(name string, cores int, args ...string) suite {
	command := append([]string{"go", "test", "-json", "-count=1", "-timeout=15m"}, args...)
	return suite{name: name, command: command, cores: cores, cases: countGo}
}

func (s suite) with(env ...string) suite {
	s.env = append(slices.Clone(s.env), env...)
	return s
}

func (s suite) behind(names ...string) suite {
	s.after = append(slices.Clone(s.after), names...)
	return s
}

// leaving are the suites whose data directories Kafka's dump tool judges afterwards.
var leaving = []string{"kcat", "javatools", "franz", "kafkajs", "python", "crash"}

// table lists every suite. Its order is the order of starting, as far as cores allow: the binary
// first, then what takes long, with short ones to fill the gaps.
func table() []suite {
	return []suite{
		{name: "build", command: []string{"go", "build", "-trimpath", "-o", "build/bin/klamm", "."}, env: []string{"CGO_ENABLED=0"}, cores: 2, cases: countOne},
		goTest("start", 2, "-v", "./test/start").behind("build"),
		goTest("crash", 2, "-v", "-run", "TestKill", "./test/crash").behind("build"),
		goTest("powercut", 2, "-v", "-run", "TestPowerCut", "./test/crash"),
		goTest("mutants", 2, "-v", "./test/crash/mutants"),
		// The fuzzer takes the same time however busy the machine is, so compilers run beside it.
		{name: "fuzz", command: []string{"go", "run", "./test/fuzz", "-time", "30s"}, cores: 1, cases: countLines},
		{name: "cross", command: []string{"test/cross"}, cores: 1, cases: countLines},
		goTest("history", 1, "./test/history", "./test/suites"),
		{name: "lint", command: []string{"test/lint"}, cores: 1, cases: countLines},
		goTest("kcat", 1, "./test/clients/kcat").behind("build"),
		goTest("franz", 1, "./test/clients/franz").behind("build"),
		goTest("kafkajs", 1, "./test/clients/kafkajs").behind("build"),
		goTest("python", 1, "./test/clients/python").behind("build"),
		goTest("javatools", 1, "-v", "./test/clients/javatools").behind("build"),
		goTest("badinput", 1, "./test/badinput").behind("build"),
		goTest("race", 2, "-race", "./internal/...", "./ui/...", "./test/broker", "."),
		goTest("conformance", 1, "./test/conformance"),
		goTest("files", 1, "-v", "./test/files").with("KLAMM_LEFT_DATA=" + strings.Join(leaving, ",")).behind(leaving...),
		{name: "ui", command: []string{"test/ui"}, cores: 1, cases: countLines},
		goTest("browser", 1, "-run", "TestOnKlamm|TestScreenshots", "./test/page").behind("build"),
		goTest("browser-kafka", 1, "-run", "TestOnKafka", "./test/page").behind("build"),
		goTest("commands", 1, "./test/commands").behind("build"),
	}
}

func choose(all []suite, names []string) ([]suite, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no suite named %q; -list prints them", name)
		}
		chosen = append(chosen, all[i])
	}
	for i := range chosen { // a suite asked for alone runs on what is there
		chosen[i].after = slices.DeleteFunc(chosen[i].after, func(name string) bool {
			return !slices.ContainsFunc(chosen, func(s suite) bool { return s.name == name })
		})
	}
	return chosen, nil
}
