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

// rights are what each route of a workspace needs. A route without a row fails the test.
var rights = map[string]workspace.Right{
	"GET ": workspace.Enter, "PATCH ": workspace.Manage, "DELETE ": workspace.Own,
	"POST /archive": workspace.Own, "POST /unarchive": workspace.Own, "POST /restore": workspace.Own,
	"GET /people": workspace.Read, "GET /people/{account}": workspace.Read, "PATCH /people/{account}": workspace.Manage, "DELETE /people/{account}": workspace.Manage,
	"GET /invitations": workspace.Review, "POST /invitations": workspace.Manage, "DELETE /invitations/{invitation}": workspace.Manage,
	"POST /invitations/{invitation}/resend": workspace.Manage,
	"GET /teams":                            workspace.Read, "POST /teams": workspace.Manage, "GET /teams/{team}": workspace.Read, "PATCH /teams/{team}": workspace.Manage,
	"DELETE /teams/{team}": workspace.Manage, "PUT /teams/{team}/members/{account}": workspace.Manage, "DELETE /teams/{team}/members/{account}": workspace.Manage,
	"GET /secrets": workspace.Manage, "GET /secrets/{secret}": workspace.Manage, "PUT /secrets/{secret}": workspace.Manage, "DELETE /secrets/{secret}": workspace.Manage,
	"GET /audit": workspace.Review, "GET /audit/export": workspace.Review,
	"GET /keys": workspace.Manage, "POST /keys": workspace.Manage, "POST /keys/{key}/rotate": workspace.Manage, "DELETE /keys/{key}": workspace.Manage,
	"GET /agents": workspace.Read, "GET /agents/{name}/conversations": workspace.Read, "GET /workflows": workspace.Read, "GET /runs": workspace.Read,
	"GET /runs/{run}": workspace.Read, "GET /runs/{run}/events": workspace.Read,
}

// bodies are what routes with a body are sent.
var requestBodies = map[string]any{
	"PATCH ": map[string]string{"name": "N"}, "PATCH /people/{account}": map[string]string{"role": "viewer"}, "POST /invitations": map[string]string{"email": "x@example.com", "role": "viewer"},
	"POST /teams": map[string]string{"name": "T"}, "PATCH /teams/{team}": map[string]string{"name": "T"}, "PUT /secrets/{secret}": map[string]string{"value": "v"},
	"POST /keys": map[string]any{"name": "k", "scopes": []string{"agents:read"}}, "POST /keys/{key}/rotate": map[string]any{},
}

// TestEveryRoleMayExactlyWhatTheTableSays asks every route of a workspace in every role, as a stranger and as nobody.
func TestEveryRoleMayExactlyWhatTheTableSays(t *testing.T) {
	s := withRuntime(t, address(t), false, trusting)
	asked := 0
	for _, role := range append(workspace.Roles(), "stranger", "nobody") {
		for _, line := range gateway.Lines() {
			rest, found := strings.CutPrefix(line.Path, "/api/workspaces/{username}/{business}")
			if !found || line.Surfaces[0] != gateway.Agents {
				continue
			}
			name := line.Method + " " + rest
			right, known := rights[name]
			if !known {
				t.Errorf("%s has no row", name)
				continue
			}
			asked++
			s.tryRole(t, role, name, rest, line.Method, right)
		}
	}
	t.Logf("%d requests", asked)
}

// tryRole asks one route in one role, of a workspace that nobody else has changed.
func (s *scene) tryRole(t *testing.T, role, name, rest, method string, right workspace.Right) {
	t.Helper()
	business, cookie := s.staff(t, role)
	path := strings.NewReplacer("{account}", "acc_x", "{invitation}", "inv_x", "{team}", "tem_x", "{secret}", "NAME", "{key}", "key_x", "{name}", "central", "{run}", "run_x").Replace(rest)
	if name == "DELETE " {
		path += "?confirm=" + business
	}
	body := requestBodies[name]
	got := s.do(t, call{on: gateway.Agents, method: method, path: "/api/workspaces/boss/" + business + path, cookie: cookie, body: body})
	var envelope struct{ Error struct{ Type string } }
	_ = json.Unmarshal([]byte(got.body), &envelope)
	typ := envelope.Error.Type
	denied := got.StatusCode == http.StatusForbidden && typ == "forbidden" || typ == "workspace_not_found" || got.StatusCode == http.StatusUnauthorized
	switch {
	case role == "nobody" && got.StatusCode != http.StatusUnauthorized:
		t.Errorf("%s as nobody: %d %s", name, got.StatusCode, typ)
	case role == "stranger" && typ != "workspace_not_found":
		t.Errorf("%s as a stranger: %d %s", name, got.StatusCode, typ)
	case role != "nobody" && role != "stranger" && denied == workspace.Allows(role, right) && name != "POST /restore":
		t.Errorf("%s as %s: %d %s, allowed is %t", name, role, got.StatusCode, typ, workspace.Allows(role, right))
	}
}

var businesses int

// staff makes a business of the boss with somebody in the role, and returns their cookie.
func (s *scene) staff(t *testing.T, role string) (business, cookie string) {
	t.Helper()
	boss := s.person(t, "boss")
	businesses++
	business = fmt.Sprintf("b%d", businesses)
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

var persons = map[*scene]map[string]account.Registered{}

// person is somebody of that name, signed up once.
func (s *scene) person(t *testing.T, username string) account.Registered {
	t.Helper()
	if persons[s] == nil {
		persons[s] = map[string]account.Registered{}
	}
	if p, found := persons[s][username]; found {
		return p
	}
	p, err := s.Register(accounttest.From(t), account.Registration{Email: username + "@example.com", Password: password, Username: username})
	if err != nil {
		t.Fatal(err)
	}
	persons[s][username] = p
	return p
}
