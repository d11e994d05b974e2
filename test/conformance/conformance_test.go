package conformance_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"klamm/internal/cli"
	"klamm/internal/config"
	"klamm/internal/vfs"
	"klamm/test/conformance"
)

// accepted are the differences we want, with the reason.
var accepted = []struct{ step, path, reason string }{
	{`Metadata v1[23]: by no id and no name`, ``, "Kafka fails with UNKNOWN_SERVER_ERROR (a NullPointerException); we say UNKNOWN_TOPIC_ID"},
	{`Produce v\d+: codec [57]`, ``, "Kafka fails with UNKNOWN_SERVER_ERROR; we say UNSUPPORTED_COMPRESSION_TYPE"},
	{`Produce v\d+: compressed bytes broken`, ``, "Kafka fails with UNKNOWN_SERVER_ERROR; we say INVALID_RECORD"},
	{`DescribeConfigs v\d+: client metrics`, ``, "this broker takes no client metrics, so there are no subscriptions with defaults"},
	{`IncrementalAlterConfigs v\d+: operation 9`, ``, "Kafka fails with UNKNOWN_SERVER_ERROR; we say INVALID_REQUEST"},
	{`IncrementalAlterConfigs v\d+: broker, unknown property`, ``, "Kafka stores what no part of it reads; we refuse it by name"},
	{`OffsetDelete v0: no partitions`, `^\.Topics$`, "a topic without partitions is answered without partitions, not left out"},
	{`ListGroups v\d+: `, `^\.Groups$`, "a refused JoinGroup leaves an empty group behind in Kafka, not here"},
}

func TestAgainstKafka(t *testing.T) {
	c, err := config.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	node, err := cli.StartNode(cli.NodeOptions{
		FS: vfs.NewMem(), DataDir: "/data", Listen: "localhost:0", Config: c, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(true); err != nil {
			t.Error(err)
		}
	})
	ids := map[string]string{}
	for _, s := range conformance.Scripts() {
		t.Run(s.Name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", s.Name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := conformance.Execute(node.Addr(), s, ids, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range conformance.Compare(string(want), got) {
				if !isAccepted(d) {
					t.Error(d)
				}
			}
		})
	}
}

func isAccepted(d conformance.Difference) bool {
	for _, a := range accepted {
		if regexp.MustCompile(a.step).MatchString(d.Step) && regexp.MustCompile(a.path).MatchString(d.Path) {
			return true
		}
	}
	return false
}

// TestCompareNotices proves that the comparison can fail.
func TestCompareNotices(t *testing.T) {
	kafka := "## Fetch v4: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":null}\n## Fetch v5: all\nas v4\n"
	for name, c := range map[string]struct {
		ours string
		want int
	}{
		"equal":         {kafka, 0},
		"written out":   {"## Fetch v4: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":null}\n## Fetch v5: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":null}\n", 0},
		"more words":    {"## Fetch v4: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":\"<words>\"}\n## Fetch v5: all\nas v4\n", 0},
		"other number":  {"## Fetch v4: all\n{\"A\":2,\"B\":[1,2],\"ErrorMessage\":null}\n## Fetch v5: all\nas v4\n", 2},
		"shorter list":  {"## Fetch v4: all\n{\"A\":1,\"B\":[1],\"ErrorMessage\":null}\n## Fetch v5: all\nas v4\n", 2},
		"closed":        {"## Fetch v4: all\nconnection closed\n## Fetch v5: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":null}\n", 1},
		"step missing":  {"## Fetch v4: all\n{\"A\":1,\"B\":[1,2],\"ErrorMessage\":null}\n", 1},
		"step too many": {kafka + "## Fetch v6: all\nas v4\n", 1},
		"null for list": {"## Fetch v4: all\n{\"A\":1,\"B\":null,\"ErrorMessage\":null}\n## Fetch v5: all\nas v4\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := conformance.Compare(kafka, c.ours); len(got) != c.want {
				t.Errorf("%d differences, want %d: %v", len(got), c.want, got)
			}
		})
	}
}
