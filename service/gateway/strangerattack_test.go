package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// strangersSeeNothing asks every route of workspaces of every kind that a stranger must not know: the answers are those for
// one that never was, byte for byte, in body and headers.
func strangersSeeNothing(t *testing.T, s *scene) {
	owner, stranger := s.enrol(t, "sten"), s.enrol(t, "sten-eve")
	live, suspended, deleted := s.found(t, owner, "live"), s.found(t, owner, "suspended"), s.found(t, owner, "deleted")
	left := s.recruit(t, live, "sten-left", workspace.Admin)
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(live) + "/people/" + left.Account.ID, cookie: left.cookie}).wants(t, 204, "")
	execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE id = $1", suspended.ID)
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(deleted) + "?confirm=deleted", cookie: owner.cookie}).wants(t, 202, "")
	rows := 0
	answer := func(p somebody, method, path string) string {
		rows++
		got := s.do(t, call{on: gateway.Agents, method: method, path: path, cookie: p.cookie, body: "{}"})
		for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
			got.Header.Del(name)
		}
		return fmt.Sprint(got.StatusCode, got.Header, strings.ReplaceAll(strings.ReplaceAll(got.body, "/sten/live", "/W"), "/nobody/none", "/W"))
	}
	var lines []gateway.Line
	for _, l := range gateway.Lines() {
		if rest, found := strings.CutPrefix(l.Path, "/api/workspaces/{username}/{business}"); found && l.Surfaces[0] == gateway.Agents {
			lines = append(lines, gateway.Line{Method: l.Method, Path: "/api/workspaces/W" + strings.TrimPrefix(somewhere("/api/workspaces/ada/personal"+rest), "/api/workspaces/ada/personal")})
		}
	}
	for _, path := range []string{"runs", "runs/run_x", "agents/central/x", "agents/central/x/submissions"} {
		lines = append(lines, gateway.Line{Method: "GET", Path: "/v1/W/" + path}, gateway.Line{Method: "POST", Path: "/v1/W/" + path})
	}
	type place struct {
		name string
		who  somebody
		in   string
	}
	always := []place{{"a stranger's", stranger, "/sten/live"}, {"one that was left", left, "/sten/live"}}
	inTurn := []place{
		{"the owner's own", stranger, "/sten/personal"}, {"a suspended", stranger, "/sten/suspended"}, {"a deleted", stranger, "/sten/deleted"},
		{"in capitals", owner, "/STEN/live"}, {"one that cannot be", owner, "/sten/li_ve"},
	}
	for i, l := range lines {
		none := answer(stranger, l.Method, strings.Replace(l.Path, "/W", "/nobody/none", 1))
		for _, c := range append(slices.Clone(always), inTurn[i%len(inTurn)]) {
			got := answer(c.who, l.Method, strings.Replace(l.Path, "/W", c.in, 1))
			if strings.ReplaceAll(got, c.in, "/W") != none {
				t.Errorf("%s %s of %s:\n%s\nand of none:\n%s", l.Method, l.Path, c.name, got, none)
			}
		}
	}
	t.Logf("%d rows", rows)
}

// suspendedIsShut asks for the keys of a suspended workspace, which lie elsewhere than the rest of it.
func suspendedIsShut(t *testing.T, s *scene) {
	owner := s.enrol(t, "sue")
	in := s.found(t, owner, "acme")
	k := s.issue(t, owner, in, nil, "runs:read", "agents:write")
	execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE id = $1", in.ID)
	for _, c := range []call{
		{path: spaceOf(in) + "/keys"}, {method: "POST", path: spaceOf(in) + "/keys", body: map[string]any{"name": "k", "scopes": []string{"agents:read"}}},
		{method: "POST", path: spaceOf(in) + "/keys/" + k.ID + "/rotate", body: map[string]any{}}, {path: spaceOf(in) + "/secrets"},
		{method: "PUT", path: spaceOf(in) + "/secrets/NAME", body: map[string]string{"value": "v"}}, {path: spaceOf(in) + "/audit"}, {path: spaceOf(in) + "/people"},
		{method: "POST", path: spaceOf(in) + "/invitations", body: map[string]string{"email": "x@example.com", "role": "viewer"}},
		{path: baseOf(in) + "/runs"}, {method: "POST", path: baseOf(in) + "/agents/central/x", body: `{"kind":"user","body":"hi"}`}, {path: spaceOf(in) + "/runs"},
	} {
		c.on, c.cookie = gateway.Agents, owner.cookie
		s.do(t, c).wants(t, 403, "workspace_suspended")
	}
	s.do(t, call{on: gateway.Agents, path: baseOf(in) + "/runs", header: by(k.Key)}).wants(t, 403, "workspace_suspended")
	s.do(t, call{on: gateway.Agents, method: "POST", path: baseOf(in) + "/channels/x/y", header: http.Header{}, body: "{}"}).wants(t, 404, "route_not_found")
}
