package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/mcp/mcptest"
	"svc.dev/svc/service/secret"
)

const callback = "https://platform.example/api/mcps/callback"

// journeys is a scene in which somebody can sign in to servers.
type journeys struct {
	scene
	who account.Who
	log *notepad.Pad
}

// eachJourney runs a test on both databases.
func eachJourney(t *testing.T, fn func(t *testing.T, j journeys)) {
	t.Helper()
	each(t, func(t *testing.T, s scene) {
		j := journeys{scene: s, who: s.Join(t, "ada@example.com").Who, log: &notepad.Pad{}}
		j.Servers = node(t, s.World, j.log)
		fn(t, j)
	})
}

// node is the room of one more node, by the clock of the world.
func node(t *testing.T, w *accounttest.World, log *notepad.Pad, edit ...func(*mcp.Config)) *mcp.Servers {
	t.Helper()
	return beside(t, w, append(edit, func(c *mcp.Config) {
		c.Callback, c.Now = callback, w.Clock.Now
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})...)
}

func (j journeys) traveller() *mcp.Traveller {
	return &mcp.Traveller{Who: j.who, ReturnTo: "https://agents.example/mcps"}
}

// authority has the clock of the world.
func (j journeys) authority(t *testing.T, o mcptest.Options) *mcptest.Authority {
	t.Helper()
	o.Now = j.Clock.Now
	return mcptest.NewAuthority(t, o)
}

// leave adds a server and goes to sign in to it.
func (j journeys) leave(t *testing.T, at string) mcp.Detail {
	t.Helper()
	d := j.add(t, mcp.Draft{Name: "peer", URL: at, Auth: mcp.AuthOAuth})
	d, err := j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller())
	if err != nil || d.Status != mcp.NeedsSignIn || d.SignInURL == "" {
		t.Fatalf("connect: %+v %v", d, err)
	}
	return d
}

func enter(string, bool) (context.Context, error) { return context.Background(), nil }

// back is what a browser brings back from where it was sent.
func back(to *url.URL) mcp.Back {
	q := to.Query()
	return mcp.Back{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

// signedIn adds a server, signs in to it and switches its tool on.
func (j journeys) signedIn(t *testing.T, a *mcptest.Authority, at string) mcp.Detail {
	t.Helper()
	d := j.leave(t, at)
	if _, err := j.Return(t.Context(), j.who, back(a.Visit(t, d.SignInURL)), enter); err != nil {
		t.Fatalf("return: %v", err)
	}
	return j.enable(t, d, "echo")
}

func (j journeys) get(t *testing.T, id string) mcp.Detail {
	t.Helper()
	d, err := j.Get(t.Context(), space, id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sealed is how many secrets the workspace has, and consents there are.
func (j journeys) sealed(t *testing.T) (secrets int, consents int64) {
	t.Helper()
	all, err := j.Store.List(t.Context(), secret.Owner{Kind: secret.Business, Scope: space})
	if err != nil {
		t.Fatal(err)
	}
	return len(all), j.Count(t, "SELECT count(*) FROM mcp_consents")
}

// clean looks for tokens where none may be: in the tables of the room, in the states, in what is told and in the log.
func (j journeys) clean(t *testing.T, a *mcptest.Authority) {
	t.Helper()
	all := []string{j.log.String(), j.Dump(t)}
	err := j.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		for _, statement := range []string{"SELECT url || reason || omitted FROM mcp_servers", "SELECT issuer || token_endpoint || resource FROM mcp_consents", "SELECT changes FROM audit_events"} {
			lines, err := sqldb.Collect(tx, sqldb.Column[string], statement)
			if err != nil {
				return err
			}
			all = append(all, lines...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range a.Secrets() {
		if strings.Contains(strings.Join(all, "\n"), text) {
			t.Errorf("%s is in clear", text[:12])
		}
	}
}

func TestSomebodySignsInAndAgentsCallTheTools(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := j.authority(t, mcptest.Options{})
		s := mcptest.NewServer(t, a, mcptest.ByHeader)
		d := j.leave(t, s.Address())
		to, err := url.Parse(d.SignInURL)
		if err != nil {
			t.Fatal(err)
		}
		q := to.Query()
		for name, want := range map[string]string{
			"response_type": "code", "redirect_uri": callback, "resource": s.Address(), "code_challenge_method": "S256", "scope": "tools offline_access",
		} {
			if q.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, q.Get(name), want)
			}
		}
		if len(q.Get("state")) < 43 || len(q.Get("code_challenge")) < 43 {
			t.Errorf("guessable: %s", to)
		}
		out, err := j.Return(t.Context(), j.who, back(a.Visit(t, d.SignInURL)), enter)
		if err != nil || out.Denied || out.ReturnTo != "https://agents.example/mcps" {
			t.Fatalf("return: %+v %v", out, err)
		}
		if d = j.get(t, d.ID); d.Status != mcp.OK || !d.TokenPresent || d.ToolCount != 1 || d.SignInURL != "" {
			t.Errorf("signed in: %+v", d)
		}
		j.enable(t, d, "echo")
		if got, err := use(t, j.Servers, "peer"); err != nil || got.Content[0].Text != `echo {"text":"hi"}` {
			t.Errorf("call: %+v %v", got, err)
		}
		asked := a.Asked("authorization_code")
		if len(asked) != 1 || asked[0].Get("resource") != s.Address() || asked[0].Get("redirect_uri") != callback {
			t.Errorf("asked for tokens: %v", asked)
		}
		want := []string{"mcp.tool_enabled", "mcp.tools_listed", "mcp.signed_in", "mcp.created"}
		if got := j.acts(t); !slices.Equal(got, want) {
			t.Errorf("told: %v, want %v", got, want)
		}
		j.clean(t, a)
	})
}

func TestAuthorizationServersAreFoundInEveryForm(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, c := range map[string]struct {
			by mcptest.Resource
			o  mcptest.Options
		}{
			"named by the header":       {mcptest.ByHeader, mcptest.Options{}},
			"at the path":               {mcptest.ByPath, mcptest.Options{}},
			"at the root":               {mcptest.ByRoot, mcptest.Options{}},
			"its own, as before":        {mcptest.ByNone, mcptest.Options{}},
			"a path, inserted":          {mcptest.ByHeader, mcptest.Options{Path: "/tenant/one"}},
			"OpenID":                    {mcptest.ByHeader, mcptest.Options{Metadata: []string{"openid"}}},
			"OpenID, a path, inserted":  {mcptest.ByHeader, mcptest.Options{Path: "/tenant", Metadata: []string{"openid"}}},
			"OpenID, a path, appended":  {mcptest.ByHeader, mcptest.Options{Path: "/tenant", Metadata: []string{"appended"}}},
			"a client without a secret": {mcptest.ByHeader, mcptest.Options{Method: "none"}},
			"a secret in the form":      {mcptest.ByHeader, mcptest.Options{Method: "client_secret_post"}},
			"that does not say who":     {mcptest.ByHeader, mcptest.Options{Silent: true}},
		} {
			t.Run(name, func(t *testing.T) {
				a := j.authority(t, c.o)
				d := j.signedIn(t, a, mcptest.NewServer(t, a, c.by).Address())
				if d.Status != mcp.OK {
					t.Errorf("signed in: %+v", d)
				}
				j.Clock.Pass(2 * time.Hour)
				if _, err := use(t, j.Servers, "peer"); err != nil {
					t.Errorf("call after the token ended: %v", err)
				}
				if asked := a.Asked("refresh_token"); len(asked) != 1 || asked[0].Get("resource") == "" {
					t.Errorf("renewed: %v", asked)
				}
				check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
			})
		}
	})
}

func TestAServerThatWantsNobodyIsConnectedAtOnce(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		d := j.add(t, mcp.Draft{Name: "peer", URL: newPeer(t, "").URL, Auth: mcp.AuthOAuth})
		d, err := j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller())
		if err != nil || d.Status != mcp.OK || d.SignInURL != "" || d.TokenPresent {
			t.Errorf("connected: %+v %v", d, err)
		}
	})
}

// TestWhoeverComesBackIsWhoeverLeft is a table of those who are not. The state is used up by each.
func TestWhoeverComesBackIsWhoeverLeft(t *testing.T) {
	gone := errors.New("no longer a member")
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, c := range map[string]struct {
			change func(t *testing.T, j *journeys, d mcp.Detail, b *mcp.Back)
			enter  func(string, bool) (context.Context, error)
			want   string // empty: gone
		}{
			"another state":   {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.State = secret.Random() }, want: account.InvalidState},
			"no state":        {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.State = "" }, want: account.InvalidState},
			"too late":        {change: func(_ *testing.T, j *journeys, _ mcp.Detail, _ *mcp.Back) { j.Clock.Pass(11 * time.Minute) }, want: account.InvalidState},
			"another person":  {change: func(t *testing.T, j *journeys, _ mcp.Detail, _ *mcp.Back) { j.who = j.Join(t, "eve@example.com").Who }, want: account.InvalidState},
			"another session": {change: func(_ *testing.T, j *journeys, _ mcp.Detail, _ *mcp.Back) { j.who.Session.ID = "ses_another" }, want: account.InvalidState},
			"another issuer":  {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Issuer = "https://evil.example" }, want: mcp.Unreachable},
			"no issuer":       {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Issuer = "" }, want: mcp.Unreachable},
			"an error":        {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Error = "server_error" }, want: mcp.Unreachable},
			"no code":         {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Code = "" }, want: mcp.Unreachable},
			"another code":    {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Code = "code-of-eve" }, want: mcp.Unreachable},
			"a code in lines": {change: func(_ *testing.T, _ *journeys, _ mcp.Detail, b *mcp.Back) { b.Code = "a\r\nb" }, want: mcp.Unreachable},
			"no member":       {enter: func(string, bool) (context.Context, error) { return nil, gone }},
			"a server deleted": {change: func(t *testing.T, j *journeys, d mcp.Detail, _ *mcp.Back) {
				check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
			}, want: fault.ItemNotFound},
			"a server that has another address": {change: func(t *testing.T, j *journeys, d mcp.Detail, _ *mcp.Back) {
				other := "https://other.example/mcp"
				_, err := j.Patch(t.Context(), ada, space, d.ID, 0, mcp.Edit{URL: &other})
				check(t, err)
			}, want: fault.VersionConflict},
		} {
			t.Run(name, func(t *testing.T) {
				j := j
				a := j.authority(t, mcptest.Options{})
				d := j.leave(t, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
				b, who := back(a.Visit(t, d.SignInURL)), j.who
				first, in := b, c.enter
				if c.change != nil {
					c.change(t, &j, d, &b)
				}
				if in == nil {
					in = enter
				}
				out, err := j.Return(t.Context(), j.who, b, in)
				if c.want == "" && !errors.Is(err, gone) || c.want != "" && !fault.Is(err, c.want) || out != (mcp.Returned{}) {
					t.Errorf("got %+v %v, want %s", out, err, c.want)
				}
				if secrets, consents := j.sealed(t); secrets != 0 || consents != 0 {
					t.Errorf("%d secrets, %d consents", secrets, consents)
				}
				if b.State == first.State {
					_, err = j.Return(t.Context(), who, first, enter)
					wants(t, err, account.InvalidState)
				}
				if err := j.Delete(t.Context(), ada, space, d.ID, 0); err != nil {
					wants(t, err, fault.ItemNotFound)
				}
			})
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAReturnCountsOnceAndNoIsAnAnswer(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := j.authority(t, mcptest.Options{})
		d := j.leave(t, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
		a.Deny(true)
		out, err := j.Return(t.Context(), j.who, back(a.Visit(t, d.SignInURL)), enter)
		if err != nil || !out.Denied || out.ReturnTo == "" || j.get(t, d.ID).Status != mcp.NeedsSignIn {
			t.Errorf("denied: %+v %v", out, err)
		}
		a.Deny(false)
		d, err = j.Connect(t.Context(), ada, space, d.ID, 0, j.traveller())
		check(t, err)
		b := back(a.Visit(t, d.SignInURL))
		_, err = j.Return(t.Context(), j.who, b, enter)
		check(t, err)
		_, err = j.Return(t.Context(), j.who, b, enter)
		wants(t, err, account.InvalidState)
		if d := j.get(t, d.ID); d.Status != mcp.OK {
			t.Errorf("after a replay: %+v", d)
		}
	})
}

func TestWhatChangesAServerEndsItsSignIn(t *testing.T) {
	other, none, bearer, token := "https://other.example/mcp", mcp.AuthNone, mcp.AuthBearer, "a-bearers-token"
	eachJourney(t, func(t *testing.T, j journeys) {
		for name, c := range map[string]struct {
			edit    *mcp.Edit // nil: it is deleted
			secrets int
		}{
			"another address": {edit: &mcp.Edit{URL: &other}}, "no credential": {edit: &mcp.Edit{Auth: &none}},
			"another credential": {&mcp.Edit{Auth: &bearer, Token: &token}, 1}, "deleted": {},
		} {
			t.Run(name, func(t *testing.T) {
				a := j.authority(t, mcptest.Options{})
				d := j.signedIn(t, a, mcptest.NewServer(t, a, mcptest.ByHeader).Address())
				if secrets, consents := j.sealed(t); secrets != 1 || consents != 1 {
					t.Fatalf("%d secrets, %d consents", secrets, consents)
				}
				if c.edit == nil {
					check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
				} else if after, err := j.Patch(t.Context(), ada, space, d.ID, 0, *c.edit); err != nil || after.TokenPresent != (c.secrets == 1) || after.Status != mcp.Connecting {
					t.Errorf("changed: %+v %v", after, err)
				}
				if secrets, consents := j.sealed(t); secrets != c.secrets || consents != 0 {
					t.Errorf("%d secrets, %d consents", secrets, consents)
				}
				if c.edit != nil {
					check(t, j.Delete(t.Context(), ada, space, d.ID, 0))
				}
			})
		}
	})
}

func TestATokenIsNothingThatSomebodyGivesWhereTheySignIn(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		_, err := j.Create(t.Context(), ada, space, mcp.Draft{Name: "a", URL: "https://x.example", Auth: mcp.AuthOAuth, Token: "t"})
		wants(t, err, fault.InvalidRequest)
		_, err = j.Create(t.Context(), ada, space, mcp.Draft{Name: "a", URL: "http://x.example", Auth: mcp.AuthOAuth})
		wants(t, err, fault.InvalidRequest)
		nowhere := beside(t, j.World)
		_, err = nowhere.Create(t.Context(), ada, space, mcp.Draft{Name: "a", URL: "https://x.example", Auth: mcp.AuthOAuth})
		wants(t, err, fault.InvalidRequest)
	})
}
