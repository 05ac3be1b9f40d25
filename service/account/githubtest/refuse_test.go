package githubtest_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"svc.dev/svc/service/account/githubtest"
)

// proof signs claims as the app; nil are good ones.
func proof(t *testing.T, app githubtest.App, claims map[string]any) string {
	t.Helper()
	block, _ := pem.Decode([]byte(app.PEM))
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, s, app, claims)
}

func signed(t *testing.T, s jose.Signer, app githubtest.App, claims map[string]any) string {
	t.Helper()
	now := time.Now().Unix()
	all := map[string]any{"iat": now - 60, "exp": now + 500, "iss": fmt.Sprint(app.ID)}
	maps.Copy(all, claims)
	text, err := jwt.Signed(s).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestUnknownPathsAndMethodsAreNotFound(t *testing.T) {
	s, _ := withApp(t)
	for _, c := range []string{"POST /user", "GET /user/", "DELETE /user/emails", "GET /nothing", "PUT /login/oauth/access_token", "GET /login/oauth/access_token", "HEAD /app"} {
		method, path, _ := strings.Cut(c, " ")
		r := do(t, method, s.URL+path, "", "Authorization", "Bearer x")
		if r.StatusCode != 404 || (method != "HEAD" && r.json(t)["message"] != "Not Found") {
			t.Errorf("%s: %d %s", c, r.StatusCode, r.text)
		}
	}
}

func TestProgramsNameThemselves(t *testing.T) {
	s, _ := withApp(t)
	if r := do(t, "GET", s.URL+"/user", "", "User-Agent", ""); r.StatusCode != 403 || !strings.Contains(r.text, "User-Agent") {
		t.Errorf("%d %s", r.StatusCode, r.text)
	}
	if r := do(t, "GET", s.URL+"/user", "", "X-GitHub-Api-Version", "2019-01-01"); r.StatusCode != 400 {
		t.Errorf("%d %s", r.StatusCode, r.text)
	}
	r := do(t, "GET", s.URL+"/user", "", "X-GitHub-Api-Version", "2022-11-28")
	if r.StatusCode != 401 || r.Header.Get("X-RateLimit-Remaining") != "4999" {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
}

func TestBadManifestIsRefused(t *testing.T) {
	s := githubtest.New(t)
	for name, m := range map[string][]byte{
		"email_addresses":    manifest("default_permissions", map[string]string{"email_addresses": "read"}),
		"unknown permission": manifest("default_permissions", map[string]string{"everything": "read"}),
		"unknown level":      manifest("default_permissions", map[string]string{"contents": "own"}),
		"long name":          manifest("name", strings.Repeat("a", 35)),
		"no url":             manifest("url", nil),
		"hook without url":   manifest("hook_attributes", map[string]any{"active": false}),
		"lifecycle event":    manifest("default_events", []string{"installation"}),
		"no redirect":        manifest("redirect_url", nil),
		"no JSON":            []byte("name=x"),
		"nothing":            nil,
	} {
		if r := do(t, "POST", s.URL+"/settings/apps/new?state=x", form("manifest", string(m))); r.StatusCode != 422 {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.text)
		}
	}
	for _, org := range []string{"unknown", "octocat"} {
		if r := do(t, "POST", s.URL+"/organizations/"+org+"/settings/apps/new", form("manifest", string(manifest()))); r.StatusCode != 404 {
			t.Errorf("%s: %d", org, r.StatusCode)
		}
	}
	if r := do(t, "POST", s.URL+"/organizations/acme/settings/apps/new", form("manifest", string(manifest())), "Cookie", "user=hubot"); r.StatusCode != 404 {
		t.Errorf("a stranger: %d", r.StatusCode)
	}
}

func TestAuthorizationIsExact(t *testing.T) {
	s, app := withApp(t)
	ask := func(pairs ...string) reply {
		fine := []string{"client_id", app.ClientID, "state", "s", "redirect_uri", callback, "code_challenge", challenge, "code_challenge_method", "S256"}
		return do(t, "GET", s.URL+"/login/oauth/authorize?"+form(append(fine, pairs...)...), "")
	}
	for _, r := range []string{"", callback + "?x=1", callback + "/", callback + "/more", "https://evil.example", strings.ToUpper(callback), home} {
		if got := ask("redirect_uri", r); got.StatusCode != 404 {
			t.Errorf("%s: %d", r, got.StatusCode)
		}
	}
	if q := ask().leads(t); !strings.HasPrefix(q.String(), callback+"?") || q.Query().Get("code") == "" {
		t.Errorf("leads to %s", q)
	}
	for _, pairs := range [][]string{{"code_challenge_method", ""}, {"code_challenge_method", "plain"}, {"code_challenge", "short"}, {"code_challenge", ""}} {
		if r := ask(pairs...); r.StatusCode != 400 {
			t.Errorf("%v: %d", pairs, r.StatusCode)
		}
	}
	if r := ask("client_id", ""); r.StatusCode != 404 {
		t.Errorf("nobody's app: %d", r.StatusCode)
	}
}

func TestTokenEndpointRefuses(t *testing.T) {
	var late atomic.Int64
	s, app := withApp(t, githubtest.WithClock(func() time.Time { return time.Now().Add(time.Duration(late.Load())) }))
	other, err := s.AddApp(manifest())
	if err != nil {
		t.Fatal(err)
	}
	code := func() string { return s.Code(app.ClientID, githubtest.Octocat, callback, challenge) }
	own := []string{"client_id", app.ClientID, "client_secret", app.ClientSecret, "redirect_uri", callback}
	spent := code()
	exchange(t, s, append(own, "code", spent, "code_verifier", verifier)...)
	old := code()
	late.Store(int64(10*time.Minute + time.Second))
	aged := exchange(t, s, append(own, "code", old, "code_verifier", verifier)...)
	late.Store(0)
	for want, out := range map[string]map[string]any{
		"Not Found":                      exchange(t, s, "client_id", "x"),
		"incorrect_client_credentials":   exchange(t, s, "client_id", app.ClientID, "client_secret", "x", "code", code()),
		"redirect_uri_mismatch":          exchange(t, s, append(own, "code", code(), "code_verifier", verifier, "redirect_uri", home)...),
		"bad_refresh_token":              exchange(t, s, append(own, "grant_type", "refresh_token", "refresh_token", "")...),
		"bad_verification_code":          exchange(t, s, append(own, "code", spent, "code_verifier", verifier)...),
		"bad_verification_code aged":     aged,
		"bad_verification_code unknown":  exchange(t, s, append(own, "code", "x", "code_verifier", verifier)...),
		"bad_verification_code empty":    exchange(t, s, own...),
		"bad_verification_code no proof": exchange(t, s, append(own, "code", code())...),
		"bad_verification_code proof":    exchange(t, s, append(own, "code", code(), "code_verifier", challenge)...),
		"bad_verification_code unasked":  exchange(t, s, append(own, "code", s.Code(app.ClientID, githubtest.Octocat, callback, ""), "code_verifier", verifier)...),
		"bad_verification_code other":    exchange(t, s, "client_id", other.ClientID, "client_secret", other.ClientSecret, "code", code(), "code_verifier", verifier, "redirect_uri", callback),
	} {
		first, _, _ := strings.Cut(want, " ")
		if want == "Not Found" {
			first = want
		}
		if out["error"] != first || out["access_token"] != nil {
			t.Errorf("%s: %v", want, out)
		}
	}
}

func TestTokensDie(t *testing.T) {
	var late atomic.Int64
	s, app := withApp(t, githubtest.WithClock(func() time.Time { return time.Now().Add(time.Duration(late.Load())) }))
	access := func() string { return token(t, s, app, githubtest.Octocat)["access_token"].(string) }
	alive := func(token string) bool {
		return do(t, "GET", s.URL+"/user", "", "Authorization", "Bearer "+token).StatusCode == 200
	}
	first, second := access(), access()
	s.Revoke(app.ID, githubtest.Octocat)
	if alive(first) || alive(second) || alive("") || alive("x") {
		t.Error("revoked tokens live")
	}
	third := access()
	late.Store(int64(8*time.Hour + time.Second))
	if alive(third) {
		t.Error("an old token lives")
	}
	late.Store(0)
	if !alive(third) {
		t.Error("a good token is dead")
	}
}

func TestBadProofIsRefused(t *testing.T) {
	s, app := withApp(t)
	other, err := s.AddApp(manifest())
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("%s/app/installations/%d", s.URL, s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Acme}))
	now := time.Now().Unix()
	secret, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(app.PEM)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := proof(t, app, nil)
	forged := other
	forged.PEM = app.PEM
	for name, c := range map[string]struct{ token, message string }{
		"future":       {proof(t, app, map[string]any{"iat": now + 30}), "'iat'"},
		"no iat":       {proof(t, app, map[string]any{"iat": nil}), "'iat'"},
		"over":         {proof(t, app, map[string]any{"exp": now - 1}), "'exp'"},
		"too long":     {proof(t, app, map[string]any{"exp": now + 610}), "'exp'"},
		"too wide":     {proof(t, app, map[string]any{"iat": now - 300, "exp": now + 400}), "'exp'"},
		"no exp":       {proof(t, app, map[string]any{"exp": nil}), "'exp'"},
		"another key":  {proof(t, forged, nil), "could not be decoded"},
		"a shared key": {signed(t, secret, app, nil), "could not be decoded"},
		"not signed":   {good[:strings.LastIndex(good, ".")+1], "could not be decoded"},
		"none":         {"eyJhbGciOiJub25lIn0" + good[strings.Index(good, "."):], "could not be decoded"},
		"no token":     {"", "could not be decoded"},
		"ghu_":         {token(t, s, app, githubtest.Octocat)["access_token"].(string), "could not be decoded"},
	} {
		r := do(t, "GET", path, "", "Authorization", "Bearer "+c.token)
		if r.StatusCode != 401 || !strings.Contains(fmt.Sprint(r.json(t)["message"]), c.message) {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.text)
		}
	}
	if r := do(t, "GET", path, "", "Authorization", "Bearer "+good); r.StatusCode != 200 {
		t.Errorf("a good one: %d %s", r.StatusCode, r.text)
	}
	if r := do(t, "GET", path, "", "Authorization", "Bearer "+proof(t, app, map[string]any{"iss": "7"})); r.StatusCode != 404 {
		t.Errorf("nobody: %d %s", r.StatusCode, r.text)
	}
}

func TestTokenReachesNoMoreThanItsInstallation(t *testing.T) {
	s, app := withApp(t)
	id := s.AddInstallation(githubtest.Installation{App: app.ID, Account: githubtest.Acme})
	ask := func(body string) reply {
		return do(t, "POST", fmt.Sprintf("%s/app/installations/%d/access_tokens", s.URL, id), body, "Authorization", "Bearer "+proof(t, app, nil), "Content-Type", "application/json")
	}
	for body, status := range map[string]int{
		`{"repositories":["widgets"]}`:     201,
		`{}`:                               422,
		`{"repositories":["hello-world"]}`: 422,
		`{"repositories":["widgets"],"permissions":{"contents":"admin"}}`: 422,
		`{"repositories":["widgets"],"permissions":{"issues":"read"}}`:    422,
		`{"repositories":["widgets"],"permissions":{"emails":"read"}}`:    422,
		`{`: 400,
	} {
		if r := ask(body); r.StatusCode != status {
			t.Errorf("%s: %d %s", body, r.StatusCode, r.text)
		}
	}
}

func TestOnlyTheAppRevokes(t *testing.T) {
	s, app := withApp(t)
	other, err := s.AddApp(manifest())
	if err != nil {
		t.Fatal(err)
	}
	access := token(t, s, app, githubtest.Octocat)["access_token"].(string)
	ask := func(path, id, secret, body string) int {
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
		return do(t, "DELETE", s.URL+"/applications/"+path+"/token", body, "Content-Type", "application/json", "Authorization", basic).StatusCode
	}
	body := fmt.Sprintf(`{"access_token":%q}`, access)
	for name, got := range map[string][2]int{
		"wrong secret":   {ask(app.ClientID, app.ClientID, "x", body), 401},
		"another app":    {ask(app.ClientID, other.ClientID, other.ClientSecret, body), 404},
		"another's path": {ask(other.ClientID, app.ClientID, app.ClientSecret, body), 404},
		"no token":       {ask(app.ClientID, app.ClientID, app.ClientSecret, `{}`), 404},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", name, got[0], got[1])
		}
	}
	if got := ask(app.ClientID, app.ClientID, app.ClientSecret, body); got != 204 {
		t.Errorf("%d", got)
	}
}
