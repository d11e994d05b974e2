package crash

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"klamm/test/harness"
)

// process is what can be killed or asked to stop: *harness.Klamm or *harness.Kafka.
type process interface {
	Kill()
	Stop(t testing.TB)
}

// victim is a broker that is killed and started again on the same port and directory.
type victim struct {
	process
	addr, dataDir string
	start         func(t *testing.T) process
}

// restart starts the broker and returns how long that took.
func (v *victim) restart(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	v.process = v.start(t)
	return time.Since(began)
}

func newVictim(t *testing.T, settings ...string) *victim {
	t.Helper()
	dir, port := harness.KeptDir(t, "crash"), harness.FreePort(t)
	v := &victim{addr: "127.0.0.1:" + strconv.Itoa(port), dataDir: dir}
	if os.Getenv("KLAMM_TARGET") == "kafka" {
		v.dataDir = filepath.Join(dir, "data")
		v.start = func(t *testing.T) process { return harness.StartKafkaAt(t, dir, port, settings...) }
		return v
	}
	v.start = func(t *testing.T) process {
		return harness.Start(t, harness.Options{DataDir: dir, Listen: "localhost:" + strconv.Itoa(port), Set: settings})
	}
	return v
}
