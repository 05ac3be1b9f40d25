package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// secretsUnread has everybody ask for a secret who must not, and looks for its value in all they are told.
func secretsUnread(t *testing.T, s *scene) {
	const value = "planted-value-4f9a"
	owner, stranger := s.enrol(t, "zoe"), s.enrol(t, "zoe-eve")
	in := s.found(t, owner, "acme")
	path := spaceOf(in) + "/secrets"
	s.do(t, call{on: gateway.Agents, method: "PUT", path: path + "/NAME", cookie: owner.cookie, body: map[string]string{"value": value}}).wants(t, 201, "")
	g := &siege{scene: s}
	_, up := g.staffer(t, "zoe-staff", account.RoleAdmin)
	_, view := s.looks(t, up, owner.Account.ID)
	k := s.issue(t, owner, in, nil, apikey.Scopes...)
	type reader struct {
		name   string
		header http.Header
		status int
	}
	readers := []reader{
		{"a stranger", http.Header{"Cookie": {stranger.cookie}}, 404}, {"a key of all scopes", by(k.Key), 403}, {"who looks as the owner", http.Header{"Cookie": {view}}, 403}, {"nobody", http.Header{}, 401},
	}
	for _, role := range []string{workspace.Billing, workspace.Viewer, workspace.Builder} {
		readers = append(readers, reader{role, http.Header{"Cookie": {s.recruit(t, in, "zoe-"+role, role).cookie}}, 403})
	}
	admin := s.recruit(t, in, "zoe-admin", workspace.Admin)
	for _, p := range []somebody{admin, owner} {
		for _, at := range []string{"", "/NAME"} {
			if got := s.do(t, call{on: gateway.Agents, path: path + at, cookie: p.cookie}).wants(t, 200, ""); strings.Contains(got.body, value) {
				t.Errorf("read back: %s", got.body)
			}
		}
	}
	answers := func() (all []string) {
		for _, r := range readers {
			for _, at := range []string{"", "/NAME", "/MISSING"} {
				for _, method := range []string{"GET", "PUT", "DELETE"} {
					header := r.header.Clone()
					header.Set("Origin", agentsURL)
					header.Set("Content-Type", "application/json")
					if at == "" && method != "GET" {
						continue
					}
					got := s.do(t, call{on: gateway.Agents, method: method, path: path + at, header: header, body: `{"value":"x"}`})
					if got.StatusCode != r.status || strings.Contains(got.body, value) {
						t.Errorf("%s: %s %s: %d %s", r.name, method, at, got.StatusCode, got.body)
					}
					all = append(all, fmt.Sprint(r.name, method, got.StatusCode, got.body))
				}
			}
		}
		return all
	}
	first := answers()
	// Nobody who may not see a secret learns by the time of an answer whether there is one: it is not looked for.
	execute(t, s, "ALTER TABLE secrets RENAME TO secrets_gone")
	without := answers()
	execute(t, s, "ALTER TABLE secrets_gone RENAME TO secrets")
	if !slices.Equal(first, without) {
		t.Errorf("without secrets the answers are others:\n%s\nand\n%s", strings.Join(first, "\n"), strings.Join(without, "\n"))
	}
	t.Logf("%d rows", len(first))
}

// secretsNotReplaced lets a session that has proven nothing for a while put one new secret many times at once: the first may,
// and all others would replace it.
func secretsNotReplaced(t *testing.T, s *scene) {
	owner := s.enrol(t, "zara")
	in := s.found(t, owner, "acme")
	execute(t, s, "UPDATE sessions SET auth_time = auth_time - 660000 WHERE account = $1", owner.Account.ID)
	for round := range 5 {
		path := fmt.Sprintf("%s/secrets/NEW_%d", spaceOf(in), round)
		got := together(10, func(i int) reply {
			return s.do(t, call{on: gateway.Agents, method: "PUT", path: path, cookie: owner.cookie, body: map[string]string{"value": fmt.Sprint("v", i)}})
		})
		if got[201] != 1 || got[403]+got[412] != 9 {
			t.Errorf("put at once: %v", got)
		}
	}
}
