package harness

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func launcher(t testing.TB) string { return filepath.Join(Root(t), "test", "kafka", "kafka") }

// Tool runs one of Kafka's own Java tools and returns what it printed. It fails the test when the
// tool exits with an error.
func Tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	return ToolInput(t, "", name, args...)
}

// ToolInput is Tool with text on standard input.
func ToolInput(t testing.TB, stdin, name string, args ...string) string {
	t.Helper()
	out, errs, err := TryTool(t, stdin, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\nstdout:\n%s\nstderr:\n%s", name, strings.Join(args, " "), err, clip(out), clip(errs))
	}
	return out
}

// TryTool is ToolInput for tools that are expected to complain.
func TryTool(t testing.TB, stdin, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return Run(t, stdin, launcher(t), append([]string{name}, args...)...)
}

// Run runs a program, bounded in time.
func Run(t testing.TB, stdin, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "KAFKA_JIT="+jit(args))
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// ExitCode is the exit code that the error of a run stands for.
func ExitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// jit is the highest compiler tier a tool gets: short-lived tools end sooner without the optimiser.
func jit(args []string) string {
	if len(args) > 0 && strings.HasSuffix(args[0], "-perf") {
		return "4"
	}
	return "1"
}

func clip(s string) string {
	const most = 8000
	if len(s) <= most {
		return s
	}
	return s[:most/2] + "\n[...]\n" + s[len(s)-most/2:]
}

// Kafka is a running Apache Kafka node, broker and controller in one.
type Kafka struct {
	Port, DataDir string
	cmd           *exec.Cmd
	exited        chan struct{}
	log           *Output
}

// FreePort finds a port that is free on both loopback addresses, with the next one free too.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if free("127.0.0.1", port+1) && free("::1", port) {
			return port
		}
	}
	t.Fatal("no two free ports in a row")
	return 0
}

func free(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// StartKafka runs a node in dir until the test ends and waits until it accepts connections.
func StartKafka(t testing.TB, dir string, settings ...string) *Kafka {
	t.Helper()
	return StartKafkaAt(t, dir, FreePort(t), settings...)
}

// StartKafkaAt is StartKafka on a given port.
func StartKafkaAt(t testing.TB, dir string, port int, settings ...string) *Kafka {
	t.Helper()
	k := &Kafka{Port: strconv.Itoa(port), DataDir: filepath.Join(dir, "data"), exited: make(chan struct{}), log: &Output{}}
	k.cmd = exec.Command(launcher(t), append([]string{"node", dir, k.Port}, settings...)...)
	k.cmd.Stdout, k.cmd.Stderr = k.log, k.log
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = k.cmd.Wait()
		close(k.exited)
	}()
	t.Cleanup(func() { k.Stop(t) })
	WaitFor(t, "Kafka to accept connections", func() bool {
		select {
		case <-k.exited:
			t.Fatalf("Kafka ended at start:\n%s", k.log)
		default:
		}
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+k.Port, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return k
}

// Kill is kill -9, and waits until the process is gone.
func (k *Kafka) Kill() {
	_ = k.cmd.Process.Kill()
	<-k.exited
}

// Stop ends the node cleanly; its data directory stays.
func (k *Kafka) Stop(t testing.TB) {
	_ = k.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-k.exited:
	case <-time.After(patience):
		_ = k.cmd.Process.Kill()
		t.Errorf("Kafka did not stop in %v", patience)
	}
}

// WaitFor polls a condition until it holds and fails the test when it never does.
func WaitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
