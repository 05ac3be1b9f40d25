package gateway_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// shows fails unless the answer is a page of that status that holds the texts.
func (r reply) shows(t testing.TB, status int, texts ...string) reply {
	t.Helper()
	if r.StatusCode != status || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%s %s: %d %s; %.300s", r.Request.Method, r.Request.URL.Path, r.StatusCode, r.Header.Get("Content-Type"), r.body)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("%s %s does not show %q", r.Request.Method, r.Request.URL.Path, text)
		}
	}
	return r
}

// leads fails unless the answer sends the browser to an address.
func (r reply) leads(t testing.TB, status int, to string) reply {
	t.Helper()
	if r.StatusCode != status || r.Header.Get("Location") != to {
		t.Errorf("%s %s: %d to %q, want %d to %q; %.300s", r.Request.Method, r.Request.URL.Path, r.StatusCode, r.Header.Get("Location"), status, to, r.body)
	}
	return r
}

// browse opens a page as a person does.
func (s *scene) browse(t testing.TB, path, cookie string) reply {
	t.Helper()
	return s.do(t, call{path: path, cookie: cookie, header: http.Header{"Accept": {"text/html"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Site": {"none"}}})
}

// TestSignInWorksWithoutScripts goes through the pages with forms alone.
func TestSignInWorksWithoutScripts(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		s.browse(t, "/signup?returnTo=%2Faccount", "").shows(t, 200, `action="/signup"`, `name="returnTo" value="/account"`)
		s.fields(t, "/signup", "", "email", "ada@example.com", "password", "short", "username", "ada", "displayName", "Ada", "returnTo", "/account").
			shows(t, 400, "at least 12 characters", `value="ada@example.com"`)
		in := s.fields(t, "/signup", "", "email", "ada@example.com", "password", password, "username", "ada", "displayName", "Ada", "returnTo", "/account").leads(t, 303, "/account")
		s.browse(t, "/account", in.cookies()).shows(t, 200, "Ada", "ada@example.com")
		s.browse(t, "/login?returnTo=%2Faccount%2Fkeys", in.cookies()).leads(t, 302, "/account/keys")
		s.fields(t, "/logout", in.cookies()).leads(t, 303, platformURL+"/login?notice=signed_out")
		s.browse(t, "/account", in.cookies()).leads(t, 302, platformURL+"/login?returnTo=%2Faccount")
		wrong := s.fields(t, "/login", "", "email", "ada@example.com", "password", "not the password", "returnTo", "/account").shows(t, 401, "Email or password is incorrect.", `value="ada@example.com"`)
		if strings.Contains(wrong.body, "not the password") {
			t.Error("the page repeats the password")
		}
		s.fields(t, "/login", "", "email", "ada@example.com", "password", password).leads(t, 303, agentsURL+"/")
		s.fields(t, "/login", "", "email", "ada@example.com", "password", password, "returnTo", "//evil.example").shows(t, 400)
		s.fields(t, "/forgot", "", "email", "nobody@example.com").leads(t, 303, "/forgot/sent")
		for _, path := range []string{"/forgot", "/forgot/sent", "/signup/sent", "/reset", "/verify", "/undo", "/undelete", "/setup", "/login", "/signup"} {
			s.browse(t, path, "").shows(t, 200, "<h1")
		}
		s.browse(t, "/nothing", "").shows(t, 404)
	})
}

// TestWhereAFormWasSentLeadsToItsPage goes by hand to addresses at which a refused form leaves the browser.
func TestWhereAFormWasSentLeadsToItsPage(t *testing.T) {
	s := quick(t)
	for from, to := range map[string]string{
		"/account/security/change": "/account/security", "/account/keys/key_1/rotate": "/account/keys", "/account/email": "/account", "/logout": "/",
	} {
		s.browse(t, from, "").leads(t, 302, to)
		s.do(t, call{path: from}).wants(t, 405, "method_not_allowed")
	}
}

// TestWhatIsNowhereIsToldAsItIsRead asks for what is not there, as people and as programs do.
func TestWhatIsNowhereIsToldAsItIsRead(t *testing.T) {
	s := quick(t)
	for _, on := range surfaces {
		for _, path := range []string{"/nothing", "/nothing/there/", "/loginn", "/assets/none.css", "/favicon.ico"} {
			for _, accept := range []string{"", "*/*", "application/json", "text/css,*/*;q=0.1"} {
				for _, method := range []string{"GET", "POST", "DELETE"} {
					header := http.Header{}
					if accept != "" {
						header.Set("Accept", accept)
					}
					got := s.do(t, call{on: on, method: method, path: path, header: header})
					told := strings.Contains(got.body, `"type":"route_not_found"`) || strings.Contains(got.body, `"type":"method_not_allowed"`)
					if got.Header.Get("Content-Type") != "application/json" || !told {
						t.Errorf("%s: %s %s for %q: %d %s %.80s", on, method, path, accept, got.StatusCode, got.Header.Get("Content-Type"), got.body)
					}
				}
			}
			s.do(t, call{on: on, path: path, header: http.Header{"Accept": {"text/html,*/*"}}}).shows(t, 404)
		}
	}
	s.do(t, call{method: "POST", path: "/nothing", header: s.formHeader(), body: "a=b"}).shows(t, 404)
}

func TestAFormOfASiblingIsRefused(t *testing.T) {
	s := quick(t)
	for _, path := range []string{"/login", "/signup", "/forgot", "/logout", "/reset", "/verify", "/setup", "/login/link"} {
		header := s.formHeader()
		header.Set("Origin", agentsURL)
		header.Set("Sec-Fetch-Site", "same-site")
		s.do(t, call{method: "POST", path: path, body: "email=a", header: header}).shows(t, 403)
	}
	s.do(t, call{method: "POST", path: "/login", body: strings.Repeat("x", 16385), header: s.formHeader()}).shows(t, 413)
	s.fields(t, "/login", "", "email", "a@b.co", "email", "c@d.co").shows(t, 400)
}

func TestAnAccountIsKeptOnItsPages(t *testing.T) {
	s := open(t, address(t), accounttest.Options{Mail: true, Edit: lenient})
	cookie, ada := s.session(t, "ada@example.com")
	for _, path := range []string{"/account", "/account/security", "/account/connections", "/account/sessions", "/account/keys", "/account/danger", "/account/reauth", "/workspaces"} {
		s.browse(t, path, cookie).shows(t, 200, "<h1")
	}
	version := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(s.browse(t, "/account", cookie).body)
	if version == nil {
		t.Fatal("the profile has no version")
	}
	s.fields(t, "/account", cookie, "displayName", "Ada <b>", "version", version[1]).leads(t, 303, "/account?notice=profile_saved")
	s.fields(t, "/account", cookie, "displayName", "Eve", "version", version[1]).shows(t, 412)
	s.browse(t, "/account", cookie).shows(t, 200, "Ada &lt;b&gt;")
	made := s.fields(t, "/account/keys", cookie, "workspace", "ada/personal", "name", "ci", "scopes", "agents:read", "scopes", "runs:read", "expiresAt", "").shows(t, 201, "svck_")
	if made.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with the key may be kept")
	}
	s.fields(t, "/account/keys", cookie, "workspace", "ada/personal", "name", "", "expiresAt", "").shows(t, 400, "Give the key a name.")
	id := regexp.MustCompile(`/account/keys/(key_[0-9A-Z]+)/rotate`).FindStringSubmatch(s.browse(t, "/account/keys", cookie).body)
	if id == nil {
		t.Fatal("the page lists no key")
	}
	s.fields(t, "/account/keys/"+id[1]+"/rotate", cookie, "workspace", "ada/personal", "graceSeconds", "3600").shows(t, 201, "svck_")
	s.fields(t, "/account/keys/"+id[1]+"/revoke", cookie, "workspace", "ada/personal").leads(t, 303, "/account/keys?notice=key_revoked")
	changed := s.fields(t, "/account/security/change", cookie, "currentPassword", password, "newPassword", "another calm password").leads(t, 303, "/account/security?notice=password_changed")
	cookie = changed.cookies()
	s.fields(t, "/account/sessions/revoke-others", cookie).leads(t, 303, "/account/sessions?notice=sessions_ended")
	s.Clock.Pass(11 * time.Minute)
	s.fields(t, "/account/danger", cookie, "confirm", "ada").leads(t, 303, platformURL+"/account/reauth?returnTo=%2Faccount%2Fdanger")
	s.fields(t, "/account/reauth", cookie, "password", "wrong", "returnTo", "/account/danger").shows(t, 401, "The password is incorrect.")
	again := s.fields(t, "/account/reauth", cookie, "password", "another calm password", "returnTo", "/account/danger").leads(t, 303, "/account/danger")
	s.fields(t, "/account/danger", again.cookies(), "confirm", "eve").shows(t, 400)
	s.fields(t, "/account/danger", again.cookies(), "confirm", ada.Account.Username).shows(t, 200)
	s.browse(t, "/account", again.cookies()).leads(t, 302, platformURL+"/login?returnTo=%2Faccount")
}

func TestAMailedLinkIsUsedOnItsPage(t *testing.T) {
	s := open(t, address(t), accounttest.Options{Mail: true})
	s.fields(t, "/signup", "", "email", "ada@example.com", "password", password).leads(t, 303, "/signup/sent")
	link, err := url.Parse(s.Inbox.Next(t, "ada@example.com").Links[0])
	if err != nil || link.Path != "/verify" {
		t.Fatalf("link %v, %v", link, err)
	}
	token := strings.TrimPrefix(link.Fragment, "t=")
	page := s.browse(t, "/verify", "").shows(t, 200, `name="token"`)
	if page.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the page tells where it came from")
	}
	s.fields(t, "/verify", "", "token", token).leads(t, 303, "/login?notice=email_verified")
	s.fields(t, "/verify", "", "token", token).shows(t, 400)
	s.fields(t, "/login", "", "email", "ada@example.com", "password", password).leads(t, 303, agentsURL+"/")
	s.fields(t, "/forgot", "", "email", "ada@example.com").leads(t, 303, "/forgot/sent")
	token = s.Inbox.Next(t, "ada@example.com").Token()
	s.fields(t, "/reset", "", "token", token, "newPassword", "short").shows(t, 400, "at least 12 characters", token)
	s.fields(t, "/reset", "", "token", token, "newPassword", "another calm password").leads(t, 303, "/login?notice=password_reset")
}

func TestTheFirstAdministratorBeginsOnAPage(t *testing.T) {
	s := quick(t)
	link, err := s.Staff.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.browse(t, "/setup", "").shows(t, 200, `name="token"`)
	s.fields(t, "/setup", "", "token", "wrong", "email", "root@example.com", "password", password, "username", "ada").shows(t, 400)
	in := s.fields(t, "/setup", "", "token", link, "email", "root@example.com", "password", password, "username", "ada").leads(t, 303, adminURL+"/settings/providers")
	visit := func(cookie string) reply {
		return s.do(t, call{on: gateway.Admin, path: "/settings/providers", cookie: cookie, header: http.Header{"Accept": {"text/html"}}})
	}
	visit(in.cookies()).leads(t, 302, "/elevate?returnTo=http%3A%2F%2Fadmin.svc.localhost%3A8080%2Fsettings%2Fproviders")
	visit(s.elevate(t, in.cookies())).shows(t, 200, "GitHub")
	s.do(t, call{method: "POST", path: "/api/setup", body: map[string]string{"token": link, "email": "e@example.com", "password": password}}).wants(t, 410, "setup_closed")
	customer, _ := s.session(t, "eve@example.com")
	visit(customer).shows(t, 403)
}

func TestWhereAPersonReturnsToIsOurs(t *testing.T) {
	s := quick(t)
	for to, ok := range map[string]bool{
		"/account": true, "/": true, "/a?b=c#d": true, agentsURL + "/": true, agentsURL: true, adminURL + "/settings/providers": true, platformURL + "?x=1": true,
		"//evil.example": false, `/\evil.example`: false, "https://agents.example.com.evil.example": false, agentsURL + ".evil.example/": false,
		"javascript:alert(1)": false, "/%0d%0aSet-Cookie:x": true, "/\r\nx": false, "account": false, agentsURL + "@evil.example/": false,
		"http://user@agents.svc.localhost:8080/": false, "/" + strings.Repeat("a", 512): false, "https://agents.svc.localhost:8080/": false,
		"data:text/html,x": false, " /account": false, "/\x00": false, "http:///agents.svc.localhost:8080": false, "\\\\evil": false, "/a\\b": false,
	} {
		got := s.do(t, call{path: "/login?returnTo=" + url.QueryEscape(to), header: http.Header{"Accept": {"text/html"}}})
		if (got.StatusCode == 200) != ok {
			t.Errorf("returnTo=%q: %d", to, got.StatusCode)
		}
	}
}

func TestADeletedWorkspaceIsBroughtBackFromTheList(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		ada, _ := s.session(t, "ada@example.com")
		bob, _ := s.session(t, "bob@example.com")
		s.fields(t, "/workspaces/new", ada, "business", "acme", "title", "Acme").leads(t, 303, "/workspaces?notice=workspace_made")
		drop := call{on: gateway.Agents, method: "DELETE", path: "/api/workspaces/ada/acme?confirm=acme", cookie: ada}
		s.do(t, drop).wants(t, 202, "")
		s.browse(t, "/workspaces", ada).shows(t, 200, "Deleted", "ada/acme", "erased on", `action="/workspaces/restore"`)
		if got := s.browse(t, "/workspaces", bob).shows(t, 200); strings.Contains(got.body, "ada/acme") {
			t.Errorf("somebody else sees what was deleted: %s", got.body)
		}
		s.fields(t, "/workspaces/restore", bob, "workspace", "ada/acme").shows(t, 404)
		s.fields(t, "/workspaces/restore", ada, "workspace", "ada/none").shows(t, 404)
		s.fields(t, "/workspaces/restore", ada, "workspace", "ada/acme").leads(t, 303, "/workspaces?notice=workspace_restored")
		if got := s.browse(t, "/workspaces?notice=workspace_restored", ada).shows(t, 200, "The workspace is back"); strings.Contains(got.body, "erased on") {
			t.Errorf("it still says that it is deleted: %s", got.body)
		}
		s.do(t, drop).wants(t, 202, "")
		for range 3 {
			s.Clock.Pass(5 * 24 * time.Hour)
			s.browse(t, "/workspaces", ada).shows(t, 200)
		}
		if got := s.browse(t, "/workspaces", ada).shows(t, 200); strings.Contains(got.body, "ada/acme") {
			t.Errorf("it is listed after its time: %s", got.body)
		}
		s.fields(t, "/workspaces/restore", ada, "workspace", "ada/acme").shows(t, 404)
	})
}

func TestAWorkspaceIsMadeAndJoinedByForms(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		ada, _ := s.session(t, "ada@example.com")
		bob, _ := s.session(t, "bob@example.com")
		s.browse(t, "/workspaces", ada).shows(t, 200, `href="/workspaces/new"`)
		s.browse(t, "/workspaces/new", ada).shows(t, 200, `action="/workspaces/new"`)
		s.fields(t, "/workspaces/new", ada, "business", "Acme Inc", "title", "").shows(t, 400, "lower-case letters, digits and single hyphens", `value="Acme Inc"`)
		s.fields(t, "/workspaces/new", ada, "business", "acme", "title", strings.Repeat("x", 81)).shows(t, 400, "at most 80 characters")
		s.fields(t, "/workspaces/new", ada, "business", "acme", "title", "Acme & Söhne").leads(t, 303, "/workspaces?notice=workspace_made")
		s.fields(t, "/workspaces/new", ada, "business", "acme", "title", "").shows(t, 409, "You have used this short name before.")
		s.browse(t, "/workspaces?notice=workspace_made", ada).shows(t, 200, "Acme &amp; Söhne", "ada/acme", "You are its owner.")

		var sent struct{ AcceptURL string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/acme/invitations", cookie: ada, body: map[string]string{"email": "bob@example.com", "role": "viewer"}}).
			wants(t, 201, "").read(t, &sent)
		link := parse(sent.AcceptURL)
		s.browse(t, link.Path, "").shows(t, 200, "Sign in with the address", `href="/login?returnTo=%2Finvitations"`)
		s.fields(t, link.Path, "", "token", sent.AcceptURL).leads(t, 303, platformURL+"/login?returnTo=%2Finvitations")
		s.fields(t, link.Path, ada, "token", sent.AcceptURL).shows(t, 403)
		s.fields(t, link.Path, bob, "token", "nonsense").shows(t, 410)
		if got := s.browse(t, link.Path, bob).shows(t, 200, `name="token"`, "bob@example.com"); got.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("Referrer-Policy %q", got.Header.Get("Referrer-Policy"))
		}
		s.fields(t, link.Path, bob, "token", sent.AcceptURL).shows(t, 200, "invites you to", "ada/acme", "as viewer")
		s.fields(t, link.Path, bob, "token", sent.AcceptURL, "join", "yes").leads(t, 303, "/workspaces?notice=joined")
		s.browse(t, "/workspaces", bob).shows(t, 200, "ada/acme", "viewer")
		s.fields(t, link.Path, bob, "token", sent.AcceptURL).shows(t, 410)
	})
}
