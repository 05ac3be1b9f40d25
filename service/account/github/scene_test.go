package github_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

const (
	platform = "https://platform.example.com"
	callback = platform + "/api/auth/oauth/github/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// scene is a GitHub with an app on it, and our client.
type scene struct {
	*github.Client
	fake *githubtest.Server
	app  github.App
}

func start(t *testing.T, options ...githubtest.Option) scene {
	t.Helper()
	fake := githubtest.New(t, options...)
	app, err := fake.AddApp(manifestOf(t, platform))
	if err != nil {
		t.Fatal(err)
	}
	return scene{client(t, github.Config{URL: fake.URL, APIURL: fake.URL}), fake, github.App(app)}
}

// startSkewed is a scene whose GitHub has another clock, and what sets that apart from ours.
func startSkewed(t *testing.T) (scene, func(time.Duration)) {
	t.Helper()
	var skew atomic.Int64
	s := start(t, githubtest.WithClock(func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }))
	return s, func(d time.Duration) { skew.Store(int64(d)) }
}

func client(t *testing.T, c github.Config) *github.Client {
	t.Helper()
	made, err := github.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func manifestOf(t *testing.T, address string) []byte {
	t.Helper()
	m, err := github.Manifest("svc", address)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// code is one that the person's consent gave to our verifier.
func (s scene) code(user int64) string {
	return s.fake.Code(s.app.ClientID, user, callback, challengeOf(verifier))
}

// signIn is a person's tokens.
func (s scene) signIn(t *testing.T, user int64) github.Tokens {
	t.Helper()
	tokens, err := s.Exchange(t.Context(), s.app, s.code(user), callback, verifier)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// refused checks the type of a failure, and that its text tells no secret of the scene.
func (s scene) refused(t *testing.T, err error, typ string) *fault.Error {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Fatalf("failed with %v, want %s", err, typ)
	}
	s.tellsNothing(t, err.Error())
	return fault.From(err)
}

// tellsNothing looks for every secret that went over the wire.
func (s scene) tellsNothing(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{s.app.ClientSecret, s.app.WebhookSecret, s.app.PEM[100:140], "ghu_", "ghr_", "ghs_", "eyJ", verifier} {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("a secret is told: %s", text)
		}
	}
	for _, r := range s.fake.Journal() {
		form, _ := url.ParseQuery(r.Body)
		for _, name := range []string{"code", "refresh_token"} {
			if v := form.Get(name); v != "" && strings.Contains(text, v) {
				t.Errorf("the %s is told: %s", name, text)
			}
		}
		if code, ok := strings.CutPrefix(r.Path, "/app-manifests/"); ok && strings.Contains(text, strings.TrimSuffix(code, "/conversions")) {
			t.Errorf("the manifest code is told: %s", text)
		}
	}
}

// visit follows one link as a browser that stays where it is redirected.
func visit(t *testing.T, address string) *url.URL {
	t.Helper()
	return land(t)(browser.Get(address))
}

var browser = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// land is where an answer sends the browser.
func land(t *testing.T) func(*http.Response, error) *url.URL {
	return func(resp *http.Response, err error) *url.URL {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		to, err := resp.Location()
		if err != nil {
			t.Fatalf("answered %d and leads nowhere: %v", resp.StatusCode, err)
		}
		return to
	}
}

var errUnfit = errors.New("unfit")
