package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klamm/test/harness"
)

// TestJudgeFindsDamage proves that the judgement is worth something: one flipped byte in a file of
// any kind must lead to a complaint. It works on copies of what TestOwnData left.
func TestJudgeFindsDamage(t *testing.T) {
	left := filepath.Join(harness.Root(t), "build", "data", "files")
	cases := []struct {
		name, pattern string
		at            func(size int64) int64 // the byte that is flipped
	}{
		{"records without compression", "files-none-0/*.log", middle},
		{"compressed records", "files-zstd-0/*.log", middle},
		{"offset index", "files-none-0/*.index", func(int64) int64 { return 7 }},
		{"time index", "files-none-0/*.timeindex", func(int64) int64 { return 7 }},
		{"producer snapshot", "files-none-0/*.snapshot", func(size int64) int64 { return size - 20 }},
		{"cluster metadata", "__cluster_metadata-0/*.log", middle},
		{"group records", "__consumer_offsets-*/*.log", middle},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			copied := copyPartition(t, left, c.pattern, c.at)
			var complaints []string
			for _, d := range dumps(t, filepath.Dir(copied)) {
				complaints = append(complaints, d.run(t).complaints...)
			}
			if len(complaints) == 0 {
				t.Error("the dump tool's output was judged clean")
			}
		})
	}
}

func middle(size int64) int64 { return size / 2 }

// copyPartition copies the partition of the first non-empty file that matches, with one byte of that
// file flipped, and returns the partition's new directory.
func copyPartition(t *testing.T, dir, pattern string, at func(int64) int64) string {
	t.Helper()
	var matches []string
	for _, data := range []string{dir, filepath.Join(dir, "data")} {
		found, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			t.Fatal(err)
		}
		matches = append(matches, found...)
	}
	for _, match := range matches {
		content, err := os.ReadFile(match)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) == 0 {
			continue
		}
		partition := filepath.Dir(match)
		copied := filepath.Join(t.TempDir(), filepath.Base(partition))
		if err := os.CopyFS(copied, os.DirFS(partition)); err != nil {
			t.Fatal(err)
		}
		content[at(int64(len(content)))] ^= 1
		if err := os.WriteFile(filepath.Join(copied, filepath.Base(match)), content, 0o644); err != nil {
			t.Fatal(err)
		}
		return copied
	}
	t.Fatalf("no file %s with content below %s: TestOwnData makes them", pattern, dir)
	return ""
}

// TestJudge holds the reading of the tool's output to samples of it.
func TestJudge(t *testing.T) {
	const header = "Dumping t-0/00000000000000000000.log\nLog starting offset: 0\n"
	line := func(base, last, count, position, size string, valid string) string {
		return "baseOffset: " + base + " lastOffset: " + last + " count: " + count + " baseSequence: 0 lastSequence: 1 producerId: 1 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: " +
			position + " CreateTime: 1700000000999 size: " + size + " magic: 2 compresscodec: zstd crc: 1 isvalid: " + valid + "\n"
	}
	good := line("0", "1", "2", "0", "100", "true")
	cases := []struct{ name, out, complaint string }{
		{"good", header + good + line("2", "2", "1", "100", "70", "true"), ""},
		{"wrong checksum", header + line("0", "1", "2", "0", "100", "false"), "isvalid: false"},
		{"gap in offsets", header + good + line("3", "3", "1", "100", "70", "true"), "offset 3 follows 1"},
		{"gap in bytes", header + good + line("2", "2", "1", "101", "70", "true"), "expected at 100"},
		{"wrong count", header + line("0", "1", "3", "0", "100", "true"), "says it holds 3"},
		{"mismatch", header + good + "Mismatches in :t-0/00000000000000000000.index\n", "Mismatches in"},
		{"rest of a batch", header + good + "Found 12 invalid bytes at the end of 00000000000000000000.log\n", "invalid bytes"},
		{"exception", header + "Exception in thread \"main\" java.lang.IllegalArgumentException\n", "Exception"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(judge(c.out, plain).complaints, "\n")
			if (c.complaint == "") != (got == "") || !strings.Contains(got, c.complaint) {
				t.Errorf("complaints %q, want %q", got, c.complaint)
			}
		})
	}
}
