package github_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

// installationOf is the app on octocat's own account.
func installationOf(app int64) githubtest.Installation {
	return githubtest.Installation{App: app, Account: githubtest.Octocat}
}

func TestInstallationIDIsWrittenInOneWay(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "48213377": 48213377, "9223372036854775807": 9223372036854775807} {
		if id, err := github.ParseInstallationID(s); id != want || err != nil {
			t.Errorf("%q: %d, %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", "-1", "1e9", "01", "0", "+1", " 1", "1 ", "1\n", "0x1", "1_000", "1.0", "９", "9223372036854775808", "99999999999999999999", "1,2", "1/2", "null",
	} {
		id, err := github.ParseInstallationID(s)
		if id != 0 || !fault.Is(err, fault.InvalidRequest) || fmt.Sprint(fault.From(err).Meta["fields"]) != "[map[field:installation_id type:invalid]]" {
			t.Errorf("%q: %d, %v", s, id, err)
		}
	}
}

func TestInstalledAppIsVerified(t *testing.T) {
	s := start(t)
	acme := s.InstallURL(s.app, "the state") + "&target=acme"
	q := visit(t, acme).Query()
	if q.Get("setup_action") != "install" || q.Get("state") != "the state" {
		t.Fatalf("%v", q)
	}
	id, err := github.ParseInstallationID(q.Get("installation_id"))
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.VerifyInstallation(t.Context(), s.app, s.signIn(t, githubtest.Octocat).Access, id)
	if err != nil || i.ID != id || i.AppID != s.app.ID || i.Account != (github.Account{ID: githubtest.Acme, Login: "acme", Type: "Organization"}) || i.Selection != "all" {
		t.Fatalf("%+v, %v", i, err)
	}
	if q := visit(t, acme).Query(); q.Get("setup_action") != "update" || q.Get("installation_id") != fmt.Sprint(id) {
		t.Errorf("%v", q)
	}
}

func TestRequestedInstallationHasNoID(t *testing.T) {
	s := start(t)
	s.fake.RequestInstall(true)
	q := visit(t, s.InstallURL(s.app, "s")).Query()
	if _, err := github.ParseInstallationID(q.Get("installation_id")); err == nil || q.Get("setup_action") != "request" {
		t.Errorf("%v", q)
	}
}

// An installation_id is anybody's to write.
func TestInstallationOfAnotherIsNotYours(t *testing.T) {
	s := start(t)
	other, err := s.fake.AddApp(manifestOf(t, platform))
	if err != nil {
		t.Fatal(err)
	}
	token := s.signIn(t, githubtest.Hubot).Access
	asleep := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Hubot, Suspended: true})
	for name, id := range map[string]int64{
		"another customer's": s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme}),
		"another app's":      s.fake.AddInstallation(githubtest.Installation{App: other.ID, Account: githubtest.Hubot}),
		"suspended":          asleep,
		"unknown":            7,
		"zero":               0,
		"negative":           -1,
	} {
		_, err := s.UserInstallation(t.Context(), s.app, token, id)
		if s.refused(t, err, github.NotYours); (id == asleep) != errors.Is(err, github.ErrSuspended) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = s.VerifyInstallation(t.Context(), s.app, token, id)
		s.refused(t, err, github.NotYours)
	}
	if n := s.fake.Calls("GET /app/installations/{id}"); n != 0 {
		t.Errorf("the app was asked %d times", n)
	}
}

// A list that shows what it should not is not believed either.
func TestListIsNotBelievedAlone(t *testing.T) {
	s := start(t)
	token := s.signIn(t, githubtest.Hubot).Access
	theirs := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme})
	lie := func(app, account int64) githubtest.Fault {
		return githubtest.Raw(200, fmt.Sprintf(`{"total_count":1,"installations":[{"id":%d,"app_id":%d,"account":{"id":%d,"login":"hubot"},"suspended_at":null}]}`, theirs, app, account))
	}
	s.fake.FailOnce("GET /user/installations", lie(s.app.ID+1, githubtest.Hubot))
	_, err := s.UserInstallation(t.Context(), s.app, token, theirs)
	s.refused(t, err, github.NotYours)
	s.fake.FailOnce("GET /user/installations", lie(s.app.ID, githubtest.Hubot))
	_, err = s.VerifyInstallation(t.Context(), s.app, token, theirs)
	s.refused(t, err, github.NotYours)
	s.fake.FailOnce("GET /user/installations", lie(s.app.ID, githubtest.Hubot))
	s.fake.FailOnce("GET /user/installations/{id}/repositories", githubtest.Raw(200, `{"total_count":0,"repositories":[]}`))
	_, err = s.VerifyInstallation(t.Context(), s.app, token, theirs)
	s.refused(t, err, github.NotYours)
	s.fake.FailOnce("GET /app/installations/{id}", githubtest.Status(404))
	s.fake.FailOnce("GET /user/installations", lie(s.app.ID, githubtest.Acme))
	s.fake.FailOnce("GET /user/installations/{id}/repositories", githubtest.Raw(200, `{"total_count":0,"repositories":[]}`))
	_, err = s.VerifyInstallation(t.Context(), s.app, token, theirs)
	s.refused(t, err, github.NotYours)
}

func TestManyInstallationsArePaged(t *testing.T) {
	s := start(t)
	token := s.signIn(t, githubtest.Octocat).Access
	ids := s.fake.AddInstallations(s.app.ID, githubtest.Octocat, 101)
	for _, id := range []int64{ids[0], ids[100]} {
		if i, err := s.UserInstallation(t.Context(), s.app, token, id); err != nil || i.ID != id {
			t.Errorf("%d: %v, %v", id, i, err)
		}
	}
	if n := s.fake.Calls("GET /user/installations"); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

func TestListsHaveAnEnd(t *testing.T) {
	s := start(t)
	token := s.signIn(t, githubtest.Octocat).Access
	one := fmt.Sprintf(`{"total_count":1000000,"installations":[{"id":1,"app_id":%d,"account":{"id":1,"login":"o"}}]}`, s.app.ID)
	for body, calls := range map[string]int{one: 10, `{"total_count":1000000,"installations":[]}`: 1} {
		s.fake.Heal()
		s.fake.Forget()
		s.fake.Fail("GET /user/installations", githubtest.Raw(200, body))
		_, err := s.UserInstallation(t.Context(), s.app, token, 7)
		if s.refused(t, err, github.NotYours); s.fake.Calls() != calls {
			t.Errorf("asked %d times", s.fake.Calls())
		}
	}
}

func TestListThatIsNoneIsRefused(t *testing.T) {
	s := start(t)
	token := s.signIn(t, githubtest.Octocat).Access
	for _, body := range []string{
		`[]`, `{}`, `{"total_count":1}`, `{"total_count":"1","installations":[]}`, `{"total_count":1,"installations":{}}`,
		`{"total_count":1,"installations":[{}]}`, `{"total_count":1,"installations":[null]}`, `{"total_count":1,"installations":[{"id":"1","app_id":1,"account":{"id":1}}]}`,
		`{"total_count":1,"installations":[{"id":1e3,"app_id":1,"account":{"id":1}}]}`, `{"total_count":1,"installations":[{"id":1,"app_id":1,"account":{"id":1},"suspended_at":"soon"}]}`,
	} {
		s.fake.FailOnce("GET /user/installations", githubtest.Raw(200, body))
		_, err := s.UserInstallation(t.Context(), s.app, token, 1)
		s.refused(t, err, fault.ProviderUnavailable)
	}
	id := s.fake.AddInstallation(installationOf(s.app.ID))
	for _, body := range []string{`[]`, `{}`, `{"total_count":1}`, `{"total_count":1,"repositories":{}}`} {
		s.fake.FailOnce("GET /user/installations/{id}/repositories", githubtest.Raw(200, body))
		_, err := s.VerifyInstallation(t.Context(), s.app, token, id)
		s.refused(t, err, fault.ProviderUnavailable)
	}
}

func TestReadsOfTheAppFailByName(t *testing.T) {
	s := start(t)
	id := s.fake.AddInstallation(installationOf(s.app.ID))
	token := s.signIn(t, githubtest.Octocat).Access
	for name, c := range failures(s) {
		for _, route := range []string{"GET /user/installations", "GET /app/installations/{id}", "POST /app/installations/{id}/access_tokens"} {
			s.fake.FailOnce(route, c.fault)
		}
		_, err := s.UserInstallation(t.Context(), s.app, token, id)
		s.refused(t, err, c.want)
		_, err = s.Installation(t.Context(), s.app, id)
		s.refused(t, err, c.want)
		_, err = s.RepositoryToken(t.Context(), s.app, id, "octocat", "hello-world", map[string]string{"contents": "read"})
		s.refused(t, err, c.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestRefusedTokenSaysWhy(t *testing.T) {
	s := start(t)
	read := map[string]string{"contents": "read"}
	id := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme})
	ask := func(id int64, repository string, permissions map[string]string, want error) {
		t.Helper()
		_, err := s.RepositoryToken(t.Context(), s.app, id, "acme", repository, permissions)
		if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ask(7, "widgets", read, github.ErrNotFound)
	ask(id, "hello-world", read, github.ErrNotGranted)
	ask(id, "widgets", map[string]string{"administration": "write"}, github.ErrNotGranted)
	ask(id, "widgets", map[string]string{"contents": "admin"}, github.ErrNotGranted)
	asleep := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme, Suspended: true})
	ask(asleep, "widgets", read, github.ErrSuspended)
	if i, err := s.Installation(t.Context(), s.app, asleep); err != nil || i.Suspended.IsZero() {
		t.Errorf("%v, %v", i.Suspended, err)
	}
	const widgets = `{"id":1,"full_name":"acme/widgets"}`
	for _, body := range []string{
		`{"token":"","expires_at":"2030-01-01T00:00:00Z","repositories":[` + widgets + `]}`, `{"token":"ghs_x","repositories":[` + widgets + `]}`,
		`{"token":"ghs_x","expires_at":"2030-01-01T00:00:00Z","repositories":[` + widgets + `,` + widgets + `]}`,
		`{"token":"ghs_x","expires_at":"2030-01-01T00:00:00Z"}`, `{"token":"ghs_x","expires_at":"2030-01-01T00:00:00Z","repositories":[{"id":1,"full_name":"acme/other"}]}`,
	} {
		s.fake.FailOnce("POST /app/installations/{id}/access_tokens", githubtest.Raw(201, body))
		_, err := s.RepositoryToken(t.Context(), s.app, id, "acme", "widgets", read)
		s.refused(t, err, fault.ProviderUnavailable)
	}
}

func TestProofOfAnotherKeyIsRefused(t *testing.T) {
	s := start(t)
	id := s.fake.AddInstallation(installationOf(s.app.ID))
	other, err := s.fake.AddApp(manifestOf(t, platform))
	if err != nil {
		t.Fatal(err)
	}
	forged := s.app
	forged.PEM = other.PEM
	_, err = s.Installation(t.Context(), forged, id)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrUnauthorized) {
		t.Error(err)
	}
	_, err = s.Installation(t.Context(), github.App(other), id)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrNotFound) {
		t.Error(err)
	}
	for _, pem := range []string{"", "planted", shortKey} {
		forged.PEM = pem
		_, err = s.Installation(t.Context(), forged, id)
		s.refused(t, err, fault.ProviderUnavailable)
		if _, err := s.AppJWT(forged); err == nil || (pem != "" && strings.Contains(err.Error(), pem)) {
			t.Error(err)
		}
	}
}

// A proof that GitHub's clock refuses is made again by that clock, once.
func TestClocksMayDiffer(t *testing.T) {
	s, skew := startSkewed(t)
	id := s.fake.AddInstallation(installationOf(s.app.ID))
	for by, calls := range map[time.Duration]int{0: 1, 2 * time.Minute: 1, -2 * time.Minute: 2, 30 * time.Minute: 2, -30 * time.Minute: 2} {
		skew(by)
		s.fake.Forget()
		if _, err := s.Installation(t.Context(), s.app, id); err != nil {
			t.Errorf("%v: %v", by, err)
		}
		if n := s.fake.Calls(); n != calls {
			t.Errorf("%v: asked %d times", by, n)
		}
	}
	skew(0)
	s.fake.Forget()
	s.fake.Fail("GET /app/installations/{id}", githubtest.Raw(401, `{"message":"'Expiration time' claim ('exp') is too far in the future"}`))
	_, err := s.Installation(t.Context(), s.app, id)
	if s.refused(t, err, fault.ProviderUnavailable); s.fake.Calls() != 2 || !errors.Is(err, github.ErrUnauthorized) {
		t.Errorf("asked %d times: %v", s.fake.Calls(), err)
	}
}

func TestRevokedTokenIsDead(t *testing.T) {
	s := start(t)
	tokens := s.signIn(t, githubtest.Octocat)
	for range 2 {
		if err := s.RevokeToken(t.Context(), s.app, tokens.Access); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.User(t.Context(), tokens.Access)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrUnauthorized) {
		t.Error(err)
	}
	thief := s.app
	thief.ClientSecret = "planted"
	err = s.RevokeToken(t.Context(), thief, s.signIn(t, githubtest.Octocat).Access)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrUnauthorized) {
		t.Error(err)
	}
	s.fake.FailOnce("DELETE /applications/{client_id}/token", githubtest.Status(500))
	s.refused(t, s.RevokeToken(t.Context(), s.app, "ghu_planted"), fault.ProviderUnavailable)
}

func TestATokenForARepositoryIsForThatOneAlone(t *testing.T) {
	s := start(t)
	read := map[string]string{"contents": "read"}
	id := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme})
	if token, err := s.RepositoryToken(t.Context(), s.app, id, "Acme", "widgets", read); err != nil || !strings.HasPrefix(token, "ghs_") {
		t.Error(err)
	}
	long := "ghs_" + strings.Repeat("a", 1200)
	s.fake.FailOnce("POST /app/installations/{id}/access_tokens", githubtest.Raw(201,
		`{"token":"`+long+`","expires_at":"2030-01-01T00:00:00Z","repositories":[{"id":1,"full_name":"acme/widgets"}]}`))
	if token, err := s.RepositoryToken(t.Context(), s.app, id, "acme", "widgets", read); err != nil || token != long {
		t.Errorf("a token in the long form: %v", err)
	}
	for _, name := range []string{"octocat/widgets", "acme/hello-world", "acme/none"} {
		owner, repository, _ := strings.Cut(name, "/")
		_, err := s.RepositoryToken(t.Context(), s.app, id, owner, repository, read)
		if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrNotGranted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.RepositoryToken(t.Context(), s.app, id+1, "acme", "widgets", read); !errors.Is(err, github.ErrNotFound) {
		t.Errorf("another installation: %v", err)
	}
	s.fake.Forget()
	for name, permissions := range map[string]map[string]string{"widgets": nil, "": read} {
		if _, err := s.RepositoryToken(t.Context(), s.app, id, "acme", name, permissions); err == nil {
			t.Errorf("%q, %v", name, permissions)
		}
	}
	if s.fake.Calls() != 0 {
		t.Error("a token for everything was asked for")
	}
}
