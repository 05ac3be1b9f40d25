package github_test

import (
	"strings"
	"testing"

	"svc.dev/svc/service/account/github"
)

func TestAddressesFollowTheKindOfGitHub(t *testing.T) {
	app := github.App{Slug: "svc-platform", ClientID: "Iv1"}
	for _, c := range []struct {
		url, api, install, token string
	}{
		{"", "", "https://github.com/apps/svc-platform/installations/new?state=s", "https://github.com/login/oauth/authorize?"},
		{"https://github.com/", "https://api.github.com", "https://github.com/apps/svc-platform/installations/new?state=s", "https://github.com/login/oauth/authorize?"},
		{"https://GitHub.com:443", "", "https://github.com/apps/svc-platform/installations/new?state=s", "https://github.com/login/oauth/authorize?"},
		{"https://git.corp.example", "", "https://git.corp.example/github-apps/svc-platform/installations/new?state=s", "https://git.corp.example/login/oauth/authorize?"},
		{"https://acme.ghe.com", "https://api.acme.ghe.com/", "https://acme.ghe.com/apps/svc-platform/installations/new?state=s", "https://acme.ghe.com/login/oauth/authorize?"},
	} {
		g := client(t, github.Config{URL: c.url, APIURL: c.api})
		if got := g.InstallURL(app, "s"); got != c.install {
			t.Errorf("%s: installs at %s", c.url, got)
		}
		if got := g.AuthorizeURL(app, callback, "s", challengeOf(verifier), false); !strings.HasPrefix(got, c.token) {
			t.Errorf("%s: authorizes at %s", c.url, got)
		}
		if !strings.HasPrefix(c.token, g.Origin()+"/") || g.Origin() != "https://"+g.Host() {
			t.Errorf("%s: is %s", c.url, g.Origin())
		}
	}
}

func TestTokensDoNotTravelToStrangers(t *testing.T) {
	for _, c := range []github.Config{
		{URL: "http://github.com"},
		{URL: "http://10.0.0.1"},
		{URL: "http://127.0.0.1.evil.example"},
		{URL: "ftp://github.com"},
		{URL: "github.com"},
		{URL: "https://"},
		{URL: "https://user:secret@github.com"},
		{URL: "https://github.com?x"},
		{URL: "https://github.com/path"},
		{URL: "https://github.com#x"},
		{URL: "https://git.corp.example", APIURL: "https://api.github.com"},
		{URL: "https://git.corp.example", APIURL: "https://api.acme.ghe.com"},
		{URL: "https://github.com", APIURL: "https://api.evil.example"},
		{URL: "https://acme.ghe.com", APIURL: "https://api.other.ghe.com"},
		{APIURL: "http://api.github.com"},
	} {
		if _, err := github.New(c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestEveryRequestNamesItself(t *testing.T) {
	s := start(t)
	tokens := s.signIn(t, 583231)
	if _, err := s.User(t.Context(), tokens.Access); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.fake.Journal() {
		accept := "application/vnd.github+json"
		if strings.HasPrefix(r.Path, "/login/") {
			accept = "application/json"
		}
		if r.Header.Get("User-Agent") == "" || r.Header.Get("Accept") != accept || r.Header.Get("X-GitHub-Api-Version") != "2022-11-28" {
			t.Errorf("%s: %v", r.Route, r.Header)
		}
	}
}
