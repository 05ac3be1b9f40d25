package gateway_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/gateway"
)

const elevatePath = "/api/auth/elevate"

// hire makes somebody of the staff, and returns the cookie of their session.
func (s *scene) hire(t testing.TB, username, role string) (cookie string, who account.Registered) {
	t.Helper()
	cookie, who = s.session(t, username+"@example.com")
	if _, err := s.Staff.Grant(t.Context(), who.Account.ID, role); err != nil {
		t.Fatal(err)
	}
	return cookie, who
}

// elevate takes up the authority of the staff, and returns the cookies of the browser.
func (s *scene) elevate(t testing.TB, cookie string) string {
	t.Helper()
	return s.do(t, call{on: gateway.Admin, method: "POST", path: elevatePath, cookie: cookie, body: map[string]string{"password": password}}).wants(t, 204, "").cookies()
}

// on asks Admin.
func (s *scene) on(t testing.TB, cookie, method, path string, body any) reply {
	t.Helper()
	return s.do(t, call{on: gateway.Admin, method: method, path: path, cookie: cookie, body: body})
}

// events are the newest of a chain, of one action.
func (s *scene) events(t testing.TB, chain, action string) []audit.Event {
	t.Helper()
	p, err := s.Log.Page(t.Context(), audit.Query{Scope: chain, Action: action, Query: listing.Query{Limit: 200}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Items
}

// part is one cookie of many.
func part(t testing.TB, cookies, name string) string {
	t.Helper()
	for one := range strings.SplitSeq(cookies, "; ") {
		if strings.HasPrefix(one, name+"=") {
			return one
		}
	}
	t.Fatalf("no %s in %s", name, cookies)
	return ""
}

// somewhere fills in the parameters of a path.
func somewhere(path string) string {
	return strings.NewReplacer("{provider}", "github", "{username}", "ada", "{business}", "personal", "{name}", "central", "{run}", "run_x", "{account}", "acc_x",
		"{team}", "tem_x", "{secret}", "NAME", "{invitation}", "inv_x", "{id}", "acc_x", "{key}", "key_x", "{slug}", "site", "{version}", "1", "{mcp}", "mcp_x", "{tool}", "echo", "{path}", "x").Replace(regexp.MustCompile(`\{[a-z]+\.\.\.\}`).ReplaceAllString(path, "x"))
}

// ungated are the ways in and out of Admin.
var ungated = []string{"/api/auth/session", "/api/auth/logout", "/api/auth/reauth", elevatePath, "/api/openapi.json", "/api/probe", "/api/keys/revoke"}

func TestEverythingOnAdminNeedsASessionARoleAndItsElevation(t *testing.T) {
	s := quick(t, roomy)
	customer, _ := s.session(t, "ada@example.com")
	admin, _ := s.hire(t, "root1", account.RoleAdmin)
	support, _ := s.hire(t, "helper", account.RoleSupport)
	lines := []gateway.Line{
		{Method: "GET", Path: "/v1/ada/personal/agents/central/x"}, {Method: "POST", Path: "/v1/ada/personal/agents/central/x"}, {Method: "GET", Path: "/v1/admin/runs"},
		{Method: "POST", Path: "/v1/admin/agents/central/x/abort"}, {Method: "POST", Path: "/v1/ada/personal/workflows/sample"}, {Method: "GET", Path: "/v1/nobody/none/runs"},
	}
	for _, l := range gateway.Lines() {
		if slices.Contains(l.Surfaces, gateway.Admin) && strings.HasPrefix(l.Path, "/api/") && !slices.Contains(ungated, l.Path) {
			lines = append(lines, l)
		}
	}
	asked := 0
	for _, l := range lines {
		for _, c := range []struct {
			cookie string
			status int
			typ    string
		}{{"", 401, "unauthenticated"}, {customer, 403, "admin_required"}, {admin, 403, "reauth_required"}, {support, 403, "reauth_required"}} {
			s.on(t, c.cookie, l.Method, somewhere(l.Path), "{}").wants(t, c.status, c.typ)
			asked++
		}
	}
	if asked < 80 {
		t.Errorf("only %d requests", asked)
	}
	t.Logf("%d routes, %d requests", len(lines), asked)
}

func TestAStolenOrTossedCookieNeverYieldsAdmin(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		customer, _ := s.session(t, "ada@example.com")
		before, root := s.hire(t, "root1", account.RoleAdmin)
		other, _ := s.hire(t, "root2", account.RoleAdmin)
		first := s.elevate(t, before)
		both := s.elevate(t, first)
		session, elevation := part(t, both, "svc_session"), part(t, both, "svc_admin")
		value := strings.TrimPrefix(elevation, "svc_admin=")
		again, err := s.Passwords.Login(accounttest.From(t), "root1@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		s.on(t, both, "GET", "/api/admin/people", nil).wants(t, 200, "")
		for name, c := range map[string]struct {
			cookie string
			status int
			typ    string
		}{
			"a customer with a stolen one":        {customer + "; " + elevation, 403, "admin_required"},
			"other staff with it":                 {other + "; " + elevation, 403, "reauth_required"},
			"another session of the same person":  {"svc_session=" + again.Token + "; " + elevation, 403, "reauth_required"},
			"the session's value of before":       {before + "; " + elevation, 401, "unauthenticated"},
			"the session's value of in between":   {part(t, first, "svc_session") + "; " + elevation, 401, "unauthenticated"},
			"the elevation of before":             {session + "; " + part(t, first, "svc_admin"), 403, "reauth_required"},
			"no session":                          {elevation, 401, "unauthenticated"},
			"no elevation":                        {session, 403, "reauth_required"},
			"a session tossed before":             {customer + "; " + both, 400, "ambiguous_session"},
			"a session tossed after":              {both + "; " + customer, 400, "ambiguous_session"},
			"an elevation tossed beside":          {both + "; svc_admin=svca_" + strings.Repeat("A", 43), 403, "reauth_required"},
			"the same elevation twice":            {both + "; " + elevation, 403, "reauth_required"},
			"quoted":                              {session + `; svc_admin="` + value + `"`, 403, "reauth_required"},
			"empty":                               {session + "; svc_admin=", 403, "reauth_required"},
			"chosen":                              {session + "; svc_admin=svca_" + strings.Repeat("A", 43), 403, "reauth_required"},
			"padded":                              {both + "=", 403, "reauth_required"},
			"cut":                                 {both[:len(both)-1], 403, "reauth_required"},
			"in capitals":                         {session + "; svc_admin=" + strings.ToUpper(value), 403, "reauth_required"},
			"without its prefix":                  {session + "; svc_admin=" + value[5:], 403, "reauth_required"},
			"under the name of https":             {session + "; __Host-" + elevation, 403, "reauth_required"},
			"a session in its place":              {session + "; svc_admin=" + strings.TrimPrefix(session, "svc_session="), 403, "reauth_required"},
			"as a session":                        {"svc_session=" + value + "; " + elevation, 401, "unauthenticated"},
			"the customer's session in its place": {customer + "; svc_admin=" + strings.TrimPrefix(customer, "svc_session="), 403, "admin_required"},
		} {
			for _, path := range []string{"/api/admin/people", "/v1/ada/personal/runs"} {
				if got := s.on(t, c.cookie, "GET", path, nil); got.StatusCode != c.status || !strings.Contains(got.body, c.typ) {
					t.Errorf("%s: %s %d %s", name, path, got.StatusCode, got.body)
				}
			}
		}
		s.on(t, both, "GET", "/api/admin/people", nil).wants(t, 200, "")
		key := s.key(t, session, "root1", "agents:read", "runs:read")
		s.do(t, call{on: gateway.Admin, path: "/v1/root1/personal/runs", header: by(key)}).wants(t, 401, "unauthenticated")
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/runs", cookie: both}).wants(t, 404, "workspace_not_found")
		s.do(t, call{on: gateway.Agents, path: "/v1/admin/runs", cookie: both}).wants(t, 404, "workspace_not_found")
		s.on(t, both, "POST", "/api/auth/logout", nil).wants(t, 204, "")
		s.on(t, both, "GET", "/api/admin/people", nil).wants(t, 401, "unauthenticated")
		s.on(t, "svc_session="+again.Token+"; "+elevation, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
		if text := s.on(t, s.elevate(t, other), "GET", "/api/admin/audit?actor="+root.Account.ID, nil).body; strings.Contains(text, value) {
			t.Error("the log holds the value")
		}
	})
}

func TestAnElevationNeedsAPasswordOrAFreshProof(t *testing.T) {
	s := quick(t)
	customer, _ := s.session(t, "ada@example.com")
	cookie, _ := s.hire(t, "root1", account.RoleAdmin)
	s.on(t, "", "POST", elevatePath, map[string]string{}).wants(t, 401, "unauthenticated")
	s.on(t, customer, "POST", elevatePath, map[string]string{"password": password}).wants(t, 403, "admin_required")
	s.do(t, call{on: gateway.Platform, method: "POST", path: elevatePath, cookie: cookie, body: "{}"}).wants(t, 404, "route_not_found")
	s.do(t, call{on: gateway.Agents, method: "POST", path: elevatePath, cookie: cookie, body: "{}"}).wants(t, 404, "route_not_found")
	s.do(t, call{on: gateway.Admin, method: "POST", path: elevatePath, cookie: cookie, header: s.page(gateway.Agents), body: "{}"}).wants(t, 403, "cross_origin_request")
	s.on(t, cookie, "POST", elevatePath, map[string]string{"password": "wrong"}).wants(t, 401, "invalid_credentials")
	s.on(t, cookie, "POST", elevatePath, map[string]string{"pass": "x"}).wants(t, 400, "invalid_request")
	s.Clock.Pass(10*time.Minute + time.Second)
	s.on(t, cookie, "POST", elevatePath, map[string]string{}).wants(t, 403, "reauth_required")
	s.Clock.Pass(-time.Second)
	up := s.on(t, cookie, "POST", elevatePath, map[string]string{}).wants(t, 204, "").cookies()
	s.on(t, cookie, "GET", "/api/admin/people", nil).wants(t, 401, "unauthenticated")
	s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
	s.Clock.Pass(time.Second)
	s.on(t, up, "POST", "/api/admin/people/acc_x/restore", nil).wants(t, 403, "reauth_required") // an elevation without a password proves nothing anew
	again := s.on(t, up, "POST", elevatePath, map[string]string{"password": password}).wants(t, 204, "").cookies()
	s.on(t, again, "POST", "/api/admin/people/acc_x/restore", nil).wants(t, 404, "item_not_found")
	s.on(t, again, "DELETE", elevatePath, nil).wants(t, 204, "")
	s.on(t, again, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
	s.on(t, again, "DELETE", elevatePath, nil).wants(t, 204, "")
	for range 12 {
		s.on(t, again, "POST", elevatePath, map[string]string{"password": "wrong"})
	}
	s.on(t, again, "POST", elevatePath, map[string]string{"password": password}).wants(t, 429, "rate_limited")
}

func TestAnElevationEndsWhenItIsNotUsedAndAfterItsLongestLife(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		idle, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, idle)
		s.Clock.Pass(30*time.Minute - time.Second)
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
		s.Clock.Pass(30 * time.Minute)
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
		used, _ := s.hire(t, "root2", account.RoleAdmin)
		up = s.elevate(t, used)
		for range 28 {
			s.Clock.Pass(25 * time.Minute)
			s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
		}
		s.Clock.Pass(20*time.Minute - time.Second) // 12 h - 1 s
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
		s.Clock.Pass(time.Second)
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
	})
}

// A page that was left open asks on. That keeps nobody's authority alive, and nobody's session; what it asks is answered as long as they last.
func TestAPageThatNobodyIsAtKeepsNothingAlive(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		cookie, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		alone := func(path string) reply {
			return s.do(t, call{on: gateway.Admin, path: path, cookie: up, header: http.Header{"Svc-Unattended": {"1"}}})
		}
		for range 2 {
			s.Clock.Pass(14 * time.Minute)
			alone("/api/admin/health").wants(t, 200, "")
			alone("/api/auth/session").wants(t, 200, "")
		}
		s.Clock.Pass(3 * time.Minute)
		alone("/api/admin/health").wants(t, 403, "reauth_required")
		up = s.elevate(t, up)
		s.Clock.Pass(29 * time.Minute)
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
		s.Clock.Pass(29 * time.Minute)
		alone("/api/admin/people").wants(t, 200, "")

		session, _ := s.session(t, "ada@example.com")
		for range 7 {
			s.do(t, call{on: gateway.Agents, path: "/api/auth/session", cookie: session, header: http.Header{"Svc-Unattended": {"1"}}}).wants(t, 200, "")
			s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal", cookie: session, header: http.Header{"Svc-Unattended": {"1"}}})
			s.Clock.Pass(24 * time.Hour)
		}
		s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal", cookie: session}).wants(t, 401, "unauthenticated")
	})
}

func TestARoleThatWasTakenIsGoneOnEveryNodeAtOnce(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		beside := open(t, address, accounttest.Options{Beside: s.World})
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		chief, _ := s.hire(t, "root2", account.RoleAdmin)
		chief = s.elevate(t, chief)
		up := s.elevate(t, cookie)
		beside.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
		grant := "/api/admin/people/" + root.Account.ID + "/grant"
		beside.on(t, chief, "POST", grant, map[string]string{"role": "support"}).wants(t, 200, "")
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
		up = beside.elevate(t, up)
		s.on(t, up, "POST", grant, map[string]string{"role": "admin"}).wants(t, 403, "forbidden")
		beside.on(t, chief, "POST", grant, map[string]string{"role": "none"}).wants(t, 200, "")
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 403, "admin_required")
		s.on(t, up, "GET", "/v1/admin/runs", nil).wants(t, 403, "admin_required")
		beside.on(t, chief, "POST", grant, map[string]string{"role": "admin"}).wants(t, 200, "")
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 403, "reauth_required")
		up = s.elevate(t, up)
		beside.on(t, chief, "POST", "/api/admin/people/"+root.Account.ID+"/suspend", map[string]string{"reason": "left"}).wants(t, 200, "")
		s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 401, "unauthenticated")
	})
}

func TestSupportReadsEverythingAndChangesNothing(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	_, ada := s.session(t, "ada@example.com")
	cookie, _ := s.hire(t, "helper", account.RoleSupport)
	up := s.elevate(t, cookie)
	for _, path := range []string{"/api/admin/people", "/api/admin/people/" + ada.Account.ID, "/api/admin/audit", "/api/admin/workspaces", "/api/admin/secret-store", "/api/admin/providers", "/api/orchestration/admin-verification", "/v1/ada/personal/runs"} {
		s.on(t, up, "GET", path, nil).wants(t, 200, "")
	}
	for path, body := range map[string]string{
		"/api/admin/people/" + ada.Account.ID + "/suspend": `{"reason":"x"}`, "/api/admin/people/" + ada.Account.ID + "/restore": "", "/api/admin/people/" + ada.Account.ID + "/revoke-sessions": "",
		"/api/admin/people/" + ada.Account.ID + "/send-reset": "", "/api/admin/people/" + ada.Account.ID + "/grant": `{"role":"admin"}`,
		"/v1/ada/personal/agents/central/x": `{"kind":"user","body":"hi"}`, "/v1/ada/personal/agents/central/x/abort": "", "/v1/ada/personal/workflows/sample": "{}",
		"/v1/admin/agents/central/x": `{"kind":"user","body":"hi"}`,
	} {
		got := s.on(t, up, "POST", path, body).wants(t, 403, "forbidden")
		if !strings.Contains(got.body, `"role":"admin"`) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	if p, err := s.Staff.Person(t.Context(), ada.Account.ID); err != nil || p.Suspended || p.Role != account.RoleNone || p.Sessions != 1 {
		t.Errorf("something changed: %+v, %v", p, err)
	}
	s.on(t, up, "POST", "/api/admin/impersonations", map[string]string{"accountId": ada.Account.ID, "reason": "she asked for help"}).wants(t, 201, "")
}

func TestStaffActInACustomersWorkspaceAndItsPeopleAreTold(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		var admitted struct{ StreamURL string }
		s.on(t, up, "POST", "/v1/ada/personal/agents/central/x", `{"kind":"user","body":"n=2"}`).wants(t, 202, "").read(t, &admitted)
		if admitted.StreamURL != adminURL+"/v1/ada/personal/agents/central/x" {
			t.Errorf("streamUrl %s", admitted.StreamURL)
		}
		for range 3 {
			s.on(t, up, "GET", "/v1/ada/personal/agents/central/x", nil).wants(t, 200, "")
			s.on(t, up, "GET", "/v1/ada/personal/agents/central/x/submissions", nil)
		}
		s.Clock.Pass(time.Minute)
		s.on(t, up, "GET", "/v1/ada/personal/agents/central/x", nil).wants(t, 200, "")
		s.on(t, up, "GET", "/v1/ada/personal/runs", nil).wants(t, 200, "")
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", cookie: ada}).wants(t, 200, "")
		for _, chain := range []string{"users/ada/personal", ""} {
			acts, reads := s.events(t, chain, "staff.acted"), s.events(t, chain, "staff.read")
			if len(acts) != 1 || acts[0].Actor.ID != root.Account.ID || acts[0].Source.Authority != "admin" || acts[0].Source.Surface != "admin" || acts[0].Target.ID != "central/x" {
				t.Errorf("%q: acts %+v", chain, acts)
			}
			if len(reads) != 3 { // the conversation in two minutes, and the list of runs
				t.Errorf("%q: %d reads", chain, len(reads))
			}
		}
		s.on(t, up, "POST", "/v1/admin/agents/central/own", `{"kind":"user","body":"n=1"}`).wants(t, 202, "")
		s.on(t, up, "GET", "/v1/admin/agents/central/own", nil).wants(t, 200, "")
		s.on(t, up, "GET", "/v1/admin/agents/central/x", nil).wants(t, 404, "stream_not_found")
		s.on(t, up, "GET", "/v1/nobody/personal/runs", nil).wants(t, 404, "workspace_not_found")
		s.do(t, call{on: gateway.Admin, method: "POST", path: "/v1/ada/personal/agents/central/x", cookie: up, header: s.page(gateway.Agents), body: `{"kind":"user","body":"x"}`}).wants(t, 403, "cross_origin_request")
		execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE scope = 'users/ada/personal'")
		s.on(t, up, "GET", "/v1/ada/personal/agents/central/x", nil).wants(t, 200, "")
	})
}

func TestTheWorkspaceOfTheStaffIsVerifiedThroughGatewayAndRuntime(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		customer, _ := s.session(t, "ada@example.com")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		const path = "/api/orchestration/admin-verification"
		var got struct {
			OK                                     bool
			Surface, Authority, Scope, Root, RunID string
			Account                                struct{ ID, Username string }
			Actor                                  struct{ Username string }
		}
		s.do(t, call{on: gateway.Admin, path: path, cookie: up, header: http.Header{"X-Svc-Scope": {"users/ada/personal"}}}).wants(t, 200, "").read(t, &got)
		if !got.OK || got.Surface != "admin" || got.Authority != "admin" || got.Scope != "admin" || got.Root != "root-sandbox/admin/" || got.RunID == "" ||
			got.Account.ID != root.Account.ID || got.Actor.Username != "root1" {
			t.Errorf("report: %+v", got)
		}
		s.on(t, customer, "GET", path, nil).wants(t, 403, "admin_required")
		s.do(t, call{on: gateway.Agents, path: path, cookie: up}).wants(t, 404, "route_not_found")
		s.on(t, up, "GET", "/api/orchestration/workspace-verification", nil).wants(t, 404, "route_not_found")
		if wrong := s.on(t, up, "POST", path, nil).wants(t, 405, "method_not_allowed"); wrong.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("Allow: %s", wrong.Header.Get("Allow"))
		}
		for range 12 {
			s.on(t, up, "HEAD", path, nil)
		}
		s.on(t, up, "GET", path, nil).wants(t, 429, "rate_limited")
	})
}

func TestStaffVerbsAreToldToTheCustomerAndTheService(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{Mail: true, Edit: lenient})
		ada, customer := s.session(t, "ada@example.com")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		person := "/api/admin/people/" + customer.Account.ID
		s.on(t, up, "POST", person+"/suspend", map[string]string{"reason": " "}).wants(t, 400, "invalid_request")
		s.on(t, up, "POST", person+"/suspend", map[string]string{"reason": "spam"}).wants(t, 200, "")
		s.do(t, call{path: "/api/account", cookie: ada}).wants(t, 401, "unauthenticated")
		if body := s.on(t, up, "GET", person, nil).wants(t, 200, "").body; !strings.Contains(body, `"suspended":true,"suspendReason":"spam"`) {
			t.Errorf("person: %s", body)
		}
		s.on(t, up, "POST", person+"/restore", nil).wants(t, 200, "")
		in, err := s.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		if body := s.on(t, up, "POST", person+"/revoke-sessions", nil).wants(t, 200, "").body; body != `{"revoked":1}` {
			t.Errorf("revoked: %s", body)
		}
		s.do(t, call{path: "/api/account", cookie: "svc_session=" + in.Token}).wants(t, 401, "unauthenticated")
		s.on(t, up, "POST", person+"/send-reset", nil).wants(t, 202, "")
		if s.Inbox.Next(t, "ada@example.com").Token() == "" {
			t.Error("the mail has no link")
		}
		s.on(t, up, "POST", person+"/grant", map[string]string{"role": "owner"}).wants(t, 400, "invalid_request")
		s.on(t, up, "POST", person+"/grant", map[string]string{"role": "support"}).wants(t, 200, "")
		for _, chain := range []string{"users/ada/personal", ""} {
			for _, action := range []string{"account.suspended", "account.restored", "sessions.revoked", "password.reset_sent", "admin.granted"} {
				all := s.events(t, chain, action)
				if i := slices.IndexFunc(all, func(e audit.Event) bool { return e.Target.ID == customer.Account.ID }); i < 0 || all[i].Actor.ID != root.Account.ID || all[i].Source.Authority != "admin" {
					t.Errorf("%q: %s: %+v", chain, action, all)
				}
			}
		}
		own := "/api/admin/people/" + root.Account.ID
		s.on(t, up, "POST", own+"/grant", map[string]string{"role": "none"}).wants(t, 403, "forbidden")
		s.on(t, up, "POST", own+"/suspend", map[string]string{"reason": "x"}).wants(t, 403, "forbidden")
		for _, verb := range []string{"restore", "revoke-sessions", "send-reset"} {
			s.on(t, up, "POST", "/api/admin/people/acc_x/"+verb, nil).wants(t, 404, "item_not_found")
		}
		s.Clock.Pass(11 * time.Minute)
		for _, verb := range []string{"suspend", "restore", "revoke-sessions", "send-reset", "grant"} {
			s.on(t, up, "POST", person+"/"+verb, `{"reason":"x"}`).wants(t, 403, "reauth_required")
		}
		s.on(t, up, "GET", person, nil).wants(t, 200, "")
	})
}

// TestTwoAdministratorsCannotBothGo has two take each other's role at once: whoever comes second has none to do it with.
func TestTwoAdministratorsCannotBothGo(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		beside := open(t, address, accounttest.Options{Beside: s.World})
		a, one := s.hire(t, "root1", account.RoleAdmin)
		b, two := s.hire(t, "root2", account.RoleAdmin)
		a, b = s.elevate(t, a), s.elevate(t, b)
		var wg sync.WaitGroup
		var statuses [2]int
		wg.Go(func() {
			statuses[0] = s.on(t, a, "POST", "/api/admin/people/"+two.Account.ID+"/grant", map[string]string{"role": "none"}).StatusCode
		})
		wg.Go(func() {
			statuses[1] = beside.on(t, b, "POST", "/api/admin/people/"+one.Account.ID+"/grant", map[string]string{"role": "none"}).StatusCode
		})
		wg.Wait()
		slices.Sort(statuses[:])
		if statuses != [2]int{200, 403} {
			t.Errorf("answers %v", statuses)
		}
		if open, err := s.Staff.SetupOpen(t.Context()); open || err != nil {
			t.Errorf("no administrator is left: %v", err)
		}
	})
}

func TestPeopleAndWorkspacesAreListedPageByPage(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		cookie, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		for _, name := range []string{"ann", "ben", "cat", "dan", "100%"} {
			s.session(t, strings.ReplaceAll(name, "%", "x")+"@example.com")
			s.Clock.Pass(time.Millisecond)
		}
		for _, noun := range []string{"people", "workspaces", "audit"} {
			var seen []string
			cursor := ""
			for range 40 {
				var page struct {
					Items      []struct{ ID, Hash string }
					NextCursor string
				}
				s.on(t, up, "GET", "/api/admin/"+noun+"?limit=2&cursor="+cursor, nil).wants(t, 200, "").read(t, &page)
				for _, item := range page.Items {
					seen = append(seen, item.ID+item.Hash)
				}
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if noun != "audit" && len(seen) != 6 || len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) || cursor != "" {
				t.Errorf("%s: %d of which some are twice: %v", noun, len(seen), seen)
			}
			for _, query := range []string{"limit=0", "limit=201", "limit=x", "cursor=x", "cursor=W10", "cursor=WzEsIlx1MDAwMCJd"} {
				s.on(t, up, "GET", "/api/admin/"+noun+"?"+query, nil).wants(t, 400, "invalid_request")
			}
		}
		for q, want := range map[string]int{"ann": 1, "EXAMPLE.com": 6, "%25": 0, "_": 0, "%27%3B--": 0, "%5C": 0} {
			var page struct{ Items []any }
			s.on(t, up, "GET", "/api/admin/people?q="+q, nil).wants(t, 200, "").read(t, &page)
			if len(page.Items) != want {
				t.Errorf("q=%s: %d", q, len(page.Items))
			}
		}
		s.on(t, up, "GET", "/api/admin/people?q="+strings.Repeat("x", 201), nil).wants(t, 400, "invalid_request")
		if body := s.on(t, up, "GET", "/api/admin/secret-store", nil).wants(t, 200, "").body; !strings.Contains(body, `"activeKid":"`+s.Ring.Active()+`"`) {
			t.Errorf("keys: %s", body)
		}
	})
}

func TestTheCookieOfAdminIsExactlyAsItsEnvironmentDemands(t *testing.T) {
	mask := regexp.MustCompile(`=svc[as]_[A-Za-z0-9_-]{43};`)
	for name, c := range map[string]struct {
		edit     func(*gateway.Config)
		origin   string
		in, gone []string
	}{
		"http": {trusting, adminURL, []string{"svc_session=VALUE; Path=/; Domain=svc.localhost; Max-Age=2592000; HttpOnly; SameSite=Lax", "svc_admin=VALUE; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"},
			[]string{"svc_admin=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"}},
		"https": {production, "https://admin.example.com", []string{"svc_session=VALUE; Path=/; Domain=example.com; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax", "__Host-svc_admin=VALUE; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax"},
			[]string{"__Host-svc_admin=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := quick(t, c.edit)
			cookie, _ := s.hire(t, "root1", account.RoleAdmin)
			header := func() http.Header { return http.Header{"Origin": {c.origin}, "Content-Type": {"application/json"}} }
			up := s.do(t, call{on: gateway.Admin, method: "POST", path: elevatePath, cookie: cookie, header: header(), body: "{}"}).wants(t, 204, "")
			var got []string
			for _, each := range up.Header["Set-Cookie"] {
				got = append(got, mask.ReplaceAllString(each, "=VALUE;"))
			}
			want(t, got, c.in...)
			left := s.do(t, call{on: gateway.Admin, method: "POST", path: "/api/auth/logout", cookie: up.cookies(), header: header()}).wants(t, 204, "")
			want(t, left.Header["Set-Cookie"][2:], c.gone...)
		})
	}
}

func TestAdminOpensOnAPageWithoutScripts(t *testing.T) {
	s := quick(t)
	customer, _ := s.session(t, "ada@example.com")
	cookie, _ := s.hire(t, "root1", account.RoleAdmin)
	visit := func(cookie, path string) reply {
		return s.do(t, call{on: gateway.Admin, path: path, cookie: cookie, header: http.Header{"Accept": {"text/html"}, "Sec-Fetch-Mode": {"navigate"}}})
	}
	form := func(cookie, origin, body string) reply {
		header := s.formHeader()
		header.Set("Origin", origin)
		if origin != adminURL {
			header.Set("Sec-Fetch-Site", "same-site")
		}
		return s.do(t, call{on: gateway.Admin, method: "POST", path: "/elevate", cookie: cookie, header: header, body: body})
	}
	visit("", "/elevate").leads(t, 302, platformURL+"/login?returnTo=http%3A%2F%2Fadmin.svc.localhost%3A8080%2Felevate")
	visit(customer, "/elevate").shows(t, 403)
	visit(cookie, "/elevate?returnTo=%2Fsettings%2Fproviders").shows(t, 200, "Open Admin", `action="/elevate"`)
	visit(cookie, "/elevate?returnTo=%2F%2Fevil.example").shows(t, 400)
	visit(cookie, "/api/admin/people").leads(t, 302, "/elevate?returnTo=http%3A%2F%2Fadmin.svc.localhost%3A8080%2Fapi%2Fadmin%2Fpeople")
	form(cookie, agentsURL, "password=&returnTo=").shows(t, 403)
	s.Clock.Pass(11 * time.Minute)
	visit(cookie, "/elevate").shows(t, 200, "Confirm it is you", `type="password"`)
	form(cookie, adminURL, "password=&returnTo=").shows(t, 403, "Confirm that it is you.")
	form(cookie, adminURL, "password=wrong&returnTo=").shows(t, 401, "The password is incorrect.")
	form(customer, adminURL, "password=wrong&returnTo=").shows(t, 403)
	up := form(cookie, adminURL, strings.ReplaceAll("password="+password+"&returnTo=", " ", "+")).leads(t, 303, "/settings/providers").cookies()
	s.on(t, up, "GET", "/api/admin/people", nil).wants(t, 200, "")
	visit(up, "/settings/providers").shows(t, 200, "GitHub")
}

// throughStaff is an administrator at work.
func (w *way) throughStaff(t *testing.T) {
	on := func(method, path string, body any) call {
		return call{on: gateway.Admin, method: method, path: path, body: body}
	}
	var carol struct{ Account struct{ ID string } }
	w.another().posts(t, 201, registerPath, "email", "carol@example.com", "password", password, "username", "carol").read(t, &carol)
	w.goes(t, 204, on("POST", elevatePath, map[string]string{"password": password}))
	w.goes(t, 200, on("GET", "/api/orchestration/admin-verification", nil))
	for _, path := range []string{"people", "people/" + carol.Account.ID, "audit", "workspaces", "secret-store", "providers"} {
		w.goes(t, 200, on("GET", "/api/admin/"+path, nil))
	}
	person := "/api/admin/people/" + carol.Account.ID
	w.goes(t, 200, on("POST", person+"/suspend", map[string]string{"reason": "spam"}))
	w.goes(t, 200, on("POST", person+"/restore", nil))
	w.goes(t, 200, on("POST", person+"/grant", map[string]string{"role": "support"}))
	w.goes(t, 200, on("POST", person+"/grant", map[string]string{"role": "none"}))
	w.goes(t, 200, on("POST", person+"/revoke-sessions", nil))
	w.goes(t, 202, on("POST", person+"/send-reset", nil))
	w.throughCases(t, on)
	w.throughOwn(t, on)
	var made struct{ ID, URL string }
	w.goes(t, 201, on("POST", "/api/admin/impersonations", map[string]string{"accountId": carol.Account.ID, "reason": "she asked for help"})).read(t, &made)
	w.goes(t, 303, call{on: gateway.Agents, path: parse(made.URL).RequestURI()})
	w.goes(t, 200, call{on: gateway.Agents, path: "/api/auth/session"})
	w.goes(t, 204, on("DELETE", "/api/admin/impersonations/"+made.ID, nil))
	w.goes(t, 204, on("DELETE", elevatePath, nil))
}
