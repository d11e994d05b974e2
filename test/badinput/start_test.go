// Package badinput gives the real binary what it must refuse, and checks that it does so in one
// plain sentence, with the right code, and without harm to anything else.
package badinput

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"klamm/test/harness"
)

// refused starts a broker that must not start: exit code 1, one line that matches every pattern,
// and an unchanged data directory.
func refused(t *testing.T, o harness.Options, patterns ...string) {
	t.Helper()
	before := listing(t, o.DataDir)
	cmd := harness.Command(t, o)
	sentence(t, cmd, 1, patterns...)
	if after := listing(t, o.DataDir); after != before {
		t.Errorf("the data directory changed:\nbefore:\n%s\nafter:\n%s", before, after)
	}
}

// sentence runs a command that must fail with the code and one plain sentence on standard error.
func sentence(t *testing.T, cmd *exec.Cmd, code int, patterns ...string) {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if got := harness.ExitCode(t, err); got != code {
		t.Errorf("exit %d, want %d\n%s%s", got, code, out.String(), errs.String())
	}
	plain(t, errs.String(), patterns...)
}

var logLine = regexp.MustCompile(`(?m)^time=\S+ level=(DEBUG|INFO|WARN)\b.*\n?`)

// plain checks what was said: log lines apart, exactly one line, in words.
func plain(t *testing.T, errs string, patterns ...string) {
	t.Helper()
	said := strings.TrimSpace(logLine.ReplaceAllString(errs, ""))
	if said == "" || strings.Contains(said, "\n") {
		t.Errorf("want one sentence on standard error, got:\n%s", said)
	}
	for _, never := range []string{"panic", "goroutine", "0x", "%!", "<nil>", "Usage:"} {
		if strings.Contains(said, never) {
			t.Errorf("%q has no place in a sentence for a person: %s", never, said)
		}
	}
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?i)" + pattern).MatchString(said) {
			t.Errorf("the sentence does not tell %q: %s", pattern, said)
		}
	}
}

// listing is every file below dir with its size.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() == ".lock" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + strconv.FormatInt(info.Size(), 10) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	t.Run("for Kafka clients", func(t *testing.T) {
		refused(t, harness.Options{DataDir: t.TempDir(), Listen: "localhost:" + port}, port, "in use", "--listen|stop")
	})
	t.Run("for the explorer", func(t *testing.T) {
		refused(t, harness.Options{DataDir: t.TempDir(), HTTP: "localhost:" + port}, port, "in use", "--http|stop")
	})
}

func TestExplorerBeyondLoopback(t *testing.T) {
	refused(t, harness.Options{DataDir: t.TempDir(), HTTP: "0.0.0.0:0"}, "0.0.0.0", "login|authentication|loopback")
}

func TestDataDirectory(t *testing.T) {
	t.Run("locked by a running Klamm", func(t *testing.T) {
		dir := t.TempDir()
		k := harness.Start(t, harness.Options{DataDir: dir})
		cmd := harness.Command(t, harness.Options{DataDir: dir})
		sentence(t, cmd, 1, regexp.QuoteMeta(dir), "in use|locked|used by", "--data-dir|stop")
		if _, err := harness.Admin(t, k.Addr).BrokerMetadata(harness.Context(t)); err != nil {
			t.Errorf("the running broker does not answer any more: %v", err)
		}
	})
	t.Run("not writable", func(t *testing.T) { notWritable(t) })
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, harness.Options{DataDir: file}, regexp.QuoteMeta(file), "not a directory|is a file")
	})
	t.Run("of a newer version", func(t *testing.T) {
		dir := t.TempDir()
		harness.Start(t, harness.Options{DataDir: dir}).Stop(t)
		edit(t, filepath.Join(dir, "meta.properties"), func(text string) string { return strings.Replace(text, "version=1", "version=7", 1) })
		refused(t, harness.Options{DataDir: dir}, regexp.QuoteMeta(dir), "version", "7", "newer")
	})
	t.Run("of another node", func(t *testing.T) {
		dir := t.TempDir()
		harness.Start(t, harness.Options{DataDir: dir}).Stop(t)
		refused(t, harness.Options{DataDir: dir, Set: []string{"node.id=9"}}, "node.id", "9", "1")
	})
}

func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(text))
	if changed == string(text) {
		t.Fatalf("nothing to change in %s:\n%s", file, text)
	}
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// notWritable needs a user for whom permissions count; root becomes nobody.
func notWritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "theirs")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := harness.Command(t, harness.Options{Binary: readableBinary(t), DataDir: dir})
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = dir
	sentence(t, cmd, 1, regexp.QuoteMeta(dir), "permission|not writable|cannot be written", "--data-dir|permission")
}

// readableBinary is a copy of klamm that any user may run.
func readableBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for open := dir; open != os.TempDir() && len(open) > 1; open = filepath.Dir(open) {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(harness.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "klamm")
	if err := os.WriteFile(binary, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return binary
}

func TestProperties(t *testing.T) {
	for name, c := range map[string]struct {
		set      string
		patterns []string
	}{
		"unknown, near a known one": {"log.retention.hour=1", []string{`log\.retention\.hour\b`, `log\.retention\.hours`}},
		"unknown":                   {"no.such.property=1", []string{`no\.such\.property`}},
		"not a number":              {"num.partitions=many", []string{`num\.partitions`, `many`}},
		"out of range":              {"num.partitions=0", []string{`num\.partitions`, `\b0\b`}},
		"not one of the choices":    {"compression.type=rar", []string{`compression\.type`, `rar`, `zstd`}},
		"not a flush policy":        {"flush.policy=maybe", []string{`flush\.policy`, `maybe`, `auto`}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, harness.Options{DataDir: t.TempDir(), Set: []string{c.set}}, c.patterns...)
		})
	}
	t.Run("no such file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "server.properties")
		refused(t, harness.Options{DataDir: t.TempDir(), Args: []string{"--config", file}}, regexp.QuoteMeta(file), "no such file")
	})
	t.Run("in a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "server.properties")
		if err := os.WriteFile(file, []byte("num.partitions=3\nlog.retention.minute=5\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, harness.Options{DataDir: t.TempDir(), Args: []string{"--config", file}}, `log\.retention\.minute\b`, `log\.retention\.minutes`)
	})
}
