package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"klamm/internal/broker"
	"klamm/internal/config"
	"klamm/internal/explorer"
	"klamm/internal/httpapi"
	"klamm/internal/vfs"
	"klamm/ui"
)

// defaultBroker and defaultHTTP are the addresses of klamm without arguments.
const (
	defaultBroker = "localhost:9092"
	defaultHTTP   = "localhost:8080"
)

type serveFlags struct {
	dataDir, listen, http, config, logLevel string
	set                                     []string
	open                                    bool
}

func newServe(s Streams) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the broker and the explorer",
		Long: "Runs the broker and the explorer until SIGINT or SIGTERM. When everything accepts\n" +
			"connections, one line goes to standard output:\n" +
			"  ready kafka=HOST:PORT http=http://HOST:PORT data=DIR\n" +
			"Logs go to standard error.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c, s, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.dataDir, "data-dir", defaultDataDir(s.LookupEnv), "directory of all data; a configuration file's log.dirs counts when the flag is not given")
	flags.StringVar(&f.listen, "listen", defaultBroker, "HOST:PORT for Kafka clients (localhost is both loopback addresses, port 0 a free port); a configuration's listeners count when the flag is not given")
	flags.StringVar(&f.http, "http", defaultHTTP, "HOST:PORT of the explorer, or off")
	flags.StringVar(&f.config, "config", "", "configuration `FILE`: Kafka's server.properties (default none)")
	flags.StringArrayVar(&f.set, "set", nil, "`key=value`: any Kafka broker property; repeatable, wins over the file (default none)")
	flags.BoolVar(&f.open, "open", false, "open the explorer in the browser (default false)")
	flags.StringVar(&f.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	return c
}

func serve(c *cobra.Command, s Streams, f serveFlags) error {
	logger, err := newLogger(s, f.logLevel)
	if err != nil {
		return err
	}
	conf, err := f.broker()
	if err != nil {
		return err
	}
	for _, w := range conf.Warnings() {
		logger.Warn(w)
	}
	dir, listen := f.dataDir, f.listen
	if !c.Flags().Changed("data-dir") && conf.LogDir() != "" {
		dir = conf.LogDir()
	}
	if !c.Flags().Changed("listen") && conf.IsSet("listeners") {
		listen = ""
	}
	if listen != "" {
		if err := checkAddress("--listen", listen); err != nil {
			return err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	return f.run(c.Context(), s, dir, NodeOptions{
		FS: vfs.OS(), DataDir: dir, Listen: listen, Config: conf, Now: time.Now, Logger: logger,
	})
}

// run serves until ctx ends.
func (f serveFlags) run(ctx context.Context, s Streams, dir string, o NodeOptions) error {
	page, err := newPage(f.http)
	if err != nil {
		return err
	}
	node, err := StartNode(o)
	if err != nil {
		return errors.Join(err, page.close())
	}
	url := "off"
	if page != nil {
		ex, err := explorer.New(explorer.Options{
			StateDir: dir, Embedded: &explorer.Embedded{Name: "local", Address: node.Addr()}, Version: Version, Logger: o.Logger, Now: o.Now,
		})
		if err == nil {
			err = page.serve(ex, newMetrics(node, o.Logger), o.Logger)
		}
		if err != nil {
			return errors.Join(err, page.close(), node.Stop(true))
		}
		url = page.url
	}
	fmt.Fprintf(s.Out, "ready kafka=%s http=%s data=%s\n", node.Addr(), url, dir)
	if f.open && page != nil {
		if err := openBrowser(url); err != nil {
			o.Logger.Warn("the browser could not be opened", "url", url, "error", err)
		}
	}
	<-ctx.Done()
	o.Logger.Info("stopping")
	return errors.Join(page.close(), node.Stop(true))
}

// checkAddress refuses what is not HOST:PORT with the name of the flag, before anything is opened.
func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("%s %q is not HOST:PORT", flag, address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("%s %q: the port is not a number from 0 to 65535", flag, address)
	}
	return nil
}

// broker reads the configuration file and the properties of the command line.
func (f serveFlags) broker() (*config.Broker, error) {
	var file map[string]string
	if f.config != "" {
		r, err := os.Open(f.config)
		if err != nil {
			return nil, fmt.Errorf("the configuration file cannot be read: %w", err)
		}
		defer r.Close()
		if file, err = config.ParseProperties(r); err != nil {
			return nil, fmt.Errorf("the configuration file %s cannot be read: %w", f.config, err)
		}
	}
	sets, err := keyValues("--set", f.set)
	if err != nil {
		return nil, err
	}
	return config.New(file, sets)
}

// keyValues splits key=value arguments of a repeatable flag.
func keyValues(flag string, items []string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range items {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" {
			return nil, usagef("%s takes key=value, not %q", flag, item)
		}
		out[key] = value
	}
	return out, nil
}

func newLogger(s Streams, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level is %q: use debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: l})), nil
}

// defaultDataDir is where the machine keeps data of its user's programs.
func defaultDataDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) && runtime.GOOS != "windows" {
		return filepath.Join(dir, "klamm")
	}
	if runtime.GOOS == "windows" {
		if dir, ok := lookup("LocalAppData"); ok && dir != "" {
			return filepath.Join(dir, "klamm")
		}
	}
	home, err := os.UserHomeDir()
	switch {
	case err != nil:
		return "klamm-data"
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "klamm")
	case runtime.GOOS == "windows":
		return filepath.Join(home, "AppData", "Local", "klamm")
	}
	return filepath.Join(home, ".local", "share", "klamm")
}

// page is the explorer's HTTP side.
type page struct {
	listeners []net.Listener
	url       string
	server    atomic.Pointer[http.Server]
}

// newPage binds the explorer's address; nil when it is off.
func newPage(address string) (*page, error) {
	if address == "off" {
		return nil, nil
	}
	if err := checkAddress("--http", address); err != nil {
		return nil, err
	}
	if err := httpapi.CheckBind(address); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	bound, err := broker.Listen(address)
	var inUse *broker.AddressInUseError
	if errors.As(err, &inUse) {
		return nil, fmt.Errorf("the explorer's address %s is in use by another program: stop it, or choose another port with --http (port 0 takes a free one, off serves no explorer)", inUse.Address)
	}
	if err != nil {
		return nil, err
	}
	return &page{listeners: bound, url: "http://" + shownAddress(host, bound[0])}, nil
}

// serve answers on the bound addresses until close.
func (p *page) serve(ex *explorer.Explorer, metrics http.Handler, logger *slog.Logger) error {
	handler, err := httpapi.New(httpapi.Options{Explorer: ex, UI: ui.Dist(), Version: Version, Logger: logger, Metrics: metrics})
	if err != nil {
		return err
	}
	server := httpapi.NewServer(handler, logger)
	p.server.Store(server)
	for _, l := range p.listeners {
		go func() {
			if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				logger.Error("the explorer's address failed: it answers no more until restart", "address", l.Addr().String(), "error", err)
			}
		}()
	}
	return nil
}

// close ends the page; it may be nil.
func (p *page) close() error {
	if p == nil {
		return nil
	}
	server := p.server.Load()
	if server == nil {
		var errs []error
		for _, l := range p.listeners {
			errs = append(errs, l.Close())
		}
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}
