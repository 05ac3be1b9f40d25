package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// staffKey is a key as it is made and listed.
type staffKey struct {
	ID, Key, Creator, Workspace string
	ExpiresAt                   time.Time
	Staff                       bool
}

// TestStaffMakeKeysThatSaySoAndEndWithThem makes, rotates and uses them in a customer's workspace and in the staff's own.
func TestStaffMakeKeysThatSaySoAndEndWithThem(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		root, who := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, root)
		all := []string{"agents:read", "agents:write", "runs:read", "workflows:run", "projects:read", "projects:write"}
		week := s.Clock.Now().Add(7 * 24 * time.Hour)
		made := map[string]staffKey{}
		for _, space := range []string{"/api/workspaces/ada/personal", "/api/workspaces/admin"} {
			make := func(body map[string]any, status int, typ string) (k staffKey) {
				got := s.on(t, up, "POST", space+"/keys", body).wants(t, status, typ)
				if status == 201 {
					got.read(t, &k)
				}
				return k
			}
			k := make(map[string]any{"name": "k", "scopes": all}, 201, "")
			if !k.Staff || k.Creator != who.Account.ID || k.ExpiresAt.After(week) {
				t.Errorf("%s: %+v", space, k)
			}
			make(map[string]any{"name": "k", "scopes": all, "expiresAt": week.Add(time.Hour)}, 400, "invalid_request")
			make(map[string]any{"name": "k", "scopes": all, "expiresAt": nil, "confirm": true}, 400, "invalid_request")
			var next staffKey
			s.on(t, up, "POST", space+"/keys/"+k.ID+"/rotate", `{"graceSeconds":0}`).wants(t, 201, "").read(t, &next)
			if !next.Staff || next.ExpiresAt.After(week.Add(time.Minute)) {
				t.Errorf("rotated: %+v", next)
			}
			if list := s.on(t, up, "GET", space+"/keys", nil).wants(t, 200, ""); !strings.Contains(list.body, `"staff":true`) || strings.Contains(list.body, `"id":"`+k.ID) {
				t.Errorf("list: %s", list.body)
			}
			made[space] = next
		}
		customers, own := made["/api/workspaces/ada/personal"].Key, made["/api/workspaces/admin"].Key
		// What a customer made, and staff have replaced, is a key of the staff.
		theirs := s.key(t, ada, "ada", "agents:read")
		var list struct{ Items []staffKey }
		s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/keys", cookie: ada}).wants(t, 200, "").read(t, &list)
		i := slices.IndexFunc(list.Items, func(k staffKey) bool { return !k.Staff })
		if len(list.Items) != 2 || i < 0 {
			t.Fatalf("the customer sees %+v", list.Items)
		}
		var replaced staffKey
		s.on(t, up, "POST", "/api/workspaces/ada/personal/keys/"+list.Items[i].ID+"/rotate", `{"graceSeconds":0}`).wants(t, 201, "").read(t, &replaced)
		if !replaced.Staff || replaced.ExpiresAt.After(week.Add(time.Minute)) {
			t.Errorf("replaced: %+v", replaced)
		}
		s.browse(t, "/account/keys", ada).shows(t, 200, "made by the people who run this service")
		if told := s.events(t, "users/ada/personal", "key.created"); len(told) != 2 || told[1].Actor.Username != "root1" || told[1].Source.Authority != "admin" {
			t.Errorf("the customer is told %+v", told)
		}

		type ask struct {
			on     gateway.Surface
			method string
			path   string
			key    string
			status int
		}
		asks := []ask{
			{gateway.Agents, "POST", "/v1/ada/personal/agents/central/k", customers, 202}, {gateway.Agents, "GET", "/v1/ada/personal/runs", customers, 200},
			{gateway.Agents, "POST", "/v1/ada/personal/workflows/quick", customers, 202}, {gateway.Agents, "GET", "/api/workspaces/ada/personal/projects", customers, 200},
			{gateway.Agents, "GET", "/v1/ada/personal/runs", replaced.Key, 403},
			{gateway.Admin, "POST", "/v1/admin/agents/central/k", own, 202}, {gateway.Admin, "GET", "/v1/admin/runs", own, 200}, {gateway.Admin, "POST", "/v1/admin/workflows/quick", own, 202},
		}
		refused := []ask{
			{gateway.Agents, "GET", "/v1/ada/personal/agents/central/k", theirs, 401},
			{gateway.Agents, "GET", "/api/workspaces/ada/personal/keys", customers, 403}, {gateway.Agents, "GET", "/api/workspaces/ada/personal/secrets", customers, 403},
			{gateway.Agents, "GET", "/v1/admin/runs", own, 404}, {gateway.Agents, "GET", "/v1/ada/personal/runs", own, 404},
			{gateway.Admin, "GET", "/v1/ada/personal/runs", own, 401}, {gateway.Admin, "GET", "/v1/ada/personal/runs", customers, 401},
			{gateway.Admin, "GET", "/v1/admin/runs", customers, 404}, {gateway.Admin, "GET", "/api/workspaces/admin/keys", own, 401}, {gateway.Admin, "GET", "/api/admin/people", own, 401},
			{gateway.Admin, "GET", "/api/workspaces/admin/runs", own, 401}, {gateway.Admin, "GET", "/v1/admin/runs", own + "x", 401},
		}
		try := func(asks []ask, dead bool) {
			t.Helper()
			for _, a := range asks {
				c := call{on: a.on, method: a.method, path: a.path, header: http.Header{"Authorization": {"Bearer " + a.key}}}
				if strings.Contains(a.path, "/agents/") && a.method == "POST" {
					c.body, c.header["Content-Type"] = `{"kind":"user","body":"n=1"}`, []string{"application/json"}
				}
				want := a.status
				if dead {
					want = 401
				}
				if got := s.do(t, c); got.StatusCode != want {
					t.Errorf("%s %s on %s: %d, want %d; %s", a.method, a.path, a.on, got.StatusCode, want, got.body)
				}
			}
		}
		try(asks, false)
		try(refused, false)
		for _, role := range []string{account.RoleSupport, account.RoleAdmin} {
			if _, err := s.Staff.Grant(t.Context(), who.Account.ID, role); err != nil {
				t.Fatal(err)
			}
			try(asks, true)
		}
	})
}

// TestTheStaffsOwnWorkspaceHasThePeopleWhoAreTheStaff lists them with their role.
func TestTheStaffsOwnWorkspaceHasThePeopleWhoAreTheStaff(t *testing.T) {
	s := quick(t)
	_, ada := s.session(t, "ada@example.com")
	root, _ := s.hire(t, "root1", account.RoleAdmin)
	_, helper := s.hire(t, "helper", account.RoleSupport)
	_, gone := s.hire(t, "gone", account.RoleSupport)
	execute(t, s, "UPDATE accounts SET deleted_at = 1 WHERE username = 'gone'")
	up := s.elevate(t, root)
	var list struct {
		Items []struct{ Account, Username, Role string }
		Next  string `json:"nextCursor"`
	}
	s.on(t, up, "GET", "/api/workspaces/admin/people", nil).wants(t, 200, "").read(t, &list)
	if len(list.Items) != 2 || list.Items[0].Username != "helper" || list.Items[0].Role != "support" || list.Items[1].Username != "root1" || list.Items[1].Role != "admin" {
		t.Errorf("%+v", list)
	}
	s.on(t, up, "GET", "/api/workspaces/admin/people?limit=1", nil).wants(t, 200, "").read(t, &list)
	s.on(t, up, "GET", "/api/workspaces/admin/people?limit=1&cursor="+list.Next, nil).wants(t, 200, "").read(t, &list)
	if len(list.Items) != 1 || list.Items[0].Username != "root1" {
		t.Errorf("%+v", list)
	}
	if got := s.on(t, up, "GET", "/api/workspaces/admin/people/"+helper.Account.ID, nil).wants(t, 200, ""); !strings.Contains(got.body, `"support"`) || got.Header.Get("ETag") == "" {
		t.Error(got.body)
	}
	for _, id := range []string{ada.Account.ID, gone.Account.ID, "acc_x"} {
		s.on(t, up, "GET", "/api/workspaces/admin/people/"+id, nil).wants(t, 404, "item_not_found")
	}
}
