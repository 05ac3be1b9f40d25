package github_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

const tokenRoute = "POST /login/oauth/access_token"

func TestPersonSignsIn(t *testing.T) {
	now := time.Unix(1790000000, 0)
	s := start(t, githubtest.WithClock(func() time.Time { return now }))
	s.Client = client(t, github.Config{URL: s.fake.URL, APIURL: s.fake.URL, Now: func() time.Time { return now }})
	address := s.AuthorizeURL(s.app, callback, "the state", challengeOf(verifier), true)
	q := mustParse(t, address).Query()
	if q.Has("scope") || q.Get("code_challenge_method") != "S256" || q.Get("prompt") != "select_account" || q.Get("client_id") != s.app.ClientID {
		t.Errorf("asks %v", q)
	}
	to := visit(t, address)
	if to.Query().Get("state") != "the state" {
		t.Fatalf("leads to %s", to)
	}
	tokens, err := s.Exchange(t.Context(), s.app, to.Query().Get("code"), callback, verifier)
	if err != nil {
		t.Fatal(err)
	}
	if !tokens.Expires.Equal(now.Add(8*time.Hour)) || !tokens.RefreshExpires.Equal(now.Add(15897600*time.Second)) || tokens.Refresh == "" {
		t.Errorf("expires %v, refresh %v", tokens.Expires, tokens.RefreshExpires)
	}
	user, err := s.User(t.Context(), tokens.Access)
	if err != nil || user.ID != 583231 || user.Login != "octocat" || user.Name != "Mona Lisa Octocat" || user.Email != "octocat@example.com" || user.Subject() != "583231" {
		t.Errorf("%+v, %v", user, err)
	}
}

func TestTokensMayNeverExpire(t *testing.T) {
	s := start(t)
	s.fake.ExpireTokens(false)
	tokens := s.signIn(t, 583231)
	if !tokens.Expires.IsZero() || tokens.Refresh != "" || !tokens.RefreshExpires.IsZero() {
		t.Errorf("expires %v, refresh %v", tokens.Expires, tokens.RefreshExpires)
	}
}

func TestRefreshKillsTheOldPair(t *testing.T) {
	s := start(t)
	old := s.signIn(t, 583231)
	fresh, err := s.Refresh(t.Context(), s.app, old.Refresh)
	if err != nil || fresh.Access == old.Access || fresh.Refresh == old.Refresh || fresh.Refresh == "" {
		t.Fatalf("the same: %v", err)
	}
	if _, err := s.User(t.Context(), fresh.Access); err != nil {
		t.Error(err)
	}
	_, err = s.User(t.Context(), old.Access)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrUnauthorized) {
		t.Errorf("old token: %v", err)
	}
	_, err = s.Refresh(t.Context(), s.app, old.Refresh)
	if s.refused(t, err, github.ExchangeFailed); !errors.Is(err, github.BadRefreshToken) {
		t.Errorf("old refresh token: %v", err)
	}
}

func TestRefreshIntoTokensThatStay(t *testing.T) {
	s := start(t)
	old := s.signIn(t, 583231)
	s.fake.ExpireTokens(false)
	fresh, err := s.Refresh(t.Context(), s.app, old.Refresh)
	if err != nil || fresh.Refresh != "" || !fresh.Expires.IsZero() {
		t.Errorf("%v, expires %v", err, fresh.Expires)
	}
}

func TestExchangeFailureIsNamed(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		fault githubtest.Fault
		want  string
		cause error
	}{
		"error in a 200":      {githubtest.Raw(200, `{"error":"bad_verification_code","error_description":"ghu_planted"}`), github.ExchangeFailed, github.BadVerificationCode},
		"wrong credentials":   {githubtest.Raw(200, `{"error":"incorrect_client_credentials"}`), github.ExchangeFailed, github.BadCredentials},
		"error we don't know": {githubtest.Raw(200, `{"error":"ghu_planted","error_description":"ghu_planted"}`), github.ExchangeFailed, github.Refused},
		"error beside token":  {githubtest.Raw(200, `{"access_token":"ghu_x","token_type":"bearer","error":"bad_verification_code"}`), github.ExchangeFailed, nil},
		"error in a 400":      {githubtest.Raw(400, `{"error":"redirect_uri_mismatch"}`), github.ExchangeFailed, github.RedirectMismatch},
		"unverified":          {githubtest.Raw(200, `{"error":"unverified_user_email"}`), github.EmailUnverified, github.UnverifiedEmail},
		"empty access token":  {githubtest.Raw(200, `{"access_token":"","token_type":"bearer"}`), github.ExchangeFailed, nil},
		"null access token":   {githubtest.Raw(200, `{"access_token":null,"token_type":"bearer"}`), github.ExchangeFailed, nil},
		"number for a token":  {githubtest.Raw(200, `{"access_token":7,"token_type":"bearer"}`), github.ExchangeFailed, nil},
		"token with a space":  {githubtest.Raw(200, `{"access_token":"ghu_a b","token_type":"bearer"}`), github.ExchangeFailed, nil},
		"token with CRLF":     {githubtest.Raw(200, `{"access_token":"ghu_a\r\nX: y","token_type":"bearer"}`), github.ExchangeFailed, nil},
		"token too long":      {githubtest.Raw(200, `{"access_token":"`+strings.Repeat("a", 4097)+`","token_type":"bearer"}`), github.ExchangeFailed, nil},
		"refresh too long":    {githubtest.Raw(200, `{"access_token":"a","token_type":"bearer","refresh_token":"`+strings.Repeat("a", 4097)+`"}`), github.ExchangeFailed, nil},
		"token of a kind":     {githubtest.Raw(200, `{"access_token":"ghu_x","token_type":"mac"}`), github.ExchangeFailed, nil},
		"empty object":        {githubtest.Raw(200, `{}`), github.ExchangeFailed, nil},
		"array":               {githubtest.Raw(200, `["access_token"]`), github.ExchangeFailed, nil},
		"null":                {githubtest.Raw(200, `null`), github.ExchangeFailed, nil},
		"two objects":         {githubtest.Raw(200, `{"access_token":"a"}{"access_token":"b"}`), github.ExchangeFailed, nil},
		"nothing":             {githubtest.Raw(200, ``), github.ExchangeFailed, nil},
		"HTML":                {githubtest.HTML(), github.ExchangeFailed, nil},
		"oversized":           {githubtest.Oversized(), github.ExchangeFailed, nil},
		"truncated":           {githubtest.Truncated(), github.ExchangeFailed, nil},
		"401":                 {githubtest.Status(401), github.ExchangeFailed, nil},
		"403":                 {githubtest.Status(403), github.ExchangeFailed, nil},
		"404":                 {githubtest.Status(404), github.ExchangeFailed, nil},
		"500":                 {githubtest.Status(500), github.ExchangeFailed, nil},
		"503":                 {githubtest.Status(503), github.ExchangeFailed, nil},
		"429":                 {githubtest.Slowed(429, 7), github.RateLimited, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s.fake.Forget()
			s.fake.FailOnce(tokenRoute, c.fault)
			_, err := s.Exchange(t.Context(), s.app, s.code(583231), callback, verifier)
			s.refused(t, err, c.want)
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("caused by %v", err)
			}
			if n := s.fake.Calls(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestRefreshFailureIsNamed(t *testing.T) {
	s := start(t)
	for name, f := range map[string]githubtest.Fault{
		"error in a 200": githubtest.Raw(200, `{"error":"bad_refresh_token"}`), "500": githubtest.Status(500), "HTML": githubtest.HTML(),
		"empty": githubtest.Raw(200, `{"access_token":""}`), "redirect": githubtest.Redirect(s.fake.URL),
	} {
		s.fake.FailOnce(tokenRoute, f)
		_, err := s.Refresh(t.Context(), s.app, "ghr_planted")
		s.refused(t, err, github.ExchangeFailed)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	calls := s.fake.Calls()
	for _, token := range []string{"", "a b", "a\r\nb", strings.Repeat("a", 4097)} {
		_, err := s.Refresh(t.Context(), s.app, token)
		s.refused(t, err, github.ExchangeFailed)
	}
	if s.fake.Calls() != calls {
		t.Error("what is no token was sent")
	}
}

func TestCredentialsThatAreWrongFail(t *testing.T) {
	s := start(t)
	stranger, thief := s.app, s.app
	stranger.ClientID = "Iv1.unknown"
	thief.ClientSecret = "planted"
	for _, c := range []struct {
		app                      github.App
		code, redirect, verifier string
		cause                    error
	}{
		{stranger, s.code(583231), callback, verifier, nil},
		{thief, s.code(583231), callback, verifier, github.BadCredentials},
		{s.app, "unknown", callback, verifier, github.BadVerificationCode},
		{s.app, s.code(583231), platform + "/elsewhere", verifier, github.RedirectMismatch},
		{s.app, s.code(583231), callback, "another verifier", github.BadVerificationCode},
		{s.app, s.code(583231), callback, "", github.BadVerificationCode},
		{s.app, s.fake.Code(s.app.ClientID, 583231, callback, ""), callback, verifier, github.BadVerificationCode},
	} {
		_, err := s.Exchange(t.Context(), c.app, c.code, c.redirect, c.verifier)
		s.refused(t, err, github.ExchangeFailed)
		if c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%v, want %v", err, c.cause)
		}
	}
}

func TestCodeIsExchangedOnce(t *testing.T) {
	s := start(t)
	code := s.code(583231)
	if _, err := s.Exchange(t.Context(), s.app, code, callback, verifier); err != nil {
		t.Fatal(err)
	}
	_, err := s.Exchange(t.Context(), s.app, code, callback, verifier)
	s.refused(t, err, github.ExchangeFailed)
}

// An attacker consents in their own browser and slips the code into the victim's: the verifier is another's.
func TestInjectedCodeFailsByPKCE(t *testing.T) {
	s := start(t)
	attackers := s.fake.Code(s.app.ClientID, 480938, callback, challengeOf("the verifier that the attacker was given, 43 characters"))
	_, err := s.Exchange(t.Context(), s.app, attackers, callback, verifier)
	if s.refused(t, err, github.ExchangeFailed); !errors.Is(err, github.BadVerificationCode) {
		t.Error(err)
	}
}

func TestOldCodeIsRefused(t *testing.T) {
	s, skew := startSkewed(t)
	code := s.code(583231)
	skew(10*time.Minute + time.Second)
	_, err := s.Exchange(t.Context(), s.app, code, callback, verifier)
	s.refused(t, err, github.ExchangeFailed)
}

// A token request that is sent elsewhere would carry the client secret there.
func TestRedirectIsNeverFollowed(t *testing.T) {
	var heard atomic.Int32
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"access_token":"ghu_evil","token_type":"bearer","id":1,"login":"evil"}`))
	}))
	defer attacker.Close()
	s := start(t)
	tokens := s.signIn(t, 583231)
	elsewhere := githubtest.Redirect(attacker.URL)
	for _, route := range []string{tokenRoute, conversions, "GET /user", "GET /user/emails", "GET /user/installations"} {
		s.fake.Fail(route, elsewhere)
	}
	_, err := s.Exchange(t.Context(), s.app, s.code(583231), callback, verifier)
	s.refused(t, err, github.ExchangeFailed)
	_, err = s.Refresh(t.Context(), s.app, tokens.Refresh)
	s.refused(t, err, github.ExchangeFailed)
	_, err = s.Convert(t.Context(), "abc")
	s.refused(t, err, fault.ProviderUnavailable)
	_, err = s.User(t.Context(), tokens.Access)
	s.refused(t, err, fault.ProviderUnavailable)
	_, err = s.Emails(t.Context(), tokens.Access)
	s.refused(t, err, fault.ProviderUnavailable)
	_, err = s.UserInstallation(t.Context(), s.app, tokens.Access, 1)
	s.refused(t, err, fault.ProviderUnavailable)
	if heard.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestSlowAnswerIsNotAwaited(t *testing.T) {
	s := start(t)
	tokens := s.signIn(t, 583231)
	s.Client = client(t, github.Config{URL: s.fake.URL, APIURL: s.fake.URL, Timeout: 50 * time.Millisecond})
	for _, route := range []string{tokenRoute, conversions, "GET /user"} {
		s.fake.Fail(route, githubtest.Slow(time.Minute))
	}
	began := time.Now()
	_, err := s.Exchange(t.Context(), s.app, s.code(583231), callback, verifier)
	s.refused(t, err, github.ExchangeFailed)
	_, err = s.Convert(t.Context(), "abc")
	s.refused(t, err, fault.ProviderUnavailable)
	_, err = s.User(t.Context(), tokens.Access)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if time.Since(began) > 20*time.Second {
		t.Error("it was awaited")
	}
}

func TestCallerWhoLeavesIsNotServed(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.User(ctx, "ghu_planted")
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err = s.Exchange(ctx, s.app, "planted-code", callback, verifier)
	if s.refused(t, err, github.ExchangeFailed); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "planted") {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	s := start(t)
	s.Client = client(t, github.Config{URL: address, APIURL: address})
	_, err = s.Convert(t.Context(), "plantedcode")
	if s.refused(t, err, fault.ProviderUnavailable); strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

// A server can answer with what it was told.
func TestEchoIsNotRepeated(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			conn.Write([]byte("HTTP/1.1 ghu_planted plantedcode\r\n\r\n"))
			conn.Close()
		}
	}()
	s := start(t)
	s.Client = client(t, github.Config{URL: "http://" + l.Addr().String(), APIURL: "http://" + l.Addr().String()})
	_, err = s.Convert(t.Context(), "plantedcode")
	s.refused(t, err, fault.ProviderUnavailable)
	_, exchanged := s.Exchange(t.Context(), s.app, "plantedcode", callback, verifier)
	s.refused(t, exchanged, github.ExchangeFailed)
	_, read := s.User(t.Context(), "ghu_planted")
	s.refused(t, read, fault.ProviderUnavailable)
	if text := fmt.Sprint(err, exchanged, read); strings.Contains(text, "planted") {
		t.Error(text)
	}
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
