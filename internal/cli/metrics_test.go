package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/replica"
)

// scrape returns the samples of a handler by name and labels.
func scrape(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(context.Background()))
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Fatalf("status %d, %s\n%s", w.Code, kind, w.Body)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+(?:\{.*\})?) (\S+)$`).FindAllStringSubmatch(w.Body.String(), -1) {
		out[m[1]] = m[2]
	}
	return out
}

func TestMetricsOfANode(t *testing.T) {
	b, node := startNode(t)
	klamm(t, "", "topic", "create", "t", "-p", "2", "-b", b)
	klamm(t, "a\nb\nc\n", "produce", "t", "-p", "1", "-b", b)
	h := newMetrics(node, slog.New(slog.DiscardHandler))
	got := scrape(t, h)
	p, err := node.replicas.Partition("t", 1)
	if err != nil {
		t.Fatal(err)
	}
	size := node.replicas.Statuses()[p.ID].Size
	if size < 3*7 {
		t.Fatalf("partition 1 has %d bytes", size)
	}
	for name, want := range map[string]string{
		"server_replicamanager_partitioncount":             "2",
		"server_replicamanager_leadercount":                "2",
		"server_replicamanager_underreplicatedpartitions":  "0",
		"server_replicamanager_offlinereplicacount":        "0",
		"controller_kafkacontroller_activecontrollercount": "1",
		"controller_kafkacontroller_activebrokercount":     "1",
		"controller_kafkacontroller_globaltopiccount":      "1",
		`log_log_logendoffset{partition="0",topic="t"}`:    "0",
		`log_log_logendoffset{partition="1",topic="t"}`:    "3",
		`log_log_logstartoffset{partition="1",topic="t"}`:  "0",
		`log_log_size{partition="0",topic="t"}`:            "0",
		`log_log_size{partition="1",topic="t"}`:            fmt.Sprint(size),
	} {
		if got["kafka_"+name] != want {
			t.Errorf("%s is %q, want %s", name, got["kafka_"+name], want)
		}
	}
	klamm(t, "d\n", "produce", "t", "-p", "1", "-b", b)
	klamm(t, "", "topic", "create", "u", "-p", "3", "-b", b)
	got = scrape(t, h)
	if got[`kafka_log_log_logendoffset{partition="1",topic="t"}`] != "4" || got["kafka_server_replicamanager_partitioncount"] != "5" {
		t.Errorf("the second scrape tells the past: %v", got)
	}
	klamm(t, "", "topic", "delete", "t", "-b", b)
	if got = scrape(t, h); got[`kafka_log_log_logendoffset{partition="1",topic="t"}`] != "" || got["kafka_server_replicamanager_partitioncount"] != "3" {
		t.Errorf("the deleted topic is still told: %v", got)
	}
}

func TestMetricsWithoutANode(t *testing.T) {
	got := scrape(t, newMetrics(nil, slog.New(slog.DiscardHandler)))
	if got["go_goroutines"] == "" || got["go_memstats_heap_alloc_bytes"] == "" {
		t.Errorf("the process is missing: %v", got)
	}
	for name := range got {
		if strings.HasPrefix(name, "kafka_") {
			t.Errorf("an explorer alone has no %s", name)
		}
	}
}

// TestLogMetricsAreBounded: whatever a cluster holds, a scrape stays small, and sums stay true.
func TestLogMetricsAreBounded(t *testing.T) {
	logs := func(topics, partitions int) (out []replica.Status) {
		for i := range topics {
			for p := range partitions {
				out = append(out, replica.Status{Topic: fmt.Sprint(i), Partition: int32(p), Size: 10, LogStartOffset: 1, LogEndOffset: 3})
			}
		}
		return append(out, replica.Status{Topic: "~", Size: 99, Offline: true})
	}
	if got := bounded(logs(2, maxSeries/2)); len(got) != maxSeries || got[1].partition != "1" {
		t.Errorf("few: %d", len(got))
	}
	got := bounded(logs(3, maxSeries/2))
	if diff := cmp.Diff(replica.Status{Topic: "2", Size: 10_000, LogStartOffset: 1000, LogEndOffset: 3000}, got[2].Status); len(got) != 3 || got[2].partition != "" || diff != "" {
		t.Errorf("many partitions: %d\n%s", len(got), diff)
	}
	got = bounded(logs(maxSeries+1, 1))
	if len(got) != 1 || got[0].Topic != "" || got[0].Size != 10*(maxSeries+1) {
		t.Errorf("many topics: %+v", got)
	}
}
