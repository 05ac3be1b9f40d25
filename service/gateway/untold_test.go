package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// standing is how much there is of everything that an act could change.
func (s *scene) standing(t testing.TB) (all []int) {
	t.Helper()
	err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		all = nil
		for _, of := range []string{
			"api_keys WHERE revoked_at IS NULL", "secrets", "accounts WHERE suspended_at IS NULL AND deleted_at IS NULL", "accounts WHERE service_role = 'admin'",
			"sessions WHERE revoked_at IS NULL", "impersonations WHERE ended_at IS NULL", "impersonations WHERE opened_at IS NULL", "elevations", "members", "invitations", "teams",
			"workspaces WHERE deleted_at IS NULL AND archived_at IS NULL",
		} {
			var n int
			if err := tx.QueryRow("SELECT count(*) FROM " + of).Scan(&n); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
			all = append(all, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// untoldUndone breaks the audit log under everything that must not be done in silence: none of it is done, and staff read
// nothing of a customer's.
func untoldUndone(t *testing.T, s *scene) {
	g := &siege{scene: s}
	owner, guest := s.enrol(t, "ulla"), s.enrol(t, "ulla-guest")
	in := s.found(t, owner, "acme")
	k := s.issue(t, owner, in, nil, "agents:read")
	s.do(t, call{on: gateway.Agents, method: "PUT", path: spaceOf(in) + "/secrets/NAME", cookie: owner.cookie, body: map[string]string{"value": "v"}}).wants(t, 201, "")
	token := s.invite(t, owner, in, "ulla-guest@example.com", workspace.Viewer)
	_, up := g.staffer(t, "ulla-boss", account.RoleAdmin)
	newcomer := s.enrol(t, "ulla-newcomer")
	s.grant(t, newcomer.Account.ID, account.RoleSupport)
	id, view := s.looks(t, up, owner.Account.ID)
	_, ticket := s.asks(t, up, guest.Account.ID)
	person := "/api/admin/people/" + guest.Account.ID
	onAgents := func(method, path string, body any) call {
		return call{on: gateway.Agents, method: method, path: path, cookie: owner.cookie, body: body}
	}
	onAdmin := func(method, path string, body any) call {
		return call{on: gateway.Admin, method: method, path: path, cookie: up, body: body}
	}
	awaited := s.asksForKey(t)
	s.answersDevice(t, owner, awaited, "workspace", "ulla/acme", "scopes", "runs:read", "days", "1", "decision", "approve").leads(t, 303, "/device?notice=device_approved")
	before := s.standing(t)
	execute(t, s, "ALTER TABLE audit_events RENAME TO audit_events_gone")
	for name, c := range map[string]call{
		"a key made": onAgents("POST", spaceOf(in)+"/keys", map[string]any{"name": "k", "scopes": []string{"agents:read"}}), "a key rotated": onAgents("POST", spaceOf(in)+"/keys/"+k.ID+"/rotate", map[string]any{}),
		"a key revoked": onAgents("DELETE", spaceOf(in)+"/keys/"+k.ID, nil), "a key revoked by who found it": {method: "POST", path: "/api/keys/revoke", body: map[string]string{"key": k.Key}, from: fresh()},
		"a device's key made": s.fetching(awaited), "a secret put": onAgents("PUT", spaceOf(in)+"/secrets/OTHER", map[string]string{"value": "v"}), "a secret deleted": onAgents("DELETE", spaceOf(in)+"/secrets/NAME", nil),
		"somebody invited": onAgents("POST", spaceOf(in)+"/invitations", map[string]string{"email": "x@example.com", "role": "viewer"}), "a team made": onAgents("POST", spaceOf(in)+"/teams", map[string]string{"name": "T"}),
		"a business archived": onAgents("POST", spaceOf(in)+"/archive", nil), "a business deleted": onAgents("DELETE", spaceOf(in)+"?confirm=acme", nil),
		"an invitation accepted": {method: "POST", path: "/api/invitations/accept", cookie: guest.cookie, body: map[string]string{"token": token}},
		"an account deleted":     {method: "DELETE", path: "/api/account?confirm=ulla-guest", cookie: guest.cookie},
		"somebody suspended":     onAdmin("POST", person+"/suspend", map[string]string{"reason": "spam"}), "a role given": onAdmin("POST", person+"/grant", map[string]string{"role": "admin"}),
		"somebody signed out": onAdmin("POST", person+"/revoke-sessions", nil), "an impersonation made": onAdmin("POST", viewsPath, map[string]string{"accountId": guest.Account.ID, "reason": "she asked for help"}),
		"an impersonation ended": onAdmin("DELETE", viewsPath+"/"+id, nil), "an impersonation opened": {on: gateway.Agents, path: ticket, cookie: up},
		"staff lowered": onAdmin("DELETE", elevatePath, nil), "staff raised": {on: gateway.Admin, method: "POST", path: elevatePath, cookie: newcomer.cookie, body: "{}"},
		"staff's prompt": onAdmin("POST", baseOf(in)+"/agents/central/x", `{"kind":"user","body":"n=1"}`), "staff's reading": onAdmin("GET", baseOf(in)+"/runs", nil),
		"a reading in a customer's name": {on: gateway.Agents, path: baseOf(in) + "/runs", cookie: view},
	} {
		if got := s.do(t, c); got.StatusCode != 500 {
			t.Errorf("%s in silence: %d %s", name, got.StatusCode, got.body)
		}
	}
	execute(t, s, "ALTER TABLE audit_events_gone RENAME TO audit_events")
	if after := s.standing(t); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("something was done: %v, before %v", after, before)
	}
	s.do(t, onAgents("GET", baseOf(in)+"/agents/central/x", nil)).wants(t, 404, "stream_not_found")
	if report, err := s.Log.Verify(t.Context()); err != nil || !report.OK() {
		t.Errorf("the chains are broken: %+v, %v", report, err)
	}
}

// deadOnAllNodes ends things on one node, and finds them dead on another with the next request.
func deadOnAllNodes(t *testing.T, s *scene) {
	g := &siege{scene: s}
	other := open(t, s.address, accounttest.Options{Beside: s.World}, func(c *gateway.Config) { plenty(c); c.Recheck = 50 * time.Millisecond })
	other.runtime = s.runtime
	owner := s.enrol(t, "nils")
	g.boss, g.acme = owner, s.found(t, owner, "acme")
	talk := s.waiting(t, owner, g.acme)
	maker, viewer, removed := s.recruit(t, g.acme, "nils-maker", workspace.Admin), s.recruit(t, g.acme, "nils-viewer", workspace.Viewer), s.recruit(t, g.acme, "nils-removed", workspace.Viewer)
	k := s.issue(t, maker, g.acme, nil, "agents:read")
	_, up := g.staffer(t, "nils-staff", account.RoleSupport)
	cases := []loss{
		{"a key", gateway.Agents, by(k.Key), talk, func() {
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(g.acme) + "/keys/" + k.ID, cookie: maker.cookie}).wants(t, 204, "")
		}, 401, "invalid_api_key"},
		{"a session", gateway.Agents, http.Header{"Cookie": {viewer.cookie}}, talk, func() {
			s.do(t, call{method: "POST", path: "/api/auth/logout", cookie: viewer.cookie}).wants(t, 204, "")
		}, 401, "unauthenticated"},
		{"a member", gateway.Agents, http.Header{"Cookie": {removed.cookie}}, talk, func() { g.change(t, removed, "") }, 404, "workspace_not_found"},
		{"an elevation", gateway.Admin, http.Header{"Cookie": {up}}, talk, func() { s.on(t, up, "DELETE", elevatePath, nil).wants(t, 204, "") }, 403, "reauth_required"},
	}
	var open []*listener
	for _, c := range cases {
		open = append(open, other.listen(t, c.name, c.on, c.in+"&live=sse", c.header))
	}
	other.opened(t, len(open))
	for _, c := range cases {
		c.lose()
		other.do(t, call{on: c.on, path: c.in, header: c.header.Clone()}).wants(t, c.status, c.typ)
	}
	late := time.After(30 * time.Second)
	for _, l := range open {
		select {
		case <-l.ended:
		case <-late:
			t.Fatalf("%s: the stream is open on the other node", l.name)
		}
	}
}
