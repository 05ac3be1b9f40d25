package githubtest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account/githubtest"
)

func newRequest(t *testing.T, method, address, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestFaultsHappen(t *testing.T) {
	s, app := withApp(t)
	auth := "Bearer " + token(t, s, app, githubtest.Octocat)["access_token"].(string)
	get := func() reply { return do(t, "GET", s.URL+"/user", "", "Authorization", auth) }
	for _, status := range []int{401, 403, 404, 429, 500} {
		s.FailOnce("GET /user", githubtest.Status(status))
		if r := get(); r.StatusCode != status {
			t.Errorf("%d: %d", status, r.StatusCode)
		}
	}
	s.FailOnce("GET /user", githubtest.HTML())
	if r := get(); !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || r.StatusCode != 200 {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	s.FailOnce("GET /user", githubtest.Oversized())
	if r := get(); len(r.text) < 2<<20 || r.json(t)["login"] != "octocat" {
		t.Errorf("%d bytes", len(r.text))
	}
	s.FailOnce("GET /user", githubtest.Redirect("https://evil.example/"))
	if r := get(); r.leads(t).Host != "evil.example" {
		t.Errorf("%d", r.StatusCode)
	}
	s.FailOnce("GET /user", githubtest.Truncated())
	r := newRequest(t, "GET", s.URL+"/user", "")
	r.Header.Set("Authorization", auth)
	resp, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	resp.Body.Close()
	s.Fail("GET /user", githubtest.Slow(50*time.Millisecond))
	began := time.Now()
	if r := get(); r.StatusCode != 200 || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%d after %v", r.StatusCode, time.Since(began))
	}
	s.Heal()
	if r := get(); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
}

func TestCloseEndsSlowAnswers(t *testing.T) {
	s, err := githubtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	s.Fail("GET /user", githubtest.Slow(time.Hour))
	done := make(chan error, 1)
	go func() {
		resp, err := http.Get(s.URL + "/user")
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	for s.Calls("GET /user") == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	s.Close()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
}

func TestJournalCountsPrograms(t *testing.T) {
	s, app := withApp(t)
	do(t, "GET", s.URL+"/login/oauth/authorize?client_id="+app.ClientID, "")
	if s.Calls() != 0 || s.Calls("GET /login/oauth/authorize") != 1 {
		t.Errorf("%d", s.Calls())
	}
	do(t, "GET", s.URL+"/user?x=1", "", "X-Test", "here")
	do(t, "GET", s.URL+"/nothing", "")
	if s.Calls() != 2 || s.Calls("GET /user") != 1 || s.Calls("GET /user", "GET /login/oauth/authorize") != 2 {
		t.Errorf("%d", s.Calls())
	}
	last := s.Journal()[1]
	if last.Route != "GET /user" || last.Status != 401 || last.Query.Get("x") != "1" || last.Header.Get("X-Test") != "here" {
		t.Errorf("%+v", last)
	}
	s.Forget()
	if len(s.Journal()) != 0 {
		t.Error("it remembers")
	}
}

func TestHandlerServesElsewhere(t *testing.T) {
	s := githubtest.Handler("")
	server := httptest.NewServer(s)
	defer server.Close()
	s.URL = server.URL
	app, err := s.AddApp(manifest())
	if err != nil || !strings.HasPrefix(app.HTMLURL, server.URL) {
		t.Fatalf("%s, %v", app.HTMLURL, err)
	}
	if r := do(t, "GET", server.URL+"/user", ""); r.StatusCode != 401 {
		t.Errorf("%d", r.StatusCode)
	}
}

func TestBrowserHasAPersonOfItsOwn(t *testing.T) {
	s, app := withApp(t)
	cookie, _, _ := strings.Cut(do(t, "GET", s.URL+"/login?as=hubot", "").Header.Get("Set-Cookie"), ";")
	code := func(headers ...string) string {
		return do(t, "GET", s.URL+"/login/oauth/authorize?client_id="+app.ClientID, "", headers...).leads(t).Query().Get("code")
	}
	who := func(code string) string {
		out := exchange(t, s, "client_id", app.ClientID, "client_secret", app.ClientSecret, "code", code)
		return do(t, "GET", s.URL+"/user", "", "Authorization", "Bearer "+out["access_token"].(string)).json(t)["login"].(string)
	}
	if a, b := who(code()), who(code("Cookie", cookie)); a != "octocat" || b != "hubot" {
		t.Errorf("%s and %s", a, b)
	}
	s.SignIn(githubtest.Hubot)
	if a := who(code()); a != "hubot" {
		t.Errorf("%s", a)
	}
	if r := do(t, "GET", s.URL+"/login?as=nobody", ""); r.StatusCode != 404 {
		t.Errorf("%d", r.StatusCode)
	}
}

func TestPeopleChange(t *testing.T) {
	s, app := withApp(t)
	get := func(user int64, path string) string {
		return do(t, "GET", s.URL+path, "", "Authorization", "Bearer "+token(t, s, app, user)["access_token"].(string)).text
	}
	s.SetUser(githubtest.Octocat, func(u *githubtest.User) {
		u.Login, u.Email = "mona", ""
		u.Emails = []githubtest.Email{{Email: "a@example.com", Primary: true}}
	})
	twin := s.AddUser(githubtest.User{Login: "octocat", Email: "1+x@users.noreply.github.com"})
	if text := get(githubtest.Octocat, "/user"); !strings.Contains(text, `"login":"mona"`) || !strings.Contains(text, `"email":null`) {
		t.Error(text)
	}
	if text := get(githubtest.Octocat, "/user/emails"); text != `[{"email":"a@example.com","primary":true,"verified":false,"visibility":null}]` {
		t.Error(text)
	}
	if text := get(twin, "/user"); !strings.Contains(text, `"login":"octocat"`) || strings.Contains(text, "583231") {
		t.Error(text)
	}
	if text := get(twin, "/user/emails"); text != "[]" {
		t.Error(text)
	}
	defer func() {
		if recover() == nil {
			t.Error("a login was given twice")
		}
	}()
	s.AddUser(githubtest.User{Login: "MONA"})
}

var inputs = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// press fills in the form of a page as it is and presses a button.
func press(t *testing.T, s *githubtest.Server, r reply, decision string, pairs ...string) reply {
	t.Helper()
	if r.StatusCode != 200 || !strings.Contains(r.text, `value="approve">Approve</button>`) {
		t.Fatalf("%d %s", r.StatusCode, r.text)
	}
	fields := url.Values{"decision": {decision}}
	for _, m := range inputs.FindAllStringSubmatch(r.text, -1) {
		fields.Set(m[1], unescape(m[2]))
	}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	action := regexp.MustCompile(`action="([^"]*)"`).FindStringSubmatch(r.text)[1]
	return do(t, "POST", s.URL+unescape(action), fields.Encode())
}

func unescape(s string) string {
	return strings.NewReplacer("&#34;", `"`, "&amp;", "&", "&#43;", "+", "&#39;", "'").Replace(s)
}

func TestPagesAskFirst(t *testing.T) {
	s := githubtest.New(t, githubtest.WithPages())
	create := do(t, "POST", s.URL+"/settings/apps/new?state=a%26b", form("manifest", string(manifest())))
	if r := press(t, s, create, "cancel"); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
	to := press(t, s, create, "approve", "name", "renamed").leads(t).Query()
	if to.Get("state") != "a&b" {
		t.Errorf("%v", to)
	}
	app := do(t, "POST", s.URL+"/app-manifests/"+to.Get("code")+"/conversions", "").json(t)
	if app["name"] != "renamed" {
		t.Errorf("%v", app["name"])
	}
	ask := do(t, "GET", s.URL+"/login/oauth/authorize?"+form("client_id", app["client_id"].(string), "state", "s", "code_challenge", challenge, "code_challenge_method", "S256"), "")
	if to := press(t, s, ask, "cancel").leads(t).Query(); to.Get("error") != "access_denied" || to.Get("state") != "s" {
		t.Errorf("%v", to)
	}
	to = press(t, s, ask, "approve", "as", "hubot").leads(t).Query()
	out := exchange(t, s, "client_id", app["client_id"].(string), "client_secret", app["client_secret"].(string), "code", to.Get("code"), "code_verifier", verifier)
	if out["access_token"] == nil || to.Get("state") != "s" {
		t.Errorf("%v", out)
	}
	install := do(t, "GET", s.URL+"/apps/renamed/installations/new?state=s", "")
	to = press(t, s, install, "approve", "target", "9919").leads(t).Query()
	if to.Get("setup_action") != "install" || to.Get("state") != "s" || to.Get("installation_id") == "" {
		t.Errorf("%v", to)
	}
	if r := press(t, s, install, "cancel"); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
}

func TestInstallationIsForWhoMay(t *testing.T) {
	s, app := withApp(t)
	s.SignIn(githubtest.Hubot)
	s.InstallOn(githubtest.Acme)
	if r := do(t, "GET", s.URL+"/github-apps/"+app.Slug+"/installations/new", ""); r.StatusCode != 404 {
		t.Errorf("%d", r.StatusCode)
	}
	if r := do(t, "GET", s.URL+"/apps/unknown/installations/new", ""); r.StatusCode != 404 {
		t.Errorf("%d", r.StatusCode)
	}
	quiet, err := s.AddApp(manifest("setup_url", nil, "setup_on_update", false))
	if err != nil {
		t.Fatal(err)
	}
	s.InstallOn(0)
	for range 2 {
		if r := do(t, "GET", s.URL+"/apps/"+quiet.Slug+"/installations/new", ""); r.StatusCode != 200 {
			t.Errorf("%d", r.StatusCode)
		}
	}
	if r := do(t, "GET", s.URL+"/apps/"+quiet.Slug, ""); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
	if r := do(t, "GET", s.URL+"/apps/unknown", ""); r.StatusCode != 404 {
		t.Errorf("%d", r.StatusCode)
	}
}
