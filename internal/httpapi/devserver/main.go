// Command devserver serves the explorer on one Kafka cluster, for work on the page.
package main

import (
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"

	"klamm/internal/explorer"
	"klamm/internal/httpapi"
	"klamm/ui"
)

func main() {
	address := flag.String("http", "localhost:8080", "where to listen")
	kafka := flag.String("kafka", "localhost:9092", "the cluster")
	state := flag.String("state-dir", "", "where clusters are saved")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(*address, *kafka, *state, log); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}

func run(address, kafka, state string, log *slog.Logger) error {
	if err := httpapi.CheckBind(address); err != nil {
		return err
	}
	ex, err := explorer.New(explorer.Options{StateDir: state, Embedded: &explorer.Embedded{Name: "local", Address: kafka}, Version: "dev", Logger: log})
	if err != nil {
		return err
	}
	defer ex.Close()
	h, err := httpapi.New(httpapi.Options{Explorer: ex, UI: ui.Dist(), Version: "dev", Logger: log})
	if err != nil {
		return err
	}
	server := httpapi.NewServer(h, log)
	server.Addr = address
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
