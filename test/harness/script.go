package harness

import (
	"strings"
	"testing"
)

// Script runs a client written in another language, which prints `ok NAME` or `not ok NAME: reason`
// per case, and makes a subtest of each. It fails when fewer than want cases were run.
func Script(t *testing.T, want int, program string, args ...string) {
	t.Helper()
	out, errs, err := Run(t, "", program, args...)
	cases := 0
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "ok "); ok {
			cases++
			t.Run(name, func(*testing.T) {})
		}
		if rest, ok := strings.CutPrefix(line, "not ok "); ok {
			cases++
			name, reason, _ := strings.Cut(rest, ": ")
			t.Run(name, func(t *testing.T) { t.Error(strings.ReplaceAll(reason, " | ", "\n")) })
		}
	}
	if err != nil {
		t.Errorf("%s %s: %v\n%s", program, strings.Join(args, " "), err, clip(errs))
	}
	if cases < want {
		t.Errorf("%d cases ran, want %d:\n%s\n%s", cases, want, clip(out), clip(errs))
	}
}
