// Package kafkajs drives the broker with KafkaJS, a client written in JavaScript.
package kafkajs

import (
	"os"
	"testing"

	"klamm/test/harness"
)

func TestKafkaJS(t *testing.T) {
	if _, err := os.Stat("node_modules/kafkajs"); err != nil {
		t.Fatal("KafkaJS is not installed: run `make test-deps`")
	}
	target := harness.StartTarget(t, harness.KeptDir(t, "kafkajs"))
	harness.OverEachHost(t, target, func(t *testing.T, addr, prefix string) {
		harness.Script(t, 8, "node", "client.mjs", addr, prefix)
	})
	target.Stop(t)
}
