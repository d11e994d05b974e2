package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratedCodeIsCurrent: the committed code is what the schema text gives.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	fresh, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
	if err != nil || len(fresh) < 5 {
		t.Fatalf("generated %v, %v", fresh, err)
	}
	committed, err := filepath.Glob("../*_gen.go")
	if err != nil || len(committed) != len(fresh) {
		t.Errorf("%d files are committed, %d are generated", len(committed), len(fresh))
	}
	for _, name := range fresh {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join("..", filepath.Base(name)))
		if err != nil || !bytes.Equal(want, have) {
			t.Errorf("%s is not what the schema gives (%v): run go generate ./internal/kafkarecord", filepath.Base(name), err)
		}
	}
}
