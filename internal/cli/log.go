package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newLog(s Streams) *cobra.Command {
	c := &cobra.Command{Use: "log", Short: "Look into the files of a data directory"}
	c.AddCommand(newLogDump(s))
	return c
}

type dumpFlags struct {
	as          string
	batchesOnly bool
}

func newLogDump(s Streams) *cobra.Command {
	var f dumpFlags
	var out outputFlag
	c := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print segments, indexes, snapshots and checkpoints",
		Long: "Prints the files of a Klamm or Apache Kafka data directory: segments (.log), metadata\n" +
			"snapshots (.checkpoint), offset, time and transaction indexes, producer snapshots,\n" +
			"leader epochs, offset checkpoints, partition.metadata and meta.properties. It only reads.\n" +
			"A damaged file is printed as far as it is sound, and the exit code is 1.",
		Args: atLeastOne("file"),
		RunE: func(c *cobra.Command, files []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if err := checkDecoder(f.as); err != nil {
				return err
			}
			d := &dumper{out: s.Out, flags: f, jsonl: out.format == "jsonl"}
			var failed []error
			for _, name := range files {
				if err := c.Context().Err(); err != nil {
					return err
				}
				if err := d.file(c.Context(), name); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", name, err))
				}
			}
			return errors.Join(failed...)
		},
	}
	out.add(c, "table", "jsonl")
	c.Flags().StringVar(&f.as, "as", "auto", "what the records are: data, metadata, group, transaction, share, or auto (by the directory's name)")
	c.Flags().BoolVar(&f.batchesOnly, "batches-only", false, "do not print records (default false)")
	return c
}

// dumper prints files, as text or as JSON Lines.
type dumper struct {
	out   io.Writer
	flags dumpFlags
	jsonl bool
	name  string // of the file being printed
}

// field is one name and value of a printed line. The value is printed as it is when it is raw
// JSON, else by its type.
type field struct {
	name  string
	value any
}

// rawJSON is a value that is JSON already.
type rawJSON []byte

// line prints one line: kind and fields.
func (d *dumper) line(kind string, fields ...field) error {
	var b []byte
	if d.jsonl {
		b = append(b, `{"file":`...)
		b = appendString(b, []byte(validText(d.name)))
		b = append(b, `,"kind":`...)
		b = appendString(b, []byte(kind))
		for _, f := range fields {
			b = append(b, ',')
			b = appendString(b, []byte(f.name))
			b = append(b, ':')
			b = appendValueJSON(b, f.value)
		}
		b = append(b, "}\n"...)
	} else {
		b = append(b, kind...)
		for _, f := range fields {
			b = append(append(b, ' ', ' '), f.name...)
			b = append(b, ' ')
			b = appendValueText(b, f.value)
		}
		b = append(b, '\n')
	}
	_, err := d.out.Write(b)
	return err
}

func appendValueJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case rawJSON:
		return append(dst, v...)
	case string:
		return appendString(dst, []byte(validText(v)))
	case bool:
		return fmt.Appendf(dst, "%t", v)
	case nil:
		return append(dst, "null"...)
	}
	return fmt.Appendf(dst, "%d", value)
}

func appendValueText(dst []byte, value any) []byte {
	switch v := value.(type) {
	case rawJSON:
		return append(dst, v...)
	case string:
		return append(dst, printable(v)...)
	case bool:
		return fmt.Appendf(dst, "%t", v)
	case nil:
		return append(dst, "null"...)
	}
	return fmt.Appendf(dst, "%d", value)
}

// validText replaces bytes that are no UTF-8; only names of files and error texts come here.
func validText(s string) string {
	return string([]rune(s))
}
