package application

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"regexp"
	"sync"
)

// Asset is a file that a page loads.
type Asset struct {
	ContentType string
	Body        []byte
	// Gzip is the body compressed; nil: that saves nothing.
	Gzip []byte
	// Brotli is the body as the build compressed it, smaller; nil: it did not.
	Brotli []byte
}

// types are the kinds of files that there are. A file of another kind is not served.
var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	".png": "image/png", ".woff2": "font/woff2", ".wasm": "application/wasm", ".map": "application/json",
}

// asset is a file that is read when somebody first wants it.
type asset struct {
	read func() (Asset, error)
}

// named is what files are called: no name of one leads anywhere else.
var named = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// add lists a file of a release. Those of this release were listed first, and a name that is known stays what it is.
func (a *Application) add(from fs.FS, file string) {
	name := path.Base(file)
	contentType, known := types[path.Ext(name)]
	if _, listed := a.assets[name]; listed || !known || !named.MatchString(name) {
		return
	}
	a.assets[name] = &asset{read: sync.OnceValues(func() (Asset, error) {
		body, err := fs.ReadFile(from, file)
		return Asset{ContentType: contentType, Body: body, Gzip: compressed(body), Brotli: built(from, file+".br")}, err
	})}
}

// built is a file that a release may have; nil: it does not.
func built(from fs.FS, file string) []byte {
	body, err := fs.ReadFile(from, file)
	if err != nil {
		return nil
	}
	return body
}

// load lists the files of this release.
func (a *Application) load() error {
	files, err := fs.ReadDir(a.config.Built, "assets")
	for _, file := range files {
		if !file.IsDir() {
			a.add(a.config.Built, "assets/"+file.Name())
		}
	}
	return err
}

// Asset finds a file by its name. What a name stands for never changes, so it may be kept for ever.
func (a *Application) Asset(name string) (Asset, bool) {
	if a == nil {
		return Asset{}, false
	}
	listed, found := a.assets[name]
	if !found {
		return Asset{}, false
	}
	file, err := listed.read()
	if err != nil {
		a.config.Log.Warn("a file of the web application cannot be read", "file", name, "error", err)
	}
	return file, err == nil
}

// compressed is a body as it is sent to browsers that take it so; nil where that is not smaller.
func compressed(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}
