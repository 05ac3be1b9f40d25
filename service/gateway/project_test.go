package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// everyDatabase sets the scene on each kind of database.
func everyDatabase(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		fn(t, open(t, address, accounttest.Options{}, func(c *gateway.Config) { c.Burst, c.Rate = 1000, 10_000 }))
	})
}

func TestAFileIsWrittenReadMovedAndDeleted(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		d := s.sit(t, "ada")
		const file = "/projects/site/files/docs/plan.md"
		made := d.ask("PUT", file, "0123456789").wants(t, 201, "")
		tag := made.Header.Get("ETag")
		if made.Header.Get("Location") != d.path+file || !strings.Contains(made.body, `"username":"ada"`) || !strings.Contains(made.body, `"bytes":10`) {
			t.Errorf("%v %s", made.Header, made.body)
		}
		got := d.ask("GET", file, nil).wants(t, 200, "")
		if got.body != "0123456789" || got.Header.Get("ETag") != tag || got.Header.Get("Content-Length") != "10" {
			t.Errorf("%v %s", got.Header, got.body)
		}
		if head := d.ask("HEAD", file, nil).wants(t, 200, ""); head.body != "" || head.Header.Get("Content-Length") != "10" || head.Header.Get("ETag") != tag {
			t.Errorf("%v %q", head.Header, head.body)
		}
		d.parts(file, tag)
		d.ask("PUT", file, "other", "If-Match", `"stale"`).wants(t, 412, "version_conflict")
		d.ask("PUT", file, "other", "If-None-Match", "*").wants(t, 412, "version_conflict")
		d.ask("DELETE", file, nil, "If-Match", `"stale"`).wants(t, 412, "version_conflict")
		d.ask("PUT", file, "other", "If-Match", tag).wants(t, 200, "")
		if d.ask("GET", file, nil).body != "other" {
			t.Error("it was not replaced")
		}
		d.ask("POST", "/projects/site/move", map[string]string{"from": "docs/plan.md", "to": "plan.md"}).wants(t, 200, "")
		d.ask("GET", file, nil).wants(t, 404, "item_not_found")
		d.ask("PUT", "/projects/site/files/plan.md/x", "x").wants(t, 409, "name_taken")
		d.ask("DELETE", "/projects/site/files/plan.md", nil).wants(t, 204, "")
		d.ask("DELETE", "/projects/site/files/plan.md", nil).wants(t, 404, "item_not_found")
	})
}

// parts asks for parts of a file of ten digits.
func (d *desk) parts(file, tag string) {
	d.t.Helper()
	for asked, want := range map[string]string{"bytes=2-4": "234", "bytes=-3": "789", "bytes=8-": "89", "bytes=0-99": "0123456789"} {
		if got := d.ask("GET", file, nil, "Range", asked).wants(d.t, 206, ""); got.body != want || got.Header.Get("Content-Range") == "" {
			d.t.Errorf("%s: %s %s", asked, got.Header.Get("Content-Range"), got.body)
		}
	}
	for _, whole := range []string{"bytes=0-1,4-5", "lines=1-2"} {
		if got := d.ask("GET", file, nil, "Range", whole).wants(d.t, 200, ""); got.body != "0123456789" {
			d.t.Errorf("%s: %s", whole, got.body)
		}
	}
	if got := d.ask("GET", file, nil, "Range", "bytes=10-").wants(d.t, 416, "range_not_satisfiable"); got.Header.Get("Content-Range") != "bytes */10" || got.Header.Get("Content-Disposition") != "" {
		d.t.Errorf("%v", got.Header)
	}
	d.ask("GET", file, nil, "Range", "bytes=0-1", "If-Range", tag).wants(d.t, 206, "")
	d.ask("GET", file, nil, "Range", "bytes=0-1", "If-Range", `"other"`).wants(d.t, 200, "")
	if got := d.ask("GET", file, nil, "If-None-Match", tag).wants(d.t, 304, ""); got.body != "" || got.Header.Get("ETag") != tag {
		d.t.Errorf("%v %s", got.Header, got.body)
	}
	d.ask("GET", file, nil, "If-Match", `"other"`).wants(d.t, 412, "version_conflict")
}

func TestFilesAreListedInPagesAndFolded(t *testing.T) {
	s := quick(t)
	d := s.sit(t, "ada")
	for _, name := range []string{"a", "docs/1", "docs/2", "docs/deep/3", "z"} {
		d.ask("PUT", "/projects/site/files/"+name, "x").wants(t, 201, "")
	}
	list := func(query string) (paths, next string) {
		var got struct {
			Items []struct{ Path, Kind string }
			Next  string `json:"nextCursor"`
		}
		d.ask("GET", "/projects/site/files"+query, nil).wants(t, 200, "").read(t, &got)
		for _, one := range got.Items {
			paths += " " + one.Path + ":" + one.Kind
		}
		return paths, got.Next
	}
	if got, _ := list(""); got != " a:file docs/1:file docs/2:file docs/deep/3:file z:file" {
		t.Error(got)
	}
	if got, _ := list("?folded=true"); got != " a:file docs:folder z:file" {
		t.Error(got)
	}
	if got, _ := list("?prefix=docs/&folded=true"); got != " docs/1:file docs/2:file docs/deep:folder" {
		t.Error(got)
	}
	first, next := list("?limit=2")
	if second, _ := list("?limit=3&cursor=" + next); first+second != " a:file docs/1:file docs/2:file docs/deep/3:file z:file" {
		t.Error(first, second)
	}
	d.ask("GET", "/projects/site/files?folded=yes", nil).wants(t, 400, "invalid_request")
	d.ask("GET", "/projects/site/files?cursor=x", nil).wants(t, 400, "invalid_request")
}

func TestAFileIsNeverRunByABrowser(t *testing.T) {
	s := quick(t)
	d := s.sit(t, "ada")
	for name, want := range map[string]string{
		"page.html": "text/plain; charset=utf-8", "page.HTML": "text/plain; charset=utf-8", "evil.svg": "text/plain; charset=utf-8", "evil.js": "text/plain; charset=utf-8",
		"style.css": "text/plain; charset=utf-8", "a.xhtml": "text/plain; charset=utf-8", "picture.png": "image/png", "no-end": "application/octet-stream",
		"page.html.": "application/octet-stream", "x.shtml": "application/octet-stream", "data.json": "application/json",
	} {
		d.ask("PUT", "/projects/site/files/"+name, "<script>alert(1)</script>", "Content-Type", "text/html").wants(t, 201, "")
		h := d.ask("GET", "/projects/site/files/"+name, nil).wants(t, 200, "").Header
		if h.Get("Content-Type") != want || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; filename=") || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") || h.Get("Cross-Origin-Resource-Policy") != "same-site" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", name, h)
		}
	}
	d.ask("PUT", "/projects/site/files/%C3%A4%22%0a", "x").wants(t, 400, "invalid_path")
	d.ask("PUT", "/projects/site/files/%C3%A4%22;x", "x").wants(t, 201, "")
	if got := d.ask("GET", "/projects/site/files/%C3%A4%22;x", nil).Header.Get("Content-Disposition"); got != `attachment; filename*=utf-8''%C3%A4%22%3Bx` {
		t.Error(got)
	}
}

// TestParallelWritersThroughTheGatewayNeverPassTheLimit sends 100 files of one byte where there is room for 50.
func TestParallelWritersThroughTheGatewayNeverPassTheLimit(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		d := s.sit(t, "ada")
		s.limit(t, "users/ada/personal", 1000)
		d.ask("PUT", "/projects/site/files/much", strings.Repeat("x", 950)).wants(t, 201, "")
		var passed atomic.Int64
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				switch got := d.ask("PUT", fmt.Sprint("/projects/site/files/f", i), "x"); got.StatusCode {
				case 201:
					passed.Add(1)
				case 503:
				default:
					got.wants(t, 507, "storage_quota_exceeded")
				}
			})
		}
		all.Wait()
		var storage struct {
			UsedBytes, ReservedBytes int64
			State                    string
		}
		d.ask("GET", "/storage", nil).wants(t, 200, "").read(t, &storage)
		if passed.Load() > 50 || storage.UsedBytes != 950+passed.Load() || storage.ReservedBytes != 0 {
			t.Errorf("%d passed, %+v", passed.Load(), storage)
		}
		if drift, err := s.files.Recount(t.Context(), "users/ada/personal"); err != nil || !drift.None() {
			t.Errorf("%+v %v", drift, err)
		}
	})
}

func TestAFullWorkspaceReadsAndDeletesAndTakesNoNewWork(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		d := s.sit(t, "ada")
		prompt := func() reply {
			return s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(d.key), body: `{"kind":"user","body":"n=1"}`})
		}
		prompt().wants(t, 202, "")
		d.ask("PUT", "/projects/site/files/big", strings.Repeat("x", 100_000)).wants(t, 201, "")
		s.limit(t, "users/ada/personal", 100_000)
		refused := d.ask("PUT", "/projects/site/files/more", "x").wants(t, 507, "storage_quota_exceeded")
		if !strings.Contains(refused.body, `"limitBytes":100000`) || !strings.Contains(refused.body, `"requestedBytes":1`) {
			t.Error(refused.body)
		}
		prompt().wants(t, 507, "storage_quota_exceeded")
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x/abort", header: by(d.key)}).wants(t, 200, "")
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(d.key)}).wants(t, 200, "")
		var storage struct {
			State  string
			ByKind struct{ Projects, Streams int64 }
		}
		eventually(t, "the streams are summed", func() bool {
			d.ask("GET", "/storage", nil).wants(t, 200, "").read(t, &storage)
			return storage.ByKind.Streams > 0
		})
		if storage.State != "over" || storage.ByKind.Projects != 100_000 {
			t.Errorf("%+v", storage)
		}
		d.ask("GET", "/projects/site/files/big", nil, "Range", "bytes=0-3").wants(t, 206, "")
		d.ask("DELETE", "/projects/site/files/big", nil).wants(t, 204, "")
		d.ask("PUT", "/projects/site/files/more", "x").wants(t, 201, "")
		prompt().wants(t, 202, "")
	})
}

func TestAKeyReachesFilesWithinItsScopesAndItsMakersRole(t *testing.T) {
	s := quick(t)
	d := s.sit(t, "ada")
	d.ask("PUT", "/projects/site/files/a", "x").wants(t, 201, "")
	for scopes, can := range map[string][2]bool{"projects:read": {true, false}, "projects:write": {false, true}, "agents:read,agents:write": {false, false}} {
		other := s.sit(t, "user"+fmt.Sprint(len(scopes)), strings.Split(scopes, ",")...)
		read, write := other.ask("GET", "/projects", nil), other.ask("PUT", "/projects/site/files/b", "x")
		if (read.StatusCode == 200) != can[0] || (write.StatusCode == 201) != can[1] {
			t.Errorf("%s: %d, %d", scopes, read.StatusCode, write.StatusCode)
		}
		if !can[0] {
			read.wants(t, 403, "insufficient_scope")
		}
		if !can[1] {
			write.wants(t, 403, "insufficient_scope")
		}
	}
	execute(t, s, "UPDATE members SET role = 'viewer' WHERE workspace = (SELECT id FROM workspaces WHERE scope = 'users/ada/personal')")
	d.ask("GET", "/projects/site/files/a", nil).wants(t, 200, "")
	d.ask("PUT", "/projects/site/files/a", "y").wants(t, 403, "forbidden")
	d.ask("POST", "/projects", map[string]string{"name": "More"}).wants(t, 403, "forbidden")
	execute(t, s, "UPDATE members SET role = 'billing' WHERE workspace = (SELECT id FROM workspaces WHERE scope = 'users/ada/personal')")
	d.ask("GET", "/projects/site/files/a", nil).wants(t, 403, "forbidden")
	h := http.Header{"Authorization": {"Bearer svck_nothing"}}
	s.do(t, call{on: gateway.Agents, path: d.path + "/projects", header: h}).wants(t, 401, "invalid_api_key")
}

func TestATeamGivesAViewerMoreInOneProject(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		boss, _ := s.session(t, "boss@example.com")
		lin, who := s.session(t, "lin@example.com")
		const w = "/api/workspaces/boss/personal"
		ask := func(cookie, method, path string, body any) reply {
			return s.do(t, call{on: gateway.Agents, method: method, path: w + path, cookie: cookie, body: body})
		}
		for _, slug := range []string{"site", "shop"} {
			ask(boss, "POST", "/projects", map[string]string{"slug": slug}).wants(t, 201, "")
		}
		execute(t, s, `INSERT INTO members (workspace, account, role, created_at) SELECT id, $1, 'viewer', created_at FROM workspaces WHERE scope = 'users/boss/personal'`, who.Account.ID)
		ask(lin, "PUT", "/projects/site/files/a", "x").wants(t, 403, "forbidden")
		var team struct{ ID string }
		ask(boss, "POST", "/teams", map[string]string{"name": "Site"}).wants(t, 201, "").read(t, &team)
		ask(boss, "PUT", "/teams/"+team.ID+"/members/"+who.Account.ID, nil).wants(t, 200, "")
		ask(boss, "PUT", "/teams/"+team.ID+"/projects/none", map[string]string{"role": "builder"}).wants(t, 404, "item_not_found")
		ask(lin, "PUT", "/teams/"+team.ID+"/projects/site", map[string]string{"role": "builder"}).wants(t, 403, "forbidden")
		ask(boss, "PUT", "/teams/"+team.ID+"/projects/site", map[string]string{"role": "builder"}).wants(t, 200, "")
		ask(lin, "PUT", "/projects/site/files/a", "x").wants(t, 201, "")
		ask(lin, "PATCH", "/projects/site", map[string]string{"name": "Ours"}).wants(t, 200, "")
		ask(lin, "PUT", "/projects/shop/files/a", "x").wants(t, 403, "forbidden")
		ask(lin, "POST", "/projects", map[string]string{"slug": "new-one"}).wants(t, 403, "forbidden")
		ask(boss, "DELETE", "/projects/site", nil).wants(t, 204, "")
		ask(boss, "POST", "/projects", map[string]string{"slug": "site"}).wants(t, 201, "")
		ask(lin, "PUT", "/projects/site/files/a", "x").wants(t, 403, "forbidden")
	})
}

func TestNobodyReachesTheFilesOfAnother(t *testing.T) {
	everyDatabase(t, func(t *testing.T, s *scene) {
		ada, eve := s.sit(t, "ada"), s.sit(t, "eve")
		ada.ask("PUT", "/projects/site/files/secret", "ada's").wants(t, 201, "")
		eve.ask("PUT", "/projects/site/files/mine", "eve's").wants(t, 201, "")
		none := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/nobody/personal/projects/site", header: by(eve.key)}).wants(t, 404, "workspace_not_found")
		for method, paths := range map[string][]string{
			"GET":    {"/projects", "/projects/site", "/projects/site/files", "/projects/site/files/secret", "/storage"},
			"PUT":    {"/projects/site/files/secret"},
			"DELETE": {"/projects/site/files/secret", "/projects/site", "/projects/site/repository"},
			"POST":   {"/projects/site/pull", "/projects", "/projects/site/move"},
		} {
			for _, path := range paths {
				got := s.do(t, call{on: gateway.Agents, method: method, path: ada.path + path, header: by(eve.key), body: "x"}).wants(t, 404, "workspace_not_found")
				if got.body != none.body {
					t.Errorf("%s %s: %s", method, path, got.body)
				}
			}
		}
		eve.ask("GET", "/projects/site/files/secret", nil).wants(t, 404, "item_not_found")
		if got := eve.ask("GET", "/projects/site/files", nil).wants(t, 200, ""); strings.Contains(got.body, "secret") {
			t.Error(got.body)
		}
		if got := ada.ask("GET", "/projects/site/files/secret", nil); got.body != "ada's" {
			t.Error(got.body)
		}
	})
}
