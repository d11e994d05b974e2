// Package python drives the broker with confluent-kafka-python, a current librdkafka.
package python

import (
	"os"
	"path/filepath"
	"testing"

	"klamm/test/harness"
)

func TestPython(t *testing.T) {
	python := filepath.Join(harness.Root(t), "build", "venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the Python environment is missing: run `make test-deps`")
	}
	target := harness.StartTarget(t, harness.KeptDir(t, "python"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		harness.Script(t, 13, python, "client.py", addr, prefix)
	})
	target.Stop(t)
}
