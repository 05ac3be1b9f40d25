package gateway_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// attacks are what must not get through. Each has people of its own, so that all of them share a scene: to set one takes
// longer than most of them.
var attacks = []struct {
	name string
	try  func(t *testing.T, s *scene)
}{
	{"a key may no more than its scopes and the role of its maker now", keyWithinItsRole},
	{"a key opens one workspace", keyOfOneWorkspace},
	{"a key counts in its header and nowhere else", keyInItsHeader},
	{"the gaps around a key are closed", keyGaps},
	{"no session counts that is shown otherwise than it should be", sessionsMisused},
	{"nobody raises a role that is not theirs to raise", roleNotRaised},
	{"owners who go at once leave one", ownersGoAtOnce},
	{"an invitation is of one use, to one person, while its inviter may", invitationsMisused},
	{"strangers see nothing", strangersSeeNothing},
	{"a suspended workspace is shut", suspendedIsShut},
	{"support changes nothing", supportChangesNothing},
	{"the authority of staff is of one session, on one surface", authorityMisused},
	{"who looks as a customer only looks", viewsMisused},
	{"secrets are not read", secretsUnread},
	{"secrets are not replaced without a proof", secretsNotReplaced},
	{"denials are told", denialsAreTold},
	{"what cannot be told is not done", untoldUndone},
	{"what is dead on one node is dead on all", deadOnAllNodes},
	{"who loses a right loses every stream of it", lostRights},
}

// TestNoAttackGetsThrough tries all of them in every mode.
func TestNoAttackGetsThrough(t *testing.T) {
	for _, m := range everyMode() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := withRuntime(t, m.address(t), m.apart, plenty, func(c *gateway.Config) { c.Recheck = 500 * time.Millisecond })
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) { a.try(t, s) })
			}
		})
	}
}

// plenty lets everybody ask as often as a test does, from wherever it says.
func plenty(c *gateway.Config) {
	trusting(c)
	c.Rate, c.Burst = 1e6, 1e6
}

// somebody is a person of a test, signed in.
type somebody struct {
	account.Registered
	cookie string
}

func (p somebody) caller() workspace.Caller { return workspace.Caller{Actor: p.Account.Actor()} }

// enrol signs somebody up.
func (s *scene) enrol(t testing.TB, username string) somebody {
	t.Helper()
	made, err := s.Registrations.Register(accounttest.From(t), account.Registration{Email: username + "@example.com", Password: password, Username: username})
	if err != nil {
		t.Fatal(err)
	}
	return somebody{made, "svc_session=" + made.Token}
}

// found makes a business of somebody.
func (s *scene) found(t testing.TB, by somebody, business string) workspace.Membership {
	t.Helper()
	m, err := s.spaces.Create(t.Context(), by.caller(), business, business)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// seat gives somebody a role in a workspace, without asking anybody.
func (s *scene) seat(t *testing.T, in workspace.Membership, p somebody, role string) {
	t.Helper()
	execute(t, s, `INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workspace, account) DO UPDATE SET role = excluded.role`, in.ID, p.Account.ID, role, in.CreatedAt.UnixMilli())
}

// recruit signs somebody up who has a role in a workspace.
func (s *scene) recruit(t *testing.T, in workspace.Membership, username, role string) somebody {
	t.Helper()
	p := s.enrol(t, username)
	s.seat(t, in, p, role)
	return p
}

// issued is a key that was just made.
type issued struct{ ID, Key string }

// issue makes a key of a workspace, in a scene of devices by one of them; more is what its body holds beside name and scopes.
func (s *scene) issue(t testing.TB, p somebody, in workspace.Membership, more map[string]any, scopes ...string) (k issued) {
	t.Helper()
	if s.devices && more == nil {
		return s.pairs(t, p, in, scopes...)
	}
	body := map[string]any{"name": "k", "scopes": scopes}
	for name, value := range more {
		body[name] = value
	}
	s.do(t, call{on: gateway.Agents, method: "POST", path: spaceOf(in) + "/keys", cookie: p.cookie, body: body}).wants(t, 201, "").read(t, &k)
	return k
}

// spaceOf and baseOf are where a workspace is found.
func spaceOf(in workspace.Membership) string {
	return "/api/workspaces/" + strings.TrimPrefix(in.Scope, "users/")
}
func baseOf(in workspace.Membership) string { return "/v1/" + strings.TrimPrefix(in.Scope, "users/") }

// peek asks for something that must be refused, and does not wait for the end of what is not.
func (s *scene) peek(t testing.TB, c call) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+c.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[c.on], http.Header{}
	maps.Copy(r.Header, c.header)
	if c.cookie != "" {
		r.Header.Set("Cookie", c.cookie)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 300 {
		return reply{answer, "it is not refused"}
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{answer, string(text)}
}
