package gateway_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/surface"
)

// production is a service on https.
func production(c *gateway.Config) {
	c.Surfaces = surface.Surfaces{Platform: parse("https://example.com"), Agents: parse("https://agents.example.com"), Admin: parse("https://admin.example.com")}
	c.CookieDomain, c.Development = "example.com", false
	trusting(c)
}

// loginCookies are the cookies of a sign-in and a logout, with their values left out.
func loginCookies(t *testing.T, s *scene, origin string) (in, out []string) {
	t.Helper()
	s.session(t, "ada@example.com")
	header := http.Header{"Origin": {origin}, "Content-Type": {"application/json"}}
	got := s.do(t, call{method: "POST", path: loginPath, body: map[string]string{"email": "ada@example.com", "password": password}, header: header, from: fresh()})
	got.wants(t, 200, "")
	left := s.do(t, call{method: "POST", path: "/api/auth/logout", header: http.Header{"Origin": {origin}}, cookie: got.cookies()})
	if left.StatusCode != 204 || left.Header.Get("Clear-Site-Data") != `"cookies","storage"` {
		t.Errorf("logout: %d %v", left.StatusCode, left.Header)
	}
	return masked(got.Header["Set-Cookie"]), masked(left.Header["Set-Cookie"])
}

var values = regexp.MustCompile(`=(svcs_)?[A-Za-z0-9_-]{43};`)

func masked(all []string) []string {
	var out []string
	for _, c := range all {
		out = append(out, values.ReplaceAllString(c, "=${1}VALUE;"))
	}
	return out
}

func TestCookiesAreExactlyAsTheirEnvironmentDemands(t *testing.T) {
	in, out := loginCookies(t, quick(t, trusting), platformURL)
	want(t, in,
		"svc_session=svcs_VALUE; Path=/; Domain=svc.localhost; Max-Age=2592000; HttpOnly; SameSite=Lax",
		"svc_device=VALUE; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")
	want(t, out,
		"svc_session=; Path=/; Domain=svc.localhost; Max-Age=0; HttpOnly; SameSite=Lax",
		"svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
	in, out = loginCookies(t, quick(t, production), "https://example.com")
	want(t, in,
		"svc_session=svcs_VALUE; Path=/; Domain=example.com; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax",
		"__Host-svc_device=VALUE; Path=/; Max-Age=31536000; HttpOnly; Secure; SameSite=Lax")
	want(t, out,
		"svc_session=; Path=/; Domain=example.com; Max-Age=0; HttpOnly; Secure; SameSite=Lax",
		"svc_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax")
	in, _ = loginCookies(t, quick(t, trusting, func(c *gateway.Config) { c.CookieDomain = "127.0.0.1" }), platformURL)
	want(t, in, "svc_session=svcs_VALUE; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax", "svc_device=VALUE; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")
}

func want(t *testing.T, got []string, all ...string) {
	t.Helper()
	if !slices.Equal(got, all) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(all, "\n\t"))
	}
}

func TestEverySurfaceSendsTheHeadersThatProtectIt(t *testing.T) {
	for name, c := range map[string]struct {
		edit []func(*gateway.Config)
		hsts string
	}{"development": {nil, ""}, "production": {[]func(*gateway.Config){production}, "max-age=63072000; includeSubDomains"}} {
		s := quick(t, c.edit...)
		for _, on := range []gateway.Surface{gateway.Platform, gateway.Agents, gateway.Admin} {
			for _, path := range []string{"/api/auth/session", "/api/nothing"} {
				h := s.do(t, call{on: on, path: path}).Header
				for key, want := range map[string]string{
					"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-site",
					"Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Strict-Transport-Security": c.hsts, "Server": "", "Cache-Control": "no-store",
					"Content-Security-Policy": "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
				} {
					if h.Get(key) != want {
						t.Errorf("%s %s %s: %s is %q", name, on, path, key, h.Get(key))
					}
				}
			}
		}
		h := s.do(t, call{path: "/login", header: http.Header{"Accept": {"text/html"}}}).Header
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "style-src 'self'", "form-action 'self'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("policy of a page: %s", policy)
			}
		}
	}
}

func TestASessionThatWasSlippedInIsNone(t *testing.T) {
	s := quick(t)
	cookie, ada := s.session(t, "ada@example.com")
	_, eve := s.session(t, "eve@example.com")
	for name, c := range map[string]struct {
		cookie string
		typ    string
	}{
		"tossed before":          {"svc_session=" + eve.Token + "; " + cookie, "ambiguous_session"},
		"tossed after":           {cookie + "; svc_session=" + eve.Token, "ambiguous_session"},
		"the same twice":         {cookie + "; " + cookie, "ambiguous_session"},
		"an empty one beside it": {cookie + "; svc_session=", "ambiguous_session"},
		"quoted":                 {`svc_session="` + ada.Token + `"`, ""},
		"chosen by an attacker":  {"svc_session=svcs_" + strings.Repeat("A", 43), ""},
		"with padding":           {cookie + "=", ""},
		"another name":           {"Svc_session=" + ada.Token, ""},
		"a wide space before":    {"\u2000svc_session=" + ada.Token, ""},
		"$Version":               {"$Version=1; svc_sessions=" + ada.Token, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(t, call{path: "/api/auth/session", cookie: c.cookie})
			if c.typ == "" {
				got.wants(t, 200, "")
				if !strings.Contains(got.body, `"authenticated":false`) {
					t.Errorf("signed in: %s", got.body)
				}
				return
			}
			got.wants(t, 400, c.typ)
			if len(got.Header["Set-Cookie"]) != 2 {
				t.Errorf("cookies: %v", got.Header["Set-Cookie"])
			}
		})
	}
	for name, c := range map[string]call{
		"Authorization": {path: "/api/auth/session", header: http.Header{"Authorization": {"Bearer " + ada.Token}}},
		"header":        {path: "/api/auth/session", header: http.Header{"X-Svc-Account": {"ada"}, "Svc_session": {ada.Token}}},
	} {
		if got := s.do(t, c).wants(t, 200, ""); !strings.Contains(got.body, `"authenticated":false`) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	two := s.do(t, call{path: "/api/auth/session", header: http.Header{"Cookie": {cookie, "svc_session=" + eve.Token}}})
	two.wants(t, 400, "ambiguous_session")
}

func TestASignInNeverAdoptsWhatTheBrowserBrought(t *testing.T) {
	s := quick(t, trusting)
	cookie, ada := s.session(t, "ada@example.com")
	got := s.do(t, call{method: "POST", path: loginPath, cookie: cookie, body: map[string]string{"email": "ada@example.com", "password": password}, from: fresh()})
	got.wants(t, 200, "")
	if strings.Contains(got.cookies(), ada.Token) {
		t.Error("the old value goes on")
	}
	if body := s.do(t, call{path: "/api/auth/session", cookie: cookie}).body; !strings.Contains(body, `"authenticated":false`) {
		t.Errorf("the session of before lives: %s", body)
	}
}

func TestWhoIsSignedInIsToldOnEverySurface(t *testing.T) {
	s := quick(t)
	cookie, ada := s.session(t, "ada@example.com")
	for _, on := range []gateway.Surface{gateway.Platform, gateway.Agents, gateway.Admin} {
		var got struct {
			Authenticated bool
			Account       struct {
				ID, Username, Email string
				EmailVerified       bool
				Methods             []string
			}
			Session    struct{ ID, CreatedAt, ExpiresAt, AuthTime string }
			Workspaces []struct{ Business, Scope, Role string }
			Warnings   []any
		}
		s.do(t, call{on: on, path: "/api/auth/session", cookie: cookie}).wants(t, 200, "").read(t, &got)
		if !got.Authenticated || got.Account.ID != ada.Account.ID || got.Account.Email != "ada@example.com" || !slices.Equal(got.Account.Methods, []string{"password"}) ||
			len(got.Workspaces) != 1 || got.Workspaces[0].Scope != "users/ada/personal" || got.Workspaces[0].Role != "owner" || got.Warnings == nil {
			t.Errorf("%s: %+v", on, got)
		}
	}
	for _, path := range []string{"/api/account", "/api/account/sessions", "/api/account/identities"} {
		got := s.do(t, call{path: path})
		got.wants(t, 401, "unauthenticated")
		if got.Header.Get("WWW-Authenticate") != `Bearer realm="svc"` {
			t.Errorf("%s: %v", path, got.Header)
		}
		s.do(t, call{on: gateway.Agents, path: path, cookie: cookie}).wants(t, 404, "route_not_found")
	}
	got := s.do(t, call{path: "/account", header: http.Header{"Sec-Fetch-Mode": {"navigate"}}})
	if got.StatusCode != 302 || got.Header.Get("Location") != platformURL+"/login?returnTo=%2Faccount" {
		t.Errorf("a person who is not signed in: %d %s", got.StatusCode, got.Header.Get("Location"))
	}
}

func TestSensitiveActsNeedAFreshProof(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	s.Clock.Pass(11 * time.Minute)
	for _, c := range []call{
		{method: "POST", path: "/api/account/email", body: map[string]string{"email": "x@example.com"}},
		{method: "POST", path: "/api/account/sessions/revoke-others"},
		{method: "DELETE", path: "/api/account?confirm=ada"},
		{method: "DELETE", path: "/api/account/identities/idn_x"},
		{method: "POST", on: gateway.Agents, path: "/api/workspaces/ada/personal/keys", body: map[string]any{"name": "n", "scopes": []string{"agents:read"}}},
	} {
		c.cookie = cookie
		got := s.do(t, c).wants(t, 403, "reauth_required")
		if !strings.Contains(got.body, `"methods":["password"]`) {
			t.Errorf("%s: %s", c.path, got.body)
		}
	}
	s.do(t, call{method: "POST", path: "/api/auth/reauth", cookie: cookie, body: map[string]string{"password": "wrong"}}).wants(t, 401, "invalid_credentials")
	got := s.do(t, call{on: gateway.Admin, method: "POST", path: "/api/auth/reauth", cookie: cookie, body: map[string]string{"password": password}})
	got.wants(t, 204, "")
	s.do(t, call{method: "POST", path: "/api/account/sessions/revoke-others", cookie: got.cookies()}).wants(t, 200, "")
	s.do(t, call{path: "/api/account", cookie: cookie}).wants(t, 401, "unauthenticated")
}
