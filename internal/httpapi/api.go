// Package httpapi is the explorer over HTTP: the documented API under /api/v1, event streams, the
// page's files, and the page security around all of it. It holds no Kafka knowledge: every route is a
// thin call of package explorer.
package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"klamm/internal/explorer"
)

// Options wires a handler.
type Options struct {
	Explorer *explorer.Explorer
	// UI is the built page (index.html at its root); nil serves the API alone.
	UI      fs.FS
	Version string
	// Logger gets what a person running Klamm should know; nil discards.
	Logger *slog.Logger
	// AllowedHosts are further names (without port) a browser may use in the address bar, besides
	// localhost and loopback addresses. Anything else is refused: DNS rebinding.
	AllowedHosts []string
	// Ready answers /readyz; nil means always.
	Ready func() bool
	// Metrics serves /metrics; nil answers 404.
	Metrics http.Handler
	// CallTimeout bounds one call that is not a stream; 0 means 30 s.
	CallTimeout time.Duration
}

// routes registers operations; every file routes_*.go adds its own.
type routes struct {
	api     huma.API
	ex      *explorer.Explorer
	timeout time.Duration
	log     *slog.Logger
}

// answer is an output with a JSON body.
type answer[T any] struct{ Body T }

// nothing is the empty JSON object, for calls that only succeed or fail.
type nothing struct{}

// newAPI builds the API on a new mux.
func newAPI(o Options) (*apiMux, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeFailure(w, noSuchCall(r)) })
	r := &routes{api: humago.New(mux, apiConfig(o.Version)), ex: o.Explorer, timeout: o.CallTimeout, log: o.Logger}
	if r.timeout == 0 {
		r.timeout = 30 * time.Second
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.clusters()
	r.topics()
	r.records()
	r.messages()
	r.groups()
	finishOpenAPI(r.api)
	return &apiMux{ServeMux: mux, API: r.api}, nil
}

// apiMux is the mux with the API that describes it.
type apiMux struct {
	*http.ServeMux
	huma.API
}

// ServeHTTP settles which embedded one serves.
func (m *apiMux) ServeHTTP(w http.ResponseWriter, req *http.Request) { m.ServeMux.ServeHTTP(w, req) }

// call registers one operation whose answer is JSON.
func call[I, T any](r *routes, op huma.Operation, f func(context.Context, *I) (T, error)) {
	op.Path = apiPrefix + op.Path
	huma.Register(r.api, op, func(ctx context.Context, in *I) (*answer[T], error) {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		out, err := f(ctx, in)
		if err != nil {
			return nil, fail(err)
		}
		return &answer[T]{Body: out}, nil
	})
}

// onCluster registers an operation on one cluster's connection.
func onCluster[I interface{ cluster() string }, T any](r *routes, op huma.Operation, f func(context.Context, *explorer.Connection, I) (T, error)) {
	op.Path = "/clusters/{cluster}" + op.Path
	call(r, op, func(ctx context.Context, in *I) (T, error) {
		conn, err := r.ex.Connection((*in).cluster())
		if err != nil {
			var none T
			return none, err
		}
		return f(ctx, conn, *in)
	})
}

// ClusterPath and the structs below are path parameters (exported, or huma would not see them when
// embedded); names are percent-decoded by the mux.
type ClusterPath struct {
	Cluster string `path:"cluster" doc:"Cluster id."`
}

func (p ClusterPath) cluster() string { return p.Cluster }

// TopicPath names a topic of a cluster.
type TopicPath struct {
	ClusterPath
	Topic string `path:"topic" doc:"Topic name, percent-encoded."`
}

// GroupPath names a group of a cluster.
type GroupPath struct {
	ClusterPath
	Group string `path:"group" doc:"Group id, percent-encoded."`
}
