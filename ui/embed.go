// Package ui holds the explorer's built web pages, embedded as plain files.
//
// The files in dist are built from src by `npm run build` and committed, so
// that the Go toolchain alone builds the whole product.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var files embed.FS

// Dist returns the built pages with index.html at the root. Every name below
// assets/ carries a hash of its content and may be cached for ever; all other
// names may change between builds under the same name.
func Dist() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic("ui: dist is not embedded: " + err.Error()) // fs.Sub fails for an invalid name only, and this one is constant
	}
	return dist
}
