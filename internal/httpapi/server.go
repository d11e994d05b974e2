package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"klamm/internal/explorer"
)

// New makes the explorer's handler: API, event streams, page, probes and metrics, behind the page
// security. It fails only when the page's files or the API description cannot be used.
func New(o Options) (http.Handler, error) {
	api, err := newAPI(o)
	if err != nil {
		return nil, err
	}
	description, err := json.Marshal(api.OpenAPI())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", api)
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(description)
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { writeFailure(w, noSuchCall(r)) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", ready(o.Ready))
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	} else {
		mux.HandleFunc("/metrics", http.NotFound)
	}
	if o.UI != nil {
		page, err := newAssets(o.UI)
		if err != nil {
			return nil, err
		}
		mux.Handle("/", page)
	}
	return &guard{next: mux, allowed: o.AllowedHosts}, nil
}

func noSuchCall(r *http.Request) *failure {
	return &failure{status: http.StatusNotFound, Problem: explorer.Problem{
		Code: "NO_SUCH_CALL", Title: "The API has no such call.", Detail: r.Method + " " + r.URL.Path, Help: "It is described at /api/openapi.json.",
	}}
}

func ready(is func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if is != nil && !is() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	}
}

// writeFailure answers with a problem outside of huma.
func writeFailure(w http.ResponseWriter, f *failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f.Problem) // the caller went away: nobody is left to tell
}

// NewServer wraps a handler of New in a server whose Shutdown ends the event streams at once. Errors
// of single connections go to log (nil: nowhere).
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 20,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	if log != nil {
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	}
	s.RegisterOnShutdown(cancel)
	return s
}
