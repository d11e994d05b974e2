package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

// assets serves the built page: files as they are (compressed once, in memory), and index.html for
// the page's own routes.
type assets struct {
	files fs.FS
	mu    sync.Mutex
	cache map[string]*asset
}

// asset is one file ready to be sent.
type asset struct {
	name, kind, tag string
	plain, zipped   []byte // zipped is nil when it saves nothing
	immutable       bool
}

// hashed matches the names Vite gives to files whose content is in the name.
func hashed() *regexp.Regexp { return regexp.MustCompile(`^assets/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$`) }

func newAssets(files fs.FS) (*assets, error) {
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil, fmt.Errorf("the built page has no index.html: %w", err)
	}
	return &assets{files: files, cache: map[string]*asset{}}, nil
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	file, err := a.load(name)
	if errors.Is(err, fs.ErrNotExist) && a.isPage(name, r) {
		file, err = a.load("index.html")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "there is no such file", http.StatusNotFound)
	case err != nil:
		http.Error(w, "the file cannot be read", http.StatusInternalServerError)
	default:
		file.send(w, r)
	}
}

// isPage tells a route of the page from a file that is missing: the latter must be a 404, or a
// browser would run HTML as a script. Names of topics contain dots, so the extension alone decides
// nothing when a browser navigates.
func (a *assets) isPage(name string, r *http.Request) bool {
	top, _, _ := strings.Cut(name, "/")
	if info, err := fs.Stat(a.files, top); err == nil && info.IsDir() {
		return false
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		return true
	}
	return mime.TypeByExtension(path.Ext(name)) == ""
}

// load reads a file once.
func (a *assets) load(name string) (*asset, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.cache[name]; f != nil {
		return f, nil
	}
	info, err := fs.Stat(a.files, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fs.ErrNotExist
	}
	plain, err := fs.ReadFile(a.files, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	f := &asset{name: name, plain: plain, tag: `"` + hex.EncodeToString(sum[:12]) + `"`, kind: contentType(name), immutable: hashed().MatchString(name)}
	if f.zipped, err = zip(plain, f.kind); err != nil {
		return nil, err
	}
	a.cache[name] = f
	return f, nil
}

// contentType does not ask the machine's mime tables for what matters: they differ, and nosniff
// makes a browser refuse a script of the wrong type.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".woff2":
		return "font/woff2"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// zip compresses what gains by it.
func zip(data []byte, kind string) ([]byte, error) {
	if len(data) < 1000 || strings.HasPrefix(kind, "font/") || kind == "image/png" {
		return nil, nil
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() >= len(data) {
		return nil, nil
	}
	return b.Bytes(), nil
}

func (f *asset) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser went away: nobody is left to tell
	}
}
