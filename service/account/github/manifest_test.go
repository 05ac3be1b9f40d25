package github_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

func TestManifestIsTheContracts(t *testing.T) {
	const want = `{"name":"svc-platform.example.com","url":"https://platform.example.com",` +
		`"redirect_url":"https://platform.example.com/api/auth/oauth/github/manifest/callback",` +
		`"callback_urls":["https://platform.example.com/api/auth/oauth/github/callback"],` +
		`"setup_url":"https://platform.example.com/api/auth/oauth/github/setup","setup_on_update":true,` +
		`"request_oauth_on_install":false,"public":true,` +
		`"hook_attributes":{"url":"https://platform.example.com/api/auth/oauth/github/webhook","active":true},` +
		`"default_permissions":{"contents":"write","emails":"read","metadata":"read","pull_requests":"write"},` +
		`"default_events":["push","pull_request"]}`
	for _, address := range []string{platform, platform + "/"} {
		if got := string(manifestOf(t, address)); got != want {
			t.Errorf("is\n%s, want\n%s", got, want)
		}
	}
}

func TestWebhookNeedsAPublicAddress(t *testing.T) {
	for address, hook := range map[string]bool{
		"https://agents.example.com":      true,
		"https://agents.example.com:8443": true,
		"https://203.0.113.7":             true,
		"http://agents.example.com":       false,
		"http://svc.localhost:8080":       false,
		"https://localhost":               false,
		"https://127.0.0.1:8443":          false,
		"https://[::1]":                   false,
		"https://10.1.2.3":                false,
		"https://192.168.1.4":             false,
		"https://169.254.1.1":             false,
		"https://[fd00::1]":               false,
		"https://intranet":                false,
		"https://svc.internal":            false,
		"https://svc.local.":              false,
	} {
		if got := strings.Contains(string(manifestOf(t, address)), "hook_attributes"); got != hook {
			t.Errorf("%s: webhook is %v", address, got)
		}
	}
}

func TestAppNameFits(t *testing.T) {
	m, err := github.Manifest("Überlange Marke", "https://a-very-long-name-of-a-host.example.com")
	var v struct{ Name string }
	if err != nil || json.Unmarshal(m, &v) != nil || utf8.RuneCountInString(v.Name) > 34 || !strings.HasPrefix(v.Name, "Überlange Marke-a-very") {
		t.Errorf("%s, %v", m, err)
	}
	for _, address := range []string{"", "platform.example.com", "ftp://x.example", "https://x.example/path", "https://%zz"} {
		if _, err := github.Manifest("svc", address); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestManifestGoesToItsOwner(t *testing.T) {
	g := client(t, github.Config{})
	for owner, want := range map[string]string{
		"":                      "https://github.com/settings/apps/new?state=a%26b",
		"acme":                  "https://github.com/organizations/acme/settings/apps/new?state=a%26b",
		"A-1":                   "https://github.com/organizations/A-1/settings/apps/new?state=a%26b",
		strings.Repeat("a", 39): "https://github.com/organizations/" + strings.Repeat("a", 39) + "/settings/apps/new?state=a%26b",
	} {
		if got, err := g.ManifestURL(owner, "a&b"); got != want || err != nil {
			t.Errorf("%q: %s, %v", owner, got, err)
		}
	}
}

func TestHostileOwnerIsRefused(t *testing.T) {
	g := client(t, github.Config{})
	for _, owner := range []string{
		"../settings", "a%2fb", "a/b", "<script>", "-a", "a-", "a--b", "a b", "a\n", "ä", ".", "..", strings.Repeat("a", 40), "a?b", "a#b", "a\x00",
	} {
		got, err := g.ManifestURL(owner, "s")
		if got != "" || !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %s, %v", owner, got, err)
		}
		if fields := fmt.Sprint(fault.From(err).Meta["fields"]); fields != "[map[field:owner type:invalid]]" {
			t.Errorf("%q: fields are %s", owner, fields)
		}
	}
}

// approve posts a manifest as the browser does, and returns the code of the redirect.
func (s scene) approve(t *testing.T, owner string, manifest []byte) string {
	t.Helper()
	address, err := s.ManifestURL(owner, "the state")
	if err != nil {
		t.Fatal(err)
	}
	to := land(t)(browser.PostForm(address, url.Values{"manifest": {string(manifest)}}))
	if to.Query().Get("state") != "the state" || !strings.HasPrefix(to.String(), platform+"/api/auth/oauth/github/manifest/callback?") {
		t.Fatalf("leads to %s", to)
	}
	return to.Query().Get("code")
}

func TestManifestBecomesAnApp(t *testing.T) {
	s := start(t)
	for owner, kind := range map[string]string{"": "User", "acme": "Organization"} {
		app, err := s.Convert(t.Context(), s.approve(t, owner, manifestOf(t, platform)))
		if err != nil {
			t.Fatal(err)
		}
		if !app.OwnedBy(owner) || app.OwnedBy("hubot") || app.OwnerType != kind || !app.OwnedBy(strings.ToUpper(owner)) {
			t.Errorf("belongs to %s, a %s", app.Owner, app.OwnerType)
		}
		if len(app.MissingPermissions()) != 0 || app.WebhookSecret == "" || app.ClientID == "" || app.ID == 0 || len(app.Events) != 2 {
			t.Errorf("is %q, lacks %v", app.Slug, app.MissingPermissions())
		}
		if _, err := s.AppJWT(app); err != nil {
			t.Error(err)
		}
	}
}

func TestAppWithoutWebhookIsUsable(t *testing.T) {
	s := start(t)
	app, err := s.Convert(t.Context(), s.approve(t, "", bytes.Replace(manifestOf(t, platform), []byte("hook_attributes"), []byte("left_out"), 1)))
	if err != nil || app.WebhookSecret != "" {
		t.Errorf("%v, secret %q", err, app.WebhookSecret)
	}
}

func TestForeignOwnerIsSeen(t *testing.T) {
	s := start(t)
	s.fake.ConvertAs("evil-corp")
	app, err := s.Convert(t.Context(), s.approve(t, "acme", manifestOf(t, platform)))
	if err != nil || app.OwnedBy("acme") || app.Owner != "evil-corp" || app.OwnedBy("") {
		t.Errorf("%v, belongs to %s", err, app.Owner)
	}
}

func TestMissingPermissionsAreNamed(t *testing.T) {
	for want, have := range map[string]map[string]string{
		"[]":            {"emails": "read", "metadata": "read", "contents": "write", "pull_requests": "admin"},
		"[emails:read]": {"metadata": "read", "contents": "write", "pull_requests": "write"},
		"[contents:write emails:read metadata:read pull_requests:write]": {"contents": "read", "emails": "none"},
	} {
		if got := fmt.Sprint(github.App{Permissions: have}.MissingPermissions()); got != want {
			t.Errorf("%v lacks %s, want %s", have, got, want)
		}
	}
}

func TestCodeIsConvertedOnce(t *testing.T) {
	s := start(t)
	code := s.approve(t, "", manifestOf(t, platform))
	if _, err := s.Convert(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	_, err := s.Convert(t.Context(), code)
	if f := s.refused(t, err, github.ManifestFailed); !strings.Contains(f.Details, "start again") {
		t.Errorf("says %q", f.Details)
	}
}

func TestOldManifestCodeIsRefused(t *testing.T) {
	s, skew := startSkewed(t)
	code := s.approve(t, "", manifestOf(t, platform))
	skew(time.Hour + time.Second)
	_, err := s.Convert(t.Context(), code)
	s.refused(t, err, github.ManifestFailed)
}

func TestHostileManifestCodeGoesNowhere(t *testing.T) {
	s := start(t)
	for _, code := range []string{"", "../user", "a/b", "a?b", "a%2fb", "a b", "a\r\nX: y", strings.Repeat("a", 256), "ü", "..", "."} {
		_, err := s.Convert(t.Context(), code)
		s.refused(t, err, github.ManifestFailed)
	}
	if n := s.fake.Calls(); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

const conversions = "POST /app-manifests/{code}/conversions"

func TestFailedConversionIsNamed(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		fault githubtest.Fault
		want  string
	}{
		"404":          {githubtest.Status(404), github.ManifestFailed},
		"422":          {githubtest.Status(422), github.ManifestFailed},
		"401":          {githubtest.Status(401), fault.ProviderUnavailable},
		"403":          {githubtest.Status(403), fault.ProviderUnavailable},
		"500":          {githubtest.Status(500), fault.ProviderUnavailable},
		"200":          {githubtest.Raw(200, `{}`), fault.ProviderUnavailable},
		"HTML":         {githubtest.HTML(), fault.ProviderUnavailable},
		"oversized":    {githubtest.Oversized(), fault.ProviderUnavailable},
		"truncated":    {githubtest.Truncated(), fault.ProviderUnavailable},
		"redirect":     {githubtest.Redirect(s.fake.URL + "/user"), fault.ProviderUnavailable},
		"rate limited": {githubtest.Slowed(403, 30), github.RateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			s.fake.Forget()
			code := s.approve(t, "", manifestOf(t, platform))
			s.fake.FailOnce(conversions, c.fault)
			_, err := s.Convert(t.Context(), code)
			s.refused(t, err, c.want)
			if n := s.fake.Calls(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestUnusableAppIsRefused(t *testing.T) {
	s := start(t)
	good := map[string]any{
		"id": 7, "slug": "svc", "client_id": "Iv1", "client_secret": "planted", "pem": s.app.PEM,
		"html_url": s.fake.URL + "/apps/svc", "owner": map[string]any{"login": "octocat", "type": "User"}, "webhook_secret": nil,
	}
	for name, change := range map[string]map[string]any{
		"no id":               {"id": 0},
		"negative id":         {"id": -1},
		"id as text":          {"id": "7"},
		"id with exponent":    {"id": json.RawMessage("1e3")},
		"no slug":             {"slug": ""},
		"slug is a path":      {"slug": "../x"},
		"no client id":        {"client_id": ""},
		"client id with CRLF": {"client_id": "Iv1\r\nX: y"},
		"no client secret":    {"client_secret": ""},
		"null client secret":  {"client_secret": nil},
		"no key":              {"pem": ""},
		"key is text":         {"pem": "planted"},
		"key is short":        {"pem": shortKey},
		"key is elliptic":     {"pem": ellipticKey},
		"two keys":            {"pem": s.app.PEM + s.app.PEM},
		"broken key":          {"pem": strings.Replace(s.app.PEM, "A", "B", 20)},
		"other host":          {"html_url": "https://evil.example/apps/svc"},
		"host as prefix":      {"html_url": s.fake.URL + ".evil.example/apps/svc"},
		"no page":             {"html_url": ""},
		"no owner":            {"owner": nil},
		"array":               nil,
	} {
		t.Run(name, func(t *testing.T) {
			body := map[string]any{}
			for k, v := range good {
				body[k] = v
			}
			for k, v := range change {
				body[k] = v
			}
			text, err := json.Marshal(body)
			if change == nil {
				text = []byte("[1]")
			}
			if err != nil {
				t.Fatal(err)
			}
			s.fake.FailOnce(conversions, githubtest.Raw(http.StatusCreated, string(text)))
			_, err = s.Convert(t.Context(), "abc")
			s.refused(t, err, github.ManifestFailed)
			if strings.Contains(err.Error(), "planted") {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
}
