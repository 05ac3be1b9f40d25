package gateway_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

var (
	shownKey     = regexp.MustCompile(`svck_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}`)
	shownExample = regexp.MustCompile(`(?s)<code>export SVC_KEY=.*?Bearer \$SVC_KEY" \\\s+(\S+)(.*?)</code>`)
)

// TestTheExampleOfAKeyWorksForThatKey makes a key of each scope alone and asks what its page shows.
func TestTheExampleOfAKeyWorksForThatKey(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	ada := s.visitor(t, "ada")
	examples := 0
	for _, scope := range []string{"agents:read", "agents:write", "workflows:run", "runs:read", "connectors:read", "projects:read", "projects:write", "usage:read"} {
		body := s.fields(t, "/account/keys", ada.cookie, "workspace", "ada/personal", "name", scope, "scopes", scope, "expiresAt", "").shows(t, 201, "data-copy").body
		example := shownExample.FindStringSubmatch(body)
		if example == nil {
			if strings.Contains(body, "Try it") {
				t.Errorf("%s: an example that cannot be read: %s", scope, body)
			}
			continue
		}
		examples++
		at, err := url.Parse(html.UnescapeString(example[1]))
		if err != nil {
			t.Fatal(err)
		}
		c := call{on: gateway.Agents, path: at.Path, header: http.Header{"Authorization": {"Bearer " + shownKey.FindString(body)}}}
		if _, data, sends := strings.Cut(html.UnescapeString(example[2]), " -d '"); sends {
			c.method, c.body = "POST", strings.TrimSuffix(data, "'")
			c.header.Set("Content-Type", "application/json")
		}
		if got := s.do(t, c); got.StatusCode >= 300 {
			t.Errorf("%s: %s is answered %d %s", scope, example[1], got.StatusCode, got.body)
		}
	}
	if examples < 4 {
		t.Errorf("%d examples", examples)
	}
}

func TestKeysOfEveryWorkspaceAreOnThePage(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{})
	ada := s.visitor(t, "ada")
	s.fields(t, "/workspaces/new", ada.cookie, "business", "labs", "title", "Labs").leads(t, 303, "/workspaces?notice=workspace_made")
	s.browse(t, "/account/keys", ada.cookie).shows(t, 200, "Keys of <bdi>ada/personal", `href="/account/keys?workspace=ada%2Flabs"`)
	s.browse(t, "/account/keys?workspace=ada%2Flabs", ada.cookie).shows(t, 200, "Keys of <bdi>ada/labs", `name="workspace" value="ada/labs"`, `href="/account/keys?workspace=ada%2Fpersonal"`)
	s.fields(t, "/account/keys", ada.cookie, "workspace", "ada/labs", "name", "ci", "scopes", "runs:read", "expiresAt", "").shows(t, 201, "/v1/ada/labs/runs", `href="/account/keys?workspace=ada%2Flabs"`)
	s.fields(t, "/account/keys", ada.cookie, "workspace", "ada/labs", "name", "", "expiresAt", "").shows(t, 400, "Keys of <bdi>ada/labs")
	id := regexp.MustCompile(`/account/keys/(key_[0-9A-Z]+)/revoke`).FindStringSubmatch(s.browse(t, "/account/keys?workspace=ada%2Flabs", ada.cookie).body)
	if id == nil {
		t.Fatal("the key is not on the page")
	}
	s.fields(t, "/account/keys/"+id[1]+"/revoke", ada.cookie, "workspace", "ada/labs").leads(t, 303, "/account/keys?workspace=ada%2Flabs&notice=key_revoked")
	s.browse(t, "/account/keys?workspace=bob%2Flabs", ada.cookie).shows(t, 404)
}

func TestPagesSayWhatIsTrueOfTheService(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{}, func(c *gateway.Config) { c.MailOff = true })
	s.browse(t, "/login", "").shows(t, 200, "This service has no administrator yet", `href="/setup"`)
	none := s.browse(t, "/nowhere", "").shows(t, 404, "There is no page at this address.")
	if strings.Contains(none.body, "No route") || strings.Contains(none.body, "Check method") {
		t.Errorf("says what is for developers: %s", none.body)
	}
	s.fields(t, "/forgot", "", "email", "ada@example.com").leads(t, 303, "/forgot/sent")
	sent := s.browse(t, "/forgot/sent", "").shows(t, 200, "Mail is off on this server")
	if strings.Contains(sent.body, "<h1>Check your mail") {
		t.Error("sends people to a mail that nobody sent")
	}
	grace := s.visitor(t, "grace")
	if _, err := s.Staff.Grant(t.Context(), grace.Account.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	if got := s.browse(t, "/login", ""); strings.Contains(got.body, "no administrator yet") {
		t.Error("asks for an administrator that is there")
	}
	// The page offers what the API would do.
	profile := s.browse(t, "/account", grace.cookie).body
	if offered := strings.Contains(profile, `action="/account/email"`); offered != s.CanMail() {
		t.Errorf("an address can be changed: %v, the page offers it: %v", s.CanMail(), offered)
	}
}

func TestAnInvitationSaysWhoInvitesWhere(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{})
	ada, bob, eve := s.visitor(t, "ada"), s.visitor(t, "bob"), s.visitor(t, "eve")
	s.fields(t, "/workspaces/new", ada.cookie, "business", "labs", "title", "Labs").leads(t, 303, "/workspaces?notice=workspace_made")
	var sent struct{ AcceptURL string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/labs/invitations", cookie: ada.cookie, body: map[string]string{"email": bob.Account.Email, "role": "viewer"}}).
		wants(t, 201, "").read(t, &sent)
	s.fields(t, "/invitations", eve.cookie, "token", sent.AcceptURL).shows(t, 403)
	for range 2 { // looking uses nothing up
		looked := s.fields(t, "/invitations", bob.cookie, "token", sent.AcceptURL).shows(t, 200, "invites you to", ">ada</bdi>", ">Labs</bdi>", "ada/labs", "as viewer", `name="join" value="yes"`)
		if strings.Contains(s.browse(t, "/workspaces", bob.cookie).body, "ada/labs") {
			t.Fatalf("looking has joined: %s", looked.body)
		}
	}
	s.fields(t, "/invitations", bob.cookie, "token", sent.AcceptURL, "join", "yes").leads(t, 303, "/workspaces?notice=joined")
	s.fields(t, "/invitations", bob.cookie, "token", sent.AcceptURL).shows(t, 410)
}

// visitor is somebody who is signed in.
func (s *scene) visitor(t *testing.T, username string) somebody {
	t.Helper()
	p := s.person(t, username)
	return somebody{Registered: p, cookie: "svc_session=" + p.Token}
}
