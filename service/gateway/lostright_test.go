package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// waiting is where the conversation of a workspace is followed from its end, so that nothing comes until something happens.
func (s *scene) waiting(t testing.TB, by somebody, in workspace.Membership) string {
	t.Helper()
	path := baseOf(in) + "/agents/central/x"
	s.do(t, call{on: gateway.Agents, method: "POST", path: path, cookie: by.cookie, body: `{"kind":"user","body":"n=1"}`}).wants(t, 202, "")
	var got reply
	eventually(t, "the reply ends", func() bool {
		got = s.do(t, call{on: gateway.Agents, path: path, cookie: by.cookie})
		return strings.Contains(got.body, `"outcome":"completed"`)
	})
	var told struct{ Offset string }
	got.read(t, &told)
	return path + "?view=updates&offset=" + told.Offset
}

// listener is a client that holds a request open.
type listener struct {
	name  string
	ended chan struct{}
	text  string // once ended
}

// listen holds a request open, and reads what it is told.
func (s *scene) listen(t testing.TB, name string, on gateway.Surface, path string, header http.Header) *listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[on], header.Clone()
	l := &listener{name: name, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		answer, err := client.Do(r)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		l.text = fmt.Sprint(answer.StatusCode, " ", string(body))
	}()
	return l
}

func (l *listener) isOpen() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// opened waits until so many streams are open.
func (s *scene) opened(t testing.TB, n int) {
	t.Helper()
	accounttest.Eventually(t, fmt.Sprintf("%d streams are open", n), func() bool { return s.gateway.OpenStreams() == n })
}

// loss is how somebody who holds a stream open loses the right to it.
type loss struct {
	name   string
	on     gateway.Surface
	header http.Header
	in     string // where the stream is
	lose   func()
	status int // of what is asked afterwards
	typ    string
}

// lostRights opens a stream of events and a long-poll in each way there is to open one, takes
// the right away in each way there is, and finds all of them ended, and those that nobody touched open.
func lostRights(t *testing.T, s *scene) {
	siege := s.siege(t)
	losses := append(siege.ofKeys(t), siege.ofSessions(t)...)
	losses = append(losses, siege.ofStaff(t)...)
	losses = append(losses, siege.ofViews(t)...)
	keeper := s.recruit(t, siege.acme, "keeper", workspace.Admin)
	kept := s.issue(t, keeper, siege.acme, nil, "agents:read")
	var victims, others []*listener
	for _, live := range []string{"sse", "long-poll"} {
		for _, l := range losses {
			victims = append(victims, s.listen(t, l.name+", "+live, l.on, l.in+"&live="+live, l.header))
		}
		others = append(others, s.listen(t, "a key, "+live, gateway.Agents, siege.talk+"&live="+live, by(kept.Key)),
			s.listen(t, "a session, "+live, gateway.Agents, siege.talk+"&live="+live, http.Header{"Cookie": {keeper.cookie}}))
	}
	s.opened(t, len(victims)+len(others))
	for _, l := range losses {
		l.lose()
	}
	// What expires does so at its second.
	s.Clock.Pass(time.Minute)
	late := time.After(30 * time.Second)
	for _, v := range victims {
		select {
		case <-v.ended:
		case <-late:
			t.Fatalf("%s: the stream is open", v.name)
		}
	}
	for _, o := range others {
		if !o.isOpen() {
			t.Errorf("%s: a stream that nobody touched has ended: %s", o.name, o.text)
		}
	}
	s.do(t, call{on: gateway.Agents, method: "POST", path: baseOf(siege.acme) + "/agents/central/x", cookie: siege.boss.cookie, body: `{"kind":"user","body":"n=1 told later"}`}).wants(t, 202, "")
	for _, v := range victims {
		if strings.Contains(v.text, "told later") || strings.Contains(v.text, "submission-settled") {
			t.Errorf("%s heard: %s", v.name, v.text)
		}
		// What had not begun is no answer that a program could take for one.
		if strings.HasSuffix(v.name, "long-poll") && !strings.HasPrefix(v.text, "503 ") {
			t.Errorf("%s ended with: %s", v.name, v.text)
		}
	}
	for _, l := range losses {
		if got := s.do(t, call{on: l.on, path: l.in, header: l.header.Clone()}); got.StatusCode != l.status || !strings.Contains(got.body, l.typ) {
			t.Errorf("%s: afterwards %d %s", l.name, got.StatusCode, got.body)
		}
	}
	t.Logf("%d ways to lose a stream", len(losses))
}

// siege is a business with a conversation, and two more that will not stay.
type siege struct {
	*scene
	boss, chief        somebody
	up                 string // the chief's cookies on Admin
	acme, shut, erased workspace.Membership
	talk, shutTalk     string
	erasedTalk         string
}

func (s *scene) siege(t *testing.T) *siege {
	t.Helper()
	g := &siege{scene: s, boss: s.enrol(t, "boss"), chief: s.enrol(t, "chief")}
	s.grant(t, g.chief.Account.ID, account.RoleAdmin)
	g.up = s.elevate(t, g.chief.cookie)
	g.acme, g.shut, g.erased = s.found(t, g.boss, "acme"), s.found(t, g.boss, "shut"), s.found(t, g.boss, "erased")
	g.talk, g.shutTalk, g.erasedTalk = s.waiting(t, g.boss, g.acme), s.waiting(t, g.boss, g.shut), s.waiting(t, g.boss, g.erased)
	return g
}

// verb has an administrator do something to somebody.
func (g *siege) verb(t *testing.T, p somebody, verb string, body any) {
	t.Helper()
	g.on(t, g.up, "POST", "/api/admin/people/"+p.Account.ID+"/"+verb, body).wants(t, 200, "")
}

// change has the owner give somebody another role, or none.
func (g *siege) change(t *testing.T, p somebody, role string) {
	t.Helper()
	c := call{on: gateway.Agents, method: "PATCH", path: spaceOf(g.acme) + "/people/" + p.Account.ID, cookie: g.boss.cookie, body: map[string]string{"role": role}}
	if role == "" {
		c.method, c.body = "DELETE", nil
	}
	if got := g.do(t, c); got.StatusCode >= 300 {
		t.Fatalf("%s: %d %s", c.method, got.StatusCode, got.body)
	}
}

// suspendWorkspace and deleteWorkspace end a business for everybody in it.
func (g *siege) suspendWorkspace(t *testing.T) {
	t.Helper()
	if _, err := g.spaces.Suspend(t.Context(), workspace.Caller{Actor: g.chief.Account.Actor(), Staff: workspace.StaffAdmin}, g.shut.ID, "spam"); err != nil {
		t.Fatal(err)
	}
}

func (g *siege) deleteWorkspace(t *testing.T) {
	t.Helper()
	got := g.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(g.erased) + "?confirm=erased", cookie: g.boss.cookie})
	if got.StatusCode != 202 && got.StatusCode != 404 {
		t.Fatalf("delete: %d %s", got.StatusCode, got.body)
	}
}

func (g *siege) deleteAccount(t *testing.T, p somebody) {
	t.Helper()
	g.do(t, call{method: "DELETE", path: "/api/account?confirm=" + p.Account.Username, cookie: p.cookie}).wants(t, 202, "")
}

// ofKeys are how a key loses what it may.
func (g *siege) ofKeys(t *testing.T) (all []loss) {
	t.Helper()
	soon := map[string]any{"expiresAt": g.Clock.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano)}
	add := func(name string, more map[string]any, status int, typ string, lose func(p somebody, k issued)) {
		p := g.recruit(t, g.acme, fmt.Sprintf("keyed-%d", len(all)), workspace.Admin)
		k := g.issue(t, p, g.acme, more, "agents:read", "agents:write")
		all = append(all, loss{"key: " + name, gateway.Agents, by(k.Key), g.talk, func() { lose(p, k) }, status, typ})
	}
	rotate := func(grace int) func(somebody, issued) {
		return func(p somebody, k issued) {
			g.do(t, call{on: gateway.Agents, method: "POST", path: spaceOf(g.acme) + "/keys/" + k.ID + "/rotate", cookie: p.cookie, body: map[string]int{"graceSeconds": grace}}).wants(t, 201, "")
		}
	}
	add("revoked by its maker", nil, 401, "invalid_api_key", func(p somebody, k issued) {
		g.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(g.acme) + "/keys/" + k.ID, cookie: p.cookie}).wants(t, 204, "")
	})
	add("revoked by another", nil, 401, "invalid_api_key", func(_ somebody, k issued) {
		g.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(g.acme) + "/keys/" + k.ID, cookie: g.boss.cookie}).wants(t, 204, "")
	})
	add("revoked by who found it", nil, 401, "invalid_api_key", func(_ somebody, k issued) {
		g.do(t, call{method: "POST", path: "/api/keys/revoke", header: http.Header{"Content-Type": {"application/json"}}, body: map[string]string{"key": k.Key}, from: fresh()}).wants(t, 202, "")
	})
	add("rotated", nil, 401, "invalid_api_key", rotate(0))
	add("rotated a minute ago", nil, 401, "invalid_api_key", rotate(60))
	add("expired", soon, 401, "invalid_api_key", func(somebody, issued) {})
	add("maker demoted to billing", nil, 403, "forbidden", func(p somebody, _ issued) { g.change(t, p, workspace.Billing) })
	add("maker removed", nil, 401, "invalid_api_key", func(p somebody, _ issued) { g.change(t, p, "") })
	add("maker left", nil, 401, "invalid_api_key", func(p somebody, _ issued) {
		g.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(g.acme) + "/people/" + p.Account.ID, cookie: p.cookie}).wants(t, 204, "")
	})
	add("maker suspended", nil, 401, "invalid_api_key", func(p somebody, _ issued) { g.verb(t, p, "suspend", map[string]string{"reason": "spam"}) })
	add("maker's account deleted", nil, 401, "invalid_api_key", func(p somebody, _ issued) { g.deleteAccount(t, p) })
	shut, erased := g.issue(t, g.boss, g.shut, nil, "agents:read"), g.issue(t, g.boss, g.erased, nil, "agents:read")
	return append(all,
		loss{"key: workspace suspended", gateway.Agents, by(shut.Key), g.shutTalk, func() { g.suspendWorkspace(t) }, 403, "workspace_suspended"},
		loss{"key: workspace deleted", gateway.Agents, by(erased.Key), g.erasedTalk, func() { g.deleteWorkspace(t) }, 404, "workspace_not_found"})
}

// ofSessions are how somebody who is signed in loses what they may.
func (g *siege) ofSessions(t *testing.T) (all []loss) {
	t.Helper()
	add := func(name string, status int, typ string, lose func(p somebody)) {
		p := g.recruit(t, g.acme, fmt.Sprintf("signed-%d", len(all)), workspace.Viewer)
		all = append(all, loss{"session: " + name, gateway.Agents, http.Header{"Cookie": {p.cookie}}, g.talk, func() { lose(p) }, status, typ})
	}
	elsewhere := func(p somebody) string {
		in, err := g.Passwords.Login(accounttest.From(t), p.Account.Username+"@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		return "svc_session=" + in.Token
	}
	add("signed out on Platform", 401, "unauthenticated", func(p somebody) {
		g.do(t, call{method: "POST", path: "/api/auth/logout", cookie: p.cookie}).wants(t, 204, "")
	})
	add("ended from another browser", 401, "unauthenticated", func(p somebody) {
		g.do(t, call{method: "DELETE", path: "/api/account/sessions/" + p.Session.ID, cookie: elsewhere(p)}).wants(t, 204, "")
	})
	add("all others ended", 401, "unauthenticated", func(p somebody) {
		g.do(t, call{method: "POST", path: "/api/account/sessions/revoke-others", cookie: elsewhere(p)}).wants(t, 200, "")
	})
	add("password changed elsewhere", 401, "unauthenticated", func(p somebody) {
		g.do(t, call{method: "POST", path: "/api/auth/password/change", cookie: elsewhere(p), from: fresh(),
			body: map[string]string{"currentPassword": password, "newPassword": "another calm and long one"}})
	})
	add("proven again, with a new value", 401, "unauthenticated", func(p somebody) {
		g.do(t, call{method: "POST", path: "/api/auth/reauth", cookie: p.cookie, from: fresh(), body: map[string]string{"password": password}}).wants(t, 204, "")
	})
	add("signed out by staff", 401, "unauthenticated", func(p somebody) { g.verb(t, p, "revoke-sessions", nil) })
	add("suspended", 401, "unauthenticated", func(p somebody) { g.verb(t, p, "suspend", map[string]string{"reason": "spam"}) })
	add("account deleted", 401, "unauthenticated", func(p somebody) { g.deleteAccount(t, p) })
	add("demoted to billing", 403, "forbidden", func(p somebody) { g.change(t, p, workspace.Billing) })
	add("removed", 404, "workspace_not_found", func(p somebody) { g.change(t, p, "") })
	shut, erased := g.recruit(t, g.shut, "in-shut", workspace.Viewer), g.recruit(t, g.erased, "in-erased", workspace.Viewer)
	return append(all,
		loss{"session: workspace suspended", gateway.Agents, http.Header{"Cookie": {shut.cookie}}, g.shutTalk, func() { g.suspendWorkspace(t) }, 403, "workspace_suspended"},
		loss{"session: workspace deleted", gateway.Agents, http.Header{"Cookie": {erased.cookie}}, g.erasedTalk, func() { g.deleteWorkspace(t) }, 404, "workspace_not_found"})
}

// staffer is somebody of the staff with their authority.
func (g *siege) staffer(t *testing.T, username, role string) (p somebody, up string) {
	t.Helper()
	p = g.enrol(t, username)
	g.grant(t, p.Account.ID, role)
	return p, g.elevate(t, p.cookie)
}

// ofStaff are how staff lose their authority.
func (g *siege) ofStaff(t *testing.T) (all []loss) {
	t.Helper()
	add := func(name string, status int, typ string, lose func(p somebody, up string)) {
		p, up := g.staffer(t, fmt.Sprintf("staff-%d", len(all)), account.RoleAdmin)
		all = append(all, loss{"staff: " + name, gateway.Admin, http.Header{"Cookie": {up}}, g.talk, func() { lose(p, up) }, status, typ})
	}
	add("lowered", 403, "reauth_required", func(_ somebody, up string) { g.on(t, up, "DELETE", elevatePath, nil).wants(t, 204, "") })
	add("elevated again, with a new value", 401, "unauthenticated", func(_ somebody, up string) { g.elevate(t, up) })
	add("signed out", 401, "unauthenticated", func(_ somebody, up string) { g.on(t, up, "POST", "/api/auth/logout", nil).wants(t, 204, "") })
	add("role taken", 403, "admin_required", func(p somebody, _ string) { g.verb(t, p, "grant", map[string]string{"role": "none"}) })
	add("role made less", 403, "reauth_required", func(p somebody, _ string) { g.verb(t, p, "grant", map[string]string{"role": "support"}) })
	add("suspended", 401, "unauthenticated", func(p somebody, _ string) { g.verb(t, p, "suspend", map[string]string{"reason": "left us"}) })
	add("signed out by another", 401, "unauthenticated", func(p somebody, _ string) { g.verb(t, p, "revoke-sessions", nil) })
	add("not used for half an hour", 403, "reauth_required", func(p somebody, _ string) {
		execute(t, g.scene, "UPDATE elevations SET last_seen_at = last_seen_at - 1800000 WHERE account = $1", p.Account.ID)
	})
	add("twelve hours old", 403, "reauth_required", func(p somebody, _ string) {
		execute(t, g.scene, "UPDATE elevations SET created_at = created_at - 43200000 WHERE account = $1", p.Account.ID)
	})
	return all
}

// ofViews are how staff who look as a customer lose sight.
func (g *siege) ofViews(t *testing.T) (all []loss) {
	t.Helper()
	add := func(name string, status int, typ string, lose func(customer, staff somebody, up, id string)) {
		customer := g.recruit(t, g.acme, fmt.Sprintf("seen-%d", len(all)), workspace.Viewer)
		staff, up := g.staffer(t, fmt.Sprintf("looker-%d", len(all)), account.RoleSupport)
		id, view := g.looks(t, up, customer.Account.ID)
		all = append(all, loss{"view: " + name, gateway.Agents, http.Header{"Cookie": {view}}, g.talk, func() { lose(customer, staff, up, id) }, status, typ})
	}
	add("ended", 404, "workspace_not_found", func(_, _ somebody, up, id string) { g.on(t, up, "DELETE", viewsPath+"/"+id, nil).wants(t, 204, "") })
	add("ended by an administrator", 404, "workspace_not_found", func(_, _ somebody, _, id string) { g.on(t, g.up, "DELETE", viewsPath+"/"+id, nil).wants(t, 204, "") })
	add("staff signed out", 401, "unauthenticated", func(_, _ somebody, up, _ string) { g.on(t, up, "POST", "/api/auth/logout", nil).wants(t, 204, "") })
	add("staff role taken", 404, "workspace_not_found", func(_, staff somebody, _, _ string) { g.verb(t, staff, "grant", map[string]string{"role": "none"}) })
	add("staff suspended", 401, "unauthenticated", func(_, staff somebody, _, _ string) {
		g.verb(t, staff, "suspend", map[string]string{"reason": "left us"})
	})
	add("customer removed", 404, "workspace_not_found", func(customer, _ somebody, _, _ string) { g.change(t, customer, "") })
	add("customer demoted to billing", 403, "forbidden", func(customer, _ somebody, _, _ string) { g.change(t, customer, workspace.Billing) })
	add("customer suspended", 404, "workspace_not_found", func(customer, _ somebody, _, _ string) {
		g.verb(t, customer, "suspend", map[string]string{"reason": "spam"})
	})
	add("customer became staff", 404, "workspace_not_found", func(customer, _ somebody, _, _ string) {
		g.verb(t, customer, "grant", map[string]string{"role": "support"})
	})
	add("customer left", 404, "workspace_not_found", func(customer, _ somebody, _, _ string) { g.deleteAccount(t, customer) })
	add("its hour is over", 404, "workspace_not_found", func(_, _ somebody, _, id string) {
		execute(t, g.scene, "UPDATE impersonations SET expires_at = expires_at - 3600000 WHERE id = $1", id)
	})
	return all
}
