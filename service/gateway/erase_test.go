package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// TestARunOrAConversationIsErasedByThoseWhoMayAndThatIsTold erases as a customer and as staff, with a neighbour whose things
// have the same names.
func TestARunOrAConversationIsErasedByThoseWhoMayAndThatIsTold(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		eve, _ := s.session(t, "eve@example.com")
		staff, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, staff)
		key := s.key(t, ada, "ada", "agents:read", "agents:write", "runs:read", "workflows:run")
		const instance = "a b:c%"
		for by, on := range map[string]gateway.Surface{ada: gateway.Agents, up: gateway.Admin} {
			runs := map[string]string{}
			for name, cookie := range map[string]string{"ada": ada, "eve": eve} {
				var made struct{ RunID string }
				s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/" + name + "/personal/workflows/endless", cookie: cookie}).wants(t, 202, "").read(t, &made)
				runs[name] = made.RunID
				s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/" + name + "/personal/agents/central/" + url.PathEscape(instance), cookie: cookie, body: `{"kind":"user","body":"n=1"}`}).
					wants(t, 202, "")
			}
			const own, base = "/api/workspaces/ada/personal", "/v1/ada/personal"
			for _, c := range []struct{ path, reads, missing, typ, action, target string }{
				{own + "/runs/" + runs["ada"], base + "/runs/" + runs["ada"], "run_not_found", "run_not_found", "run.erased", runs["ada"]},
				{own + "/agents/central/conversations/" + url.PathEscape(instance), base + "/agents/central/" + url.PathEscape(instance), "stream_not_found", "item_not_found", "conversation.erased", "central/" + instance},
			} {
				told := len(s.events(t, "users/ada/personal", c.action))
				s.do(t, call{on: gateway.Agents, path: c.reads, cookie: ada}).wants(t, 200, "")
				s.do(t, call{on: gateway.Agents, method: "DELETE", path: c.path, header: by1(key)}).wants(t, 403, "forbidden")
				s.do(t, call{on: gateway.Agents, method: "DELETE", path: c.path, cookie: eve}).wants(t, 404, "workspace_not_found")
				s.do(t, call{on: gateway.Agents, method: "DELETE", path: c.path, cookie: ada, header: http.Header{"Origin": {"https://elsewhere.example"}}}).wants(t, 403, "cross_origin_request")
				s.do(t, call{on: gateway.Agents, path: c.reads, cookie: ada}).wants(t, 200, "")
				if got := s.do(t, call{on: on, method: "DELETE", path: c.path, cookie: by}).wants(t, 202, ""); !strings.Contains(got.body, `"status":"erased"`) {
					t.Errorf("answer %s", got.body)
				}
				s.do(t, call{on: gateway.Agents, path: c.reads, cookie: ada}).wants(t, 404, c.missing)
				s.do(t, call{on: on, method: "DELETE", path: c.path, cookie: by}).wants(t, 404, c.typ)
				now := s.events(t, "users/ada/personal", c.action)
				if len(now) != told+1 || now[len(now)-1].Target.ID != c.target && now[0].Target.ID != c.target {
					t.Errorf("%s was told %d times: %+v", c.action, len(now)-told, now)
				}
			}
			for _, list := range []string{"/runs", "/agents/central/conversations"} {
				got := s.do(t, call{on: gateway.Agents, path: own + list, cookie: ada}).wants(t, 200, "")
				if !strings.Contains(got.body, `"items":[]`) {
					t.Errorf("%s: %s", list, got.body)
				}
			}
			s.do(t, call{on: gateway.Agents, path: "/v1/eve/personal/runs/" + runs["eve"], cookie: eve}).wants(t, 200, "")
			s.do(t, call{on: gateway.Agents, path: "/v1/eve/personal/agents/central/" + url.PathEscape(instance), cookie: eve}).wants(t, 200, "")
		}
	})
}

// TestWhatTheRuntimeDoesIsDoneOnceForItsKey erases and cancels, and asks again by the same key and by another.
func TestWhatTheRuntimeDoesIsDoneOnceForItsKey(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		const own, base = "/api/workspaces/ada/personal", "/v1/ada/personal"
		do := func(method, path, key string) reply {
			t.Helper()
			header := s.page(gateway.Agents)
			header.Set("Idempotency-Key", key)
			return s.do(t, call{on: gateway.Agents, method: method, path: path, cookie: ada, header: header})
		}
		twice := func(method, path, key string) {
			t.Helper()
			first := do(method, path, key).wants(t, 202, "")
			again := do(method, path, key).wants(t, 202, "")
			if again.body != first.body || first.Header.Get("Idempotency-Replayed") != "" || again.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s %s: %s, then %s %q", method, path, first.body, again.body, again.Header)
			}
			for _, name := range []string{"Content-Type", "Cache-Control"} {
				if first.Header.Get(name) == "" || first.Header.Get(name) != again.Header.Get(name) {
					t.Errorf("%s %s: %s is %q, then %q", method, path, name, first.Header.Get(name), again.Header.Get(name))
				}
			}
		}
		const conversation = own + "/agents/central/conversations/1"
		do("DELETE", conversation, "erase").wants(t, 404, "item_not_found") // which is no receipt
		s.do(t, call{on: gateway.Agents, method: "POST", path: base + "/agents/central/1", cookie: ada, body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "")
		twice("DELETE", conversation, "erase")
		do("DELETE", conversation, "another").wants(t, 404, "item_not_found")
		var made struct{ RunID string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: base + "/workflows/endless", cookie: ada}).wants(t, 202, "").read(t, &made)
		twice("POST", own+"/runs/"+made.RunID+"/cancel", "cancel")
		twice("DELETE", own+"/runs/"+made.RunID, "erase")
		do("POST", own+"/runs/"+made.RunID+"/cancel", "another").wants(t, 404, "run_not_found")
		for _, action := range []string{"conversation.erased", "run.erased"} {
			if told := s.events(t, "users/ada/personal", action); len(told) != 1 {
				t.Errorf("%s is told %d times", action, len(told))
			}
		}
	})
}

// by1 is a key alone, as a program sends it that has no body.
func by1(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// TestListsFromTheRuntimeHaveATag asks for every list that the runtime answers, again, and once more when it has changed.
func TestListsFromTheRuntimeHaveATag(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		staff, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, staff)
		const own = "/api/workspaces/ada/personal"
		lists := map[string]call{}
		for _, path := range []string{"/agents", "/workflows", "/runs", "/agents/central/conversations"} {
			lists["customers' "+path] = call{on: gateway.Agents, path: own + path, cookie: ada}
			lists["staff's "+path] = call{on: gateway.Admin, path: own + path, cookie: up}
			lists["own "+path] = call{on: gateway.Admin, path: "/api/workspaces/admin" + path, cookie: up}
		}
		for _, path := range []string{"/agents", "/workflows", "/runs"} {
			lists["all "+path] = call{on: gateway.Admin, path: "/api/admin" + path, cookie: up}
		}
		lists["below the base"] = call{on: gateway.Agents, path: "/v1/ada/personal/runs", cookie: ada}
		tags := map[string]string{}
		for name, c := range lists {
			tags[name] = s.do(t, c).wants(t, 200, "").Header.Get("ETag")
			for _, sent := range []string{tags[name], `"other", ` + tags[name]} {
				c.header = http.Header{"If-None-Match": {sent}}
				got := s.do(t, c)
				if tags[name] == "" || got.StatusCode != 304 || got.body != "" || got.Header.Get("ETag") != tags[name] {
					t.Errorf("%s: tag %q, then %d %q", name, tags[name], got.StatusCode, got.body)
				}
			}
		}
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/workflows/endless", cookie: ada}).wants(t, 202, "")
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", cookie: ada, body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "")
		for name, c := range lists {
			c.header = http.Header{"If-None-Match": {tags[name]}}
			changed := (strings.HasSuffix(name, "/runs") || strings.HasSuffix(name, "conversations") || name == "below the base") && !strings.HasPrefix(name, "own")
			if got := s.do(t, c); (got.StatusCode == 200) != changed {
				t.Errorf("%s: %d after a change", name, got.StatusCode)
			}
		}
	})
}

// TestARunSaysWhoseItIsAndWhoStartedIt starts runs as a person, by a key and as staff.
func TestARunSaysWhoseItIsAndWhoStartedIt(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		staff, _ := s.hire(t, "root1", account.RoleAdmin)
		up := s.elevate(t, staff)
		const own, base = "/api/workspaces/ada/personal", "/v1/ada/personal"
		key := s.key(t, ada, "ada", "runs:read", "workflows:run")
		for _, c := range []struct {
			call
			by string
		}{
			{call{on: gateway.Agents, path: base + "/workflows/quick", cookie: ada}, "ada"},
			{call{on: gateway.Agents, path: base + "/workflows/quick", header: by1(key)}, "ada"},
			{call{on: gateway.Agents, path: own + "/workflows/quick/run", cookie: ada}, "ada"},
			{call{on: gateway.Admin, path: own + "/workflows/quick/run", cookie: up}, "root1"},
		} {
			c.method = "POST"
			var made struct{ RunID string }
			s.do(t, c.call).wants(t, 202, "").read(t, &made)
			want := `"scope":"users/ada/personal","startedBy":"` + c.by + `"`
			if got := s.do(t, call{on: gateway.Agents, path: own + "/runs/" + made.RunID, cookie: ada}).wants(t, 200, ""); !strings.Contains(got.body, want) || !strings.Contains(got.body, `"workflowName":"quick"`) {
				t.Errorf("record: %s", got.body)
			}
			for _, list := range []call{{on: gateway.Agents, path: own + "/runs?limit=1", cookie: ada}, {on: gateway.Agents, path: base + "/runs?limit=1", cookie: ada}, {on: gateway.Admin, path: "/api/admin/runs?limit=1", cookie: up}} {
				if got := s.do(t, list).wants(t, 200, ""); !strings.Contains(got.body, made.RunID) || !strings.Contains(got.body, want) {
					t.Errorf("list: %s", got.body)
				}
			}
			// The runtime's own record is the contract's, to the byte.
			if got := s.do(t, call{on: gateway.Agents, path: base + "/runs/" + made.RunID + "?meta", cookie: ada}).wants(t, 200, ""); strings.Contains(got.body, "startedBy") {
				t.Errorf("record of the wire: %s", got.body)
			}
		}
	})
}
