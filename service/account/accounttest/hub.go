package accounttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/audit"
)

// What the fake is asked by us.
const (
	ConvertRoute  = "POST /app-manifests/{code}/conversions"
	TokenRoute    = "POST /login/oauth/access_token"
	UserRoute     = "GET /user"
	EmailsRoute   = "GET /user/emails"
	InstallsRoute = "GET /user/installations"
)

// Hub is a world and a GitHub that knows it.
type Hub struct {
	*World
	GitHub *githubtest.Server
	Admin  account.Who
	App    int64 // of the app that was configured last
}

// NewHub opens a world beside a fake GitHub. Its administrator has just signed in, and nothing is configured.
func NewHub(t *testing.T, address string, o Options) *Hub {
	t.Helper()
	h := &Hub{}
	h.GitHub = githubtest.New(t, githubtest.WithClock(func() time.Time { return h.Clock.Now() }))
	o.GitHub = h.GitHub.URL
	h.World = New(t, address, o)
	_, err := h.Staff.CreateAdmin(t.Context(), account.Registration{Email: "root@svc.example.com", Password: Password, Username: "root-admin"})
	must(t, "create admin", err)
	in, err := h.Passwords.Login(From(t), "root@svc.example.com", Password, "")
	must(t, "login", err)
	h.Admin = in.Who
	return h
}

// Beside is another node of the same world.
func (h *Hub) Beside(t *testing.T, address string) *World {
	t.Helper()
	return New(t, address, Options{Beside: h.World, GitHub: h.GitHub.URL, Mail: h.Inbox != nil})
}

// EachHub runs a test on both databases with a GitHub that is configured.
func EachHub(t *testing.T, o Options, fn func(t *testing.T, h *Hub)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := NewHub(t, address, o)
		h.Configure(t)
		fn(t, h)
	})
}

// EachUnconfigured runs a test on both databases with a GitHub that no app was made at.
func EachUnconfigured(t *testing.T, fn func(t *testing.T, h *Hub)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) { fn(t, NewHub(t, address, Options{})) })
}

// Approve takes a manifest to GitHub, and returns what the browser brings back.
func (h *Hub) Approve(t *testing.T, form app.ManifestForm) url.Values {
	t.Helper()
	return h.Visit(t, "POST", form.Action, "octocat", url.Values{"manifest": {form.Manifest}})
}

// Configure goes the whole way of a manifest. The second time it replaces the app.
func (h *Hub) Configure(t *testing.T) {
	t.Helper()
	form, err := h.Manifests.Start(t.Context(), h.Admin, "github", "", h.App != 0)
	must(t, "start manifest", err)
	back := h.Approve(t, form)
	must(t, "finish manifest", h.Manifests.Finish(t.Context(), h.Admin, "github", back.Get("code"), back.Get("state"), form.Browser))
	h.App = h.AppID(t)
}

// AppID is the number of the app that is configured.
func (h *Hub) AppID(t *testing.T) int64 {
	t.Helper()
	app, err := h.Apps.App(t.Context(), "github")
	must(t, "read app", err)
	return app.ID
}

// visiting keeps no connection: a server of another test that ends closes those that http.DefaultTransport keeps, under a request too.
var visiting = &http.Transport{DisableKeepAlives: true}

// Visit opens a page of GitHub as a person there, and returns the query of where it sends the browser.
func (h *Hub) Visit(t *testing.T, method, address, as string, form url.Values) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	Check(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "user", Value: as})
	resp, err := visiting.RoundTrip(r)
	Check(t, err)
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("%s %s: %d and no way back", method, address, resp.StatusCode)
	}
	return to.Query()
}

// Browser is somebody's.
type Browser struct {
	Hub    *Hub
	As     string // the login at GitHub
	Value  string // of the cookie for GitHub
	Token  string // of the session
	Device string
}

// Who is signed in.
func (b *Browser) Who(t *testing.T) *account.Who {
	t.Helper()
	if b.Token == "" {
		return nil
	}
	who, found, err := b.Hub.Sessions.Who(t.Context(), b.Token)
	Check(t, err)
	if !found {
		return nil
	}
	return &who
}

// Leave begins a visit, and goes to GitHub: what comes back is what GitHub sends.
func (b *Browser) Leave(t *testing.T, intent string) url.Values {
	t.Helper()
	to, err := b.Hub.Identities.StartSignIn(From(t), "github", account.SignInRequest{ReturnTo: "/here", Intent: intent, Who: b.Who(t), Browser: b.Value})
	must(t, "start", err)
	b.Value = to.Browser
	return b.Hub.Visit(t, "GET", to.URL, b.As, nil)
}

// Callback is what a browser brings back, as the gateway hands it on.
func (b *Browser) Callback(t *testing.T, q url.Values) account.Callback {
	t.Helper()
	return account.Callback{Code: q.Get("code"), State: q.Get("state"), Error: q.Get("error"), Browser: b.Value, Who: b.Who(t)}
}

// ComeBack ends a visit; a new session is kept.
func (b *Browser) ComeBack(t *testing.T, q url.Values) (account.Outcome, error) {
	t.Helper()
	out, err := b.Hub.Identities.FinishSignIn(From(t), "github", b.Callback(t, q))
	if err == nil && out.SignedIn != nil {
		b.Token = out.SignedIn.Token
	}
	return out, err
}

// Visit goes to GitHub and comes back.
func (b *Browser) Visit(t *testing.T, intent string) (account.Outcome, error) {
	t.Helper()
	return b.ComeBack(t, b.Leave(t, intent))
}

// SignIn is a visit that must succeed.
func (b *Browser) SignIn(t *testing.T) account.SignedIn {
	t.Helper()
	out, err := b.Visit(t, account.IntentSignIn)
	if err != nil || out.SignedIn == nil {
		t.Fatalf("sign in as %s: %+v, %v", b.As, out, err)
	}
	return *out.SignedIn
}

// Login signs in by password.
func (b *Browser) Login(t *testing.T, email string) {
	t.Helper()
	in, err := b.Hub.Passwords.Login(From(t), email, Password, b.Device)
	must(t, "login", err)
	b.Token, b.Device = in.Token, in.Device
}

// Browser is that of somebody at GitHub.
func (h *Hub) Browser(login string) *Browser { return &Browser{Hub: h, As: login} }

// AddPerson adds somebody to GitHub whose address is verified there, and gives them a browser.
func (h *Hub) AddPerson(t *testing.T, login, email string) (*Browser, int64) {
	t.Helper()
	u := githubtest.User{Login: login, Name: login + " of GitHub"}
	if email != "" {
		u.Emails = []githubtest.Email{{Email: email, Verified: true, Primary: true}}
	}
	return h.Browser(login), h.GitHub.AddUser(u)
}

// Actions are what the audit log tells of a scope, oldest first; "" is the service.
func (h *Hub) Actions(t *testing.T, scope string) []string {
	t.Helper()
	page, err := h.Log.Page(t.Context(), audit.Query{Scope: scope, Query: listing.Query{Limit: 200}})
	Check(t, err)
	var all []string
	for _, e := range page.Items {
		all = append(all, e.Action)
	}
	slices.Reverse(all)
	return all
}

// RevokedOnce fails unless the only identity is revoked, without tokens, and that was told once.
func (h *Hub) RevokedOnce(t *testing.T, in account.SignedIn) {
	t.Helper()
	all, err := h.Identities.List(t.Context(), in.Who)
	if err != nil || len(all) != 1 || all[0].Status != "revoked" {
		t.Errorf("identities: %+v, %v", all, err)
	}
	if n := h.Count(t, "SELECT count(*) FROM secrets WHERE scope = $1", in.Account.ID); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
	told := strings.Join(h.Actions(t, "users/"+in.Account.Username+"/personal"), " ")
	if strings.Count(told, "identity.revoked") != 1 {
		t.Errorf("told: %v", told)
	}
}

// EachHook runs a test on both databases with an app that has a webhook, which leads to the address.
func EachHook(t *testing.T, fn func(t *testing.T, h *Hub, hook string)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h, hook := NewHook(t, address)
		fn(t, h, hook)
	})
}

// NewHook is a hub with an app that has a webhook, for its address is one that GitHub can deliver to, and where that leads.
func NewHook(t *testing.T, address string) (*Hub, string) {
	t.Helper()
	h := NewHub(t, address, Options{Edit: func(c *account.Config) { c.Platform = "https://svc.example.com" }})
	h.Configure(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		duplicate, err := h.Installations.Take(r.Context(), "github", r.Header, body)
		switch {
		case err != nil:
			w.Header().Set("Fault", fault.From(err).Type)
			w.WriteHeader(http.StatusBadRequest)
		case duplicate:
			w.WriteHeader(http.StatusOK)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	return h, server.URL
}

// Deliver sends a webhook and returns the answer's status and the type of the refusal.
func (h *Hub) Deliver(t *testing.T, d githubtest.Delivery) (int, string) {
	t.Helper()
	resp, err := h.GitHub.Deliver(t.Context(), h.App, d)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Fault")
}
