package surface_test

import (
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/surface"
)

var surfaces = surface.Surfaces{
	Platform: &url.URL{Scheme: "https", Host: "example.com"}, Agents: &url.URL{Scheme: "https", Host: "agents.example.com"},
	Admin: &url.URL{Scheme: "https", Host: "admin.example.com"},
}

// What is accepted leads to one of ours, by the eyes of a browser too.
func FuzzReturnTo(f *testing.F) {
	for _, s := range []string{"/a", "//b", `/\c`, "https://agents.example.com/x", "https://agents.example.com.evil/", "javascript:x", "/%0d%0a"} {
		f.Add(s)
	}
	base, _ := url.Parse("https://example.com/login")
	f.Fuzz(func(t *testing.T, text string) {
		if !surfaces.Has(text) {
			return
		}
		// A browser takes a backslash for a slash and drops tabs and line breaks.
		seen := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(strings.TrimSpace(text))
		u, err := base.Parse(seen)
		if err != nil || !slices.Contains(surfaces.Origins(), u.Scheme+"://"+u.Host) || u.User != nil {
			t.Fatalf("%q leads to %v, %v", text, u, err)
		}
	})
}

// Whatever a Cookie header holds, it gives one value or none, and never one that was not sent as svc_session.
func FuzzCookie(f *testing.F) {
	value := "svcs_" + strings.Repeat("A", 43)
	for _, s := range []string{"svc_session=" + value, "svc_session=a; svc_session=b", `svc_session="x"`, "svc_session =0", "svc_session= 0", "$Version=1; svc_session=x", ";;;=", "svc_session"} {
		f.Add(s)
	}
	c := &surface.Config{Surfaces: surfaces, CookieDomain: "example.com"}
	f.Fuzz(func(t *testing.T, header string) {
		x := surface.New(c, httptest.NewRecorder(), &http.Request{Header: http.Header{"Cookie": {header}}})
		got, err := x.SessionValue()
		if err != nil || got == "" {
			return
		}
		if values := sessionsIn(header); len(values) != 1 || values[0] != got {
			t.Fatalf("%q gives %q, of %q", header, got, values)
		}
	})
}

// sessionsIn are the values of a header's cookies of that name which a browser could have sent. Spaces around a name and a cookie are none of either.
func sessionsIn(header string) (values []string) {
	for pair := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(textproto.TrimString(pair), "=")
		if textproto.TrimString(name) == surface.SessionCookie && !strings.ContainsFunc(value, noCookie) {
			values = append(values, value)
		}
	}
	return values
}

func noCookie(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`";\`, r) }
