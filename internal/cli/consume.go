package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"klamm/internal/explorer"
)

type consumeFlags struct {
	clientFlags
	from       string
	count      int64
	exit       bool
	partitions []int32
}

func newConsume(s Streams) *cobra.Command {
	var f consumeFlags
	var out outputFlag
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print records of a topic",
		Long: "Prints the records of a topic and waits for more until it is interrupted, unless -n or\n" +
			"--exit ends it. The forms of the output:\n" +
			"  plain     the value, then a line feed\n" +
			"  key       key, tab, value, line feed (null is NULL)\n" +
			"  raw       the value alone\n" +
			"  table     partition, offset, time, key and value on a line, escaped where not printable\n" +
			"  jsonl     one JSON object a record, exact in every byte; produce -f jsonl reads it\n" +
			"  json      the same objects as one JSON array",
		Example: "  klamm consume orders --from beginning --exit\n" +
			"  klamm consume orders --from end -o jsonl\n" +
			"  klamm consume orders --from -10\n" +
			"  klamm consume orders --from 2026-01-31T08:00:00Z -n 5",
		Args: exactly("one topic"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return f.run(c, s, args[0], out.format)
		},
	}
	f.add(c)
	out.add(c, "plain", "table", "json", "jsonl", "key", "raw")
	flags := c.Flags()
	flags.StringVar(&f.from, "from", "beginning", "where to start: beginning, end, an offset, -N for the last N records (ends after them), a time (2026-01-31T08:00:00Z or @MILLISECONDS) or an age (15m)")
	flags.Int64VarP(&f.count, "count", "n", 0, "end after this many records (default 0: all)")
	flags.BoolVarP(&f.exit, "exit", "e", false, "end at the topic's present end (default false)")
	flags.Int32SliceVarP(&f.partitions, "partition", "p", nil, "partitions to read, comma-separated (default all)")
	return c
}

// request translates the flags. now is the time that ages count from.
func (f consumeFlags) request(topic string, now time.Time) (explorer.ScanRequest, error) {
	q := explorer.ScanRequest{
		Topic: topic, Partitions: f.partitions, Follow: !f.exit, Raw: true, Lossless: true, MaxBytes: -1, MaxTime: -1,
		Patience: f.timeout,
	}
	if f.count < 0 {
		return q, usagef("--count must not be negative")
	}
	if f.exit {
		q.Limit = int(f.count)
	}
	if err := setStart(&q, f.from, now); err != nil {
		return q, err
	}
	if q.Range == explorer.RangeNewest {
		q.Follow = false
		if f.count > 0 {
			q.Limit = min(q.Limit, int(f.count))
		}
	}
	return q, nil
}

// setStart reads --from.
func setStart(q *explorer.ScanRequest, from string, now time.Time) error {
	switch from {
	case "beginning":
		q.Range = explorer.RangeOldest
		return nil
	case "end":
		q.Range = explorer.RangeLive
		return nil
	}
	if n, err := strconv.ParseInt(from, 10, 64); err == nil {
		switch {
		case n >= 0:
			q.Range, q.Offset = explorer.RangeOffset, n
		case n < -1_000_000:
			return usagef("--from %s: the last 1000000 records at most", from)
		default:
			q.Range, q.Limit = explorer.RangeNewest, int(-n)
		}
		return nil
	}
	q.Range = explorer.RangeTime
	if text, ok := strings.CutPrefix(from, "@"); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			q.Timestamp = n
			return nil
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, from); err == nil {
		q.Timestamp = t.UnixMilli()
		return nil
	}
	if age, err := time.ParseDuration(from); err == nil && age >= 0 {
		q.Timestamp = now.Add(-age).UnixMilli()
		return nil
	}
	return usagef("--from %q is not beginning, end, an offset, -N, a time with its zone (2026-01-31T08:00:00Z), @MILLISECONDS or an age (15m)", from)
}

func (f consumeFlags) run(c *cobra.Command, s Streams, topic, format string) error {
	q, err := f.request(topic, time.Now())
	if err != nil {
		return err
	}
	props, err := f.allProperties(s)
	if err != nil {
		return err
	}
	q.ReadCommitted = props["isolation.level"] == "read_committed"
	cl, err := f.connect(c, s)
	if err != nil {
		return err
	}
	err = cl.needTopic(c.Context(), topic)
	cl.Close()
	if err != nil {
		return err
	}
	security := map[string]string{}
	for name, value := range props {
		if isSecurityProperty(name) {
			security[name] = value
		}
	}
	connection, err := explorer.Connect(explorer.ClusterSettings{Name: "command line", Bootstrap: cl.addresses, Properties: security, ReadOnly: true}, explorer.ConnectOptions{})
	if err != nil {
		return err
	}
	defer connection.Close()
	p := &recordPrinter{out: s.Out, err: s.Err, topic: topic, format: format, limit: f.count, reverse: q.Range == explorer.RangeNewest}
	if f.exit && q.Range == explorer.RangeLive {
		return p.end() // from the end to the end
	}
	return p.scan(c.Context(), connection, q)
}

// errEnough ends a scan that has shown what was asked for.
var errEnough = errors.New("enough records")

// recordPrinter is the sink of a scan.
type recordPrinter struct {
	out, err io.Writer
	topic    string
	format   string
	limit    int64 // 0: none
	reverse  bool  // rows come newest first and are printed oldest first

	shown   int64
	held    []explorer.RecordRow // of a reversed scan
	trouble scanTrouble
	done    explorer.Done
	buf     []byte
}

func (p *recordPrinter) scan(ctx context.Context, connection *explorer.Connection, q explorer.ScanRequest) error {
	err := connection.Scan(ctx, q, p)
	if err == nil || p.limit > 0 && p.shown >= p.limit {
		err = p.end()
	}
	p.trouble.tell(p.err, p.topic)
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		return context.Canceled
	case err != nil:
		return err
	case p.trouble.first != nil:
		return &reported{p.trouble.first} // what was printed is not all there is
	case p.done.Reason == "failed":
		return errors.New(p.done.Text)
	case p.shown == 0 && p.done.Text != "":
		fmt.Fprintf(p.err, "klamm: no records: %s\n", p.done.Text)
	}
	return nil
}

// end prints what was held back and closes a JSON array.
func (p *recordPrinter) end() error {
	for i := len(p.held) - 1; i >= 0; i-- {
		if err := p.print(p.held[i]); err != nil {
			return err
		}
	}
	p.held = nil
	if p.format != "json" {
		return p.flush()
	}
	if p.shown == 0 {
		p.buf = append(p.buf, '[')
	}
	p.buf = append(p.buf, "\n]\n"...)
	return p.flush()
}

// Progress implements explorer.Sink.
func (p *recordPrinter) Progress(explorer.Progress) error {
	p.trouble.tell(p.err, p.topic)
	return nil
}

// Problem implements explorer.Sink: what goes wrong while the rest goes on.
func (p *recordPrinter) Problem(problem explorer.ScanProblem) error {
	p.trouble.add(problem)
	return nil
}

// Done implements explorer.Sink.
func (p *recordPrinter) Done(done explorer.Done) error {
	p.done = done
	return nil
}

// Records implements explorer.Sink.
func (p *recordPrinter) Records(rows []explorer.RecordRow) error {
	if p.reverse {
		p.held = append(p.held, rows...)
		return nil
	}
	for _, row := range rows {
		if p.limit > 0 && p.shown >= p.limit {
			break
		}
		if err := p.print(row); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.limit > 0 && p.shown >= p.limit {
		return errEnough
	}
	return nil
}

// flushAt is how many bytes are collected before they are written.
const flushAt = 64 << 10

func (p *recordPrinter) flush() error {
	_, err := p.out.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

func (p *recordPrinter) print(row explorer.RecordRow) error {
	p.shown++
	raw := row.Raw
	switch p.format {
	case "plain":
		p.buf = append(append(p.buf, raw.Value...), '\n')
	case "raw":
		p.buf = append(p.buf, raw.Value...)
	case "key":
		p.buf = append(append(p.buf, orNull(raw.Key)...), '\t')
		p.buf = append(append(p.buf, orNull(raw.Value)...), '\n')
	case "jsonl":
		line := lineOf(p.topic, row)
		p.buf = append(line.appendJSON(p.buf), '\n')
	case "json":
		start := ",\n"
		if p.shown == 1 {
			start = "[\n"
		}
		line := lineOf(p.topic, row)
		p.buf = line.appendJSON(append(p.buf, start...))
	case "table":
		p.tableRow(row)
	}
	if len(p.buf) < flushAt {
		return nil
	}
	return p.flush()
}

func orNull(b []byte) []byte {
	if b == nil {
		return []byte("NULL")
	}
	return b
}

// tableCell bounds keys and values of the table in bytes.
const tableCell = 200

func (p *recordPrinter) tableRow(row explorer.RecordRow) {
	if p.shown == 1 {
		p.buf = fmt.Appendf(p.buf, "%-9s  %-12s  %-24s  %-20s  %s\n", "PARTITION", "OFFSET", "TIME", "KEY", "VALUE")
	}
	at := "-"
	if row.Timestamp >= 0 {
		at = time.UnixMilli(row.Timestamp).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	p.buf = fmt.Appendf(p.buf, "%-9d  %-12d  %-24s  %-20s  %s", row.Partition, row.Offset, at, cell(row.Raw.Key), cell(row.Raw.Value))
	for _, h := range row.Raw.Headers {
		p.buf = fmt.Appendf(p.buf, "  %s=%s", printable(h.Key), cell(h.Value))
	}
	p.buf = append(p.buf, '\n')
}

func cell(b []byte) string {
	switch {
	case b == nil:
		return "NULL"
	case len(b) > tableCell:
		return printable(string(b[:tableCell])) + fmt.Sprintf("... (%d bytes)", len(b))
	}
	return printable(string(b))
}

func lineOf(topic string, row explorer.RecordRow) recordLine {
	l := recordLine{
		Topic: topic, Partition: &row.Partition, Offset: row.Offset, Timestamp: &row.Timestamp, TimestampType: row.TimestampType,
		Key: row.Raw.Key, Value: row.Raw.Value,
	}
	for _, h := range row.Raw.Headers {
		l.Headers = append(l.Headers, headerLine{Key: h.Key, Value: h.Value})
	}
	return l
}
