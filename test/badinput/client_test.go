package badinput

import (
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/test/harness"
)

func command(t *testing.T, stdin string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(harness.Binary(t), args...)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

func TestClientCommands(t *testing.T) {
	k := harness.Start(t, harness.Options{})
	harness.CreateTopic(t, harness.Admin(t, k.Addr), "small", 1, map[string]string{"max.message.bytes": "1000"})
	harness.CreateTopic(t, harness.Admin(t, k.Addr), "three", 3, nil)
	for name, c := range map[string]struct {
		stdin    string
		args     string
		code     int
		patterns []string
	}{
		"illegal topic name":            {"", "topic create a/b", 1, []string{"a/b", "illegal|not allowed|invalid|may"}},
		"topic name too long":           {"", "topic create " + strings.Repeat("x", 250), 1, []string{"249|250|long"}},
		"topic exists":                  {"", "topic create small", 1, []string{"small", "exist"}},
		"unknown topic: describe":       {"", "topic describe nowhere", 1, []string{"nowhere", "not exist|no topic|unknown"}},
		"unknown topic: consume":        {"", "consume nowhere --exit", 1, []string{"nowhere", "not exist|no topic|unknown"}},
		"unknown topic: delete":         {"", "topic delete nowhere", 1, []string{"nowhere", "not exist|no topic|unknown"}},
		"unknown group":                 {"", "group describe nobody", 1, []string{"nobody", "not exist|no such group"}},
		"message too large":             {strings.Repeat("x", 5000) + "\n", "produce small", 1, []string{"small", "large|max.message.bytes"}},
		"unknown topic property":        {"", "topic create t --topic-config retention.mss=1", 1, []string{`retention\.mss`}},
		"invalid topic property":        {"", "topic create t --topic-config retention.ms=soon", 1, []string{`retention\.ms`, "soon"}},
		"too many replicas":             {"", "topic create t -r 3", 1, []string{"3", "broker|replica"}},
		"fewer partitions":              {"", "topic alter three -p 2", 1, []string{"partition"}},
		"not JSON":                      {"{\"value\":\n", "produce small -f jsonl", 1, []string{"line 1"}},
		"partition that does not exist": {"x\n", "produce small -p 9", 1, []string{"9", "partition"}},
		"unknown flag":                  {"", "topic list --nope", 2, []string{"--nope", "--help"}},
		"not an offset":                 {"", "consume small --from yesterday", 2, []string{"yesterday"}},
		"file that is no part of a log": {"", "log dump /etc/hostname", 1, []string{"/etc/hostname"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(c.args)
			if args[0] != "log" {
				args = append(args, "-b", k.Addr)
			}
			sentence(t, command(t, c.stdin, args...), c.code, c.patterns...)
		})
	}
	if out, errs, err := harness.Run(t, "still here\n", harness.Binary(t), "produce", "small", "-b", k.Addr); err != nil {
		t.Errorf("after all that the broker refuses a good record: %v\n%s%s", err, out, errs)
	}
}

// TestErrorCodes checks what a client sees on the wire for the same mistakes.
func TestErrorCodes(t *testing.T) {
	k := harness.Start(t, harness.Options{Set: []string{"auto.create.topics.enable=false"}})
	admin, ctx := harness.Admin(t, k.Addr), harness.Context(t)
	harness.CreateTopic(t, admin, "small", 1, map[string]string{"max.message.bytes": "1000"})
	client := harness.Client(t, k.Addr, kgo.UnknownTopicRetries(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	produce := func(topic, value string) error {
		return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	}
	create := func(topic string) error {
		_, err := admin.CreateTopic(ctx, 1, 1, nil, topic)
		return err
	}
	for name, c := range map[string]struct{ got, want error }{
		"illegal topic name": {create("a b"), kerr.InvalidTopicException},
		"topic exists":       {create("small"), kerr.TopicAlreadyExists},
		"message too large":  {produce("small", strings.Repeat("x", 5000)), kerr.MessageTooLarge},
		"unknown topic":      {produce("nowhere", "x"), kerr.UnknownTopicOrPartition},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(c.got, c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
	if err := produce("small", "x"); err != nil {
		t.Errorf("a good record: %v", err)
	}
}

func TestWrongAddress(t *testing.T) {
	for name, args := range map[string]string{
		"nobody listens": "topic list -b localhost:1",
		"no such host":   "topic list -b no-such-host.invalid:9092",
		"no port":        "topic list -b localhost:x",
	} {
		t.Run(name, func(t *testing.T) {
			address := args[strings.LastIndexByte(args, ' ')+1:]
			host, _, _ := strings.Cut(address, ":")
			cmd := command(t, "", append(strings.Fields(args), "--timeout", "5s")...)
			var errs strings.Builder
			cmd.Stderr = &errs
			if err := cmd.Run(); err == nil {
				t.Error("exit 0")
			}
			plain(t, errs.String(), regexp.QuoteMeta(host))
		})
	}
}

// TestClusterGoesDown kills the broker under running commands.
func TestClusterGoesDown(t *testing.T) {
	t.Run("while producing", func(t *testing.T) {
		k := harness.Start(t, harness.Options{})
		harness.CreateTopic(t, harness.Admin(t, k.Addr), "downs", 1, nil)
		cmd := exec.Command(harness.Binary(t), "produce", "downs", "-b", k.Addr, "--timeout", "3s")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		goesDown(t, k, cmd, func() {
			write(t, stdin, "before\n")
			harness.WaitFor(t, "the first record", func() bool {
				ends, err := harness.Admin(t, k.Addr).ListEndOffsets(harness.Context(t), "downs")
				end, _ := ends.Lookup("downs", 0)
				return err == nil && end.Offset == 1
			})
		}, func() { write(t, stdin, "after\n"); _ = stdin.Close() })
	})
	t.Run("while consuming", func(t *testing.T) {
		k := harness.Start(t, harness.Options{})
		harness.CreateTopic(t, harness.Admin(t, k.Addr), "downs", 1, nil)
		cmd := exec.Command(harness.Binary(t), "consume", "downs", "-b", k.Addr, "--timeout", "3s")
		seen := &harness.Output{}
		cmd.Stdout = seen
		client := harness.Client(t, k.Addr)
		goesDown(t, k, cmd, func() {
			if err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: "downs", Value: []byte("before")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			harness.WaitFor(t, "the first record", func() bool { return strings.Contains(seen.String(), "before") })
		}, func() {})
	})
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// goesDown runs a command, kills the broker when it is at work, and wants one sentence and exit 1.
func goesDown(t *testing.T, k *harness.Klamm, cmd *exec.Cmd, atWork, afterwards func()) {
	t.Helper()
	errs := &harness.Output{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	atWork()
	k.Kill()
	afterwards()
	select {
	case err := <-ended:
		if code := harness.ExitCode(t, err); code != 1 {
			t.Errorf("exit %d, want 1", code)
		}
		plain(t, errs.String(), regexp.QuoteMeta(k.Port))
	case <-time.After(40 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Errorf("with --timeout 3s the command still waits 40 s after the broker died; it said: %s", errs)
	}
}
