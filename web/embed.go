// Package web carries the web application as scripts/web built it. A binary that was built without Node carries none.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Built is the application's files: index.html and assets/, or nothing but a mark that the folder is kept.
func Built() fs.FS {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: the folder dist is not embedded")
	}
	return built
}
