package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

const verificationPath = "/api/orchestration/workspace-verification"

// rowsOf counts what every table with scopes has of one; what was done is told there, and aside.
func (s *scene) rowsOf(t *testing.T, address string) string {
	t.Helper()
	tables := "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'scope' ORDER BY m.name"
	if s.DB.Dialect() == sqldb.Postgres {
		tables = "SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'scope' ORDER BY table_name"
	}
	var all []string
	err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		rows, err := tx.Query(tables)
		if err != nil {
			return err
		}
		defer rows.Close()
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		rows.Close()
		for _, name := range names {
			var n int
			if err := tx.QueryRow("SELECT count(*) FROM "+name+" WHERE scope = $1", address).Scan(&n); err != nil {
				return err
			}
			if !strings.HasPrefix(name, "audit") {
				all = append(all, fmt.Sprint(name, " ", n))
			}
		}
		return nil
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%v, %v", all, err)
	}
	return strings.Join(all, ", ")
}

// TestAVerificationLeavesACustomerAsTheyWere asks for many, also in a workspace that is full.
func TestAVerificationLeavesACustomerAsTheyWere(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		see := func() string {
			seen := s.rowsOf(t, "users/ada/personal")
			for _, path := range []string{"/runs", "/storage", "/agents/central/conversations"} {
				body := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal" + path, cookie: cookie}).wants(t, 200, "").body
				before, _, _ := strings.Cut(body, `"measuredAt"`)
				seen += "\n" + before
			}
			return seen
		}
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/personal/workflows/quick/run", cookie: cookie}).wants(t, 202, "")
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/workflows/quick?wait=result", cookie: cookie}).wants(t, 200, "")
		eventually(t, "both runs have ended", func() bool {
			runs := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/runs", cookie: cookie}).wants(t, 200, "")
			return strings.Count(runs.body, `"status":"completed"`) == 2
		})
		for _, full := range []bool{false, true} {
			if full {
				execute(t, s, "INSERT INTO storage_quotas (scope, limit_bytes, used) VALUES ('users/ada/personal', 1, 2) ON CONFLICT (scope) DO UPDATE SET limit_bytes = 1, used = 2")
			}
			see() // to look at the storage writes down what was seen
			before := see()
			for range 3 {
				var got struct {
					OK     bool
					RunID  string
					Checks []scope.Check
				}
				s.do(t, call{on: gateway.Agents, path: verificationPath, cookie: cookie}).wants(t, 200, "").read(t, &got)
				if !got.OK || len(got.Checks) != 2 || !got.Checks[0].OK || !got.Checks[1].OK {
					t.Errorf("report: %+v", got)
				}
				s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/runs/" + got.RunID, cookie: cookie}).wants(t, 404, "run_not_found")
			}
			if after := see(); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		}
	})
}

// TestNobodyRunsTheVerificationThemselves asks for it as for any workflow, by every door, and by a name that is none: nobody
// could tell them apart.
func TestNobodyRunsTheVerificationThemselves(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	cookie, _ := s.session(t, "ada@example.com")
	key := s.key(t, cookie, "ada", "workflows:run", "runs:read")
	root, _ := s.hire(t, "root1", account.RoleAdmin)
	staff := s.elevate(t, root)
	for _, c := range []call{
		{on: gateway.Agents, path: "/v1/ada/personal/workflows/NAME", cookie: cookie}, {on: gateway.Agents, path: "/v1/ada/personal/workflows/NAME?wait=result", header: by(key)},
		{on: gateway.Agents, path: "/api/workspaces/ada/personal/workflows/NAME/run", cookie: cookie}, {on: gateway.Agents, path: "/api/workspaces/ada/personal/workflows/NAME/run", header: by(key)},
		{on: gateway.Admin, path: "/v1/ada/personal/workflows/NAME", cookie: staff}, {on: gateway.Admin, path: "/v1/admin/workflows/NAME", cookie: staff},
		{on: gateway.Admin, path: "/api/workspaces/ada/personal/workflows/NAME/run", cookie: staff}, {on: gateway.Admin, path: "/api/workspaces/admin/workflows/NAME/run", cookie: staff},
	} {
		ask := func(name, body string) reply {
			at := c
			at.method, at.path, at.body, at.header = "POST", strings.Replace(c.path, "NAME", name, 1), body, c.header.Clone()
			return s.do(t, at).wants(t, 404, "workflow_not_found")
		}
		for _, body := range []string{"", "{}", `{"account":"eve","scope":"users/eve/personal"}`} {
			got, none := ask(engine.Verification, body), ask("nothing", body)
			if strings.ReplaceAll(got.body, engine.Verification, "NAME") != strings.ReplaceAll(none.body, "nothing", "NAME") {
				t.Errorf("%s: %s, and of none %s", c.path, got.body, none.body)
			}
		}
	}
}

// TestTheRuntimeItselfRefusesAWorkspaceThatIsNotThere asks it as the gateway does, for workspaces that the gateway would have
// refused, in every mode.
func TestTheRuntimeItselfRefusesAWorkspaceThatIsNotThere(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		for _, name := range []string{"ada", "frozen", "gone", "orphan"} {
			s.session(t, name+"@example.com")
		}
		execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE scope = 'users/frozen/personal'")
		execute(t, s, "UPDATE workspaces SET deleted_at = 1, erase_at = 2 WHERE scope = 'users/gone/personal'")
		execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE username = 'orphan'")
		for _, c := range []struct {
			name, business, actor, authority string
			status                           int
			typ                              string
		}{
			{"ada", "personal", "ada", scope.Customer, 404, "stream_not_found"},
			{"ada", "none", "ada", scope.Customer, 404, "workspace_not_found"},
			{"nobody", "personal", "nobody", scope.Customer, 404, "workspace_not_found"},
			{"gone", "personal", "gone", scope.Customer, 404, "workspace_not_found"},
			{"gone", "personal", "root1", scope.StaffAuth, 404, "workspace_not_found"},
			{"frozen", "personal", "frozen", scope.Customer, 403, "workspace_suspended"},
			{"frozen", "personal", "channel:github", scope.Customer, 403, "workspace_suspended"},
			{"frozen", "personal", "root1", scope.StaffAuth, 404, "stream_not_found"},
			{"orphan", "personal", "channel:github", scope.Customer, 404, "workspace_not_found"},
			{"orphan", "personal", "ada", scope.Customer, 404, "stream_not_found"},
		} {
			claims := scope.Claims{Account: c.name, AccountID: "acc_1", Scope: scope.Of(c.name, c.business).String(), Actor: c.actor, Authority: c.authority, Delegated: true, Base: agentsURL, RequestID: "req_1"}
			r := httptest.NewRequestWithContext(scope.With(t.Context(), claims), http.MethodGet, "/agents/central/x", nil)
			w := httptest.NewRecorder()
			s.runtime.ServeHTTP(w, r)
			if w.Code != c.status || typeOf(w.Body.String()) != c.typ {
				t.Errorf("%+v: %d %s", c, w.Code, w.Body)
			}
		}
	})
}

// TestLinksLeadToTheSurfaceThatWasAsked looks at where staff and customers are told to go on, from a runtime that knows no
// address of its own.
func TestLinksLeadToTheSurfaceThatWasAsked(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		root, _ := s.hire(t, "root1", account.RoleAdmin)
		staff := s.elevate(t, root)
		for _, c := range []struct {
			on               gateway.Surface
			path, cookie, at string
		}{
			{gateway.Agents, "/v1/ada/personal/agents/central/a", cookie, agentsURL}, {gateway.Admin, "/v1/ada/personal/agents/central/b", staff, adminURL},
			{gateway.Admin, "/v1/admin/agents/central/c", staff, adminURL},
		} {
			var got struct{ StreamURL string }
			s.do(t, call{on: c.on, method: "POST", path: c.path, cookie: c.cookie, body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "").read(t, &got)
			if got.StreamURL != c.at+c.path {
				t.Errorf("%s on %s: %s", c.path, c.on, got.StreamURL)
			}
		}
	})
}
