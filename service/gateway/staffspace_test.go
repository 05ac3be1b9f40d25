package gateway_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
)

// verificationInput is what the built-in workflow takes.
const verificationInput = `{"account":"a","accountId":"b","actor":"c","scope":"d","authority":"e"}`

// health is what a process says of itself.
func (s *scene) health(context.Context) operation.Health {
	return operation.Health{
		Ready: true, State: "serving", Checks: []operation.HealthCheck{{Name: "database", OK: true}}, StartedAt: iso.At(s.Clock.Now()),
		Node: "n1", Nodes: []operation.HealthNode{{Node: "n1", Part: "serve"}}, Queue: &operation.HealthQueue{Waiting: 1, OldestMs: 20},
		Database: operation.HealthDatabase{Kind: string(s.DB.Dialect()), Bytes: 1, Tables: []operation.HealthRoom{{Room: "audit", Database: 1, Binary: 1}}},
	}
}

// rotate moves all secrets to the key that is active.
func (s *scene) rotate(ctx context.Context) (operation.Rotation, error) {
	if _, err := s.Store.Rewrap(ctx); err != nil {
		return operation.Rotation{}, err
	}
	rows, err := s.Store.Rows(ctx)
	return operation.Rotation{Status: "rotated", Active: s.Store.Active(), Rows: rows}, err
}

// throughCases is an administrator at work on workspaces, and on the service itself.
func (w *way) throughCases(t *testing.T, on func(method, path string, body any) call) {
	for _, path := range []string{"projects", "storage", "agents", "workflows", "runs", "keys", "mcps", "health"} {
		w.goes(t, 200, on("GET", "/api/admin/"+path, nil))
	}
	var found struct{ Items []struct{ ID, Scope string } }
	w.goes(t, 200, on("GET", "/api/admin/workspaces?q=carol", nil)).read(t, &found)
	w.goes(t, 200, on("POST", "/api/admin/workspaces/"+found.Items[0].ID+"/suspend", map[string]string{"reason": "spam"}))
	w.goes(t, 200, on("POST", "/api/admin/workspaces/"+found.Items[0].ID+"/restore", nil))
	w.goes(t, 202, on("POST", "/api/admin/secret-store/rotate", nil))
}

// throughOwn is the workspace of the staff.
func (w *way) throughOwn(t *testing.T, on func(method, path string, body any) call) {
	const own = "/api/workspaces/admin"
	var run struct{ RunID string }
	w.goes(t, 202, on("POST", own+"/workflows/sample/run", verificationInput)).read(t, &run)
	for _, path := range []string{"", "/agents", "/agents/central", "/agents/central/conversations", "/tools", "/channels", "/workflows", "/workflows/sample", "/runs", "/runs/" + run.RunID,
		"/runs/" + run.RunID + "/events", "/audit", "/audit/export"} {
		w.goes(t, 200, on("GET", own+path, nil))
	}
	w.goes(t, 202, on("POST", own+"/runs/"+run.RunID+"/cancel", nil))
	w.goes(t, 202, on("DELETE", own+"/runs/"+run.RunID, nil))
	w.throughBase(t, gateway.Admin, "/v1/admin")
	w.goes(t, 202, on("POST", "/v1/admin/agents/central/erased", `{"kind":"user","body":"n=1"}`))
	w.goes(t, 202, on("DELETE", own+"/agents/central/conversations/erased", nil))
	w.throughModels(t, func(method, path string, body any) call { return on(method, own+path, body) })
	w.throughMCPs(t, func(method, path string, body any) call { return on(method, own+path, body) })
	w.goes(t, 201, on("PUT", own+"/secrets/API_KEY", map[string]string{"value": "a secret value"}))
	w.goes(t, 200, on("PUT", own+"/secrets/API_KEY", map[string]string{"value": "another value"}))
	w.goes(t, 200, on("GET", own+"/secrets", nil))
	w.goes(t, 200, on("GET", own+"/secrets/API_KEY", nil))
	w.goes(t, 204, on("DELETE", own+"/secrets/API_KEY", nil))
	var people struct{ Items []struct{ Account string } }
	w.goes(t, 200, on("GET", own+"/people", nil)).read(t, &people)
	w.goes(t, 200, on("GET", own+"/people/"+people.Items[0].Account, nil))
	var key struct{ ID string }
	w.goes(t, 201, on("POST", own+"/keys", `{"name":"ci","scopes":["runs:read"]}`)).read(t, &key)
	w.goes(t, 201, on("POST", own+"/keys/"+key.ID+"/rotate", `{"graceSeconds":60}`))
	w.goes(t, 200, on("GET", own+"/keys", nil))
	w.goes(t, 204, on("DELETE", own+"/keys/"+key.ID, nil))
}

func TestStaffManageACustomersWorkspaceAndItsPeopleSeeIt(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		boss := s.person(t, "boss")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		business, _ := s.staff(t, "nobody")
		space := "/api/workspaces/boss/" + business
		var seen struct{ Role, Scope string }
		s.on(t, up, "GET", space, nil).wants(t, 200, "").read(t, &seen)
		if seen.Role != "admin" || seen.Scope != "users/boss/"+business {
			t.Errorf("workspace: %+v", seen)
		}
		var team struct{ ID string }
		s.on(t, up, "POST", space+"/teams", map[string]string{"name": "Ops"}).wants(t, 201, "").read(t, &team)
		s.on(t, up, "PATCH", space, map[string]string{"name": "North"}).wants(t, 200, "")
		s.on(t, up, "PUT", space+"/secrets/TOKEN", map[string]string{"value": "a secret value"}).wants(t, 201, "")
		s.on(t, up, "POST", space+"/invitations", map[string]string{"email": "lin@example.com", "role": "builder"}).wants(t, 201, "")
		s.on(t, up, "POST", space+"/workflows/sample/run", verificationInput).wants(t, 202, "")
		for _, path := range []string{"/people", "/people/" + boss.Account.ID, "/teams/" + team.ID, "/secrets", "/secrets/TOKEN", "/keys", "/agents", "/runs", "/audit", "/audit/export"} {
			s.on(t, up, "GET", space+path, nil).wants(t, 200, "")
		}
		text := s.do(t, call{on: gateway.Agents, path: space + "/audit?limit=200", cookie: "svc_session=" + boss.Token}).wants(t, 200, "").body
		for _, action := range []string{"team.created", "workspace.renamed", "secret.put", "invitation.created", "staff.acted", "staff.read"} {
			for _, chain := range []string{"users/boss/" + business, ""} {
				all := s.events(t, chain, action)
				i := slices.IndexFunc(all, func(e audit.Event) bool { return e.Scope == "users/boss/"+business })
				if i < 0 || all[i].Actor.ID != root.Account.ID || all[i].Source.Authority != "admin" || all[i].Source.Surface != "admin" {
					t.Errorf("%q: %s: %+v", chain, action, all)
				}
			}
			if !strings.Contains(text, `"`+action+`"`) {
				t.Errorf("the owner does not see %s", action)
			}
		}
		reads := s.events(t, "users/boss/"+business, "staff.read")
		for range 2 {
			s.on(t, up, "GET", space+"/people", nil).wants(t, 200, "")
		}
		if now := s.events(t, "users/boss/"+business, "staff.read"); len(now) != len(reads) || len(reads) != 11 {
			t.Errorf("%d readings are told, and %d after the same within a minute", len(reads), len(now))
		}
		s.on(t, up, "GET", "/api/workspaces/boss/none/people", nil).wants(t, 404, "workspace_not_found")
		if all := s.events(t, "users/boss/none", ""); len(all) != 0 {
			t.Errorf("a workspace that is not there has a log: %+v", all)
		}
	})
}

func TestStaffDoInAWorkspaceOnlyWhatMakesSense(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		business, _ := s.staff(t, "nobody")
		space := "/api/workspaces/boss/" + business
		execute(t, s, `INSERT INTO members (workspace, account, role, created_at) SELECT id, $2, 'viewer', created_at FROM workspaces WHERE scope = $1`, "users/boss/"+business, root.Account.ID)
		s.on(t, up, "DELETE", space+"/people/"+root.Account.ID, nil).wants(t, 204, "")
		if left, removed := s.events(t, "users/boss/"+business, "member.left"), s.events(t, "users/boss/"+business, "member.removed"); len(left) != 0 || len(removed) != 1 {
			t.Errorf("left %v, removed %v", left, removed)
		}
		key := map[string]any{"name": "k", "scopes": []string{"agents:read"}}
		s.on(t, up, "POST", space+"/keys/key_x/rotate", map[string]any{}).wants(t, 404, "item_not_found")
		var made struct{ ID string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: space + "/keys", cookie: "svc_session=" + s.person(t, "boss").Token, body: key}).wants(t, 201, "").read(t, &made)
		s.on(t, up, "DELETE", space+"/keys/"+made.ID, nil).wants(t, 204, "")
		if all := s.events(t, "users/boss/"+business, "key.revoked"); len(all) != 1 || all[0].Source.Authority != "admin" || all[0].Actor.ID != root.Account.ID {
			t.Errorf("key: %+v", all)
		}
		s.on(t, up, "PUT", space+"/secrets/TOKEN", map[string]string{"value": "v"}).wants(t, 201, "")
		s.Clock.Pass(11 * time.Minute) // what needs a fresh proof of a customer needs one of staff
		s.on(t, up, "PUT", space+"/secrets/TOKEN", map[string]string{"value": "w"}).wants(t, 403, "reauth_required")
		s.on(t, up, "DELETE", space+"/secrets/TOKEN", nil).wants(t, 403, "reauth_required")
		s.on(t, up, "DELETE", space+"?confirm="+business, nil).wants(t, 403, "reauth_required")
		s.on(t, up, "PATCH", space, map[string]string{"name": "Still"}).wants(t, 200, "")
		s.do(t, call{on: gateway.Admin, method: "PATCH", path: space, cookie: up, header: s.page(gateway.Agents), body: `{"name":"x"}`}).wants(t, 403, "cross_origin_request")
		s.do(t, call{on: gateway.Agents, path: space, cookie: up}).wants(t, 404, "workspace_not_found")
	})
}

func TestTheWorkspaceOfTheStaffIsOnAdminAlone(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		customer, _ := s.session(t, "ada@example.com")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, cookie)
		const own = "/api/workspaces/admin"
		var view struct{ Scope, Name, Role, Root string }
		s.on(t, up, "GET", own, nil).wants(t, 200, "").read(t, &view)
		if view.Scope != "admin" || view.Role != "admin" || view.Root != "root-sandbox/admin/" {
			t.Errorf("workspace: %+v", view)
		}
		var run struct{ RunID string }
		s.on(t, up, "POST", own+"/workflows/sample/run", verificationInput).wants(t, 202, "").read(t, &run)
		if list := s.on(t, up, "GET", own+"/runs", nil).wants(t, 200, ""); !strings.Contains(list.body, run.RunID) {
			t.Errorf("runs: %s", list.body)
		}
		if list := s.on(t, up, "GET", "/api/admin/runs", nil).wants(t, 200, ""); !strings.Contains(list.body, `"runId":"`+run.RunID) || !strings.Contains(list.body, `"scope":"admin"`) {
			t.Errorf("all runs: %s", list.body)
		}
		s.on(t, up, "GET", "/api/workspaces/ada/personal/runs/"+run.RunID, nil).wants(t, 404, "run_not_found")
		s.on(t, up, "POST", own+"/runs/run_x/cancel", nil).wants(t, 404, "run_not_found")
		s.on(t, up, "PUT", own+"/secrets/TOKEN", map[string]string{"value": "the staff's"}).wants(t, 201, "")
		if list := s.on(t, up, "GET", own+"/audit", nil).wants(t, 200, ""); !strings.Contains(list.body, "secret.put") || !strings.Contains(list.body, root.Account.ID) {
			t.Errorf("audit: %s", list.body)
		}
		for _, path := range []string{"/people", "/people/" + root.Account.ID, "/keys"} {
			s.on(t, up, "GET", own+path, nil).wants(t, 200, "")
			s.on(t, up, "DELETE", own+path, nil).wants(t, 405, "method_not_allowed")
		}
		for _, path := range []string{"/invitations", "/teams", "/archive", "/restore"} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				s.on(t, up, method, own+path, nil).wants(t, 404, "route_not_found")
			}
		}
		s.on(t, up, "DELETE", own, nil).wants(t, 405, "method_not_allowed")
		s.on(t, up, "PATCH", own+"/agents", map[string]string{"name": "x"}).wants(t, 405, "method_not_allowed")
		for _, path := range []string{"", "/agents", "/runs", "/runs/" + run.RunID, "/secrets", "/audit"} {
			for _, on := range []gateway.Surface{gateway.Agents, gateway.Platform} {
				for _, c := range []string{"", customer, up} {
					s.do(t, call{on: on, path: own + path, cookie: c}).wants(t, 404, "route_not_found")
				}
			}
			s.on(t, customer, "GET", own+path, nil).wants(t, 403, "admin_required")
		}
		key := s.key(t, cookieOf(up), "root1", "agents:read", "runs:read", "workflows:run")
		s.do(t, call{on: gateway.Admin, path: own + "/runs", header: by(key)}).wants(t, 401, "unauthenticated")
	})
}

// cookieOf is the session among the cookies of somebody with the authority of the staff.
func cookieOf(up string) string {
	for one := range strings.SplitSeq(up, "; ") {
		if strings.HasPrefix(one, "svc_session=") {
			return one
		}
	}
	return ""
}

func TestASuspendedWorkspaceLetsNobodyInButStaff(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := withRuntime(t, address, false, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond })
		ada, _ := s.session(t, "ada@example.com")
		cookie, root := s.hire(t, "root1", account.RoleAdmin)
		helper, _ := s.hire(t, "helper", account.RoleSupport)
		up, reader := s.elevate(t, cookie), s.elevate(t, helper)
		key := s.key(t, ada, "ada", "agents:read", "agents:write")
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(key), body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "")
		ends := []<-chan bool{
			s.opens(t, gateway.Agents, "/v1/ada/personal/agents/central/x?view=updates&offset=-1&live=sse", by(key)),
			s.opens(t, gateway.Agents, "/v1/ada/personal/agents/central/x?view=updates&offset=-1&live=sse", http.Header{"Cookie": {ada}}),
		}
		stays := s.opens(t, gateway.Admin, "/v1/ada/personal/agents/central/x?view=updates&offset=-1&live=sse", http.Header{"Cookie": {up}})
		var found struct{ Items []struct{ ID string } }
		s.on(t, up, "GET", "/api/admin/workspaces?q=ada", nil).wants(t, 200, "").read(t, &found)
		verb := "/api/admin/workspaces/" + found.Items[0].ID
		s.on(t, reader, "POST", verb+"/suspend", map[string]string{"reason": "spam"}).wants(t, 403, "forbidden")
		s.on(t, up, "POST", verb+"/suspend", map[string]string{"reason": " "}).wants(t, 400, "invalid_request")
		s.on(t, up, "POST", "/api/admin/workspaces/wsp_x/suspend", map[string]string{"reason": "spam"}).wants(t, 404, "workspace_not_found")
		if body := s.on(t, up, "POST", verb+"/suspend", map[string]string{"reason": "spam"}).wants(t, 200, "").body; !strings.Contains(body, `"suspended":true,"suspendReason":"spam"`) {
			t.Errorf("suspended: %s", body)
		}
		for i, ended := range ends {
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Errorf("stream %d stays open", i)
			}
		}
		select {
		case <-stays:
			t.Error("the stream of the staff ended")
		case <-time.After(200 * time.Millisecond):
		}
		for _, path := range []string{"/v1/ada/personal/agents/central/x", "/api/workspaces/ada/personal/agents", "/api/workspaces/ada/personal/people", "/api/workspaces/ada/personal/keys", "/api/orchestration/workspace-verification"} {
			s.do(t, call{on: gateway.Agents, path: path, cookie: ada}).wants(t, 403, "workspace_suspended")
		}
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(key)}).wants(t, 403, "workspace_suspended")
		s.on(t, up, "GET", "/api/workspaces/ada/personal/people", nil).wants(t, 200, "")
		s.Clock.Pass(11 * time.Minute)
		s.on(t, up, "POST", verb+"/restore", nil).wants(t, 403, "reauth_required")
		up = s.elevate(t, up)
		s.on(t, up, "POST", verb+"/restore", nil).wants(t, 200, "")
		s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/people", cookie: ada}).wants(t, 200, "")
		for _, chain := range []string{"users/ada/personal", ""} {
			for _, action := range []string{"workspace.suspended", "workspace.restored"} {
				if all := s.events(t, chain, action); len(all) != 1 || all[0].Actor.ID != root.Account.ID || all[0].Source.Authority != "admin" {
					t.Errorf("%q: %s: %+v", chain, action, all)
				}
			}
		}
	})
}

// opens follows a stream, and tells when it has ended.
func (s *scene) opens(t *testing.T, on gateway.Surface, path string, header http.Header) <-chan bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[on], header
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, answer.StatusCode)
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		defer answer.Body.Close()
		for b := make([]byte, 4096); err == nil; {
			_, err = answer.Body.Read(b)
		}
	}()
	return ended
}

func TestAnImpersonationThatEndsIsToldOnce(t *testing.T) {
	for name, end := range map[string]func(s *scene, up, id string){
		"by hand": func(s *scene, up, id string) {
			s.on(t, up, "DELETE", "/api/admin/impersonations/"+id, nil).wants(t, 204, "")
		},
		"by logout": func(s *scene, up, _ string) { s.on(t, up, "POST", "/api/auth/logout", nil).wants(t, 204, "") },
		"by expiry": func(s *scene, _, _ string) { s.Clock.Pass(time.Hour) },
		"with the role": func(s *scene, _, _ string) {
			if _, err := s.Staff.Grant(t.Context(), s.person(t, "root9").Account.ID, account.RoleNone); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.AnySchema(t, func(t *testing.T, address string) { impersonateAndEnd(t, open(t, address, accounttest.Options{}), end) })
		})
	}
}

// impersonateAndEnd begins an impersonation, has it ended, and looks for what the customer and the service are told.
func impersonateAndEnd(t *testing.T, s *scene, end func(s *scene, up, id string)) {
	t.Helper()
	_, ada := s.session(t, "ada@example.com")
	root := s.person(t, "root9")
	if _, err := s.Staff.Grant(t.Context(), root.Account.ID, account.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	up := s.elevate(t, "svc_session="+root.Token)
	var made struct{ ID string }
	s.on(t, up, "POST", "/api/admin/impersonations", map[string]string{"accountId": ada.Account.ID, "reason": "she asked for help"}).wants(t, 201, "").read(t, &made)
	if all := s.events(t, "users/ada/personal", "impersonation.ended"); len(all) != 0 {
		t.Errorf("it is told before: %+v", all)
	}
	end(s, up, made.ID)
	for range 2 {
		if _, err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, chain := range []string{"users/ada/personal", ""} {
		if all := s.events(t, chain, "impersonation.ended"); len(all) != 1 || all[0].Target.ID != made.ID || all[0].Subject == nil || all[0].Subject.ID != ada.Account.ID {
			t.Errorf("%q: %+v", chain, all)
		}
	}
}

func TestAHeaderThatAKeyBringsAlongIsToldOfItsMaker(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	cookie, ada := s.session(t, "ada@example.com")
	key := s.key(t, cookie, "ada", "agents:read", "runs:read")
	for _, path := range []string{"/v1/ada/personal/runs", "/api/workspaces/ada/personal/runs"} {
		header := by(key)
		header.Set("X-Svc-Scope", "users/eve/personal")
		s.do(t, call{on: gateway.Agents, path: path, header: header}).wants(t, 200, "")
	}
	s.Clock.Pass(2 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.events(t, "users/ada/personal", "access.spoofed_header")
	if len(all) != 1 || all[0].Actor.ID != ada.Account.ID || all[0].Count != 2 {
		t.Errorf("told: %+v", all)
	}
}

func TestNoCredentialOfAnyKindMayStandInAnAddress(t *testing.T) {
	s := quick(t)
	for _, prefix := range []string{"svck_", "svcs_", "svca_", "svcv_"} {
		for _, on := range surfaces {
			s.do(t, call{on: on, path: "/api/auth/session?x=" + prefix + strings.Repeat("A", 43)}).wants(t, 400, "credential_in_url")
		}
	}
}
