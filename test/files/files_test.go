package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"klamm/test/harness"
)

// dump is one call of Kafka's dump tool over many files of a kind.
type dump struct {
	name    string
	files   []string
	flags   []string
	decoder decoder
}

// deepest is the size in bytes up to which every record of a segment is dumped; larger segments
// (those of the performance tools) are checked batch by batch, checksums included.
const deepest = 16 << 20

// dumps sorts the files of a data directory into calls.
func dumps(t *testing.T, dir string) []dump {
	t.Helper()
	all := []*dump{
		{name: "records", flags: []string{"--deep-iteration"}},
		{name: "large segments"},
		{name: "indexes"},
		{name: "index sanity", flags: []string{"--index-sanity-check"}},
		{name: "producer snapshots"},
		{name: "cluster metadata", flags: []string{"--cluster-metadata-decoder"}, decoder: metadataRecords},
		{name: "group records", flags: []string{"--offsets-decoder"}, decoder: groupRecords},
	}
	records, large, indexes, sanity, snapshots, metadata, groups := all[0], all[1], all[2], all[3], all[4], all[5], all[6]
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(filepath.Dir(path), "-delete") {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		partition := filepath.Base(filepath.Dir(path))
		switch ext := filepath.Ext(path); {
		case ext == ".log" && partition == "__cluster_metadata-0", ext == ".checkpoint" && partition == "__cluster_metadata-0":
			metadata.files = append(metadata.files, path)
		case ext == ".log" && strings.HasPrefix(partition, "__consumer_offsets-"):
			groups.files = append(groups.files, path)
		case ext == ".log" && info.Size() > deepest:
			large.files = append(large.files, path)
		case ext == ".log":
			records.files = append(records.files, path)
		case ext == ".index", ext == ".timeindex":
			indexes.files = append(indexes.files, path)
			if partition != "__cluster_metadata-0" { // a real node's own preallocated ones do not pass
				sanity.files = append(sanity.files, path)
			}
		case ext == ".snapshot":
			snapshots.files = append(snapshots.files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var some []dump
	for _, d := range all {
		if len(d.files) > 0 {
			some = append(some, *d)
		}
	}
	return some
}

// run calls the tool and judges what it printed, on either stream.
func (d dump) run(t *testing.T) verdict {
	t.Helper()
	args := append(slices.Clone(d.flags), "--files", strings.Join(d.files, ","))
	out, errs, err := harness.TryTool(t, "", "dump-log", args...)
	v := judge(out+"\n"+errs, d.decoder)
	if err != nil {
		v.complaints = append(v.complaints, "dump-log: "+err.Error())
	}
	if v.files != len(d.files) {
		v.complaints = append(v.complaints, "not every file was dumped")
	}
	return v
}

func judgeDirectory(t *testing.T, dir string) map[string]verdict {
	t.Helper()
	verdicts := map[string]verdict{}
	for _, d := range dumps(t, dir) {
		t.Run(d.name, func(t *testing.T) {
			v := d.run(t)
			t.Logf("%d files: %d batches, %d records, %d entries", v.files, v.batches, v.records, v.entries)
			for _, complaint := range v.complaints[:min(len(v.complaints), 10)] {
				t.Error(complaint)
			}
			verdicts[d.name] = v
		})
	}
	return verdicts
}

// TestOwnData judges a directory that holds every kind of file at once.
func TestOwnData(t *testing.T) {
	target := harness.StartTarget(t, harness.KeptDir(t, "files"))
	want := fill(t, target)
	target.Stop(t)
	got := judgeDirectory(t, target.DataDir)
	if v := got["records"]; v.records != want {
		t.Errorf("the dump shows %d records, %d were produced", v.records, want)
	}
	for _, name := range []string{"records", "indexes", "producer snapshots", "cluster metadata", "group records"} {
		if v := got[name]; v.records+v.entries == 0 {
			t.Errorf("%s: nothing was dumped", name)
		}
	}
}

// TestLeftData judges what the suites named in KLAMM_LEFT_DATA (comma separated) left behind. The
// full test run names all of them; without it there is nothing to judge here.
func TestLeftData(t *testing.T) {
	for _, name := range strings.FieldsFunc(os.Getenv("KLAMM_LEFT_DATA"), func(r rune) bool { return r == ',' }) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(harness.Root(t), "build", "data", name)
			if _, err := os.Stat(dir); err != nil {
				t.Fatalf("suite %s left no data directory: %v", name, err)
			}
			if len(judgeDirectory(t, dir)) == 0 {
				t.Fatal("no file to judge")
			}
		})
	}
}
