package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// execute changes the database behind the rooms' back.
func execute(t *testing.T, s *scene, statement string, args ...any) {
	t.Helper()
	err := s.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stricter are what rooms ask beyond the need of a row: whoever may enter may leave, and only who manages takes others out.
var stricter = map[string]workspace.Right{"DELETE /people/{account}": workspace.Manage}

// rightTo is what a line of a workspace needs.
func rightTo(l gateway.Line, rest string) workspace.Right {
	if right, found := stricter[l.Method+" "+rest]; found {
		return right
	}
	right, _ := l.Need.Inside()
	return right
}

// bodies are what routes with a body are sent.
var requestBodies = map[string]any{
	"PATCH ": map[string]string{"name": "N"}, "PATCH /people/{account}": map[string]string{"role": "viewer"}, "POST /invitations": map[string]string{"email": "x@example.com", "role": "viewer"},
	"POST /projects": map[string]string{"name": "P"}, "PATCH /projects/{slug}": map[string]string{"name": "P"}, "POST /projects/{slug}/move": map[string]string{"from": "a", "to": "b"},
	"PUT /projects/{slug}/repository":   map[string]any{"provider": "github", "owner": "octocat", "name": "hello-world", "installationId": 1},
	"PUT /teams/{team}/projects/{slug}": map[string]string{"role": "viewer"},
	"POST /teams":                       map[string]string{"name": "T"}, "PATCH /teams/{team}": map[string]string{"name": "T"}, "PUT /secrets/{secret}": map[string]string{"value": "v"},
	"PATCH /agents/{name}": map[string]string{"instructions": "Be brief."},
	"POST /mcps":           map[string]string{"name": "m", "url": "https://mcp.example.com"}, "PATCH /mcps/{mcp}": map[string]string{"url": "https://mcp.example.com/mcp"},
	"PATCH /mcps/{mcp}/tools/{tool}": map[string]bool{"enabled": false},
	"PUT /models":                    map[string]string{"default": "scripted/words"}, "PUT /models/{provider}": map[string]string{"key": "a-key-of-a-provider"},
	"POST /keys": map[string]any{"name": "k", "scopes": []string{"agents:read"}}, "POST /keys/{key}/rotate": map[string]any{},
}

// baseRights are what the paths below {base_url} need.
var baseRights = map[string]workspace.Right{
	"GET /agents/central/x": workspace.Read, "POST /agents/central/x": workspace.Work, "POST /agents/central/x/abort": workspace.Work,
	"GET /agents/central/x?view=updates&offset=-1&live=long-poll": workspace.Read, "GET /agents/central/x/submissions": workspace.Read,
	"GET /agents/central/x/attachments/y": workspace.Read, "POST /workflows/sample": workspace.Work, "GET /runs/run_x": workspace.Read, "GET /runs": workspace.Read,
	"POST /mcp": workspace.Read,
	"GET /page": workspace.Read, "GET ": workspace.Read,
	"POST /page": workspace.Work, "PUT /page": workspace.Work, "PATCH /page": workspace.Work, "DELETE /page/x": workspace.Work,
}

// everyRole has every role, a stranger and nobody.
var everyRole = append(workspace.Roles(), "stranger", "nobody")

// TestEveryRoleMayExactlyWhatTheRowSays asks every route of a workspace in every role, as a stranger and as nobody.
func TestEveryRoleMayExactlyWhatTheRowSays(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		asked := 0
		for _, line := range gateway.Lines() {
			rest, found := strings.CutPrefix(line.Path, "/api/workspaces/{username}/{business}")
			for _, on := range line.Surfaces {
				if !found || on == gateway.Admin {
					continue
				}
				for _, role := range everyRole {
					s.tryRole(t, on, role, "W", line.Method+" "+rest, rightTo(line, rest))
					asked++
				}
			}
		}
		for name, right := range baseRights {
			for _, role := range everyRole {
				s.tryRole(t, gateway.Agents, role, "V", name, right)
				asked++
			}
		}
		t.Logf("%d requests", asked)
	}, plenty)
}

// bossAt is where the businesses of the boss are, below W and below {base_url}.
var bossAt = map[string]string{"W": "/api/workspaces/boss/", "V": "/v1/boss/"}

// tryRole asks one route in one role, of a workspace that nobody else has changed.
func (s *scene) tryRole(t *testing.T, on gateway.Surface, role, root, name string, right workspace.Right) {
	t.Helper()
	business, cookie := s.staff(t, role)
	method, rest, _ := strings.Cut(name, " ")
	path := strings.NewReplacer("{account}", "acc_x", "{invitation}", "inv_x", "{team}", "tem_x", "{secret}", "NAME", "{provider}", "anthropic", "{mcp}", "mcp_x", "{tool}", "echo", "{key}", "key_x", "{name}", "central", "{run}", "run_x", "{slug}", "site", "{version}", "1", "{path}", "a/b.md", "{instance}", "x").Replace(rest)
	if name == "DELETE " {
		path += "?confirm=" + business
	}
	got := s.do(t, call{on: on, method: method, path: bossAt[root] + business + path, cookie: cookie, body: bodyOf(method, root+rest)})
	var envelope struct{ Error struct{ Type string } }
	_ = json.Unmarshal([]byte(got.body), &envelope)
	typ := envelope.Error.Type
	denied := got.StatusCode == http.StatusForbidden && typ == "forbidden" || typ == "workspace_not_found" || got.StatusCode == http.StatusUnauthorized
	switch {
	case role == "nobody" && got.StatusCode != http.StatusUnauthorized:
		t.Errorf("%s %s as nobody: %d %s", on, name, got.StatusCode, typ)
	case role == "stranger" && typ != "workspace_not_found":
		t.Errorf("%s %s as a stranger: %d %s", on, name, got.StatusCode, typ)
	case role != "nobody" && role != "stranger" && denied == workspace.Allows(role, right) && name != "POST /restore":
		t.Errorf("%s %s as %s: %d %s, allowed is %t", on, name, role, got.StatusCode, typ, workspace.Allows(role, right))
	}
}

// staff makes a business of the boss with somebody in the role, and returns their cookie.
func (s *scene) staff(t *testing.T, role string) (business, cookie string) {
	t.Helper()
	boss := s.person(t, "boss")
	s.businesses++
	business = fmt.Sprintf("b%d", s.businesses)
	if _, err := s.spaces.Create(t.Context(), workspace.Caller{Actor: boss.Account.Actor()}, business, business); err != nil {
		execute(t, s, "DELETE FROM workspaces WHERE business LIKE 'b%' AND business <> $1", business)
		if _, err := s.spaces.Create(t.Context(), workspace.Caller{Actor: boss.Account.Actor()}, business, business); err != nil {
			t.Fatal(err)
		}
	}
	switch role {
	case "nobody":
		return business, ""
	case "stranger":
		return business, "svc_session=" + s.person(t, "stranger").Token
	}
	p := s.person(t, role+"-er")
	execute(t, s, `INSERT INTO members (workspace, account, role, created_at) SELECT id, $2, $3, created_at FROM workspaces WHERE scope = $1`, "users/boss/"+business, p.Account.ID, role)
	return business, "svc_session=" + p.Token
}

// person is somebody of that name, signed up once.
func (s *scene) person(t *testing.T, username string) account.Registered {
	t.Helper()
	if p, found := s.persons[username]; found {
		return p
	}
	p, err := s.Registrations.Register(accounttest.From(t), account.Registration{Email: username + "@example.com", Password: password, Username: username})
	if err != nil {
		t.Fatal(err)
	}
	s.persons[username] = p
	return p
}
