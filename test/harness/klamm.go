package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = 60 * time.Second

// Output collects what a process writes; it may be read while the process runs.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Options say how to start klamm serve. Zero values are the defaults of a test: a free port, no
// explorer, an own data directory.
type Options struct {
	Binary  string
	DataDir string
	Listen  string
	HTTP    string
	Set     []string // key=value
	Args    []string // further flags
	Env     []string
}

// Klamm is a running klamm serve.
type Klamm struct {
	// Addr is HOST:PORT as the ready line gives it, Port the port alone, URL the explorer's address.
	Addr, Port, URL, DataDir string
	PID                      int
	Stderr                   *Output

	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// Command is klamm serve, not started.
func Command(t testing.TB, o Options) *exec.Cmd {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Binary(t)
	}
	if o.Listen == "" {
		o.Listen = "localhost:0"
	}
	if o.HTTP == "" {
		o.HTTP = "off"
	}
	args := []string{"serve", "--data-dir", o.DataDir, "--listen", o.Listen, "--http", o.HTTP}
	for _, set := range o.Set {
		args = append(args, "--set", set)
	}
	cmd := exec.Command(o.Binary, append(args, o.Args...)...)
	cmd.Env = append(os.Environ(), o.Env...)
	return cmd
}

// Start runs klamm serve until the test ends and waits for its ready line.
func Start(t testing.TB, o Options) *Klamm {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	k, err := start(Command(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	return k
}

func start(cmd *exec.Cmd) (*Klamm, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	k := &Klamm{Stderr: &Output{}, cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = k.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	k.PID = cmd.Process.Pid
	ready := make(chan string, 1)
	go k.follow(stdout, ready)
	select {
	case line := <-ready:
		if err := k.parseReady(line); err != nil {
			k.Kill()
			return nil, err
		}
		return k, nil
	case <-k.exited:
		return nil, fmt.Errorf("klamm ended before its ready line (%v):\n%s", k.err, k.Stderr)
	case <-time.After(patience):
		k.Kill()
		return nil, fmt.Errorf("klamm printed no ready line in %v:\n%s", patience, k.Stderr)
	}
}

// follow hands over the first line, reads the rest away, and waits for the end.
func (k *Klamm) follow(stdout io.Reader, ready chan<- string) {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		select {
		case ready <- scanner.Text():
		default:
		}
	}
	k.err = k.cmd.Wait()
	close(k.exited)
}

func (k *Klamm) parseReady(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "ready" {
		return fmt.Errorf("not a ready line: %q", line)
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "kafka":
			k.Addr = value
		case "http":
			k.URL = value
		case "data":
			_, k.DataDir, _ = strings.Cut(line, " data=") // the last field: a path may hold spaces
		}
	}
	if k.Addr == "" && k.URL != "" {
		return nil // klamm explore: no broker, no data
	}
	colon := strings.LastIndexByte(k.Addr, ':')
	if colon < 0 || k.DataDir == "" {
		return fmt.Errorf("the ready line lacks an address or the data directory: %q", line)
	}
	k.Port = k.Addr[colon+1:]
	return nil
}

// StartExplorer runs klamm explore for a foreign cluster until the test ends.
func StartExplorer(t testing.TB, bootstrap string) *Klamm {
	t.Helper()
	file := filepath.Join(t.TempDir(), "foreign.properties")
	if err := os.WriteFile(file, []byte("bootstrap.servers="+bootstrap+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := start(exec.Command(Binary(t), "explore", "--http", "localhost:0", "--state-dir", t.TempDir(), "--connection", file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	return k
}

// Kill is kill -9, and waits until the process is gone. Killing twice is harmless.
func (k *Klamm) Kill() {
	_ = k.cmd.Process.Kill()
	<-k.exited
}

// Stop asks for a clean shutdown and insists on exit code 0.
func (k *Klamm) Stop(t testing.TB) {
	t.Helper()
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-k.exited:
	case <-time.After(patience):
		k.Kill()
		t.Fatalf("klamm did not stop in %v after SIGTERM:\n%s", patience, k.Stderr)
	}
	if k.err != nil {
		t.Fatalf("clean shutdown: %v\n%s", k.err, k.Stderr)
	}
}
