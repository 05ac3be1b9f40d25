package gateway_test

import (
	"html"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/gateway"
)

// TestARepositoryNeedsAnInstallationOfTheWorkspace goes from an account with a password alone to the files of a repository.
func TestARepositoryNeedsAnInstallationOfTheWorkspace(t *testing.T) {
	hub := githubtest.New(t)
	hub.Push(t, "octocat/hello-world", map[string]string{"README.md": "Hello"})
	hub.Push(t, "acme/widgets", map[string]string{"README.md": "secret"})
	w := &way{open(t, address(t), accounttest.Options{GitHub: hub.URL}, trusting), map[string]string{}, map[string]bool{}}
	w.followed.Hosts = map[string]string{"github": hub.URL}
	ask := func(method, path string, body any) reply {
		return w.do(t, call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/personal" + path, body: body, cookie: "svc_session=" + w.jar["svc_session"]})
	}
	follow := func(owner, name string, installation int64) reply {
		return ask("PUT", "/projects/site/repository", map[string]any{"provider": "github", "owner": owner, "name": name, "installationId": installation})
	}
	w.posts(t, 201, registerPath, "email", "ada@example.com", "password", password, "username", "ada")
	ask("POST", "/projects", map[string]string{"slug": "site"}).wants(t, 201, "")
	follow("octocat", "hello-world", 1).wants(t, 409, "provider_connection_required")
	if got := ask("GET", "/installations", nil).wants(t, 200, ""); !strings.Contains(got.body, `"items":[]`) {
		t.Error(got.body)
	}
	if got := w.do(t, call{on: gateway.Agents, path: oauthPath + "status"}).wants(t, 200, ""); !strings.Contains(got.body, `"configured":false`) {
		t.Error(got.body)
	}
	w.makesApp(t)
	for _, got := range []reply{follow("octocat", "hello-world", 1), ask("POST", "/projects/site/pull", nil)} {
		var envelope struct {
			Error struct{ Meta struct{ ConnectURL string } }
		}
		got.wants(t, 409, "provider_connection_required").read(t, &envelope)
		if want := accounttest.Platform + oauthPath + "install?workspace=ada/personal"; envelope.Error.Meta.ConnectURL != want {
			t.Errorf("connect at %s", envelope.Error.Meta.ConnectURL)
		}
	}
	w.visits(t, "octocat", "link")
	w.installs(t)
	id := w.installation(t)
	if got := ask("GET", "/installations", nil).wants(t, 200, ""); !strings.Contains(got.body, `"account":"octocat","state":"ready"`) {
		t.Error(got.body)
	}
	ask("POST", "/projects/site/pull", nil).wants(t, 404, "item_not_found")
	follow("octocat", "hello-world", id+1).wants(t, 403, "installation_not_yours")
	follow("acme", "widgets", id).wants(t, 403, "installation_not_yours")
	follow("acme", "hello-world", id).wants(t, 403, "installation_not_yours")
	if hub.Calls(githubtest.GitRoute) != 0 {
		t.Error("a repository was asked for with a token that does not reach it")
	}
	follow("octocat", "hello-world", id).wants(t, 200, "")
	if got := ask("POST", "/projects/site/pull", nil).wants(t, 200, ""); !strings.Contains(got.body, `"written":1`) {
		t.Error(got.body)
	}
	if got := ask("GET", "/projects/site/files/README.md", nil).wants(t, 200, ""); got.body != "Hello" {
		t.Error(got.body)
	}
	ask("DELETE", "/projects/site/repository", nil).wants(t, 204, "")
	ask("GET", "/projects/site/files/README.md", nil).wants(t, 200, "")
}

// makesApp makes the first administrator, and the app of the service.
func (w *way) makesApp(t *testing.T) {
	t.Helper()
	link, err := w.Staff.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.posts(t, 204, "/api/setup", "token", link)
	body := w.goes(t, 200, call{path: oauthPath + "manifest"}).body
	action, manifest := html.UnescapeString(formAction.FindStringSubmatch(body)[1]), html.UnescapeString(formManifest.FindStringSubmatch(body)[1])
	w.goes(t, 303, call{path: oauthPath + "manifest/callback" + atGitHub(t, "POST", action, "octocat", url.Values{"manifest": {manifest}})})
}

// installation is the one that the workspace of ada works with.
func (w *way) installation(t *testing.T) (id int64) {
	t.Helper()
	err := w.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT installation FROM installation_bindings WHERE scope = 'users/ada/personal' AND installation > 0").Scan(&id)
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
