package metadata

import (
	"os"
	"testing"

	"klamm/internal/vfs"
)

// TestLeaveFilesForKafka leaves a metadata log in the directory METADATA_DUMP_DIR for inspection by
// Kafka's own tools. The black-box suite runs kafka-dump-log on it.
func TestLeaveFilesForKafka(t *testing.T) {
	dir := os.Getenv("METADATA_DUMP_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	n, err := Open(testOptions(t, vfs.OS(), dir, map[string]string{"metadata.log.max.record.bytes.between.snapshots": "1500"}))
	if err != nil {
		t.Fatal(err)
	}
	epoch := register(t, n, 1, -1)
	createTopic(t, n, "orders", 3)
	createTopic(t, n, "payments", 20)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err = Open(testOptions(t, vfs.OS(), dir, nil)); err != nil {
		t.Fatal(err)
	}
	register(t, n, 2, epoch)
	createTopic(t, n, "last", 1)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}
