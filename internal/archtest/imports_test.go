// Package archtest holds the tree to the import rules of ARCHITECTURE.md.
package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "klamm/"

// allowed lists, for each package, what of this module it may import. A package that is not named
// here, and does not lie below test/, fails the test: a new package needs its rule.
var allowed = map[string][]string{
	"internal/config":             nil,
	"internal/protocol":           nil,
	"internal/record":             nil,
	"internal/kafkarecord":        nil,
	"internal/vfs":                nil,
	"internal/explorer/filter":    nil,
	"internal/storage":            {"internal/record", "internal/vfs", "internal/config"},
	"internal/metadata":           {"internal/protocol", "internal/config", "internal/record", "internal/kafkarecord", "internal/storage", "internal/vfs"},
	"internal/coordinator":        {"internal/record", "internal/kafkarecord", "internal/protocol", "internal/config", "internal/metadata"},
	"internal/replica":            {"internal/storage", "internal/record", "internal/metadata", "internal/protocol", "internal/config"},
	"internal/broker":             {"internal/replica", "internal/coordinator", "internal/metadata", "internal/record", "internal/kafkarecord", "internal/protocol", "internal/config"},
	"internal/explorer":           {"internal/record", "internal/kafkarecord", "internal/explorer/filter", "internal/explorer/serde"},
	"internal/explorer/serde":     {"internal/record", "internal/kafkarecord", "internal/explorer/filter"},
	"internal/httpapi":            {"internal/explorer", "ui"},
	"internal/cli":                {anything},
	"internal/archtest":           nil,
	"internal/kafkarecord/schema": nil,
	"internal/kafkarecord/gen":    {"internal/kafkarecord/schema"},
	"internal/httpapi/openapigen": {"internal/httpapi"},
	"ui":                          nil,
	"":                            {"internal/cli"},
}

// anything stands for every package: only the wiring may have it.
const anything = "*"

// alsoInTests are imports that only test files may have, wherever they are: seams to set the scene.
var alsoInTests = []string{"internal/vfs", "internal/record", "internal/config", "internal/kafkarecord", "internal/protocol"}

func TestImportRules(t *testing.T) {
	for _, line := range list(t, "{{.ImportPath}}\t{{join .Imports \",\"}}\t{{join .TestImports \",\"}},{{join .XTestImports \",\"}}") {
		fields := strings.Split(line, "\t")
		path := strings.TrimPrefix(fields[0]+"/", module)
		path = strings.TrimSuffix(path, "/")
		if path == "test" || strings.HasPrefix(path, "test/") {
			continue
		}
		rules, known := allowed[path]
		if !known {
			t.Errorf("%s has no import rule: add one to this test and to ARCHITECTURE.md", path)
			continue
		}
		check(t, path, fields[1], rules)
		check(t, path+" (its tests)", fields[2], append(slices.Clone(rules), append(alsoInTests, path, path+"/*")...))
	}
}

// TestNoCatchAllPackages: a package is named after what it holds.
func TestNoCatchAllPackages(t *testing.T) {
	for _, path := range list(t, "{{.ImportPath}}") {
		for _, element := range strings.Split(path, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helpers", "types", "misc"}, element) {
				t.Errorf("%s: %s says nothing about its content", path, element)
			}
		}
	}
}

func check(t *testing.T, path, imports string, rules []string) {
	t.Helper()
	if slices.Contains(rules, anything) {
		return
	}
	for _, imported := range strings.Split(imports, ",") {
		ours, is := strings.CutPrefix(imported, module)
		if is && !slices.ContainsFunc(rules, func(rule string) bool { return matches(rule, ours) }) {
			t.Errorf("%s imports %s; it may import %s", path, ours, strings.Join(rules, ", "))
		}
	}
}

// matches: a rule that ends in /* stands for what lies below.
func matches(rule, path string) bool {
	above, below := strings.CutSuffix(rule, "*")
	return rule == path || below && strings.HasPrefix(path, above)
}

func list(t *testing.T, format string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", format, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
