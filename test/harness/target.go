package harness

import (
	"net"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Target is the broker under test, whichever it is.
type Target struct {
	// Name is klamm or kafka, DataDir where it keeps its files.
	Name, Port, DataDir string
	stop                func(t testing.TB)
}

// StartTarget starts the broker that KLAMM_TARGET names (klamm when unset) in an empty directory,
// with the same settings for either.
func StartTarget(t testing.TB, dir string, settings ...string) *Target {
	t.Helper()
	switch name := os.Getenv("KLAMM_TARGET"); name {
	case "", "klamm":
		k := Start(t, Options{DataDir: dir, Set: settings})
		return &Target{"klamm", k.Port, k.DataDir, k.Stop}
	case "kafka":
		k := StartKafka(t, dir, settings...)
		warmGroups(t, net.JoinHostPort("127.0.0.1", k.Port))
		return &Target{"kafka", k.Port, k.DataDir, k.Stop}
	default:
		t.Fatalf("KLAMM_TARGET=%s: want klamm or kafka", name)
		return nil
	}
}

// warmGroups waits until the group coordinator has loaded: Kafka makes __consumer_offsets when the
// first group appears, and KafkaJS gives up on the error that stands for it.
func warmGroups(t testing.TB, addr string) {
	t.Helper()
	admin := Admin(t, addr)
	offsets := kadm.Offsets{}
	offsets.AddOffset("none", 0, 0, -1)
	WaitFor(t, "the group coordinator", func() bool {
		_, err := admin.CommitOffsets(Context(t), "warm-up", offsets)
		return err == nil
	})
}

// At is the bootstrap address by way of a host name or address.
func (b *Target) At(host string) string { return net.JoinHostPort(host, b.Port) }

// Stop shuts the broker down cleanly; its files stay.
func (b *Target) Stop(t testing.TB) { b.stop(t) }

// OverEachHost runs the same cases once per name by which a client on this machine may call the
// broker: localhost, 127.0.0.1 and ::1, at the same time. Topics and groups of one pass carry its
// prefix. It returns when all have ended.
func OverEachHost(t *testing.T, target *Target, cases func(t *testing.T, addr, prefix string)) {
	t.Helper()
	t.Run("over", func(t *testing.T) {
		for prefix, host := range map[string]string{"name": "localhost", "four": "127.0.0.1", "six": "::1"} {
			t.Run(host, func(t *testing.T) {
				t.Parallel()
				cases(t, target.At(host), prefix)
			})
		}
	})
}
