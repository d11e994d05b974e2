// Klamm: a Kafka-compatible log server, an explorer for any Kafka cluster, and a command line.
package main

import (
	"os"

	"klamm/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
