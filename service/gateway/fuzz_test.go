package gateway

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/service/surface"
)

// What passes the check has one reading.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/api/x", "/api//x", "/api/%2e%2e/x", "/api/..%2fx", "/a/b;c", "/", "/api/x%2fy", `/api/a\b`,
		"/api/workspaces/a/b/projects/c/files/100%25.md", "/api/workspaces/a/b/projects/c/files/%252e%252e/a;b", "/api/workspaces/admin/projects/c/files/x%2fy"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || !strings.HasPrefix(path, "/") {
			return
		}
		x := &surface.Exchange{Request: &http.Request{URL: u}}
		if x.CheckPath(freeFrom) != nil || !strings.HasPrefix(u.Path, "/api/") {
			return
		}
		segments := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
		free := freeFrom(segments)
		for i, segment := range segments {
			if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, `\`) || i < free && strings.ContainsAny(segment, "%;") {
				t.Fatalf("%q passes as %q", path, u.Path)
			}
		}
		if strings.Count(u.Path, "/") != strings.Count(u.EscapedPath(), "/") {
			t.Fatalf("%q hides a slash", path)
		}
	})
}
