package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
)

// outputFlag is -o of a command.
type outputFlag struct {
	format string
	known  []string
}

// add declares the flag; the first format is the default.
func (f *outputFlag) add(c *cobra.Command, formats ...string) {
	f.known = formats
	c.Flags().StringVarP(&f.format, "output", "o", formats[0], "form of the output: "+strings.Join(formats, ", "))
}

func (f *outputFlag) check() error {
	if !slices.Contains(f.known, f.format) {
		return usagef("-o %s is not known here: use %s", f.format, strings.Join(f.known, ", "))
	}
	return nil
}

// list prints items as a table with the given columns, as one JSON array, or as JSON Lines.
func list[T any](w io.Writer, format string, items []T, columns []string, row func(T) []string) error {
	switch format {
	case "json":
		if items == nil {
			items = []T{}
		}
		return printJSON(w, items, true)
	case "jsonl":
		for _, item := range items {
			if err := printJSON(w, item, false); err != nil {
				return err
			}
		}
		return nil
	case "plain":
		for _, item := range items {
			if _, err := fmt.Fprintln(w, strings.Join(row(item), "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	return printTable(w, items, columns, row)
}

func printTable[T any](w io.Writer, items []T, columns []string, row func(T) []string) error {
	var out bytes.Buffer
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, item := range items {
		cells := row(item)
		for i := range cells {
			cells[i] = printable(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// printJSON writes one value. Numbers are exact; HTML characters stay as they are.
func printJSON(w io.Writer, v any, indented bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if indented {
		e.SetIndent("", "  ")
	}
	return e.Encode(v)
}

// printable keeps text on its line and the terminal in order: what is not printable is escaped.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func numbers[N int32 | int64](list []N) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(texts, ",")
}

func itoa[N int | int16 | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// counted is a number of things: 1 record, 2 records.
func counted[N int | int32 | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
