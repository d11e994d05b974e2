package storage

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

const kafkaClusterID = "FtmRHpMyRyWuSOw4eVth_A" // of testdata/node

// copyNode puts the files of the real node into a file system in memory.
func copyNode(t tb, w *world) {
	t.Helper()
	root := filepath.Join("testdata", "node")
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(w.dir, rel)
		if info.IsDir() {
			return mkdirSynced(w.fs, to)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := writeSynced(w.fs, to, data); err != nil {
			return err
		}
		return w.fs.SyncDir(filepath.Dir(to))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dumpLine is what kafka-dump-log said about one batch.
type dumpLine struct {
	segment  string
	position int64
	fields   map[string]string
}

func readDump(t tb, name string) []dumpLine {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "node", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []dumpLine
	segment := ""
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if name, ok := strings.CutPrefix(scan.Text(), "Dumping "); ok {
			segment = filepath.Base(name)
		}
		if !strings.HasPrefix(scan.Text(), "baseOffset:") {
			continue
		}
		words := strings.Fields(scan.Text())
		line := dumpLine{segment: segment, fields: map[string]string{}}
		for i := 0; i+1 < len(words); i += 2 {
			line.fields[strings.TrimSuffix(words[i], ":")] = words[i+1]
		}
		line.position, err = strconv.ParseInt(line.fields["position"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func describeBatch(b record.Batch, position int64) string {
	return fmt.Sprint(b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), b.LastSequence(), b.ProducerID(), b.ProducerEpoch(),
		b.PartitionLeaderEpoch(), b.IsTransactional(), b.IsControl(), position, b.MaxTimestamp(), batchSize(b), b.Codec(), b.CRC())
}

func (d dumpLine) describe() string {
	f := d.fields
	return fmt.Sprint(f["baseOffset"], " ", f["lastOffset"], " ", f["count"], " ", f["baseSequence"], " ", f["lastSequence"], " ", f["producerId"], " ",
		f["producerEpoch"], " ", f["partitionLeaderEpoch"], " ", f["isTransactional"], " ", f["isControl"], " ", f["position"], " ",
		f["CreateTime"], " ", f["size"], " ", f["compresscodec"], " ", f["crc"])
}

// openNode opens a partition of the real node.
func openNode(t tb, w *world, topic string) *Log {
	t.Helper()
	m := w.openManager()
	l, err := m.GetOrCreate(topic, [16]byte{}, 0, w.cfg)
	if err != nil {
		t.Fatalf("open %s: %v", topic, err)
	}
	w.l = l
	return l
}

func TestKafkaFiles(t *testing.T) {
	for _, mode := range []string{"clean", "unclean", "unclean, preallocated indexes", "without indexes"} {
		for _, topic := range []string{"golden", "txn"} {
			t.Run(mode+"/"+topic, func(t *testing.T) {
				w := newWorld(t, vfs.NewMem())
				copyNode(t, w)
				spoil(t, w, mode, topic)
				l := openNode(t, w, topic)
				if clean, epoch := w.m.CleanShutdown(); clean != (mode == "clean" || mode == "without indexes") || clean && epoch != 13 {
					t.Fatalf("clean %v, epoch %d", clean, epoch)
				}
				checkAgainstDump(t, l, readDump(t, topic+"-0.dump.txt"))
				if mode != "without indexes" {
					checkIndexesAgainstKafka(t, l, topic)
				}
				checkProducersAgainstKafka(t, l, topic)
			})
		}
	}
}

func spoil(t *testing.T, w *world, mode, topic string) {
	t.Helper()
	dir := filepath.Join(w.dir, topic+"-0")
	entries, err := w.fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		index := strings.HasSuffix(name, "index")
		switch {
		case mode == "without indexes" && index:
			err = w.fs.Remove(name)
		case mode == "unclean, preallocated indexes" && index && !strings.HasSuffix(name, txnIndexSuffix):
			var f vfs.File
			if f, err = w.fs.OpenFile(name, os.O_RDWR); err == nil {
				err = f.Truncate(65532 / 24 * 24)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(mode, "unclean") {
		for _, name := range []string{cleanShutdownFile, recoveryPointFile} {
			if err := w.fs.Remove(filepath.Join(w.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func checkAgainstDump(t *testing.T, l *Log, dump []dumpLine) {
	t.Helper()
	i := 0
	for _, s := range *l.segments.Load() {
		err := s.scan(0, s.base, true, func(position int64, b record.Batch) error {
			if got, want := describeBatch(b, position), dump[i].describe(); got != want || filepath.Base(s.file.path) != dump[i].segment {
				t.Errorf("batch %d in %s\n got %s\nwant %s", i, s.file.path, got, want)
			}
			i++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if batches := readAll(t, l); i != len(dump) || len(batches) != len(dump) {
		t.Errorf("%d batches by scan, %d by read, Kafka sees %d", i, len(batches), len(dump))
	}
}

// checkIndexesAgainstKafka builds the indexes from the batches and compares them with Kafka's bytes.
func checkIndexesAgainstKafka(t *testing.T, l *Log, topic string) {
	t.Helper()
	for _, s := range *l.segments.Load() {
		s.indexInterval = 400 // of the topic
		if err := s.rebuildIndexes(); err != nil {
			t.Fatal(err)
		}
		for suffix, got := range map[string][]byte{indexSuffix: s.offsets.entries, timeIndexSuffix: s.times.entries} {
			name := fileStem(s.base) + suffix
			want, err := os.ReadFile(filepath.Join("testdata", "node", topic+"-0", name))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\n got %x\nwant %x", name, got, want)
			}
		}
		want, err := os.ReadFile(filepath.Join("testdata", "node", topic+"-0", fileStem(s.base)+txnIndexSuffix))
		if err != nil {
			continue // Kafka has none when no transaction was aborted
		}
		var got []byte
		for _, a := range s.aborted {
			got = AppendAbortedTxn(got, a)
		}
		if !slices.Equal(got, want) {
			t.Errorf("aborted transactions of %s\n got %x\nwant %x", s.file.path, got, want)
		}
	}
}

func checkProducersAgainstKafka(t *testing.T, l *Log, topic string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "node", topic+"-0", "*.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	last := slices.Max(names)
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ParseProducerSnapshot(last, data)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.producers.snapshot(); !slices.Equal(got, AppendProducerSnapshot(nil, want)) {
		entries, _ := ParseProducerSnapshot("ours", got)
		t.Errorf("producer state\n got %+v\nwant %+v", entries, want)
	}
}

// TestKafkaSmallFiles reads the root files of the real node and writes them again.
func TestKafkaSmallFiles(t *testing.T) {
	read := func(name string) (string, []byte) {
		name = filepath.Join("testdata", "node", name)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return name, data
	}
	meta, err := ParseMetaProperties(read(metaPropertiesFile))
	if err != nil || meta.ClusterID != kafkaClusterID || meta.NodeID != 1 || FormatUUID(meta.DirectoryID) != "I26215FsTwKIJW1YvfMP9w" {
		t.Errorf("meta.properties: %+v %v", meta, err)
	}
	if again, err := ParseMetaProperties("", meta.AppendTo(nil)); err != nil || again.DirectoryID != meta.DirectoryID {
		t.Errorf("meta.properties written again: %+v %v", again, err)
	}
	for _, name := range []string{recoveryPointFile, highWatermarkFile, logStartFile, cleanerOffsetFile} {
		file, data := read(name)
		c, err := ParseOffsetCheckpoint(file, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := c.AppendTo(nil); len(data) > 0 && len(again) != len(data) {
			t.Errorf("%s: %d bytes written again, had %d", name, len(again), len(data))
		}
		if name == recoveryPointFile && c[TopicPartition{"golden", 0}] != 755 {
			t.Errorf("%s: %v", name, c)
		}
	}
	file, data := read("golden-0/partition.metadata")
	id, err := ParsePartitionMetadata(file, data)
	if err != nil || string(AppendPartitionMetadata(nil, id)) != string(data) {
		t.Errorf("partition.metadata: %v, written again %q", err, AppendPartitionMetadata(nil, id))
	}
	file, data = read("golden-0/leader-epoch-checkpoint")
	epochs, err := ParseLeaderEpochs(file, data)
	if err != nil || string(AppendLeaderEpochs(nil, epochs)) != string(data) {
		t.Errorf("leader-epoch-checkpoint: %v, %v", epochs, err)
	}
	if _, data = read(cleanShutdownFile); string(AppendCleanShutdown(nil, ParseCleanShutdown(data))) != string(data) {
		t.Errorf(".kafka_cleanshutdown: %s", data)
	}
}
