package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

var origins = []string{"https://example.com", "https://agents.example.com", "https://admin.example.com"}

// What is accepted leads to one of ours, by the eyes of a browser too.
func FuzzReturnTo(f *testing.F) {
	for _, s := range []string{"/a", "//b", `/\c`, "https://agents.example.com/x", "https://agents.example.com.evil/", "javascript:x", "/%0d%0a"} {
		f.Add(s)
	}
	base, _ := url.Parse("https://example.com/login")
	f.Fuzz(func(t *testing.T, text string) {
		if !validReturnTo(text, origins) {
			return
		}
		// A browser takes a backslash for a slash and drops tabs and line breaks.
		seen := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(strings.TrimSpace(text))
		u, err := base.Parse(seen)
		if err != nil || !slices.Contains(origins, u.Scheme+"://"+u.Host) || u.User != nil {
			t.Fatalf("%q leads to %v, %v", text, u, err)
		}
	})
}

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
		x := &exchange{r: &http.Request{URL: u}}
		if x.checkPath() != nil || !strings.HasPrefix(u.Path, "/api/") {
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

// Whatever a Cookie header holds, it gives one value or none, and never one that was not sent as svc_session.
func FuzzCookie(f *testing.F) {
	value := "svcs_" + strings.Repeat("A", 43)
	for _, s := range []string{"svc_session=" + value, "svc_session=a; svc_session=b", `svc_session="x"`, "$Version=1; svc_session=x", ";;;=", "svc_session"} {
		f.Add(s)
	}
	surfaces := Surfaces{Platform: &url.URL{Scheme: "https", Host: "example.com"}, Agents: &url.URL{Scheme: "https", Host: "agents.example.com"}, Admin: &url.URL{Scheme: "https", Host: "admin.example.com"}}
	g := &Gateway{Config: Config{Surfaces: surfaces, CookieDomain: "example.com"}}
	g.cookies = newCookies(g.Config)
	f.Fuzz(func(t *testing.T, header string) {
		x := &exchange{g: g, r: &http.Request{Header: http.Header{"Cookie": {header}}}, out: &answer{ResponseWriter: httptest.NewRecorder()}}
		got, err := x.sessionValue()
		if err != nil || got == "" {
			return
		}
		if !strings.Contains(header, "svc_session="+got) || strings.Count(header, "svc_session="+got) > 1 && !strings.Contains(header, "x") {
			t.Fatalf("%q gives %q", header, got)
		}
	})
}
