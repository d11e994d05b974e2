package crash

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"klamm/test/history"
)

// judge reports every broken promise. Where KLAMM_VERDICT names a file, the kinds go there too: the
// proof of the checker wants to know not only that a mutant failed, but why.
func judge(t *testing.T, record *history.Recorder, l *load) {
	t.Helper()
	violations := record.Check()
	if len(violations) == 0 {
		return
	}
	counts := map[history.Kind]int{}
	for _, v := range violations {
		if counts[v.Kind]++; counts[v.Kind] <= 3 {
			t.Error(v)
		}
	}
	t.Errorf("broken promises: %v", counts)
	if l != nil {
		for _, e := range l.errors.all() {
			t.Log("client: " + e)
		}
	}
	if file := os.Getenv("KLAMM_VERDICT"); file != "" {
		text, err := json.Marshal(history.Kinds(violations))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// number reads a count from the environment.
func number(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return n
}

// seed is KLAMM_SEED, or the time; it is always printed.
func seed(t *testing.T) int64 {
	t.Helper()
	s := number(t, "KLAMM_SEED", time.Now().UnixNano()%1_000_000)
	t.Logf("seed %d: run again with KLAMM_SEED=%d", s, s)
	return s
}
