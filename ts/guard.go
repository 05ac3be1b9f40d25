package ts

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/internal/bundle"
)

// guard lets a module's middleware decide who passes.
func (p *Project) guard(kind bundle.Kind, name, what string) func(http.Handler) http.Handler {
	return func(behind http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.through(w, r, behind, func(x *exchange, body int64) {
				method, address, headers := x.told()
				x.act.Call("guard", x.id, string(kind), name, what, x.context, method, address, headers, body, x.parameters(kind, what))
			})
		})
	}
}

// channel lets a module's channel answer.
func (p *Project) channel(name string, index int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.through(w, r, nil, func(x *exchange, body int64) {
			method, address, headers := x.told()
			x.act.Call("channel", x.id, name, index, x.context, method, address, headers, body)
		})
	})
}

// told is a request as a context of ours needs it. One that came through the application has a context, and is not told again.
func (x *exchange) told() (method, address, headers string) {
	if x.context != 0 {
		return "", "", ""
	}
	address, headers = x.p.shown(x.r)
	return x.r.Method, address, headers
}

// parameters are those of the path, for a context that no framework has made.
func (x *exchange) parameters(kind bundle.Kind, what string) string {
	if x.context != 0 {
		return ""
	}
	segments := strings.Split(strings.TrimPrefix(x.r.URL.EscapedPath(), "/"), "/")
	names := []string{"", "name"}
	switch {
	case kind == bundle.Agents:
		names = []string{"", "name", "id", "", "attachmentId"}
	case what == "runs":
		names = []string{"", "runId"}
	}
	found := map[string]string{}
	for i, name := range names {
		if name != "" && i < len(segments) {
			found[name], _ = url.PathUnescape(segments[i]) // the API has read it already
		}
	}
	text, _ := json.Marshal(found) // texts
	return string(text)
}
