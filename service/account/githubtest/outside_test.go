package githubtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-github/v92/github"
	"golang.org/x/oauth2"

	"svc.dev/svc/service/account/githubtest"
)

// These tests read the fake with parsers that others wrote for the real one.

func reader(t *testing.T, s *githubtest.Server, token string) *github.Client {
	t.Helper()
	options := []github.ClientOptionsFunc{github.WithURLs(&s.URL, &s.URL)}
	if token != "" {
		options = append(options, github.WithAuthToken(token))
	}
	c, err := github.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOutsiderCompletesAManifest(t *testing.T) {
	s := githubtest.New(t)
	to := do(t, "POST", s.URL+"/organizations/acme/settings/apps/new?state=x", form("manifest", string(manifest()))).leads(t)
	app, _, err := reader(t, s, "").Apps.CompleteAppManifest(t.Context(), to.Query().Get("code"))
	if err != nil {
		t.Fatal(err)
	}
	if app.GetOwner().GetLogin() != "acme" || app.GetName() != "widget-bot" || app.GetSlug() != "widget-bot" || app.GetHTMLURL() != s.URL+"/apps/widget-bot" {
		t.Errorf("%+v", app)
	}
	if app.GetID() == 0 || app.GetClientID() == "" || app.GetClientSecret() == "" || app.GetPEM() == "" || app.GetWebhookSecret() == "" || app.GetCreatedAt().IsZero() {
		t.Errorf("%+v", app)
	}
	_, resp, err := reader(t, s, "").Apps.CompleteAppManifest(t.Context(), to.Query().Get("code"))
	if err == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("again: %v", err)
	}
}

func TestOutsiderSignsIn(t *testing.T) {
	s, app := withApp(t)
	c := oauth2.Config{
		ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: callback,
		Endpoint: oauth2.Endpoint{AuthURL: s.URL + "/login/oauth/authorize", TokenURL: s.URL + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams},
	}
	to := do(t, "GET", c.AuthCodeURL("the state", oauth2.S256ChallengeOption(verifier)), "").leads(t)
	token, err := c.Exchange(t.Context(), to.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil || to.Query().Get("state") != "the state" {
		t.Fatalf("%v at %s", err, to)
	}
	if left := time.Until(token.Expiry); left < 7*time.Hour || left > 8*time.Hour || token.Extra("refresh_token_expires_in") != float64(15897600) {
		t.Errorf("expires in %v", left)
	}
	stale := *token
	stale.Expiry = time.Now().Add(-time.Minute)
	fresh, err := c.TokenSource(t.Context(), &stale).Token()
	if err != nil || fresh.AccessToken == token.AccessToken {
		t.Fatal(err)
	}
	_, _, err = reader(t, s, token.AccessToken).Users.Get(t.Context(), "")
	if refusal, ok := errors.AsType[*github.ErrorResponse](err); !ok || refusal.Response.StatusCode != 401 || refusal.Message != "Bad credentials" {
		t.Errorf("the old token: %v", err)
	}
	_, err = c.TokenSource(t.Context(), &stale).Token()
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refusal.ErrorCode != "bad_refresh_token" {
		t.Errorf("the old refresh token: %v", err)
	}
}

func TestOutsiderReadsAPerson(t *testing.T) {
	s, app := withApp(t)
	c := reader(t, s, token(t, s, app, githubtest.Octocat)["access_token"].(string))
	u, _, err := c.Users.Get(t.Context(), "")
	if err != nil || u.GetID() != githubtest.Octocat || u.GetLogin() != "octocat" || u.GetType() != "User" || u.GetEmail() != "octocat@example.com" {
		t.Errorf("%+v, %v", u, err)
	}
	emails, _, err := c.Users.ListEmails(t.Context(), nil)
	if err != nil || len(emails) != 3 || emails[1].GetEmail() != "octocat@example.com" || !emails[1].GetPrimary() || !emails[1].GetVerified() || emails[1].GetVisibility() != "public" {
		t.Errorf("%v, %v", emails, err)
	}
	s.SetPermission(app.ID, "emails", "")
	c = reader(t, s, token(t, s, app, githubtest.Octocat)["access_token"].(string))
	_, resp, err := c.Users.ListEmails(t.Context(), nil)
	if refusal, ok := errors.AsType[*github.ErrorResponse](err); !ok || refusal.Message != "Resource not accessible by integration" || resp.Header.Get("X-Accepted-GitHub-Permissions") != "emails=read" {
		t.Errorf("%v", err)
	}
	s.FailOnce("GET /user", githubtest.Spent(time.Now().Add(time.Hour)))
	if _, _, err = c.Users.Get(t.Context(), ""); !isA[*github.RateLimitError](err) {
		t.Errorf("%v", err)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestOutsiderReadsInstallations(t *testing.T) {
	s, app := withApp(t)
	ids := s.AddInstallations(app.ID, githubtest.Octocat, 101)
	acme := s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Acme})
	other, err := s.AddApp(manifest())
	if err != nil {
		t.Fatal(err)
	}
	s.AddInstallation(githubtest.Installation{App: other.ID, Account: githubtest.Octocat})
	s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Hubot})
	c := reader(t, s, token(t, s, app, githubtest.Octocat)["access_token"].(string))
	var seen []int64
	for page := range 2 {
		list, _, err := c.Apps.ListUserInstallations(t.Context(), &github.ListOptions{Page: page + 1, PerPage: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			seen = append(seen, i.GetID())
		}
	}
	if len(seen) != 102 || seen[0] != ids[0] || seen[101] != acme {
		t.Errorf("saw %d", len(seen))
	}
	repos, _, err := c.Apps.ListUserRepos(t.Context(), acme, nil)
	if err != nil || repos.GetTotalCount() != 2 || repos.Repositories[0].GetFullName() != "acme/widgets" || !repos.Repositories[0].GetPrivate() {
		t.Errorf("%v, %v", repos, err)
	}
}

func TestOutsiderActsAsTheApp(t *testing.T) {
	s, app := withApp(t)
	id := s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Acme})
	c := reader(t, s, proof(t, app, nil))
	i, _, err := c.Apps.GetInstallation(t.Context(), id)
	if err != nil || i.GetID() != id || i.GetAppID() != app.ID || i.GetAccount().GetLogin() != "acme" || i.GetTargetType() != "Organization" || i.GetRepositorySelection() != "all" || i.SuspendedAt != nil {
		t.Errorf("%+v, %v", i, err)
	}
	pass, resp, err := c.Apps.CreateInstallationToken(t.Context(), id, &github.InstallationTokenOptions{
		Repositories: []string{"gadgets"}, Permissions: &github.InstallationPermissions{Contents: new("read")},
	})
	if err != nil || resp.StatusCode != http.StatusCreated || pass.GetPermissions().GetContents() != "read" || time.Until(pass.GetExpiresAt().Time) < 59*time.Minute || len(pass.Repositories) != 1 || pass.Repositories[0].GetID() != githubtest.Gadgets {
		t.Fatalf("%v, %v", resp, err)
	}
	id = s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Octocat, Suspended: true})
	if i, _, err := c.Apps.GetInstallation(t.Context(), id); err != nil || i.GetSuspendedAt().IsZero() {
		t.Errorf("%v", err)
	}
	if _, resp, err := c.Apps.CreateInstallationToken(t.Context(), id, nil); err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v", err)
	}
}

func TestOutsiderRevokesAToken(t *testing.T) {
	s, app := withApp(t)
	access := token(t, s, app, githubtest.Octocat)["access_token"].(string)
	basic := &github.BasicAuthTransport{Username: app.ClientID, Password: app.ClientSecret}
	c, err := github.NewClient(github.WithURLs(&s.URL, &s.URL), github.WithHTTPClient(basic.Client()))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Authorizations.Revoke(t.Context(), app.ClientID, access)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%v", err)
	}
	if resp, err := c.Authorizations.Revoke(t.Context(), app.ClientID, access); err == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("again: %v", err)
	}
}

func TestOutsiderReadsDeliveries(t *testing.T) {
	s, app := withApp(t)
	id := s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Acme})
	var event any
	var failed error
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := github.ValidatePayload(r, []byte(app.WebhookSecret))
		if failed = err; err == nil {
			event, failed = github.ParseWebHook(github.WebHookType(r), body)
		}
		io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	deliver := func(d githubtest.Delivery) {
		t.Helper()
		event, d.To = nil, server.URL
		resp, err := s.Deliver(context.Background(), app.ID, d)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	deliver(githubtest.Delivery{Event: "installation", Body: s.InstallationPayload("created", id)})
	if e, ok := event.(*github.InstallationEvent); !ok || e.GetInstallation().GetID() != id || e.GetAction() != "created" || len(e.Repositories) != 2 {
		t.Errorf("%v, %v", event, failed)
	}
	deliver(githubtest.Delivery{Event: "installation_repositories", Body: s.RepositoriesPayload(id, []int64{githubtest.Widgets}, []int64{githubtest.Gadgets})})
	if e, ok := event.(*github.InstallationRepositoriesEvent); !ok || len(e.RepositoriesAdded) != 1 || len(e.RepositoriesRemoved) != 1 {
		t.Errorf("%v, %v", event, failed)
	}
	deliver(githubtest.Delivery{Event: "github_app_authorization", Body: s.RevokedPayload(githubtest.Hubot)})
	if e, ok := event.(*github.GitHubAppAuthorizationEvent); !ok || e.GetSender().GetID() != githubtest.Hubot || e.GetAction() != "revoked" {
		t.Errorf("%v, %v", event, failed)
	}
	deliver(githubtest.Delivery{Event: "ping", Body: s.PingPayload(app.ID)})
	if e, ok := event.(*github.PingEvent); !ok || e.GetHook().GetID() == 0 {
		t.Errorf("%v, %v", event, failed)
	}
	deliver(githubtest.Delivery{Event: "push", Body: s.PushPayload(id, githubtest.Widgets)})
	if e, ok := event.(*github.PushEvent); !ok || e.GetInstallation().GetID() != id {
		t.Errorf("%v, %v", event, failed)
	}
	deliver(githubtest.Delivery{Event: "ping", Body: "   ", Secret: "another"})
	if failed == nil {
		t.Error("a forged one holds")
	}
}
