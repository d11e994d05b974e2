package harness

import (
	"regexp"
	"strings"
	"testing"
)

// The lines of a case: `ok NAME`, with how long it took, or `not ok NAME: reason`, or `FAIL NAME`
// with the reason on indented lines after it.
var (
	passedCase = regexp.MustCompile(`^ok +(.*?)(?: \(\d+ ms\))?$`)
	failedCase = regexp.MustCompile(`^(?:not ok|FAIL) +(.*?)(?:: (.*))?$`)
)

// Script runs a client written in another language, which prints a line per case, and makes a
// subtest of each. It fails when fewer than want cases were run.
func Script(t *testing.T, want int, program string, args ...string) {
	t.Helper()
	out, errs, err := Run(t, "", program, args...)
	cases, failed := 0, 0
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if found := passedCase.FindStringSubmatch(line); found != nil {
			cases++
			t.Run(found[1], func(*testing.T) {})
		}
		if found := failedCase.FindStringSubmatch(line); found != nil {
			cases++
			failed++
			t.Run(found[1], func(t *testing.T) { t.Error(strings.ReplaceAll(found[2], " | ", "\n")) })
		}
	}
	if err != nil || failed > 0 {
		t.Errorf("%s %s: %v\n%s\n%s", program, strings.Join(args, " "), err, clip(out), clip(errs))
	}
	if cases < want {
		t.Errorf("%d cases ran, want %d:\n%s\n%s", cases, want, clip(out), clip(errs))
	}
}
