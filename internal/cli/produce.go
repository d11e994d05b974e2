package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxLine bounds one input line in bytes.
const maxLine = 256 << 20

type produceFlags struct {
	clientFlags
	format, key, separator, null, compression, acks string
	headers                                         []string
	partition                                       int32
	timestamp                                       int64
	tombstone, ignorePartition                      bool
	keySet, nullSet, separatorSet                   bool
}

func newProduce(s Streams) *cobra.Command {
	var f produceFlags
	var out outputFlag
	c := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Send records, one a line of standard input",
		Long: "Sends one record for each line of standard input. With -f jsonl a line is a JSON object as\n" +
			"consume -o jsonl writes it, and the record sent is the same byte for byte:\n" +
			`  {"partition":0,"timestamp":1700000000000,"key":"k","value":"v","headers":[{"key":"h","value":null}]}` + "\n" +
			`Bytes that are no UTF-8 are base64 with "keyEncoding":"base64" or "valueEncoding":"base64" beside them.`,
		Example: "  echo 'order-1:{\"total\":41.50}' | klamm produce orders -K :\n" +
			"  klamm consume orders --exit -o jsonl | klamm produce copy -f jsonl",
		Args: exactly("one topic"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			f.keySet, f.nullSet, f.separatorSet = c.Flags().Changed("key"), c.Flags().Changed("null"), c.Flags().Changed("key-separator")
			return f.run(c, s, args[0], out.format)
		},
	}
	f.add(c)
	out.add(c, "table", "jsonl")
	flags := c.Flags()
	flags.StringVarP(&f.format, "format", "f", "lines", "form of the input: lines or jsonl")
	flags.StringVarP(&f.key, "key", "k", "", "key of all records (default null)")
	flags.StringVarP(&f.separator, "key-separator", "K", "", "`TEXT` between key and value of a line (default none: a line is a value)")
	flags.StringVar(&f.null, "null", "", "`TEXT` of a line's key or value that means null (default none: an empty one is empty)")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "`name=value`: a header of all records; a name alone has a null value; repeatable (default none)")
	flags.Int32VarP(&f.partition, "partition", "p", -1, "partition of all records; -1 leaves it to their keys")
	flags.Int64Var(&f.timestamp, "timestamp", -1, "time of all records, ms since 1970; -1 means now")
	flags.StringVarP(&f.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&f.acks, "acks", "all", "acknowledgement to wait for: all, 1 or 0")
	flags.BoolVar(&f.tombstone, "tombstone", false, "send one record with the key of --key and a null value, read no input (default false)")
	flags.BoolVar(&f.ignorePartition, "ignore-partition", false, "do not take the partition from JSON lines (default false)")
	return c
}

func (f produceFlags) run(c *cobra.Command, s Streams, topic, output string) error {
	parse, err := f.parser(topic)
	if err != nil {
		return err
	}
	if c.Flags().Changed("acks") {
		f.properties = append(f.properties, "acks="+f.acks)
	}
	if c.Flags().Changed("compression") {
		f.properties = append(f.properties, "compression.type="+f.compression)
	}
	cl, err := f.connect(c, s, kgo.RecordPartitioner(chosenPartition{kgo.StickyKeyPartitioner(nil)}))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.needTopic(c.Context(), topic); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	p := &producing{cl: cl, topic: topic, out: s.Out, verbose: output == "jsonl", cancel: cancel}
	if f.tombstone {
		p.send(ctx, &kgo.Record{Topic: topic, Key: []byte(f.key), Headers: f.recordHeaders(), Partition: f.partition})
	} else {
		err = p.lines(ctx, s.In, parse)
	}
	return p.finish(ctx, s.Err, err)
}

// needTopic says early and in words that a topic is missing.
func (cl *client) needTopic(ctx context.Context, topic string) error {
	bounded, cancel := cl.within(ctx)
	defer cancel()
	topics, err := cl.admin.ListTopicsWithInternal(bounded, topic)
	if err != nil {
		return cl.explain(ctx, err)
	}
	switch t := topics[topic]; {
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("there is no topic %s; create it with: klamm topic create %s", printable(topic), printable(topic))
	case t.Err != nil:
		return about("topic "+printable(topic), t.Err, "")
	}
	return nil
}

// parser returns the function that makes a record of a line.
func (f produceFlags) parser(topic string) (func(line []byte) (*kgo.Record, error), error) {
	switch {
	case f.format != "lines" && f.format != "jsonl":
		return nil, usagef("-f %s is not known: use lines or jsonl", f.format)
	case f.separatorSet && f.separator == "":
		return nil, usagef("--key-separator must not be empty")
	case f.separatorSet && f.keySet:
		return nil, usagef("--key and --key-separator exclude each other")
	case f.format == "jsonl" && (f.separatorSet || f.keySet || f.nullSet):
		return nil, usagef("--key, --key-separator and --null belong to -f lines: JSON lines name their keys")
	case f.tombstone && !f.keySet:
		return nil, usagef("--tombstone needs the key to delete: give --key")
	case f.partition < -1 || f.timestamp < -1:
		return nil, usagef("--partition and --timestamp must not be negative")
	}
	base := kgo.Record{Topic: topic, Partition: f.partition, Headers: f.recordHeaders()}
	if f.timestamp >= 0 {
		base.Timestamp = time.UnixMilli(f.timestamp)
	}
	if f.format == "jsonl" {
		return func(line []byte) (*kgo.Record, error) { return f.jsonRecord(base, line) }, nil
	}
	return func(line []byte) (*kgo.Record, error) { return f.lineRecord(base, line) }, nil
}

func (f produceFlags) recordHeaders() []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, "=")
		header := kgo.RecordHeader{Key: name}
		if ok {
			header.Value = []byte(value)
		}
		out = append(out, header)
	}
	return out
}

func (f produceFlags) lineRecord(r kgo.Record, line []byte) (*kgo.Record, error) {
	r.Value = line
	switch {
	case f.separatorSet:
		key, value, ok := bytes.Cut(line, []byte(f.separator))
		if !ok {
			return nil, fmt.Errorf("it has no key separator %q", f.separator)
		}
		r.Key, r.Value = f.nullOr(key), value
	case f.keySet:
		r.Key = []byte(f.key)
	}
	r.Value = f.nullOr(r.Value)
	return &r, nil
}

func (f produceFlags) nullOr(text []byte) []byte {
	if f.nullSet && string(text) == f.null {
		return nil
	}
	return text
}

func (f produceFlags) jsonRecord(r kgo.Record, line []byte) (*kgo.Record, error) {
	l, err := parseRecordLine(line)
	if err != nil {
		return nil, err
	}
	r.Key, r.Value = l.Key, l.Value
	if l.Timestamp != nil && f.timestamp < 0 {
		r.Timestamp = time.UnixMilli(*l.Timestamp)
	}
	if l.Partition != nil && f.partition < 0 && !f.ignorePartition {
		r.Partition = *l.Partition
	}
	r.Headers = nil
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	r.Headers = append(r.Headers, f.recordHeaders()...)
	return &r, nil
}

// errNoProgress ends a production that the cluster does not acknowledge any more.
var errNoProgress = errors.New("no acknowledgement")

// producing sends records and collects their fates.
type producing struct {
	cl      *client
	topic   string
	out     io.Writer
	verbose bool
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	read    int64 // records handed to the client
	written int64
	first   error // of a record
	// stalled fires when records wait and none is acknowledged for the client's timeout. (kgo's own
	// delivery timeout counts from a record's timestamp, which may be years old here.)
	stalled *time.Timer
}

// lines reads input until it ends, a line is wrong, a record fails or ctx ends. Reading happens
// beside, because it cannot be interrupted.
func (p *producing) lines(ctx context.Context, in io.Reader, parse func([]byte) (*kgo.Record, error)) error {
	type input struct {
		line []byte
		err  error
	}
	inputs := make(chan input, 64)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(inputs)
		r := bufio.NewReaderSize(in, 1<<16)
		for {
			line, err := readLine(r)
			if err == io.EOF {
				return
			}
			select {
			case inputs <- input{line, err}:
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for number := int64(1); ; number++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case i, ok := <-inputs:
			if !ok {
				return nil
			}
			if i.err != nil {
				return fmt.Errorf("line %d of the input cannot be read: %w", number, i.err)
			}
			r, err := parse(i.line)
			if err != nil {
				return fmt.Errorf("line %d of the input: %w", number, err)
			}
			if !p.send(ctx, r) {
				return nil // finish tells why
			}
		}
	}
}

// readLine returns the next line without its line feed; io.EOF when nothing is left.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case len(line) > maxLine:
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// send hands a record to the client; false when one has failed already.
func (p *producing) send(ctx context.Context, r *kgo.Record) bool {
	p.mu.Lock()
	if p.first != nil {
		p.mu.Unlock()
		return false
	}
	p.read++
	if p.stalled == nil {
		p.stalled = time.AfterFunc(p.cl.timeout, func() { p.cancel(errNoProgress) })
	} else if p.read == p.written+1 {
		p.stalled.Reset(p.cl.timeout)
	}
	p.mu.Unlock()
	p.cl.Produce(ctx, r, p.done)
	return true
}

func (p *producing) done(r *kgo.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if p.first == nil {
			p.first = err
		}
		return
	}
	p.written++
	if p.written < p.read {
		p.stalled.Reset(p.cl.timeout)
	} else {
		p.stalled.Stop()
	}
	if p.verbose {
		fmt.Fprintf(p.out, `{"topic":%s,"partition":%d,"offset":%d,"timestamp":%d}`+"\n", appendString(nil, []byte(r.Topic)), r.Partition, r.Offset, r.Timestamp.UnixMilli())
	}
}

// finish waits for what is under way and says how it ended. err is that of the input.
func (p *producing) finish(ctx context.Context, w io.Writer, err error) error {
	flushed := p.cl.Flush(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		p.stalled.Stop()
	}
	wrote := fmt.Sprintf("wrote %s to topic %s", counted(p.written, "record"), printable(p.topic))
	if p.written < p.read {
		wrote = fmt.Sprintf("wrote %d of %s to topic %s", p.written, counted(p.read, "record"), printable(p.topic))
	}
	switch {
	case errors.Is(context.Cause(ctx), errNoProgress):
		return &failure{fmt.Sprintf("%s: no acknowledgement from %s within %v; is the broker still there?", wrote, strings.Join(p.cl.addresses, ","), p.cl.timeout), errNoProgress}
	case ctx.Err() != nil:
		fmt.Fprintln(w, wrote)
		return context.Canceled
	case p.first != nil:
		why := p.why()
		if err != nil {
			why += "; " + err.Error()
		}
		return &failure{wrote + ": " + why, errors.Join(err, p.first)}
	case err != nil:
		return &failure{wrote + ": " + err.Error(), err}
	case flushed != nil:
		return flushed
	}
	fmt.Fprintln(w, wrote)
	return nil
}

// why says why the first record failed.
func (p *producing) why() string {
	var asked, have int
	// kgo has no exported error for this.
	if n, _ := fmt.Sscanf(p.first.Error(), "invalid record partitioning choice of %d from %d available", &asked, &have); n == 2 {
		return fmt.Sprintf("partition %d does not exist: the topic has %d, counted from 0", asked, have)
	}
	return p.cl.explain(context.Background(), p.first).Error()
}

// chosenPartition lets a record name its partition; others go the way of their key.
type chosenPartition struct{ kgo.Partitioner }

// ForTopic implements kgo.Partitioner.
func (p chosenPartition) ForTopic(topic string) kgo.TopicPartitioner {
	return chosenTopicPartition{p.Partitioner.ForTopic(topic)}
}

type chosenTopicPartition struct{ kgo.TopicPartitioner }

// RequiresConsistency tells that a named partition must not be replaced by one that is available.
func (p chosenTopicPartition) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.TopicPartitioner.RequiresConsistency(r)
}

// Partition implements kgo.TopicPartitioner.
func (p chosenTopicPartition) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

// OnNewBatch implements kgo.TopicPartitionerOnNewBatch.
func (p chosenTopicPartition) OnNewBatch() {
	if b, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		b.OnNewBatch()
	}
}
