// Package application is the web application as it is served: a document for each surface, and the files that it loads. Which
// addresses are its pages stands in service/site, and who may open them.
//
// Files have a hash of their content in their names, so each may be kept for ever. A tab that was opened before an update loads
// parts of the release that it is of: those of the release before are kept in the data folder.
package application

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
)

// Config is what the application needs. Built is required.
type Config struct {
	// Built are its files: index.html and assets/. Without index.html there is no application, and its document says how to build one.
	Built fs.FS
	// Folder is where the files of releases are kept. Defaults to none: only those of this one are served.
	Folder string
	// Addresses are those of the surfaces, by their names.
	Addresses map[string]string
	// Log hears that files cannot be kept. Defaults to slog.Default().
	Log *slog.Logger
}

// Application serves a release, and the one before it. It is safe for concurrent use.
type Application struct {
	config Config
	index  string // empty: nothing was built
	build  string
	policy string
	assets map[string]*asset // by their names
}

// Open reads the application and keeps its files. Files that cannot be kept are no reason to fail: a tab of this release then has to be
// loaded anew after an update.
func Open(c Config) (*Application, error) {
	c.Log = cmp.Or(c.Log, slog.Default())
	a := &Application{config: c, assets: map[string]*asset{}}
	index, err := fs.ReadFile(c.Built, "index.html")
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open application: %w", err)
	}
	a.index = string(index)
	sum := sha256.Sum256(index)
	a.build = hex.EncodeToString(sum[:6])
	a.policy = policy(a.index)
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("open application: %w", err)
	}
	if err := a.keep(); err != nil {
		c.Log.Warn("the files of the web application are not kept for the next release", "error", err)
	}
	return a, nil
}

// Built reports whether there is an application to serve.
func (a *Application) Built() bool { return a != nil && a.index != "" }

// Build names the release. A page of another one is told by it that there is news.
func (a *Application) Build() string { return a.build }

// place is the mark in the document that becomes where it is served, and platform that which becomes where accounts are.
const (
	place    = `name="svc-place" content=""`
	platform = "__platform__"
)

// Document is the page that a surface serves at every address of the application, and the policy under which it works.
func (a *Application) Document(surface string) (body []byte, policy string) {
	if !a.Built() {
		return []byte(unbuilt), bare
	}
	told := map[string]string{"surface": surface, "build": a.build}
	for name, address := range a.config.Addresses {
		told[name] = address
	}
	text, err := json.Marshal(told)
	if err != nil {
		panic("application: a map of texts is always JSON")
	}
	filled := strings.NewReplacer(place, `name="svc-place" content="`+html.EscapeString(string(text))+`"`, platform, html.EscapeString(a.config.Addresses["platform"]))
	return []byte(filled.Replace(a.index)), a.policy
}

// inline finds the scripts that stand in the document itself.
var inline = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// policy is the Content-Security-Policy of the document: nothing is loaded from elsewhere, no style stands in it, and of the scripts that
// do only these run. Pictures that a person pastes are shown before they are sent.
func policy(index string) string {
	scripts := "script-src 'self'"
	for _, found := range inline.FindAllStringSubmatch(index, -1) {
		sum := sha256.Sum256([]byte(found[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", scripts, "style-src 'self'", "img-src 'self' blob: data:", "font-src 'self'", "connect-src 'self'", "worker-src 'self'",
		"form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
	}, "; ")
}

// bare is the policy of a document that loads nothing.
const bare = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

// unbuilt is the document of a binary that carries no application.
const unbuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not built · svc</title>
</head>
<body>
<main>
<h1>The web application is not in this binary</h1>
<p>It was built without Node. Everything else works: the API, signing in and the account.</p>
<p>To build it, install Node 20 or later, and then:</p>
<pre>scripts/web &amp;&amp; scripts/build</pre>
<p><code>make run</code> does both.</p>
</main>
</body>
</html>
`
