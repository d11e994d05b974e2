// Package mutants proves the crash suite: brokers built with a known flaw must fail it, and fail it
// for the reason that the flaw leads to.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"klamm/test/harness"
	"klamm/test/history"
)

// mutant is a build tag that breaks the broker and the promises that must be seen broken then; any
// of them will do.
type mutant struct {
	tag  string
	want []history.Kind
}

func TestMutants(t *testing.T) {
	for _, m := range []mutant{
		{"mutation_sync_nothing", []history.Kind{history.LostWrite, history.LostRead, history.NameLost, history.CommitWentBack}},
		{"mutation_dedupe_off", []history.Kind{history.Duplicate}},
		{"mutation_hw_ahead", []history.Kind{history.LostRead, history.LostWrite, history.InconsistentOffset, history.CommitWentBack}},
		{"mutation_index_trusted", []history.Kind{history.Unreadable, history.Gap, history.PollSkip, history.InconsistentOffset, history.LostWrite, history.LostRead}},
	} {
		t.Run(m.tag, func(t *testing.T) { m.mustBeCaught(t) })
	}
}

// seeds is how many runs with power cuts a mutant may survive before it counts as not caught. The
// rarest flaw, trusted indexes, breaks a promise in one run of fifty; the first broken promise ends
// the search, so most of these are never run.
const seeds = "1000"

func (m mutant) mustBeCaught(t *testing.T) {
	root := harness.Root(t)
	binary := filepath.Join(root, "build", "bin", "crash-"+m.tag+".test")
	build := exec.Command("go", "test", "-c", "-tags", m.tag, "-o", binary, "./test/crash")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the mutant: %v\n%s", err, out)
	}
	verdict := filepath.Join(t.TempDir(), "verdict.json")
	run := exec.Command(binary, "-test.run=^TestPowerCut$", "-test.timeout=5m")
	run.Dir = filepath.Join(root, "test", "crash")
	run.Env = append(os.Environ(), "KLAMM_VERDICT="+verdict, "KLAMM_SEEDS="+seeds)
	out, err := run.CombinedOutput()
	if err == nil {
		t.Fatalf("%s power cuts and nothing was noticed: the suite is blind to this flaw", seeds)
	}
	text, err := os.ReadFile(verdict)
	if err != nil {
		t.Fatalf("the mutant failed, but not by a broken promise:\n%.4000s", out)
	}
	var kinds []history.Kind
	if err := json.Unmarshal(text, &kinds); err != nil {
		t.Fatal(err)
	}
	t.Logf("caught by %v", kinds)
	if !slices.ContainsFunc(kinds, func(k history.Kind) bool { return slices.Contains(m.want, k) }) {
		t.Errorf("caught by %v, which is not what this flaw leads to (%v):\n%.4000s", kinds, m.want, out)
	}
}
