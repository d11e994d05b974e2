package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"klamm/internal/config"
	"klamm/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output collects what a command writes; it may be read while the command runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// command is one run of the command line.
type command struct {
	in       io.Reader
	env      map[string]string
	ctx      context.Context
	out, err output
}

func (c *command) run(t *testing.T, args ...string) int {
	t.Helper()
	if c.in == nil {
		c.in = strings.NewReader("")
	}
	if c.ctx == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		c.ctx = ctx
	}
	lookup := func(name string) (string, bool) {
		v, ok := c.env[name]
		return v, ok
	}
	return Run(c.ctx, args, Streams{In: c.in, Out: &c.out, Err: &c.err, LookupEnv: lookup})
}

// klamm runs a command that must succeed and returns its standard output.
func klamm(t *testing.T, in string, args ...string) string {
	t.Helper()
	c := command{in: strings.NewReader(in)}
	if code := c.run(t, args...); code != exitDone {
		t.Fatalf("klamm %s: exit code %d\n%s", strings.Join(args, " "), code, &c.err)
	}
	return c.out.String()
}

// refused runs a command that must fail with the exit code and words on standard error.
func refused(t *testing.T, code int, words, in string, args ...string) {
	t.Helper()
	c := command{in: strings.NewReader(in)}
	if got := c.run(t, args...); got != code || !strings.Contains(c.err.String(), words) {
		t.Errorf("klamm %s: exit code %d, want %d with %q\n%s", strings.Join(args, " "), got, code, words, &c.err)
	}
}

// startBroker runs a node in memory until the test ends and returns its address.
func startBroker(t *testing.T, sets ...string) string {
	t.Helper()
	address, _ := startNode(t, sets...)
	return address
}

// startNode is startBroker for tests that look inside.
func startNode(t *testing.T, sets ...string) (string, *Node) {
	t.Helper()
	props, err := keyValues("set", sets)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.New(nil, props)
	if err != nil {
		t.Fatal(err)
	}
	node, err := StartNode(NodeOptions{
		FS: vfs.NewMem(), DataDir: "/data", Listen: "localhost:0", Config: c, Now: time.Now, Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(true); err != nil {
			t.Errorf("stopping the node: %v", err)
		}
	})
	return node.Addr(), node
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// waitFor waits until done; what says what is missing.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct{ args, words string }{
		{"bogus", `unknown command "bogus" for klamm`},
		{"topc", "did you mean topic?"},
		{"topic", "klamm topic needs a command"},
		{"topic lst", "did you mean list?"},
		{"topic list extra", "unknown command"},
		{"topic create", "at least one topic"},
		{"topic list --wrong", "unknown flag: --wrong; see klamm topic list --help"},
		{"topic list -o xml", "-o xml is not known here"},
		{"topic list -X a", "-X takes key=value"},
		{"topic list -X bogus=1", "bogus is not a client property"},
		{"topic list -X acks=2", "acks must be all, 1 or 0"},
		{"topic list -X linger.ms=x", "linger.ms must be a number of milliseconds"},
		{"topic list -X isolation.level=x", "read_committed or read_uncommitted"},
		{"topic list -X security.protocol=FOO", "security.protocol"},
		{"topic list -b host:port:x", "is not HOST:PORT"},
		{"topic list -b ,", "no broker is named"},
		{"topic list --timeout 5", "invalid argument"},
		{"topic create t --topic-config x", "--topic-config takes key=value"},
		{"topic alter t", "nothing to alter"},
		{"consume", "it takes one topic, got 0 arguments"},
		{"consume t -p abc", `"abc" for "-p, --partition" flag: invalid syntax; see`},
		{"help topic lst", `there is no command "topic lst"`},
		{"help lst", `there is no command "lst"`},
		{"consume t --from yesterday", "is not beginning, end, an offset"},
		{"consume t -n -1", "--count must not be negative"},
		{"produce t -f xml", "-f xml is not known"},
		{"produce t -K : -k a", "exclude each other"},
		{"produce t -f jsonl -k a", "belong to -f lines"},
		{"produce t --tombstone", "give --key"},
		{"produce t -z brotli", "unknown compression"},
		{"log dump", "at least one file"},
		{"log dump x --as y", "--as y is not known"},
		{"serve --set x", "--set takes key=value"},
		{"serve --log-level loud", "use debug, info, warn or error"},
		{"explore --http off", "leaves nothing to explore"},
	} {
		refused(t, exitUsage, c.words, "", strings.Fields(c.args)...)
	}
}

// TestHelp: every flag of every command names its environment variable and its default.
func TestHelp(t *testing.T) {
	root := newRoot(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" && !c.Hidden {
			t.Errorf("%s has no description", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "version" {
				return
			}
			if !strings.Contains(f.Usage, "[env "+variable(f.Name)+"]") {
				t.Errorf("%s --%s does not name its variable: %q", c.CommandPath(), f.Name, f.Usage)
			}
			zero := regexp.MustCompile(`^(false|0|\[\])?$`).MatchString(f.DefValue)
			if zero != strings.Contains(f.Usage, "(default ") && zero {
				t.Errorf("%s --%s does not say its default: %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, args := range []string{"--help", "serve --help", "topic --help", "consume --help", "--version"} {
		if out := klamm(t, "", strings.Fields(args)...); !strings.Contains(out, "klamm") {
			t.Errorf("%s printed %q", args, out)
		}
	}
	for asked, flag := range map[string]string{"help": "--help", "help serve": "serve --help", "help topic list": "topic list --help"} {
		if want, got := klamm(t, "", strings.Fields(flag)...), klamm(t, "", strings.Fields(asked)...); got != want {
			t.Errorf("klamm %s printed %q, klamm %s %q", asked, got, flag, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c := command{env: map[string]string{"KLAMM_BOOTSTRAP": "localhost:1", "KLAMM_TIMEOUT": "3s"}}
	if code := c.run(t, "topic", "list"); code != exitFailed || !strings.Contains(c.err.String(), "cannot reach localhost:1: connection refused; is a broker running there?") {
		t.Errorf("code %d: %s", code, &c.err)
	}
	c = command{env: map[string]string{"KLAMM_BOOTSTRAP": "localhost:1"}}
	if code := c.run(t, "topic", "list", "-b", "localhost:2"); code != exitFailed || !strings.Contains(c.err.String(), "localhost:2") {
		t.Errorf("the flag must win: code %d: %s", code, &c.err)
	}
	c = command{env: map[string]string{"KLAMM_TIMEOUT": "soon"}}
	if code := c.run(t, "topic", "list"); code != exitUsage || !strings.Contains(c.err.String(), "environment variable KLAMM_TIMEOUT is wrong") {
		t.Errorf("code %d: %s", code, &c.err)
	}
	c = command{env: map[string]string{"KLAMM_SET": "num.partitions=1\nbogus=2\n"}}
	if code := c.run(t, "serve"); code != exitFailed || !strings.Contains(c.err.String(), `unknown broker property "bogus"`) {
		t.Errorf("repeated values: code %d: %s", code, &c.err)
	}
}

func TestUnreachable(t *testing.T) {
	for _, args := range []string{"topic list", "topic describe t", "topic create t", "topic alter t -p 3", "topic delete t", "group list", "group describe g", "cluster describe", "produce t", "consume t"} {
		refused(t, exitFailed, "cannot reach localhost:1: connection refused; is a broker running there?", "", append(strings.Fields(args), "-b", "localhost:1")...)
	}
	refused(t, exitFailed, "the name nosuch.invalid is not known", "", "topic", "list", "-b", "nosuch.invalid:9092")
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := command{ctx: ctx}
	if code := c.run(t, "topic", "list", "-b", "localhost:1"); code != exitInterrupted || c.err.String() != "" {
		t.Errorf("code %d: %q", code, &c.err)
	}
}

func ExampleRun() {
	var out, errs bytes.Buffer
	code := Run(context.Background(), []string{"topic", "list", "extra"}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, LookupEnv: func(string) (string, bool) { return "", false }})
	fmt.Println(code)
	// Output: 2
}
