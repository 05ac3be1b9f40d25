package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// supportChangesNothing has support try everything on Admin that is no reading.
func supportChangesNothing(t *testing.T, s *scene) {
	customer := s.enrol(t, "tess")
	in := s.found(t, customer, "acme")
	g := &siege{scene: s}
	_, up := g.staffer(t, "tess-helper", account.RoleSupport)
	lines := []gateway.Line{
		{Method: "POST", Path: baseOf(in) + "/agents/central/x"}, {Method: "POST", Path: baseOf(in) + "/agents/central/x/abort"}, {Method: "POST", Path: baseOf(in) + "/workflows/sample"},
		{Method: "POST", Path: "/v1/admin/agents/central/x"}, {Method: "POST", Path: "/v1/admin/workflows/sample"}, {Method: "DELETE", Path: baseOf(in) + "/runs/run_x"}, {Method: "PUT", Path: baseOf(in) + "/runs"},
	}
	for _, l := range gateway.Lines() {
		if slices.Contains(l.Surfaces, gateway.Admin) && strings.HasPrefix(l.Path, "/api/") && l.Method != "GET" && !slices.Contains(ungated, l.Path) && !strings.HasPrefix(l.Path, viewsPath) {
			path := strings.NewReplacer("{username}", "tess", "{business}", "acme", "/people/{id}", "/people/"+customer.Account.ID, "/workspaces/{id}", "/workspaces/"+in.ID).Replace(l.Path)
			lines = append(lines, gateway.Line{Method: l.Method, Path: somewhere(path)})
		}
	}
	for _, l := range lines {
		for name, body := range map[string]string{"nothing": "", "a reason": `{"reason":"x"}`} {
			if got := s.on(t, up, l.Method, l.Path, body); got.StatusCode != 403 || got.verdict() != "forbidden" {
				t.Errorf("%s %s with %s: %d %s", l.Method, l.Path, name, got.StatusCode, got.body)
			}
		}
	}
	p, err := s.Staff.Person(t.Context(), customer.Account.ID)
	if err != nil || p.Suspended || p.Role != account.RoleNone || p.Sessions != 1 {
		t.Errorf("something changed: %+v, %v", p, err)
	}
	if got := s.events(t, in.Scope, "staff.acted"); len(got) > 0 {
		t.Errorf("support acted: %+v", got)
	}
	t.Logf("%d rows", 2*len(lines))
}

// authorityMisused brings the cookies of staff to where and when they do not count, also to the runtime.
func authorityMisused(t *testing.T, s *scene) {
	g := &siege{scene: s}
	customer := s.enrol(t, "amy")
	in := s.found(t, customer, "acme")
	boss, up := g.staffer(t, "amy-boss", account.RoleAdmin)
	_, peer := g.staffer(t, "amy-peer", account.RoleAdmin)
	_, ended := g.staffer(t, "amy-ended", account.RoleAdmin)
	former, was := g.staffer(t, "amy-former", account.RoleAdmin)
	again, err := s.Passwords.Login(accounttest.From(t), "amy-boss@example.com", password, "")
	if err != nil {
		t.Fatal(err)
	}
	session, elevation := part(t, up, "svc_session"), part(t, up, "svc_admin")
	s.on(t, ended, "DELETE", elevatePath, nil).wants(t, 204, "")
	s.grant(t, former.Account.ID, account.RoleNone)
	_, view := s.looks(t, up, customer.Account.ID)
	seen := part(t, view, "svc_view")
	for name, c := range map[string]struct {
		cookie string
		status int
		typ    string
	}{
		"a customer with a stolen one":        {customer.cookie + "; " + elevation, 403, "admin_required"},
		"another of the staff with it":        {part(t, peer, "svc_session") + "; " + elevation, 403, "reauth_required"},
		"another session of the same person":  {"svc_session=" + again.Token + "; " + elevation, 403, "reauth_required"},
		"replayed after it was given back":    {ended, 403, "reauth_required"},
		"of one who is no staff any more":     {was, 403, "admin_required"},
		"without a session":                   {elevation, 401, "unauthenticated"},
		"a view in its place":                 {session + "; svc_admin=" + strings.TrimPrefix(seen, "svc_view="), 403, "reauth_required"},
		"a view beside a session":             {session + "; " + seen, 403, "reauth_required"},
		"a customer's session beside the own": {up + "; " + customer.cookie, 400, "ambiguous_session"},
	} {
		for _, path := range []string{baseOf(in) + "/runs", baseOf(in) + "/agents/central/x?view=updates&offset=-1&live=sse", "/v1/admin/runs", "/api/admin/people"} {
			if got := s.peek(t, call{on: gateway.Admin, path: path, cookie: c.cookie}); got.StatusCode != c.status || !strings.Contains(got.body, c.typ) {
				t.Errorf("%s: %s: %d %s", name, path, got.StatusCode, got.body)
			}
		}
		if got := s.on(t, c.cookie, "POST", baseOf(in)+"/agents/central/x", `{"kind":"user","body":"hi"}`); got.StatusCode != c.status {
			t.Errorf("%s: a prompt: %d %s", name, got.StatusCode, got.body)
		}
	}
	// On the surfaces of customers it is worth nothing.
	for _, path := range []string{baseOf(in) + "/runs", spaceOf(in) + "/people", "/v1/admin/runs"} {
		s.do(t, call{on: gateway.Agents, path: path, cookie: up}).wants(t, 404, "workspace_not_found")
	}
	for _, header := range []http.Header{{"X-Svc-Authority": {"admin"}, "X-Svc-Account": {"amy"}}, {"X-Svc-Runtime-Token": {adminToken}}, {"X-Svc-Actor": {"amy"}, "X-Svc-Scope": {in.Scope}}} {
		s.do(t, call{on: gateway.Agents, path: baseOf(in) + "/runs", header: header, cookie: boss.cookie}).wants(t, 401, "unauthenticated")
		s.do(t, call{on: gateway.Agents, path: baseOf(in) + "/runs", header: header, cookie: up}).wants(t, 404, "workspace_not_found")
	}
	s.on(t, up, "GET", baseOf(in)+"/runs", nil).wants(t, 200, "")
}
