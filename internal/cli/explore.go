package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"klamm/internal/config"
	"klamm/internal/explorer"
)

type exploreFlags struct {
	http, stateDir, logLevel string
	connections              []string
	open, window             bool
}

func newExplore(s Streams) *cobra.Command {
	var f exploreFlags
	c := &cobra.Command{
		Use:   "explore",
		Short: "Run the explorer alone, for any Kafka cluster",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return explore(c.Context(), s, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.http, "http", defaultHTTP, "HOST:PORT of the explorer")
	flags.StringVar(&f.stateDir, "state-dir", defaultStateDir(), "directory of the saved clusters")
	flags.StringArrayVar(&f.connections, "connection", nil, "properties `FILE` of a cluster (bootstrap.servers, security.protocol, ...); repeatable (default none)")
	flags.BoolVar(&f.open, "open", false, "open it in the browser (default false)")
	flags.BoolVar(&f.window, "window", false, "open it in a window of its own (default false)")
	flags.StringVar(&f.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	return c
}

func defaultStateDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "klamm-state"
	}
	return filepath.Join(dir, "klamm")
}

func explore(ctx context.Context, s Streams, f exploreFlags) error {
	logger, err := newLogger(s, f.logLevel)
	if err != nil {
		return err
	}
	extra, err := readConnections(f.connections)
	if err != nil {
		return err
	}
	if f.http == "off" {
		return usagef("--http off leaves nothing to explore: give HOST:PORT")
	}
	p, err := newPage(f.http)
	if err != nil {
		return err
	}
	ex, err := explorer.New(explorer.Options{StateDir: f.stateDir, Extra: extra, Version: Version, Logger: logger, Now: time.Now})
	if err == nil {
		err = p.serve(ex, newMetrics(nil, logger), logger)
	}
	if err != nil {
		return errors.Join(err, p.close())
	}
	fmt.Fprintf(s.Out, "ready http=%s\n", p.url)
	if f.window || f.open {
		show := openBrowser
		if f.window {
			show = openWindow
		}
		if err := show(p.url); err != nil {
			logger.Warn("the browser could not be opened", "url", p.url, "error", err)
		}
	}
	<-ctx.Done()
	return p.close()
}

// readConnections reads clusters from client property files. A file's own name names the cluster.
func readConnections(files []string) ([]explorer.ClusterSettings, error) {
	var out []explorer.ClusterSettings
	for _, name := range files {
		props, err := readProperties("the connection file", name)
		if err != nil {
			return nil, err
		}
		servers := props["bootstrap.servers"]
		if servers == "" {
			return nil, fmt.Errorf("the connection file %s names no cluster: add bootstrap.servers=HOST:PORT", name)
		}
		delete(props, "bootstrap.servers")
		out = append(out, explorer.ClusterSettings{
			Name: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), Bootstrap: strings.Split(servers, ","), Properties: props,
		})
	}
	return out, nil
}

// readProperties reads a file of client properties; what names it in errors.
func readProperties(what, name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be read: %w", what, name, err)
	}
	return props, nil
}

// openBrowser shows an address in the user's browser. It does not wait for it.
func openBrowser(address string) error {
	if _, err := url.Parse(address); err != nil {
		return err
	}
	switch runtime.GOOS {
	case "darwin":
		return start("open", address)
	case "windows":
		return start("rundll32", "url.dll,FileProtocolHandler", address)
	}
	return start("xdg-open", address)
}

// openWindow shows an address in a window without the browser's controls, or in the browser when
// none is found that can do that.
func openWindow(address string) error {
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "msedge", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return start(path, "--app="+address)
		}
	}
	return openBrowser(address)
}

func start(name string, args ...string) error {
	c := exec.Command(name, args...)
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // only to let the system forget it
	return nil
}
