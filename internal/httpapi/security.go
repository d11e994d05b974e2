package httpapi

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"klamm/internal/explorer"
)

// contentPolicy lets a page load from this address only, runs no inline script and allows no frame
// around it. Inline style is allowed: the component kit sets its variables in a style element.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// CheckBind refuses to listen where others could reach the explorer: it has no login yet, and its
// user may delete topics. The error is one sentence for a person.
func CheckBind(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the address %q for the explorer is not HOST:PORT: %w", address, err)
	}
	if isLoopback(host) {
		return nil
	}
	what := host
	if what == "" {
		what = "every address of this machine"
	}
	return fmt.Errorf("the explorer would listen on %s, where anybody in the network could change the cluster, because it has no login: use --http localhost:PORT and reach it from elsewhere through an SSH tunnel (ssh -L 8080:localhost:8080 ...)", what)
}

// isLoopback tells names and addresses that only this machine can use.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// guard is the page security around every route.
type guard struct {
	next    http.Handler
	allowed []string // further host names
}

// ServeHTTP refuses what a page of another site could send, then sets the protecting headers.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" { // probes come with any name
		g.next.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", contentPolicy)
	if f := g.refusal(r); f != nil {
		writeFailure(w, f)
		return
	}
	g.next.ServeHTTP(w, r)
}

func refused(title, detail, help string) *failure {
	return &failure{status: http.StatusForbidden, Problem: explorer.Problem{Code: "REFUSED", Title: title, Detail: detail, Help: help}}
}

// refusal says why a request is not served, nil when it is.
func (g *guard) refusal(r *http.Request) *failure {
	if !g.hostAllowed(r.Host) {
		return refused("This address is not one the explorer answers to.", "Host: "+r.Host,
			"Open it as http://localhost with its port. (A page elsewhere could otherwise reach it under a name of its own.)")
	}
	api := strings.HasPrefix(r.URL.Path, "/api/")
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && (api || change || r.Header.Get("Sec-Fetch-Mode") != "navigate") {
		return refused("A page of another site may not use the explorer.", "Sec-Fetch-Site: "+site, "Open the explorer itself.")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
		return refused("A page of another site may not use the explorer.", "Origin: "+origin, "Open the explorer itself.")
	}
	if change && !isJSON(r.Header.Get("Content-Type")) {
		return &failure{status: http.StatusUnsupportedMediaType, Problem: explorer.Problem{
			Code: "REFUSED", Title: "Changes are taken as application/json only.", Detail: "Content-Type: " + r.Header.Get("Content-Type"), Help: "Set Content-Type: application/json, without a body too.",
		}}
	}
	return nil
}

// hostAllowed checks the name in the Host header: DNS rebinding points a foreign name at loopback.
func (g *guard) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return isLoopback(host) || slices.ContainsFunc(g.allowed, func(a string) bool { return strings.EqualFold(a, host) })
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}
