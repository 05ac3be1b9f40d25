package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/gateway"
)

// viewsMisused has staff who look as a customer try to do more than look, and others look who may not.
func viewsMisused(t *testing.T, s *scene) {
	g := &siege{scene: s}
	customer, other := s.enrol(t, "vera"), s.enrol(t, "vera-other")
	in := s.found(t, customer, "acme")
	k := s.issue(t, customer, in, nil, apikey.Scopes...)
	_, up := g.staffer(t, "vera-staff", account.RoleSupport)
	_, peer := g.staffer(t, "vera-peer", account.RoleAdmin)
	id, view := s.looks(t, up, customer.Account.ID)
	seen := part(t, view, "svc_view")
	path := baseOf(in) + "/agents/central/x"
	s.do(t, call{on: gateway.Agents, method: "POST", path: path, cookie: customer.cookie, body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "")
	rows := 0
	forbids := func(name string, c call) {
		t.Helper()
		rows++
		c.on, c.cookie = gateway.Agents, view
		if got := s.do(t, c); got.StatusCode != 403 || c.method != "HEAD" && !strings.Contains(got.body, "impersonation_forbidden") || got.Header.Get("Svc-Impersonation") != id {
			t.Errorf("%s: %s %s: %d %s", name, c.method, c.path, got.StatusCode, got.body)
		}
	}
	prompt := `{"kind":"user","body":"in her name"}`
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "CONNECTED", "PROPFIND", "post", "get", "Get", "QUERY", "LINK"} {
		for _, at := range []string{path, path + "/abort", baseOf(in) + "/workflows/sample", spaceOf(in), spaceOf(in) + "/people", spaceOf(in) + "/invitations", "/api/auth/reauth", "/api/nothing"} {
			forbids("unsafe", call{method: method, path: at, body: prompt})
		}
	}
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Method", "X-Forwarded-Method"} {
		header := s.page(gateway.Agents)
		header.Set(name, "GET")
		forbids(name, call{method: "POST", path: path, header: header, body: prompt})
		forbids(name, call{method: "POST", path: path + "?_method=GET&method=GET", header: header.Clone(), body: prompt})
		// A reading that would be more stays one.
		for _, method := range []string{"POST", "DELETE"} {
			rows++
			s.do(t, call{on: gateway.Agents, path: path + "?_method=" + method, cookie: view, header: http.Header{name: {method}, "Content-Type": {"application/json"}}}).wants(t, 200, "")
		}
	}
	for _, noun := range []string{"secrets", "secrets/NAME", "keys", "billing", "invoices", "sessions"} {
		for _, method := range []string{"GET", "HEAD"} {
			forbids("veiled", call{method: method, path: spaceOf(in) + "/" + noun})
			forbids("veiled", call{method: method, path: spaceOf(in) + "/" + noun + "?x=1"})
		}
	}
	forbids("verification", call{method: "GET", path: "/api/orchestration/workspace-verification?business=acme"})
	for name, header := range map[string]http.Header{"a key of hers": by(k.Key), "a key that is none": by("x"), "two keys": {"Authorization": {"Bearer " + k.Key, "Bearer " + k.Key}}} {
		header.Set("Origin", agentsURL)
		forbids(name, call{method: "POST", path: path, header: header, body: prompt})
	}
	for _, spelled := range []string{"//secrets", "/./secrets", "/%73ecrets", "/secrets%2f", "/secrets;x=1", "/SECRETS", "/secrets/", `/\secrets`} {
		rows++
		if got := s.visits(t, view, spaceOf(in)+spelled); got.StatusCode < 400 {
			t.Errorf("%s: %d %s", spelled, got.StatusCode, got.body)
		}
	}
	// Nobody else looks, and nobody looks without their own session.
	for name, c := range map[string]struct {
		cookie string
		status int
		typ    string
	}{
		"no session": {seen, 401, "unauthenticated"}, "another customer": {other.cookie + "; " + seen, 404, "workspace_not_found"},
		"another of the staff": {part(t, peer, "svc_session") + "; " + seen, 404, "workspace_not_found"}, "a session that is none": {"svc_session=x; " + seen, 401, "unauthenticated"},
		"two views": {view + "; svc_view=x", 404, "workspace_not_found"}, "quoted": {part(t, view, "svc_session") + `; svc_view="` + strings.TrimPrefix(seen, "svc_view=") + `"`, 404, "workspace_not_found"},
		"two sessions": {view + "; " + other.cookie, 400, "ambiguous_session"}, "under the name of https": {part(t, view, "svc_session") + "; __Host-" + seen, 404, "workspace_not_found"},
	} {
		for _, at := range []string{path, path + "?view=updates&offset=-1&live=sse", spaceOf(in) + "/agents"} {
			rows++
			if got := s.peek(t, call{on: gateway.Agents, path: at, cookie: c.cookie}); got.StatusCode != c.status || !strings.Contains(got.body, c.typ) || got.Header.Get("Svc-Impersonation") != "" {
				t.Errorf("%s: %s: %d %s", name, at, got.StatusCode, got.body)
			}
		}
	}
	if got := s.visits(t, customer.cookie, path+"/submissions").wants(t, 200, ""); strings.Contains(got.body, "in her name") || strings.Count(got.body, "submissionId") > 1 {
		t.Errorf("somebody wrote in her name: %s", got.body)
	}
	told := 0
	for _, e := range s.events(t, "users/vera/personal", "impersonation.read") {
		if e.Subject == nil || e.Subject.ID != customer.Account.ID || e.Actor.Username != "vera-staff" {
			t.Errorf("told: %+v", e)
		}
		told++
	}
	if told == 0 {
		t.Error("she is told nothing")
	}
	t.Logf("%d rows", rows)
}
