package gateway_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/mcp/mcptest"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/workspace"
)

// leavingMCP is an MCP server to which somebody goes to sign in.
type leavingMCP struct {
	ID, Status string
	SignInURL  string
}

// throughMCPSignIn signs in to an MCP server.
func (w *way) throughMCPSignIn(t *testing.T, on func(method, path string, body any) call) {
	t.Helper()
	a := mcptest.NewAuthority(t, mcptest.Options{})
	var m leavingMCP
	w.goes(t, 201, on("POST", "/mcps", map[string]string{"name": "far", "url": mcptest.NewServer(t, a, mcptest.ByHeader).Address(), "auth": "oauth"})).read(t, &m)
	w.goes(t, 200, on("POST", "/mcps/"+m.ID+"/connect", nil)).read(t, &m)
	got := w.goes(t, 303, call{path: operation.MCPCallbackPath + "?" + a.Visit(t, m.SignInURL).RawQuery})
	if to := got.Header.Get("Location"); !strings.HasSuffix(to, "/mcps/"+m.ID) || strings.HasPrefix(to, platformURL) {
		t.Errorf("led to %s", to)
	}
	if w.goes(t, 200, on("GET", "/mcps/"+m.ID, nil)).read(t, &m); m.Status != "ok" {
		t.Errorf("signed in: %+v", m)
	}
	w.goes(t, 204, on("DELETE", "/mcps/"+m.ID, nil))
}

// TestWhoeverComesBackFromAnAuthorizationServerIsWhoeverLeft is a table of how somebody comes back to the platform.
func TestWhoeverComesBackFromAnAuthorizationServerIsWhoeverLeft(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := withRuntime(t, address, false, roomy)
		owner := s.enrol(t, "ada")
		shop := s.found(t, owner, "shop")
		a := mcptest.NewAuthority(t, mcptest.Options{Now: s.Clock.Now})
		far := mcptest.NewServer(t, a, mcptest.ByHeader).Address()
		for i, c := range []struct {
			name   string
			change func(t *testing.T, as *somebody, q url.Values)
			status int
			typ    string // of a refusal
			to     string // behind the page of the server
			good   bool   // the state still is, afterwards
		}{
			{name: "as they left", status: 303},
			{name: "another state", change: func(_ *testing.T, _ *somebody, q url.Values) { q.Set("state", strings.Repeat("x", 43)) }, status: 400, typ: "invalid_state", good: true},
			{name: "no state", change: func(_ *testing.T, _ *somebody, q url.Values) { q.Del("state") }, status: 400, typ: "invalid_state", good: true},
			{name: "nobody", change: func(_ *testing.T, as *somebody, _ url.Values) { as.cookie = "" }, status: 401, typ: "unauthenticated", good: true},
			{name: "another session", change: func(t *testing.T, as *somebody, _ url.Values) {
				as.cookie, _ = s.session(t, as.Account.Email)
			}, status: 400, typ: "invalid_state"},
			{name: "another person", change: func(_ *testing.T, as *somebody, _ url.Values) { as.cookie = owner.cookie }, status: 400, typ: "invalid_state"},
			{name: "too late", change: func(*testing.T, *somebody, url.Values) { s.Clock.Pass(11 * time.Minute) }, status: 400, typ: "invalid_state"},
			{name: "another issuer", change: func(_ *testing.T, _ *somebody, q url.Values) { q.Set("iss", "https://evil.example") }, status: 502, typ: "mcp_unreachable"},
			{name: "another code", change: func(_ *testing.T, _ *somebody, q url.Values) { q.Set("code", "code-of-eve") }, status: 502, typ: "mcp_unreachable"},
			{name: "a right that is lost", change: func(t *testing.T, as *somebody, _ url.Values) { s.seat(t, shop, *as, workspace.Viewer) }, status: 403, typ: "forbidden"},
			{name: "somebody who said no", change: func(_ *testing.T, _ *somebody, q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
			}, status: 303, to: "?error=access_denied"},
		} {
			t.Run(c.name, func(t *testing.T) {
				lin := s.recruit(t, shop, "lin"+string(rune('a'+i)), workspace.Admin)
				const at = "/api/workspaces/ada/shop/mcps"
				ask := func(method, path string, body any) reply {
					return s.do(t, call{on: gateway.Agents, method: method, path: path, cookie: lin.cookie, body: body})
				}
				var m leavingMCP
				ask("POST", at, map[string]string{"name": "far", "url": far, "auth": "oauth"}).wants(t, 201, "").read(t, &m)
				ask("POST", at+"/"+m.ID+"/connect", nil).wants(t, 200, "").read(t, &m)
				back := a.Visit(t, m.SignInURL)
				if !strings.HasPrefix(back.String(), platformURL+operation.MCPCallbackPath+"?") {
					t.Fatalf("sent back to %s", back)
				}
				as, q, home := lin, back.Query(), agentsURL+"/w/ada/shop/mcps/"+m.ID
				if c.change != nil {
					c.change(t, &as, q)
				}
				got := s.do(t, call{path: operation.MCPCallbackPath + "?" + q.Encode(), cookie: as.cookie}).wants(t, c.status, c.typ)
				if c.status == 303 {
					got.leads(t, 303, home+c.to)
				}
				again, want := s.browse(t, operation.MCPCallbackPath+"?"+back.RawQuery, lin.cookie), "needs_sign_in"
				if c.good {
					again.leads(t, 303, home)
				} else {
					again.shows(t, 400, "This sign-in cannot be continued.")
				}
				if c.good || c.status == 303 && c.to == "" {
					want = "ok"
				}
				m.SignInURL = ""
				s.do(t, call{on: gateway.Agents, path: at + "/" + m.ID, cookie: owner.cookie}).wants(t, 200, "").read(t, &m)
				if m.Status != want || m.SignInURL != "" {
					t.Errorf("the server is %s, want %s", m.Status, want)
				}
				s.do(t, call{on: gateway.Agents, method: "DELETE", path: at + "/" + m.ID, cookie: owner.cookie}).wants(t, 204, "")
			})
		}
	})
}

// TestASignInLeadsBackToThePageThatItBeganOn begins one on every surface, and in the staff's own workspace.
func TestASignInLeadsBackToThePageThatItBeganOn(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false, roomy)
	ada, _ := s.session(t, "ada@example.com")
	hired, _ := s.hire(t, "root1", account.RoleAdmin)
	staff := s.elevate(t, hired)
	a := mcptest.NewAuthority(t, mcptest.Options{Now: s.Clock.Now})
	far := mcptest.NewServer(t, a, mcptest.ByHeader).Address()
	for i, c := range []struct {
		on                  gateway.Surface
		cookie, names, home string
	}{
		{gateway.Agents, ada, "ada/personal", agentsURL},
		{gateway.Platform, ada, "ada/personal", platformURL},
		{gateway.Admin, staff, "ada/personal", adminURL},
		{gateway.Admin, staff, "admin", adminURL},
	} {
		ask := func(method, path string, body any) reply {
			return s.do(t, call{on: c.on, method: method, path: "/api/workspaces/" + c.names + "/mcps" + path, cookie: c.cookie, body: body})
		}
		var m leavingMCP
		ask("POST", "", map[string]string{"name": fmt.Sprintf("far%d", i), "url": far, "auth": "oauth"}).wants(t, 201, "").read(t, &m)
		ask("POST", "/"+m.ID+"/connect", nil).wants(t, 200, "").read(t, &m)
		s.do(t, call{path: operation.MCPCallbackPath + "?" + a.Visit(t, m.SignInURL).RawQuery, cookie: c.cookie}).leads(t, 303, c.home+"/w/"+c.names+"/mcps/"+m.ID)
	}
}
