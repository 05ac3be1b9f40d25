package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
)

func TestStaffReachFilesByTheirAuthorityAndTheCustomerIsTold(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		d := s.sit(t, "ada")
		d.ask("PUT", "/projects/site/files/a", "ada's").wants(t, 201, "")
		root, _ := s.hire(t, "root", "admin")
		helper, _ := s.hire(t, "helper", "support")
		plain, _ := s.session(t, "eve@example.com")
		s.on(t, root, "GET", d.path+"/projects/site/files/a", nil).wants(t, 403, "reauth_required")
		s.on(t, plain, "GET", d.path+"/projects/site/files/a", nil).wants(t, 403, "admin_required")
		s.do(t, call{on: gateway.Admin, path: d.path + "/projects", header: by(d.key)}).wants(t, 401, "unauthenticated")
		root, helper = s.elevate(t, root), s.elevate(t, helper)
		for _, cookie := range []string{root, helper} {
			if got := s.on(t, cookie, "GET", d.path+"/projects/site/files/a", nil).wants(t, 200, ""); got.body != "ada's" {
				t.Error(got.body)
			}
		}
		if told := s.events(t, "users/ada/personal", "staff.read"); len(told) != 2 || told[0].Target.Kind != "project" || told[0].Target.ID != "site" {
			t.Errorf("%+v", told)
		}
		s.on(t, helper, "PUT", d.path+"/projects/site/files/a", "x").wants(t, 403, "forbidden")
		s.on(t, root, "PUT", d.path+"/projects/site/files/b", "x").wants(t, 201, "")
		if told := s.events(t, "users/ada/personal", "staff.acted"); len(told) != 1 || !strings.Contains(told[0].Changes[0], "projects/site/files/b") {
			t.Errorf("%+v", told)
		}
		s.on(t, root, "GET", "/api/workspaces/nobody/personal/projects", nil).wants(t, 404, "workspace_not_found")
	})
}

func TestStaffHaveProjectsOfTheirOwn(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		d := s.sit(t, "ada")
		root, _ := s.hire(t, "root", "admin")
		root = s.elevate(t, root)
		const own = "/api/workspaces/admin"
		s.on(t, root, "POST", own+"/projects", map[string]string{"slug": "site"}).wants(t, 201, "")
		s.on(t, root, "PUT", own+"/projects/site/files/docs/100%25.md", "ours").wants(t, 201, "")
		if got := s.on(t, root, "GET", own+"/projects/site/files/docs/100%25.md", nil).wants(t, 200, ""); got.body != "ours" {
			t.Error(got.body)
		}
		if text, err := os.ReadFile(filepath.Join(s.files.Root, "admin/projects/site/docs/100%.md")); err != nil || string(text) != "ours" {
			t.Errorf("%s %v", text, err)
		}
		var storage struct{ UsedBytes int64 }
		s.on(t, root, "GET", own+"/storage", nil).wants(t, 200, "").read(t, &storage)
		if storage.UsedBytes != 4 {
			t.Errorf("%+v", storage)
		}
		d.ask("GET", "/projects/site/files/docs/100%25.md", nil).wants(t, 404, "item_not_found")
		for _, on := range []gateway.Surface{gateway.Agents, gateway.Platform} {
			if got := s.do(t, call{on: on, path: own + "/projects", header: by(d.key)}); got.StatusCode != 404 {
				t.Errorf("%s: %d %s", on, got.StatusCode, got.body)
			}
		}
		s.on(t, root, "POST", own+"/projects/site/pull", nil).wants(t, 409, "provider_connection_required")
		s.on(t, root, "DELETE", own+"/projects/site", nil).wants(t, 204, "")
	})
}
