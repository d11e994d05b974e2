package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/explorer"
	"klamm/internal/record"
)

func TestTroubleIsToldOnce(t *testing.T) {
	at := func(p int32) *int32 { return &p }
	down := explorer.Problem{Title: "Nothing listens at h:1: connection refused.", Detail: "dial tcp: refused", Help: "Start the broker."}
	var s scanTrouble
	var out output
	s.add(explorer.ScanProblem{Partition: at(9), Problem: down, Passing: true})
	for _, p := range []*int32{nil, at(2), at(0), at(2)} {
		s.add(explorer.ScanProblem{Partition: p, Problem: down})
	}
	s.add(explorer.ScanProblem{Partition: at(1), Problem: explorer.Problem{Title: "It broke off.", Resource: "broker 1 (h:1)", Detail: "EOF"}})
	s.tell(&out, "t")
	s.add(explorer.ScanProblem{Partition: at(1), Problem: explorer.Problem{Title: "It broke off.", Resource: "broker 1 (h:1)", Detail: "EOF"}})
	s.add(explorer.ScanProblem{Problem: explorer.Problem{Title: "No such call.", Resource: "topic t"}})
	s.tell(&out, "t")
	want := "klamm: topic t, partitions 0,2: Nothing listens at h:1: connection refused; start the broker\n" +
		"klamm: topic t, partition 1: It broke off (broker 1 (h:1)): EOF\n" +
		"klamm: topic t: No such call\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if s.first == nil || !strings.Contains(s.first.Error(), "connection refused") {
		t.Errorf("the first: %v", s.first)
	}
}

// TestConsumeFailsWhereRecordsAreUnreadable: what could be read is printed, but the command failed.
func TestConsumeFailsWhereRecordsAreUnreadable(t *testing.T) {
	b, node := startNode(t)
	klamm(t, "", "topic", "create", "t", "-p", "1", "-b", b)
	if _, err := node.replicas.Append(context.Background(), "t", 0, unreadable(t)); err != nil {
		t.Fatal(err)
	}
	klamm(t, "good\n", "produce", "t", "-b", b)
	var c command
	code := c.run(t, "consume", "t", "--exit", "-b", b)
	said := c.err.String()
	if code != exitFailed || c.out.String() != "good\n" || strings.Count(said, "\n") != 1 || !strings.Contains(said, "topic t, partition 0: The records of offsets 0 to 0 cannot be read: ") {
		t.Errorf("exit code %d, printed %q, said %q", code, c.out.String(), said)
	}
}

// unreadable is a batch whose header is in order and whose records are not.
func unreadable(t *testing.T) record.Batch {
	t.Helper()
	o := record.Plain()
	o.Codec = record.Zstd
	b := record.NewBuilder(o)
	b.Append(1700000000000, nil, []byte(strings.Repeat("bad", 1000)), nil)
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	batch[record.HeaderSize] ^= 0xff
	batch.SetMaxTimestamp(1700000000000) // and its CRC
	return batch
}

func TestBrokerGoesDown(t *testing.T) {
	for _, name := range []string{"consume", "produce"} {
		t.Run(name, func(t *testing.T) {
			b, node := startNode(t)
			klamm(t, "", "topic", "create", "t", "-p", "2", "-b", b)
			in, feed := io.Pipe()
			defer feed.Close()
			c := command{in: in}
			code := make(chan int, 1)
			go func() { code <- c.run(t, name, "t", "--timeout", "1s", "-b", b, "-o", "jsonl") }()
			if name == "consume" {
				klamm(t, "x\n", "produce", "t", "-b", b)
			} else {
				writeLine(t, feed)
			}
			waitFor(t, "the first record", func() bool { return strings.Contains(c.out.String(), `"offset":0`) })
			node.broker.Kill()
			if name == "produce" {
				writeLine(t, feed)
			}
			if got := <-code; got != exitFailed {
				t.Errorf("exit code %d", got)
			}
			_, port, _ := strings.Cut(b, ":")
			if said := c.err.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, port) {
				t.Errorf("want one sentence that names %s: %q", b, said)
			} else {
				t.Log(said)
			}
		})
	}
}

func writeLine(t *testing.T, w io.Writer) {
	t.Helper()
	if _, err := io.WriteString(w, "x\n"); err != nil {
		t.Fatal(err)
	}
}
