package gateway_test

import (
	"testing"
	"time"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// denialsAreTold refuses things of each kind three times: each is one row of its minute, with its count, and where somebody
// has a place in a workspace it is that workspace's log which tells.
func denialsAreTold(t *testing.T, s *scene) {
	owner, eve := s.enrol(t, "dora"), s.enrol(t, "dora-eve")
	in := s.found(t, owner, "acme")
	viewer := s.recruit(t, in, "dora-viewer", workspace.Viewer)
	_, up := (&siege{scene: s}).staffer(t, "dora-staff", "support")
	_, view := s.looks(t, up, eve.Account.ID)
	k := s.issue(t, owner, in, nil, "runs:read")
	token := s.invite(t, owner, in, "somebody-else@example.com", workspace.Viewer)
	s.Clock.Pass(5 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := s.Clock.Now()
	cases := []struct {
		c          call
		status     int
		typ, chain string
	}{
		{call{on: gateway.Agents, method: "POST", path: spaceOf(in) + "/teams", cookie: viewer.cookie, body: map[string]string{"name": "T"}}, 403, "forbidden", in.Scope},
		{call{on: gateway.Agents, path: baseOf(in) + "/agents/central/x", header: by(k.Key)}, 403, "insufficient_scope", in.Scope},
		{call{on: gateway.Agents, path: spaceOf(in) + "/people", header: by(k.Key)}, 403, "forbidden", ""},
		{call{on: gateway.Agents, path: spaceOf(in) + "/people", cookie: eve.cookie}, 404, "workspace_not_found", ""},
		{call{on: gateway.Agents, path: baseOf(in) + "/runs", header: by("x"), from: fresh()}, 401, "invalid_api_key", ""},
		{call{on: gateway.Agents, path: baseOf(in) + "/runs?key=" + k.Key, from: fresh()}, 400, "credential_in_url", ""},
		{call{on: gateway.Agents, method: "POST", path: spaceOf(in) + "/teams", header: s.page(gateway.Platform), cookie: owner.cookie, body: "{}"}, 403, "cross_origin_request", ""},
		{call{on: gateway.Admin, path: "/api/admin/people", cookie: eve.cookie}, 403, "admin_required", ""},
		{call{on: gateway.Agents, path: "/api/workspaces/dora-eve/personal/secrets", cookie: view}, 403, "impersonation_forbidden", ""},
		{call{method: "POST", path: "/api/invitations/accept", cookie: eve.cookie, body: map[string]string{"token": token}}, 403, "invitation_email_mismatch", ""},
	}
	for _, c := range cases {
		for range 3 {
			c.c.header = c.c.header.Clone()
			s.do(t, c.c).wants(t, c.status, c.typ)
		}
	}
	s.Clock.Pass(3 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		rows, count := 0, int64(0)
		for _, e := range s.events(t, c.chain, "access."+c.typ) {
			if !e.At.Before(began.Truncate(time.Minute)) {
				rows, count = rows+1, count+e.Count
			}
		}
		if rows != 1 || count != 3 {
			t.Errorf("%s in %q: %d rows of %d denials", c.typ, c.chain, rows, count)
		}
	}
	if report, err := s.Log.Verify(t.Context()); err != nil || !report.OK() {
		t.Errorf("the chains are broken: %+v, %v", report, err)
	}
}
