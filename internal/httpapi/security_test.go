package httpapi

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"klamm/internal/explorer"
)

func handler(t *testing.T, o Options) http.Handler {
	t.Helper()
	ex, err := explorer.New(explorer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ex.Close)
	o.Explorer = ex
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request asks h; headers are name, value pairs.
func request(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:8080"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func page() fstest.MapFS {
	return fstest.MapFS{
		"index.html":                {Data: []byte("<!doctype html><title>Klamm</title>")},
		"favicon.svg":               {Data: []byte("<svg/>")},
		"assets/app-AbCd1234.js":    {Data: []byte(strings.Repeat("console.log(1);", 200))},
		"assets/style-Zz_-9876.css": {Data: []byte("body{}")},
	}
}

func TestPageSecurity(t *testing.T) {
	h := handler(t, Options{UI: page(), AllowedHosts: []string{"klamm.example"}})
	const js = "application/json"
	cases := []struct {
		name, method, target string
		headers              []string
		status               int
	}{
		{"plain page", "GET", "/", nil, 200},
		{"loopback address", "GET", "/api/v1/clusters", []string{"Host", "127.0.0.1:8080"}, 200},
		{"loopback address 6", "GET", "/api/v1/clusters", []string{"Host", "[::1]:8080"}, 200},
		{"allowed name", "GET", "/api/v1/clusters", []string{"Host", "Klamm.Example"}, 200},
		{"rebound name", "GET", "/api/v1/clusters", []string{"Host", "evil.example:8080"}, 403},
		{"rebound name, page", "GET", "/", []string{"Host", "evil.example"}, 403},
		{"name that ends alike", "GET", "/", []string{"Host", "localhost.evil.example"}, 403},
		{"no name", "GET", "/", []string{"Host", ""}, 403},
		{"metrics under a rebound name", "GET", "/metrics", []string{"Host", "evil.example"}, 403},
		{"other site reads", "GET", "/api/v1/clusters", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"other port reads", "GET", "/api/v1/clusters", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"other site navigates to the API", "GET", "/api/v1/clusters", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"link from another site", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Accept", "text/html"}, 200},
		{"embedded by another site", "GET", "/assets/app-AbCd1234.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"own page", "GET", "/api/v1/clusters", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"}, 200},
		{"foreign origin", "GET", "/api/v1/clusters", []string{"Origin", "http://evil.example"}, 403},
		{"other port's origin", "GET", "/api/v1/clusters", []string{"Origin", "http://localhost:3000"}, 403},
		{"null origin", "GET", "/api/v1/clusters", []string{"Origin", "null"}, 403},
		{"foreign change", "DELETE", "/api/v1/clusters/x", []string{"Origin", "http://evil.example", "Content-Type", js}, 403},
		{"form post", "POST", "/api/v1/clusters", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"text post", "POST", "/api/v1/clusters", []string{"Content-Type", "text/plain"}, 415},
		{"no type", "DELETE", "/api/v1/clusters/x", nil, 415},
		{"own change", "DELETE", "/api/v1/clusters/x", []string{"Content-Type", js + "; charset=utf-8"}, 404},
		{"probe with any name", "GET", "/healthz", []string{"Host", "10.0.0.7"}, 200},
		{"unknown call", "GET", "/api/v1/nothing", nil, 404},
		{"unknown version", "GET", "/api/v9/clusters", nil, 404},
		{"description", "GET", "/api/openapi.json", nil, 200},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := request(h, c.method, c.target, c.headers...)
			if w.Code != c.status {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if strings.HasPrefix(c.target, "/api/") && w.Code >= 400 && !strings.Contains(w.Body.String(), `"code":`) {
				t.Errorf("an error of another shape: %s", w.Body)
			}
		})
	}
}

func TestProtectingHeaders(t *testing.T) {
	h := handler(t, Options{UI: page()})
	for _, target := range []string{"/", "/api/v1/clusters", "/assets/app-AbCd1234.js", "/api/v1/nothing"} {
		head := request(h, "GET", target).Header()
		if head.Get("X-Content-Type-Options") != "nosniff" || head.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", target, head)
		}
		csp := head.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s: %s", target, want, csp)
			}
		}
	}
}

func TestBindRefusal(t *testing.T) {
	for _, ok := range []string{"localhost:8080", "127.0.0.1:0", "[::1]:80", "127.1.2.3:80"} {
		if err := CheckBind(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{":8080", "0.0.0.0:8080", "[::]:8080", "192.168.1.5:80", "example.com:80", "localhost"} {
		if err := CheckBind(bad); err == nil {
			t.Errorf("%s is let through", bad)
		}
	}
}

func TestAssets(t *testing.T) {
	h := handler(t, Options{UI: page()})
	html := []string{"Accept", "text/html,application/xhtml+xml"}
	cases := []struct {
		target  string
		headers []string
		status  int
		body    string
	}{
		{"/", nil, 200, "<title>Klamm"},
		{"/clusters/local/topics/orders.events.v3", html, 200, "<title>Klamm"},
		{"/clusters/local/topics/app.js", html, 200, "<title>Klamm"},
		{"/clusters/local/groups/a%2Fb", html, 200, "<title>Klamm"},
		{"/clusters", nil, 200, "<title>Klamm"},
		{"/assets/app-AbCd1234.js", nil, 200, "console.log"},
		{"/assets/gone-AbCd1234.js", nil, 404, "no such file"},
		{"/assets/gone-AbCd1234.js", html, 404, "no such file"},
		{"/assets/", html, 404, "no such file"},
		{"/gone.png", nil, 404, "no such file"},
		{"/../../etc/passwd", nil, 307, ""},
		{"/..%2f..%2fetc/passwd", nil, 200, "<title>Klamm"},
	}
	for _, c := range cases {
		w := request(h, "GET", c.target, c.headers...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s %v: %d %.80s", c.target, c.headers, w.Code, w.Body)
		}
	}
	if w := request(h, "POST", "/", "Content-Type", "application/json"); w.Code != 405 {
		t.Errorf("POST /: %d", w.Code)
	}
}

func TestAssetCachingAndCompression(t *testing.T) {
	h := handler(t, Options{UI: page()})
	w := request(h, "GET", "/assets/app-AbCd1234.js", "Accept-Encoding", "gzip, br")
	if w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Fatalf("headers %v", w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); err != nil || len(plain) != 3000 {
		t.Errorf("%d bytes, %v", len(plain), err)
	}
	w = request(h, "GET", "/")
	tag := w.Header().Get("ETag")
	if w.Header().Get("Cache-Control") != "no-cache" || tag == "" {
		t.Errorf("index.html: %v", w.Header())
	}
	if w = request(h, "GET", "/", "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("asked again: %d", w.Code)
	}
	if got := request(h, "GET", "/favicon.svg").Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("favicon: %s", got)
	}
}

func TestProbes(t *testing.T) {
	up := false
	h := handler(t, Options{Ready: func() bool { return up }, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "klamm_up 1\n") })})
	if w := request(h, "GET", "/readyz"); w.Code != 503 {
		t.Errorf("not ready: %d", w.Code)
	}
	up = true
	if w := request(h, "GET", "/readyz"); w.Code != 200 {
		t.Errorf("ready: %d", w.Code)
	}
	if w := request(h, "GET", "/metrics"); w.Body.String() != "klamm_up 1\n" {
		t.Errorf("metrics: %s", w.Body)
	}
}

// Shutting down must not wait for tails that would never end.
func TestShutdownEndsStreams(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("shutdown", 1, nil)
	h, err := New(Options{Explorer: f.ex})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(h, nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	f.url = "http://" + l.Addr().String()
	var once sync.Once
	f.stream(topic, "range=live", func(e events) bool {
		if len(e.progress) > 0 {
			once.Do(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				if err := server.Shutdown(ctx); err != nil {
					t.Errorf("shutdown: %v", err)
				}
			})
		}
		return true
	})
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serve: %v", err)
	}
}
