package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogDump(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", []string{
			`control SNAPSHOT_HEADER  value {"version":0,"lastContainedLogTimestamp":1796065535333}`,
			`control KRAFT_VERSION  value {"version":0,"kRaftVersion":1}`,
			`value {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":33}}`,
			`control SNAPSHOT_FOOTER  value {"version":0}`,
		}},
		{"__consumer_offsets-39/00000000000000000000.log", []string{
			"batch  baseOffset 0  lastOffset 0  count 1  position 0  size 98  leaderEpoch 0  codec none",
			`key {"type":"2","version":"0","data":{"group":"jg"}}  value {"type":"2","version":"3","data":{"protocolType":""`,
			`key {"type":"1","version":"0","data":{"group":"jg","topic":"fr","partition":1}}`,
		}},
		{"__cluster_metadata-0/quorum-state", []string{`"leaderId":1`}},
		{"files/00000000000000000000.index", []string{"entry  lastOffset 56  position 4118\n", "entry  lastOffset 113  position 8222\n"}},
		{"files/00000000000000000000.timeindex", []string{"entry  timestamp 1796065559293  lastOffset 56\n"}},
		{"files/00000000000000000002.snapshot", []string{"producer  producerId 1000  producerEpoch 0  lastSequence 1  lastOffset 1  offsetDelta 1  timestamp 1796066481308  coordinatorEpoch -1  currentTxnFirstOffset -1\n"}},
		{"files/leader-epoch-checkpoint", []string{"epoch  epoch 0  startOffset 2\n"}},
		{"files/partition.metadata", []string{"partition  topicId JlwoeMa_Sz2TkAyT5NGBBg\n"}},
		{"../../record/testdata/java-zstd.log", []string{
			`codec zstd`, `record  offset 59  timestamp `, `key "key-h"  keySize 5`, `headers [{"key":"trace","value":"t9"},{"key":"empty","value":""}]`,
		}},
	} {
		out := klamm(t, "", "log", "dump", filepath.Join("testdata", c.file))
		for _, words := range c.want {
			if !strings.Contains(out, words) {
				t.Errorf("%s: %q is missing in\n%s", c.file, words, out)
			}
		}
	}
}

func TestLogDumpJSONLines(t *testing.T) {
	out := klamm(t, "", "log", "dump", "-o", "jsonl", "testdata/files/00000000000000000002.snapshot", "../record/testdata/kcat-lz4.log", "--batches-only")
	want := `{"file":"testdata/files/00000000000000000002.snapshot","kind":"producer","producerId":1000,"producerEpoch":0,"lastSequence":1,"lastOffset":1,"offsetDelta":1,"timestamp":1796066481308,"coordinatorEpoch":-1,"currentTxnFirstOffset":-1}` + "\n"
	if !strings.HasPrefix(out, want) || !strings.Contains(out, `"kind":"batch","baseOffset":0,"lastOffset":59,"count":60`) || strings.Contains(out, `"kind":"record"`) {
		t.Errorf("%s", out)
	}
}

func TestLogDumpDamage(t *testing.T) {
	c := command{}
	code := c.run(t, "log", "dump", "--as", "metadata", "testdata/damaged/00000000000000000000.log", "testdata/files/partition.metadata")
	if code != exitFailed || !strings.Contains(c.err.String(), "at byte 3882: the file ends inside a batch, 118 bytes are left") {
		t.Errorf("code %d: %s", code, &c.err)
	}
	if out := c.out.String(); !strings.Contains(out, "NO_OP_RECORD") || !strings.Contains(out, "topicId") {
		t.Errorf("what is sound, and the next file, must be printed:\n%s", out)
	}

	dir := t.TempDir()
	good, err := os.ReadFile("../record/testdata/java-gzip.log")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data  []byte
		words string
	}{
		"00000000000000000000.log":   {append(append([]byte{}, good[:200]...), append([]byte{good[200] ^ 1}, good[201:]...)...), "its checksum is"},
		"00000000000000000001.log":   {append(append([]byte{}, good...), make([]byte, 100)...), "only zero bytes follow, 100 bytes"},
		"00000000000000000002.log":   {[]byte("this is no segment of anything at all, but long enough to be a header"), "corrupt"},
		"00000000000000000003.log":   {good[:20], "the file ends inside a batch"},
		"x.index":                    {nil, "must start with the segment's base offset"},
		"00000000000000000000.index": {make([]byte, 7), "not a multiple of 8"},
		"strange":                    {nil, "no file of a data directory that klamm knows"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, exitFailed, c.words, "", "log", "dump", file)
	}
	refused(t, exitFailed, "it is a directory", "", "log", "dump", dir)
	refused(t, exitFailed, "it is no file of a log", "", "log", "dump", os.DevNull) // /dev/zero would not end
	refused(t, exitFailed, "no such file", "", "log", "dump", filepath.Join(dir, "missing.log"))
}
