package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const top = "../.."

// TestProducePath holds ARCHITECTURE.md to its word: the way of a produced record takes at most ten
// steps, each names files that exist, and what it calls by name is really there.
func TestProducePath(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Where a produced record goes\n")
	if !found {
		t.Fatal("no section `Where a produced record goes`")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	steps := regexp.MustCompile(`(?m)^\d+\. .*$`).FindAllString(section, -1)
	if len(steps) < 5 || len(steps) > 10 {
		t.Errorf("%d steps, want five to ten", len(steps))
	}
	for _, step := range steps {
		checkStep(t, step)
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// checkStep looks for each name in the file or directory named last before it.
func checkStep(t *testing.T, step string) {
	t.Helper()
	source, where := "", ""
	for _, match := range quoted.FindAllStringSubmatch(step, -1) {
		name := match[1]
		if strings.Contains(name, "/") {
			where, source = name, read(t, name)
			continue
		}
		if where == "" {
			t.Errorf("no file before the name %s: %s", name, step)
			return
		}
		if qualifier, function, is := strings.Cut(name, "."); is {
			name, source = function, read(t, "internal/"+qualifier)
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(source) {
			t.Errorf("%s does not know %s: %s", where, name, step)
		}
	}
	if where == "" {
		t.Errorf("the step names no file: %s", step)
	}
}

// read returns a file, or all Go files of a directory.
func read(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(top, filepath.FromSlash(name))
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.go")); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("ARCHITECTURE.md: %v", err)
		}
		all.Write(text)
	}
	return all.String()
}
