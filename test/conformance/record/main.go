// Command record writes what a broker answers to the conformance scripts into a directory:
//
//	go run ./test/conformance/record HOST:PORT DIR [SCRIPT...]
//
// The broker must be new: scripts create topics and groups. The committed files come from a node
// of Apache Kafka 4.4.0 (make conformance-record).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"klamm/test/conformance"
)

// settle is longer than a Kafka node on one machine takes to apply its own metadata.
const settle = 1000 * time.Millisecond

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: record HOST:PORT DIR [SCRIPT...]")
		os.Exit(2)
	}
	if err := record(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func record(address, dir string, only []string) error {
	ids := map[string]string{}
	for _, s := range conformance.Scripts() {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		text, err := conformance.Execute(address, s, ids, settle)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, s.Name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println(s.Name, "recorded")
	}
	return nil
}
