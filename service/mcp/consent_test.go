package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/mcp/mcptest"
	client "svc.dev/svc/tool/mcp"
)

// takes is how long an authorization server thinks.
func takes(d time.Duration) { time.Sleep(d) }

// TestManyWhoNeedATokenRenewItOnce has twenty people on two nodes call a tool when its token has ended: by the clock, or because the
// server no longer takes it. The authority ends the sign-in of whoever shows a refresh token twice.
func TestManyWhoNeedATokenRenewItOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w := accounttest.New(t, address, accounttest.Options{})
		check(t, w.DB.Migrate(t.Context(), mcp.Migrations))
		j := journeys{scene: scene{nil, w}, who: w.Join(t, "ada@example.com").Who, log: &notepad.Pad{}}
		j.Servers = node(t, w, j.log)
		nodes := []*mcp.Servers{j.Servers, node(t, accounttest.New(t, address, accounttest.Options{Beside: w}), j.log)}
		a := j.authority(t, mcptest.Options{Thinks: func() { takes(30 * time.Millisecond) }})
		s := mcptest.NewServer(t, a, mcptest.ByHeader)
		d := j.signedIn(t, a, s.Address())
		for round, end := range []func(){func() { j.Clock.Pass(2 * time.Hour) }, a.EndAccess, func() { j.Clock.Pass(2 * time.Hour) }} {
			end()
			before, calls := len(a.Asked("refresh_token")), s.Calls.Load()
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if _, err := use(t, nodes[i%2], "peer"); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			all.Wait()
			if n := len(a.Asked("refresh_token")) - before; n != 1 || s.Calls.Load()-calls != 20 {
				t.Errorf("round %d: renewed %d times, %d calls", round, n, s.Calls.Load()-calls)
			}
		}
		if d := j.get(t, d.ID); d.Status != mcp.OK {
			t.Errorf("after all: %+v", d.Server)
		}
		j.clean(t, a)
	})
}

func TestASignInThatIsNotRenewedHasToBeMadeAgain(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := j.authority(t, mcptest.Options{})
		s := mcptest.NewServer(t, a, mcptest.ByHeader)
		d := j.signedIn(t, a, s.Address())
		if _, err := use(t, j.Servers, "peer"); err != nil {
			t.Fatal(err)
		}
		a.Revoke()
		_, err := use(t, j.Servers, "peer")
		wants(t, err, client.Unauthorized)
		if d = j.get(t, d.ID); d.Status != mcp.NeedsSignIn || !strings.Contains(d.Reason, "does not renew it") || d.TokenPresent {
			t.Errorf("kept: %+v", d.Server)
		}
		if secrets, consents := j.sealed(t); secrets != 0 || consents != 0 {
			t.Errorf("%d secrets, %d consents", secrets, consents)
		}
		if got := j.acts(t)[0]; got != "mcp.sign_in_ended" {
			t.Errorf("told: %s", got)
		}
		asked := len(a.Asked("refresh_token"))
		_, err = use(t, j.Servers, "peer")
		wants(t, err, client.Unauthorized)
		if tested, err := j.Test(t.Context(), space, d.ID); err != nil || tested.Result != mcp.NeedsSignIn {
			t.Errorf("tested: %+v %v", tested, err)
		}
		if again := j.get(t, d.ID); again.Reason != d.Reason || len(a.Asked("refresh_token")) != asked {
			t.Errorf("asked again, or worded anew: %s", again.Reason)
		}
		d, err = j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller())
		check(t, err)
		if _, err := j.Return(t.Context(), j.who, back(a.Visit(t, d.SignInURL)), enter); err != nil {
			t.Fatal(err)
		}
		if _, err := use(t, j.Servers, "peer"); err != nil {
			t.Errorf("signed in again: %v", err)
		}
	})
}

func TestATokenThatIsRefusedWhenItIsNewIsNotRenewedAgain(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := j.authority(t, mcptest.Options{})
		s := mcptest.NewServer(t, a, mcptest.ByHeader)
		d := j.signedIn(t, a, s.Address())
		s.Shut.Store(true)
		_, err := use(t, j.Servers, "peer")
		wants(t, err, client.Unauthorized)
		if d = j.get(t, d.ID); d.Status != mcp.NeedsSignIn || d.Reason == "" {
			t.Errorf("kept: %+v", d.Server)
		}
		asked := len(a.Asked("refresh_token"))
		_, err = use(t, j.Servers, "peer")
		wants(t, err, client.Unauthorized)
		if n := len(a.Asked("refresh_token")); n != asked {
			t.Errorf("renewed %d times more", n-asked)
		}
		s.Shut.Store(false)
		if d, err = j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller()); err != nil || d.Status != mcp.OK {
			t.Errorf("let in again: %+v %v", d.Server, err)
		}
	})
}

func TestAnAuthorizationServerThatIsDownEndsNoSignIn(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := j.authority(t, mcptest.Options{})
		d := j.signedIn(t, a, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
		j.Clock.Pass(2 * time.Hour)
		a.Down(true)
		_, err := use(t, j.Servers, "peer")
		wants(t, err, client.Unavailable)
		if tested, err := j.Test(t.Context(), space, d.ID); err != nil || !strings.Contains(tested.Message, "authorization server") {
			t.Errorf("tested: %+v %v", tested, err)
		}
		if d = j.get(t, d.ID); d.Status != mcp.Down || !d.TokenPresent {
			t.Errorf("kept: %+v", d.Server)
		}
		a.Down(false)
		if _, err := use(t, j.Servers, "peer"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// TestALeaseThatWasLeftBehindEnds has a node die while it renews: before the authority was asked, or after.
func TestALeaseThatWasLeftBehindEnds(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, c := range map[string]struct {
			spent bool
			want  string
		}{"before it asked": {false, mcp.OK}, "after it asked": {true, mcp.NeedsSignIn}} {
			t.Run(name, func(t *testing.T) {
				a := j.authority(t, mcptest.Options{})
				d := j.signedIn(t, a, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
				j.Clock.Pass(2 * time.Hour)
				j.Execute(t, "UPDATE mcp_consents SET lease = 'of a node that died', refreshing_until = $1", j.Clock.Now().Add(30*time.Second).UnixMilli())
				if c.spent {
					a.Spend()
				}
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				if _, err := j.Test(ctx, space, d.ID); err == nil || len(a.Asked("refresh_token")) != 0 {
					t.Errorf("the lease was not waited for: %v", err)
				}
				j.Clock.Pass(time.Minute)
				// The process has begun anew.
				if _, err := node(t, j.World, j.log).Test(t.Context(), space, d.ID); err != nil {
					t.Error(err)
				}
				if got := j.get(t, d.ID); got.Status != c.want || len(a.Asked("refresh_token")) != 1 {
					t.Errorf("kept: %+v", got.Server)
				}
				check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
			})
		}
	})
}

// TestATokenIsKeptThoughNobodyWaitsForIt has the one who wants it give up while the authority thinks.
func TestATokenIsKeptThoughNobodyWaitsForIt(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		var stop context.CancelFunc
		a := j.authority(t, mcptest.Options{Thinks: func() {
			if stop != nil {
				stop()
			}
		}})
		d := j.signedIn(t, a, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
		j.Clock.Pass(2 * time.Hour)
		var ctx context.Context
		ctx, stop = context.WithCancel(t.Context())
		_, _ = j.Test(ctx, space, d.ID)
		stop = nil
		if _, err := use(t, j.Servers, "peer"); err != nil || len(a.Asked("refresh_token")) != 1 {
			t.Errorf("%v, renewed %d times", err, len(a.Asked("refresh_token")))
		}
	})
}

// endless never ends what it says.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(strings.Repeat(" ", 4096))); err != nil {
			return
		}
	}
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

func leads(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

// with is a document with a field that is otherwise.
func with(field string, value any) func(map[string]any) {
	return func(m map[string]any) { m[field] = value }
}

func without(field string) func(map[string]any) { return func(m map[string]any) { delete(m, field) } }

const metadata = "/.well-known/oauth-authorization-server"

// TestAHostileAuthorizationServerSendsNobodyAway is a table of those to which no browser is sent.
func TestAHostileAuthorizationServerSendsNobodyAway(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, c := range map[string]struct {
			o    mcptest.Options
			said string
		}{
			"huge metadata":               {mcptest.Options{Instead: map[string]http.HandlerFunc{metadata: says(200, `{"issuer":"`+strings.Repeat("x", 2<<20)+`"}`)}}, "cannot be used"},
			"endless metadata":            {mcptest.Options{Instead: map[string]http.HandlerFunc{metadata: endless}}, "cannot be used"},
			"no metadata":                 {mcptest.Options{Metadata: []string{}}, "no metadata"},
			"metadata of another type":    {mcptest.Options{Instead: map[string]http.HandlerFunc{metadata: says(200, `[]`)}}, "cannot be used"},
			"metadata elsewhere":          {mcptest.Options{Instead: map[string]http.HandlerFunc{metadata: leads("http://169.254.169.254/latest")}}, "does not go"},
			"another issuer":              {mcptest.Options{Edit: with("issuer", "https://evil.example")}, "another issuer"},
			"no PKCE":                     {mcptest.Options{Edit: without("code_challenge_methods_supported")}, "PKCE"},
			"plain PKCE":                  {mcptest.Options{Edit: with("code_challenge_methods_supported", []string{"plain"})}, "S256"},
			"a script":                    {mcptest.Options{Edit: with("authorization_endpoint", "javascript:alert(1)")}, "cannot be used"},
			"a page in clear":             {mcptest.Options{Edit: with("authorization_endpoint", "http://x.example/authorize")}, "cannot be used"},
			"a page of nobody":            {mcptest.Options{Edit: without("authorization_endpoint")}, "does not go"},
			"a page with a fragment":      {mcptest.Options{Edit: with("authorization_endpoint", "https://x.example/#a")}, "does not go"},
			"a page with a user":          {mcptest.Options{Edit: with("authorization_endpoint", "https://ada@x.example/")}, "does not go"},
			"tokens of a private address": {mcptest.Options{Edit: with("token_endpoint", "https://10.0.0.1/token")}, "cannot be used"},
			"tokens of the metadata":      {mcptest.Options{Edit: with("token_endpoint", "https://[::ffff:169.254.169.254]/token")}, "cannot be used"},
			"tokens of another loopback":  {mcptest.Options{Edit: with("token_endpoint", "http://127.0.0.2:1/token")}, "does not go"},
			"no tokens":                   {mcptest.Options{Edit: without("token_endpoint")}, "does not go"},
			"registers nobody":            {mcptest.Options{Edit: without("registration_endpoint")}, "registers no clients"},
			"registers elsewhere":         {mcptest.Options{Edit: with("registration_endpoint", "http://127.0.0.2:1/register")}, "does not go"},
			"refuses to register":         {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": says(400, `{"error":"invalid_redirect_uri","error_description":"never-say-this"}`)}}, "client"},
			"leads registrations away":    {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": leads("http://169.254.169.254/")}}, "client"},
			"endless registration":        {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": endless}}, "client"},
			"a client in lines":           {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": says(201, `{"client_id":"a\r\nb"}`)}}, "client"},
			"a client of somebody else":   {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": says(201, `{"client_id":"a","redirect_uris":["https://evil.example"]}`)}}, "client"},
			"a client with a key":         {mcptest.Options{Instead: map[string]http.HandlerFunc{"/register": says(201, `{"client_id":"a","token_endpoint_auth_method":"private_key_jwt"}`)}}, "client"},
		} {
			t.Run(name, func(t *testing.T) {
				a := j.authority(t, c.o)
				d := j.add(t, mcp.Draft{Name: "peer", URL: mcptest.NewServer(t, a, mcptest.ByHeader).Address(), Auth: mcp.AuthOAuth})
				got, err := j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller())
				wants(t, err, mcp.Unreachable)
				if got.SignInURL != "" {
					t.Errorf("a browser is sent to %s", got.SignInURL)
				}
				if got = j.get(t, d.ID); got.Status != mcp.NeedsSignIn || !strings.Contains(got.Reason, c.said) || strings.Contains(got.Reason, "never-say-this") {
					t.Errorf("said: %s", got.Reason)
				}
				check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
			})
		}
		if strings.Contains(j.log.String(), "never-say-this") {
			t.Error("the log has what a registration was answered with")
		}
	})
}

// TestAHostileAnswerGivesNoToken is a table of answers to somebody who came back.
func TestAHostileAnswerGivesNoToken(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, answer := range map[string]http.HandlerFunc{
			"leads away":           leads("http://169.254.169.254/latest"),
			"endless":              endless,
			"nothing":              says(200, ``),
			"no token":             says(200, `{"token_type":"Bearer"}`),
			"a token in lines":     says(200, `{"access_token":"planted-secret\r\nX: y","token_type":"Bearer"}`),
			"a token that is huge": says(200, `{"access_token":"`+strings.Repeat("x", 9<<10)+`","token_type":"Bearer"}`),
			"another kind":         says(200, `{"access_token":"planted-secret","token_type":"mac"}`),
			"a renewal in lines":   says(200, `{"access_token":"planted-secret","token_type":"Bearer","refresh_token":"planted\u0000secret"}`),
			"an error with a text": says(400, `{"error":"invalid_grant","error_description":"planted-secret"}`),
			"an error of nobody":   says(500, `planted-secret`),
		} {
			t.Run(name, func(t *testing.T) {
				a := j.authority(t, mcptest.Options{Instead: map[string]http.HandlerFunc{"/token": answer}})
				d := j.leave(t, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
				_, err := j.Return(t.Context(), j.who, back(a.Visit(t, d.SignInURL)), enter)
				wants(t, err, mcp.Unreachable)
				if secrets, _ := j.sealed(t); secrets != 0 || err != nil && strings.Contains(err.Error(), "planted") {
					t.Errorf("%d secrets, %v", secrets, err)
				}
				check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
			})
		}
		if strings.Contains(j.log.String(), "planted") {
			t.Error("the log has what a request for tokens was answered with")
		}
	})
}
