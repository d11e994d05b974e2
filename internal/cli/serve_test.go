package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// serving runs a serve or explore command beside the test.
type serving struct {
	command
	code chan int
	stop context.CancelFunc
}

func startServing(t *testing.T, env map[string]string, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serving{command: command{ctx: ctx, env: env}, code: make(chan int, 1), stop: cancel}
	go func() { s.code <- s.run(t, args...) }()
	waitFor(t, "the ready line", func() bool {
		select {
		case code := <-s.code:
			s.code <- code
			t.Fatalf("klamm %s ended with %d: %s", strings.Join(args, " "), code, &s.err)
		default:
		}
		return strings.HasSuffix(s.out.String(), "\n")
	})
	t.Cleanup(func() { s.end(t) })
	return s
}

func (s *serving) end(t *testing.T) {
	t.Helper()
	s.stop()
	if code, ok := <-s.code; ok {
		close(s.code)
		if code != exitDone {
			t.Errorf("stopped with exit code %d: %s", code, &s.err)
		}
	}
}

func (s *serving) ready(t *testing.T) (kafka, http, data string) {
	t.Helper()
	m := regexp.MustCompile(`^ready kafka=(\S+) http=(\S+) data=(.*)\n$`).FindStringSubmatch(s.out.String())
	if m == nil {
		t.Fatalf("not the ready line: %q", &s.out)
	}
	return m[1], m[2], m[3]
}

func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "data")
	s := startServing(t, nil, "--data-dir", dir, "--listen", "localhost:0", "--http", "localhost:0")
	kafka, page, data := s.ready(t)
	if data != dir || !strings.HasPrefix(kafka, "localhost:") {
		t.Errorf("ready line %q", &s.out)
	}
	for path, words := range map[string]string{"/readyz": "ready\n", "/metrics": "\nkafka_server_replicamanager_partitioncount 0\n"} {
		resp, err := http.Get(page + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), words) {
			t.Errorf("%s: %s %q %v", path, resp.Status, body, err)
		}
	}
	klamm(t, "", "topic", "create", "kept", "-b", kafka)
	klamm(t, "a record\n", "produce", "kept", "-b", kafka)

	refused(t, exitFailed, "data directory "+dir+" is in use by process", "", "serve", "--data-dir", dir, "--listen", "localhost:0", "--http", "off")
	refused(t, exitFailed, "is in use by another program: stop it, or choose another port with --listen", "", "serve", "--data-dir", filepath.Join(dir, "other"), "--listen", kafka, "--http", "off")
	refused(t, exitFailed, "choose another port with --http", "", "serve", "--data-dir", filepath.Join(dir, "other"), "--listen", "localhost:0", "--http", strings.TrimPrefix(page, "http://"))
	if _, err := os.Stat(filepath.Join(dir, "other")); !os.IsNotExist(err) {
		t.Errorf("a port in use changed the disk: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)

	again := startServing(t, map[string]string{"KLAMM_DATA_DIR": dir, "KLAMM_LISTEN": "127.0.0.1:0", "KLAMM_HTTP": "off"}, "serve")
	kafka, page, _ = again.ready(t)
	if page != "off" || !strings.HasPrefix(kafka, "127.0.0.1:") {
		t.Errorf("ready line %q", &again.out)
	}
	if got := klamm(t, "", "consume", "kept", "--exit", "-b", kafka); got != "a record\n" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestServeConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "server.properties")
	data := filepath.Join(dir, "logs")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("log.dirs=%s\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093\nnum.partitions=4\nnum.io.threads=16\nnode.id=3\n", data))
	s := startServing(t, nil, "serve", "--config", file, "--set", "num.partitions=6", "--http", "off")
	kafka, _, got := s.ready(t)
	if got != data || !strings.HasPrefix(kafka, "127.0.0.1:") || !strings.Contains(s.err.String(), "num.io.threads has no effect") {
		t.Errorf("ready %q, log:\n%s", &s.out, &s.err)
	}
	klamm(t, "", "topic", "create", "t", "-b", kafka)
	if out := klamm(t, "", "topic", "list", "-o", "jsonl", "-b", kafka); !strings.Contains(out, `"partitions":6`) {
		t.Errorf("--set must win over the file: %s", out)
	}
	for _, c := range []struct{ text, words string }{
		{"num.partition=1", `unknown broker property "num.partition"; did you mean num.partitions?`},
		{"num.partitions=0", "num.partitions must be a whole number of at least 1"},
		{"a=\\u12", "line 1: \\u must be followed by four hexadecimal digits"},
		{"listeners=SSL://:9092", "cannot serve yet"},
	} {
		write(c.text)
		refused(t, exitFailed, c.words, "", "serve", "--config", file, "--data-dir", filepath.Join(dir, "none"), "--listen", "localhost:0", "--http", "off")
	}
	refused(t, exitFailed, "the configuration file cannot be read", "", "serve", "--config", file+"x")
	if _, err := os.Stat(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a wrong property changed the disk: %v", err)
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--listen", "localhost:0", "--http", "off"}
	refused(t, exitFailed, "cannot be written: give this user access to it", "", append([]string{"serve", "--data-dir", filepath.Join(blocked, "data")}, free...)...)
	newer := filepath.Join(dir, "newer")
	if err := os.MkdirAll(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "meta.properties"), []byte("version=9\ncluster.id=JWB9_qoXTt6UEI6momFP7A\nnode.id=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, exitFailed, "a newer version wrote it", "", append([]string{"serve", "--data-dir", newer}, free...)...)
	refused(t, exitFailed, "it has no login", "", "serve", "--data-dir", newer, "--listen", "localhost:0", "--http", "0.0.0.0:0")
	refused(t, exitUsage, `--http "8080" is not HOST:PORT`, "", "serve", "--data-dir", newer, "--listen", "localhost:0", "--http", "8080")
	refused(t, exitUsage, `--listen "9092" is not HOST:PORT`, "", "serve", "--data-dir", newer, "--listen", "9092", "--http", "off")
	refused(t, exitUsage, "not a number from 0 to 65535", "", "serve", "--data-dir", newer, "--listen", "localhost:99999", "--http", "off")
}

func TestExplore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.properties")
	if err := os.WriteFile(file, []byte("bootstrap.servers=localhost:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServing(t, nil, "explore", "--http", "localhost:0", "--state-dir", filepath.Join(dir, "state"), "--connection", file)
	page, ok := strings.CutPrefix(strings.TrimSpace(s.out.String()), "ready http=")
	if !ok {
		t.Fatalf("ready line %q", &s.out)
	}
	resp, err := http.Get(page + "/api/v1/clusters")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err != nil || !strings.Contains(string(body), `"shop"`) {
		t.Errorf("%s %s %v", resp.Status, body, err)
	}
	if err := os.WriteFile(file, []byte("client.id=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, exitFailed, "names no cluster: add bootstrap.servers=HOST:PORT", "", "explore", "--http", "localhost:0", "--state-dir", dir, "--connection", file)
}
