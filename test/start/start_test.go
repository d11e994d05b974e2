// Package start measures how the product begins: from a fresh clone, from a built binary, and what
// it takes while nobody uses it. Numbers are printed, not judged.
package start

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

// TestFreshClone does what a stranger does: clone, `make run`, with nothing but Go and a shell on
// the path, and waits for the ready line.
func TestFreshClone(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "klamm")
	if out, err := exec.Command("git", "clone", "--quiet", "--no-hardlinks", harness.Root(t), clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	data := t.TempDir()
	cmd := exec.Command("make", "run")
	cmd.Dir = clone
	cmd.Env = []string{
		"PATH=" + goAlone(t), "HOME=" + os.Getenv("HOME"), "KLAMM_DATA_DIR=" + data, "KLAMM_LISTEN=localhost:0", "KLAMM_HTTP=localhost:0",
	}
	for _, name := range []string{"GOPROXY", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPATH", "GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SSL_CERT_FILE"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr := &harness.Output{}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	ready := readyLine(stdout)
	if ready == "" {
		t.Fatalf("no ready line:\n%s", stderr)
	}
	checkReady(t, ready, data)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // make reports the signal as its own failure
	if _, err := os.Stat(filepath.Join(data, ".kafka_cleanshutdown")); err != nil {
		t.Errorf("after SIGTERM the data directory is not marked clean: %v", err)
	}
}

// goAlone is a directory with links to the few programs that `make run` may use.
func goAlone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go", "make", "bash", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readyLine(stdout io.Reader) string {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		if strings.HasPrefix(scanner.Text(), "ready ") {
			return scanner.Text()
		}
	}
	return ""
}

// checkReady: everything the line names must answer at once.
func checkReady(t *testing.T, line, data string) {
	t.Helper()
	fields := map[string]string{}
	for _, word := range strings.Fields(line)[1:] {
		name, value, _ := strings.Cut(word, "=")
		fields[name] = value
	}
	if fields["data"] != data {
		t.Errorf("ready line %q, want data=%s", line, data)
	}
	if _, err := harness.Admin(t, fields["kafka"]).BrokerMetadata(harness.Context(t)); err != nil {
		t.Errorf("kafka=%s: %v", fields["kafka"], err)
	}
	for path, want := range map[string]string{"/": "text/html", "/api/openapi.json": "json", "/healthz": "", "/readyz": ""} {
		response, err := http.Get(fields["http"] + path)
		if err != nil {
			t.Errorf("http=%s: %v", fields["http"], err)
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Content-Type"), want) {
			t.Errorf("%s: status %s, type %s", path, response.Status, response.Header.Get("Content-Type"))
		}
	}
}

// TestFirstRecord measures from the start of the process to the acknowledgement (acks=all) of a
// record to a topic that does not exist yet, and again on the directory left behind by kill -9.
func TestFirstRecord(t *testing.T) {
	binary := harness.Binary(t)
	var fresh, again []time.Duration
	for range 7 {
		dir := t.TempDir()
		fresh = append(fresh, firstRecord(t, binary, dir))
		again = append(again, firstRecord(t, binary, dir))
	}
	slices.Sort(fresh)
	slices.Sort(again)
	t.Logf("measured: FirstRecord start to first acknowledged record (aim < 150 ms): new directory median %d ms, best %d ms; after kill -9 median %d ms, best %d ms",
		fresh[3].Milliseconds(), fresh[0].Milliseconds(), again[3].Milliseconds(), again[0].Milliseconds())
}

func firstRecord(t *testing.T, binary, dir string) time.Duration {
	t.Helper()
	began := time.Now()
	k := harness.Start(t, harness.Options{Binary: binary, DataDir: dir, HTTP: "localhost:0"})
	client := harness.Client(t, k.Addr, kgo.AllowAutoTopicCreation())
	if err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: "first", Value: []byte("hello")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	k.Kill()
	return took
}

// TestIdle measures memory and processor time of a broker with explorer that has a topic and a
// group, while nobody is connected.
func TestIdle(t *testing.T) {
	k := harness.Start(t, harness.Options{HTTP: "localhost:0"})
	client := harness.Client(t, k.Addr, kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("idle"), kgo.ConsumerGroup("idle"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: "idle", Value: []byte("hello")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.PollFetches(harness.Context(t)).Err(); err != nil {
		t.Fatal(err)
	}
	client.Close()
	const window = 5 * time.Second
	<-time.After(window / 5) // what the last connection left to do
	before := processor(t, k.PID)
	<-time.After(window)
	spent := processor(t, k.PID) - before
	t.Logf("measured: Idle memory (RSS, aim < 40 MB) %.1f MB; processor time in %v (aim 0) %v", resident(t, k.PID), window, spent)
}

// processor is the user and system time of a process so far.
func processor(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	fields := strings.Fields(after)
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on every Linux
}

// resident is the memory of a process in MB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb * 1024 / 1e6
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
