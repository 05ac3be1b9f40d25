package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// invitationsMisused brings tokens of invitations to where and when they are of no use.
func invitationsMisused(t *testing.T, s *scene) {
	owner, eve := s.enrol(t, "ines"), s.enrol(t, "ines-eve")
	in := s.found(t, owner, "acme")
	guests, gone := 0, ""
	// Each takes an invitation that an admin sent, and spoils it.
	for name, spoil := range map[string]func(admin, guest somebody, token string) string{
		"used": func(_, guest somebody, token string) string {
			s.accepts(t, guest, token).wants(t, 200, "")
			return token
		},
		"expired": func(_, _ somebody, token string) string {
			execute(t, s, "UPDATE invitations SET expires_at = $1", s.Clock.Now().UnixMilli())
			return token
		},
		"inviter demoted":   func(admin, _ somebody, token string) string { s.seat(t, in, admin, workspace.Builder); return token },
		"inviter sidelined": func(admin, _ somebody, token string) string { s.seat(t, in, admin, workspace.Billing); return token },
		"inviter removed": func(admin, _ somebody, token string) string {
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(in) + "/people/" + admin.Account.ID, cookie: owner.cookie}).wants(t, 204, "")
			return token
		},
		"inviter suspended": func(admin, _ somebody, token string) string {
			execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", admin.Account.ID)
			return token
		},
		"inviter's account deleted": func(admin, _ somebody, token string) string {
			s.do(t, call{method: "DELETE", path: "/api/account?confirm=" + admin.Account.Username, cookie: admin.cookie}).wants(t, 202, "")
			return token
		},
		"revoked": func(_, _ somebody, token string) string {
			execute(t, s, "DELETE FROM invitations WHERE workspace = $1", in.ID)
			return token
		},
		"used, and removed since": func(_, guest somebody, token string) string {
			s.accepts(t, guest, token).wants(t, 200, "")
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(in) + "/people/" + guest.Account.ID, cookie: owner.cookie}).wants(t, 204, "")
			return token
		},
		"in capitals":  func(_, _ somebody, token string) string { return strings.ToUpper(token) },
		"padded":       func(_, _ somebody, token string) string { return token + "=" },
		"with a space": func(_, _ somebody, token string) string { return " " + token },
		"cut":          func(_, _ somebody, token string) string { return token[1:] },
		"empty":        func(_, _ somebody, _ string) string { return "" },
		"a session":    func(_, guest somebody, _ string) string { return guest.Token },
	} {
		guests++
		admin, guest := s.recruit(t, in, fmt.Sprintf("ines-admin-%d", guests), workspace.Admin), s.enrol(t, fmt.Sprintf("ines-guest-%d", guests))
		token := spoil(admin, guest, s.invite(t, admin, in, guest.Account.Username+"@example.com", workspace.Admin))
		was := s.roleOf(t, in, guest)
		got := s.accepts(t, guest, token)
		if gone == "" {
			gone = got.body
		}
		if got.wants(t, 410, "invitation_invalid"); got.body != gone || s.roleOf(t, in, guest) != was {
			t.Errorf("%s: %s, and is %q", name, got.body, s.roleOf(t, in, guest))
		}
	}

	bob := s.enrol(t, "ines-bob")
	token := s.invite(t, owner, in, "Ines-Bob@EXAMPLE.com", workspace.Builder)
	body := map[string]string{"token": token}
	const path = "/api/invitations/accept"
	s.accepts(t, eve, token).wants(t, 403, "invitation_email_mismatch")
	s.do(t, call{method: "POST", path: path, body: body}).wants(t, 401, "unauthenticated")
	key := s.issue(t, owner, in, nil, "agents:read")
	header := s.page(gateway.Platform)
	header.Set("Authorization", "Bearer "+key.Key)
	s.do(t, call{method: "POST", path: path, body: body, header: header}).wants(t, 401, "unauthenticated")
	s.do(t, call{method: "POST", path: path, body: body, header: s.page(gateway.Agents), cookie: bob.cookie}).wants(t, 403, "cross_origin_request")
	s.do(t, call{method: "POST", path: path, body: map[string]string{"token": token, "role": "owner"}, cookie: bob.cookie}).wants(t, 400, "invalid_request")
	s.do(t, call{method: "GET", path: path + "?token=" + token, cookie: bob.cookie}).wants(t, 405, "method_not_allowed")
	s.do(t, call{on: gateway.Agents, method: "POST", path: path, body: body, cookie: bob.cookie}).wants(t, 404, "route_not_found")
	if s.roleOf(t, in, bob)+s.roleOf(t, in, eve) != "" {
		t.Fatal("somebody came in")
	}
	if got := together(20, func(i int) reply { return s.accepts(t, []somebody{bob, eve}[i%2], token) }); got[200] != 1 || got[403]+got[410] != 19 {
		t.Errorf("accepted at once: %v", got)
	}
	if s.roleOf(t, in, bob) != workspace.Builder || s.roleOf(t, in, eve) != "" {
		t.Errorf("bob is %q, eve %q", s.roleOf(t, in, bob), s.roleOf(t, in, eve))
	}
	// An invitation raises nobody who is there, and brings back as what it says who was removed.
	s.invites(t, owner, in, bob, workspace.Owner).wants(t, 200, "")
	if role := s.roleOf(t, in, bob); role != workspace.Builder {
		t.Errorf("bob is %q", role)
	}
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(in) + "/people/" + bob.Account.ID, cookie: owner.cookie}).wants(t, 204, "")
	s.accepts(t, bob, token).wants(t, 410, "invitation_invalid")
	s.invites(t, owner, in, bob, workspace.Viewer).wants(t, 200, "")
	if role := s.roleOf(t, in, bob); role != workspace.Viewer {
		t.Errorf("bob is %q", role)
	}
	for _, email := range []string{"ines-eve@exаmple.com", "ines.eve@example.com", "ines-eve+x@example.com"} {
		s.accepts(t, eve, s.invite(t, owner, in, email, workspace.Viewer)).wants(t, 403, "invitation_email_mismatch")
	}
	list := s.do(t, call{on: gateway.Agents, path: spaceOf(in) + "/invitations", cookie: owner.cookie}).wants(t, 200, "")
	if strings.Contains(list.body, token) || strings.Contains(list.body, "acceptUrl") {
		t.Errorf("a list shows tokens: %s", list.body)
	}
}
