package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/gateway"
)

// throughProjects goes through what there is of projects, as a customer and as the staff in their own workspace.
func (w *way) throughProjects(t *testing.T) {
	host := githubtest.New(t)
	host.Push(t, "octocat/hello-world", map[string]string{"README": "Hello"})
	w.followed.Hosts = map[string]string{"github": host.URL}
	// The workspace of the staff has no installation: what it would answer with one is asked all the same.
	byAccount := w.followed.Token
	w.followed.Token = func(ctx context.Context, provider, scope string, installation int64, owner, name string) (string, error) {
		if scope == "admin" {
			return "ghs_test", nil
		}
		return byAccount(ctx, provider, scope, installation, owner, name)
	}
	w.throughProjectsOf(t, gateway.Agents, "/api/workspaces/ada/personal", w.installation(t))
	w.goes(t, 204, call{on: gateway.Admin, method: "POST", path: elevatePath, body: map[string]string{"password": password}})
	w.throughProjectsOf(t, gateway.Admin, "/api/workspaces/admin", 1)
	on := func(method, path string, body any) call {
		return call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/personal" + path, body: body}
	}
	w.goes(t, 201, on("POST", "/projects", map[string]string{"name": "Shop"}))
	var team struct{ ID string }
	w.goes(t, 201, on("POST", "/teams", map[string]string{"name": "Ops"})).read(t, &team)
	w.goes(t, 200, on("PUT", "/teams/"+team.ID+"/projects/shop", map[string]string{"role": "builder"}))
	w.goes(t, 200, on("DELETE", "/teams/"+team.ID+"/projects/shop", nil))
}

func (w *way) throughProjectsOf(t *testing.T, surface gateway.Surface, path string, installation int64) {
	t.Helper()
	on := func(method, rest string, body any, pairs ...string) call {
		h := http.Header{}
		if method != "GET" {
			h = w.page(surface)
		}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return call{on: surface, method: method, path: path + rest, body: body, header: h}
	}
	w.goes(t, 201, on("POST", "/projects", map[string]string{"slug": "site", "name": "Site", "description": "Ours"}))
	w.goes(t, 200, on("GET", "/projects", nil))
	w.goes(t, 200, on("GET", "/projects/site", nil))
	w.goes(t, 200, on("PATCH", "/projects/site", map[string]string{"name": "The site"}, "If-Match", `"1"`))
	w.goes(t, 201, on("PUT", "/projects/site/files/docs/a%20b.md", "0123456789", "Content-Type", "text/markdown"))
	tag := w.goes(t, 200, on("PUT", "/projects/site/files/docs/a%20b.md", "abcdefghij")).Header.Get("ETag")
	w.goes(t, 200, on("GET", "/projects/site/files", nil))
	w.goes(t, 200, on("GET", "/projects/site/files?folded=true&prefix=d", nil))
	w.goes(t, 200, on("GET", "/projects/site/files/docs/a%20b.md", nil))
	w.goes(t, 206, on("GET", "/projects/site/files/docs/a%20b.md", nil, "Range", "bytes=2-4"))
	w.goes(t, 304, on("GET", "/projects/site/files/docs/a%20b.md", nil, "If-None-Match", tag))
	w.goes(t, 200, on("POST", "/projects/site/move", map[string]string{"from": "docs/a b.md", "to": "c"}, "If-Match", tag))
	w.goes(t, 204, on("DELETE", "/projects/site/files/c", nil))
	w.goes(t, 200, on("GET", "/storage", nil))
	w.goes(t, 200, on("GET", "/installations", nil))
	w.goes(t, 200, on("PUT", "/projects/site/repository", map[string]any{"provider": "github", "owner": "octocat", "name": "hello-world", "installationId": installation}))
	w.goes(t, 200, on("POST", "/projects/site/pull", nil))
	w.goes(t, 201, on("PUT", "/projects/site/files/mine", "mine"))
	w.goes(t, 200, on("GET", "/projects/site/changes", nil))
	w.goes(t, 204, on("DELETE", "/projects/site/repository", nil))
	w.goes(t, 204, on("DELETE", "/projects/site", nil))
}
