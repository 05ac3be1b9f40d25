package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/service/gateway"
)

// keyScopes are all that a key can be made for.
var keyScopes = []string{"agents:read", "agents:write", "workflows:run", "runs:read", "projects:read", "projects:write"}

// tenant is the owner of a business that is named, and furnished, like that of another.
type tenant struct {
	name, cookie, key string
	ids               map[string]string // of items, by the parameter of their routes
}

// mark stands in all that a tenant writes.
func (p tenant) mark() string { return "mark-of-" + p.name }

func (p tenant) space() string { return "/api/workspaces/" + p.name + "/acme" }

// settle makes a business with one thing of each kind, called alike for everybody.
func (s *scene) settle(t *testing.T, name string) tenant {
	t.Helper()
	cookie, who := s.session(t, name+"@example.com")
	p := tenant{name: name, cookie: cookie, ids: map[string]string{
		"account": who.Account.ID, "secret": "NAME", "name": "central", "slug": "site", "path": "docs/read.me",
	}}
	s.do(t, call{method: "POST", path: "/api/workspaces", cookie: cookie, body: map[string]string{"business": "acme", "name": "Acme"}}).wants(t, 201, "")
	make := func(path string, body any) (made struct{ ID, Key string }) {
		s.do(t, call{on: gateway.Agents, method: "POST", path: p.space() + path, cookie: cookie, body: body}).wants(t, 201, "").read(t, &made)
		return made
	}
	p.ids["team"] = make("/teams", map[string]string{"name": p.mark()}).ID
	p.ids["invitation"] = make("/invitations", map[string]string{"email": p.mark() + "@example.com", "role": "viewer"}).ID
	made := make("/keys", map[string]any{"name": p.mark(), "scopes": keyScopes})
	p.ids["key"], p.key = made.ID, made.Key
	for _, name := range []string{"NAME", "OF_" + strings.ToUpper(name)} {
		s.do(t, call{on: gateway.Agents, method: "PUT", path: p.space() + "/secrets/" + name, cookie: cookie, body: map[string]string{"value": p.mark()}}).wants(t, 201, "")
	}
	p.ids["provider"] = "anthropic" // everybody's name for it
	s.do(t, call{on: gateway.Agents, method: "PUT", path: p.space() + "/models/anthropic", cookie: cookie, body: map[string]string{"url": "https://" + p.mark() + ".example.com"}}).wants(t, 200, "")
	p.ids["mcp"], p.ids["tool"] = make("/mcps", map[string]string{"name": "search", "url": "https://" + p.mark() + ".example.com"}).ID, "echo"
	make("/projects", map[string]string{"slug": "site", "name": p.mark()})
	s.do(t, call{on: gateway.Agents, method: "PUT", path: p.space() + "/projects/site/files/docs/read.me", header: by(p.key), body: p.mark()}).wants(t, 201, "")
	s.talk(t, &p)
	return p
}

// talk leaves a conversation with a picture, and a run.
func (s *scene) talk(t *testing.T, p *tenant) {
	t.Helper()
	base := "/v1/" + p.name + "/acme"
	body := fmt.Sprintf(`{"kind":"user","body":"n=1 %s","attachments":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo=","filename":"%s.png"}]}`, p.mark(), p.mark())
	s.do(t, call{on: gateway.Agents, method: "POST", path: base + "/agents/central/first", header: by(p.key), body: body}).wants(t, 202, "")
	eventually(t, "the prompt is settled", func() bool {
		got := s.do(t, call{on: gateway.Agents, path: base + "/agents/central/first?view=updates&offset=-1", header: by(p.key)}).wants(t, 200, "")
		return strings.Contains(got.body, "submission-settled")
	})
	history := s.do(t, call{on: gateway.Agents, path: base + "/agents/central/first", header: by(p.key)}).wants(t, 200, "").body
	_, rest, found := strings.Cut(history, `"id":"att_`)
	if !found {
		t.Fatalf("history without a picture: %s", history)
	}
	id, _, _ := strings.Cut(rest, `"`)
	p.ids["attachment"] = "att_" + id
	var run struct{ RunID string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: base + "/workflows/sample?wait=result", header: by(p.key),
		body: fmt.Sprintf(`{"account":%q,"accountId":"b","actor":"c","scope":"d","authority":"e"}`, p.mark())}).wants(t, 200, "").read(t, &run)
	p.ids["run"] = run.RunID
}

// fill puts the ids of a tenant into the path of a route.
func (p tenant) fill(path string) string {
	for name, id := range p.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	return strings.ReplaceAll(path, "{version}", "1") // everybody's central has it
}

// tenantRoutes are all routes of a workspace, below W and below {base_url}, as method and path.
func tenantRoutes() (all [][2]string) {
	for _, line := range gateway.Lines() {
		if rest, found := strings.CutPrefix(line.Path, "/api/workspaces/{username}/{business}"); found && slices.Contains(line.Surfaces, gateway.Agents) {
			all = append(all, [2]string{line.Method, "W" + strings.Replace(rest, "workflows/{name}", "workflows/sample", 1)})
		}
	}
	for _, line := range []string{
		"GET /agents/central/first", "HEAD /agents/central/first", "GET /agents/central/first?view=updates&offset=-1", "GET /agents/central/first?view=updates&offset=-1&live=sse",
		"GET /agents/central/first?view=updates&offset=-1&live=long-poll", "POST /agents/central/first", "POST /agents/central/first/abort",
		"GET /agents/central/first/submissions", "GET /agents/central/first/attachments/{attachment}", "POST /workflows/sample", "GET /runs/{run}",
		"GET /runs/{run}?meta", "GET /runs/{run}?offset=-1&live=sse", "GET /runs",
	} {
		method, path, _ := strings.Cut(line, " ")
		all = append(all, [2]string{method, "V" + path})
	}
	return all
}

// at is the address of a tenant's route.
func (p tenant) at(route string) string {
	if rest, found := strings.CutPrefix(route, "W"); found {
		return p.space() + rest
	}
	return "/v1/" + p.name + "/acme" + route[1:]
}

// bodyOf is what a route is sent.
func bodyOf(method, route string) any {
	if body, found := requestBodies[method+" "+strings.TrimPrefix(route, "W")]; found {
		return body
	}
	switch {
	case method != http.MethodPost:
		return nil
	case strings.HasPrefix(route, "V/agents"):
		return map[string]string{"kind": "user", "body": "n=1"}
	}
	return map[string]any{}
}

// TestNothingOfOneTenantReachesAnother has two businesses of two owners with the same names and ids wherever names are
// chosen, and one owner use every id of the other: in the other's workspace, and in their own.
func TestNothingOfOneTenantReachesAnother(t *testing.T) {
	var measured sync.Map // what metrics are labelled with
	modes(t, func(t *testing.T, s *scene) {
		ada, eve := s.settle(t, "ada"), s.settle(t, "eve")
		before := s.all(t, ada)
		s.mine(t, eve, ada)
		nowhere, asked := tenant{name: "nobody", ids: ada.ids}, 0
		for _, line := range tenantRoutes() {
			method, route := line[0], line[1]
			for who, c := range map[string]call{"session": {cookie: eve.cookie}, "key": {header: by(eve.key)}} {
				c.on, c.method, c.body = gateway.Agents, method, bodyOf(method, route)
				c.path = ada.fill(nowhere.at(route))
				none := s.do(t, c)
				c.path = ada.fill(ada.at(route))
				got := s.do(t, c)
				asked += 2
				if got.StatusCode != none.StatusCode || got.body != none.body || got.StatusCode < 400 {
					t.Errorf("%s %s by %s: %d %s; of nobody: %d %s", method, route, who, got.StatusCode, got.body, none.StatusCode, none.body)
				}
				if who == "session" && got.StatusCode != http.StatusNotFound {
					t.Errorf("%s %s: %d %s", method, route, got.StatusCode, got.body)
				}
				if !strings.Contains(route, "{") || method == http.MethodDelete && strings.HasSuffix(route, "/{secret}") {
					continue
				}
				c.path = ada.fill(eve.at(route))
				asked++
				s.foreign(t, method+" "+route+" by "+who, s.do(t, c), ada)
			}
		}
		if after := s.all(t, ada); after != before {
			t.Errorf("ada's workspace changed from\n%s\nto\n%s", before, after)
		}
		measured.Range(func(label, _ any) bool {
			for _, told := range slices.Concat([]string{"/ada/", "/eve/", "acme"}, slices.Collect(maps.Values(ada.ids))) {
				if told != "central" && strings.Contains(label.(string), told) {
					t.Errorf("metrics tell of %s: %s", told, label)
				}
			}
			return true
		})
		t.Logf("%d requests", asked)
	}, func(c *gateway.Config) {
		c.Observe = func(surface, route string, _ int, _ time.Duration) { measured.Store(surface+" "+route, true) }
	}, roomy)
}

// mine reads all that somebody has, and finds nothing of another in it: lists are asked by no id that could be another's.
func (s *scene) mine(t *testing.T, p, other tenant) {
	t.Helper()
	told := []string{other.mark(), "users/" + other.name, `"` + other.name + `"`, "OF_" + strings.ToUpper(other.name)}
	for name, id := range other.ids {
		if !slices.Contains([]string{"secret", "provider", "name", "slug", "path", "tool"}, name) {
			told = append(told, id)
		}
	}
	for line := range strings.Lines(s.all(t, p)) {
		for _, each := range told {
			if strings.Contains(line, each) {
				t.Errorf("%s is told %q of %s: %s", p.name, each, other.name, line)
			}
		}
	}
}

// foreign judges the answer to somebody who used another's ids at home: it is not there, or it is one's own of that name.
func (s *scene) foreign(t *testing.T, what string, got reply, owner tenant) {
	t.Helper()
	if strings.Contains(got.body, owner.mark()) || strings.Contains(got.body, "users/"+owner.name) {
		t.Errorf("%s tells of %s: %s", what, owner.name, got.body)
	}
	for name, id := range owner.ids {
		if slices.Contains([]string{"secret", "provider", "name", "slug", "path", "tool"}, name) {
			continue
		}
		if strings.Contains(what, "{"+name+"}") && got.StatusCode != http.StatusNotFound && got.StatusCode != http.StatusForbidden {
			t.Errorf("%s finds %s: %d %s", what, id, got.StatusCode, got.body)
		}
	}
}

// all is everything that a tenant can read of a workspace, but for what tells of reading.
func (s *scene) all(t *testing.T, p tenant) string {
	t.Helper()
	var b strings.Builder
	for _, line := range tenantRoutes() {
		method, route := line[0], line[1]
		if method != http.MethodGet || strings.Contains(route, "live=") {
			continue
		}
		got := s.do(t, call{on: gateway.Agents, path: p.fill(p.at(route)), cookie: p.cookie})
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s of %s: %d %s", route, p.name, got.StatusCode, got.body)
		}
		fmt.Fprintf(&b, "%s %s\n", route, steady(got.body))
	}
	return b.String()
}

// steady leaves out when somebody or something was last seen, and what is counted a second later.
func steady(body string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	var drop func(any)
	drop = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"lastUsedAt", "lastSeenAt", "measuredAt", "usedBytes", "byKind"} {
				delete(v, name)
			}
			for _, each := range v {
				drop(each)
			}
		case []any:
			for _, each := range v {
				drop(each)
			}
		}
	}
	drop(v)
	out, _ := json.Marshal(v)
	return string(out)
}
