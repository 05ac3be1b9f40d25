package dev

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"svc.dev/svc/ts"
)

// Page is where the author's page stands. An application cannot have this path while it is served here.
const Page = "/_svc"

// policy lets the page use what is served beside it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed page
var pages embed.FS

var sheets = template.Must(template.ParseFS(pages, "page/*.html"))

// newPage serves the page, what it loads, the news of builds, and the API without guards.
func (s *Server) newPage() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Page, s.showPage)
	mux.HandleFunc("GET "+Page+"/{file}", showFile)
	mux.HandleFunc("GET "+Page+"/news", s.showNews)
	mux.Handle(Page+"/api/", http.StripPrefix(Page+"/api", http.HandlerFunc(s.tryOut)))
	// Nobody signs in here: pages of strangers must not reach it, neither as they are nor under a name that leads to this machine.
	return local(http.NewCrossOriginProtection().Handler(mux))
}

// local refuses hosts that a name server could have led here.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			http.Error(w, "This page is for localhost, or the number of an address.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// pageView is what the page's template sees.
type pageView struct {
	Name    string
	Build   int
	Failure string // why the files cannot be built; empty: they can
	Serving bool
	Modules []trial
}

// trial is a declaration with the form that tries it out.
type trial struct {
	ts.Declaration
	Shape string // changes with the form
	Input string // what an input may look like
}

func (s *Server) showPage(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusOK, "page.html", s.shown())
}

func (s *Server) shown() pageView {
	last := s.Last()
	v := pageView{Name: filepath.Base(s.config.Folder), Build: last.Number, Serving: last.Serving}
	if last.Err != nil {
		v.Failure = Explain(last.Err)
	}
	if now := s.current(); now != nil {
		for _, d := range now.project.Declarations() {
			v.Modules = append(v.Modules, newTrial(d))
		}
	}
	return v
}

func newTrial(d ts.Declaration) trial {
	m := trial{Declaration: d, Input: sample(d.Input)}
	m.Shape = fmt.Sprintf("%.8x", sha256.Sum256(fmt.Append(nil, d.Description, d.Served, string(d.Input), d.Routes)))
	return m
}

// sample is an input with a value of its type for every property; a person puts in what is meant.
func sample(input json.RawMessage) string {
	var form struct {
		Properties map[string]struct {
			Type    any
			Default any
			Enum    []any
		}
	}
	if input == nil || json.Unmarshal(input, &form) != nil {
		return ""
	}
	values := map[string]any{}
	for name, p := range form.Properties {
		values[name] = map[any]any{"number": 0, "integer": 0, "boolean": false, "array": []any{}, "object": map[string]any{}, "null": nil}[typeName(p.Type)]
		switch {
		case p.Default != nil:
			values[name] = p.Default
		case len(p.Enum) > 0:
			values[name] = p.Enum[0]
		case typeName(p.Type) == "string":
			values[name] = ""
		}
	}
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return "{}"
	}
	return string(text)
}

// typeName is the type that a schema names; of several, none.
func typeName(of any) string {
	name, _ := of.(string)
	return name
}

// showFailure tells a browser why the page that it asked for is not shown.
func (s *Server) showFailure(w http.ResponseWriter, err error) {
	s.show(w, http.StatusInternalServerError, "failure.html", pageView{Name: filepath.Base(s.config.Folder), Failure: Explain(err), Build: s.Last().Number, Serving: s.Last().Serving})
}

func (s *Server) show(w http.ResponseWriter, status int, sheet string, v pageView) {
	var b bytes.Buffer
	if err := sheets.ExecuteTemplate(&b, sheet, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // a browser that has gone needs no page
}

// showFile gives what the page loads.
func showFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[filepath.Ext(name)]
	data, err := pages.ReadFile("page/" + name)
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data)
}

// showNews tells a page of every build, the newest first of all.
func (s *Server) showNews(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		wake, open := s.news.next()
		last := s.Last()
		about := map[string]any{"build": last.Number, "failure": ""}
		if last.Err != nil {
			about["failure"] = Explain(last.Err)
		}
		data, _ := json.Marshal(about) // texts and a number
		fmt.Fprintf(w, "event: build\ndata: %s\n\n", data)
		if !open || out.Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		case <-time.After(newsBeat):
		}
	}
}

// newsBeat is how often a page hears that the server is there.
const newsBeat = 15 * time.Second

// tryOut lets the page use all that the project declares.
func (s *Server) tryOut(w http.ResponseWriter, r *http.Request) {
	brief := isBrief(r)
	on := s.enter(brief)
	if on == nil {
		s.refuse(w, r)
		return
	}
	if !brief {
		// It follows what the Store has, which outlives the edition.
		on.leave(brief)
		on.try.ServeHTTP(w, r)
		return
	}
	defer on.leave(brief)
	on.try.ServeHTTP(w, r)
}
