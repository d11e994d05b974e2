// Package harness starts the brokers that the black-box suites talk to: the klamm binary as a user
// would start it, or a real Apache Kafka node, so that every suite can be proven right on the real
// thing first (KLAMM_TARGET=kafka).
package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Root is the top directory of the repository: the one that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory: run the suites inside the repository")
		}
		dir = parent
	}
}

// Binary is the path of klamm: KLAMM_BIN, or a fresh build of the tree. Build tags make mutants;
// KLAMM_BIN is ignored for them.
func Binary(t testing.TB, tags ...string) string {
	t.Helper()
	if given := os.Getenv("KLAMM_BIN"); given != "" && len(tags) == 0 {
		return given
	}
	name := strings.Join(append([]string{"klamm"}, tags...), "-")
	out := filepath.Join(Root(t), "build", "bin", name)
	cmd := exec.Command("go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Dir = Root(t)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// KeptDir is a directory below build/data that outlives the test, for suites that judge afterwards
// what another one left. It is emptied first.
func KeptDir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(Root(t), "build", "data", name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
