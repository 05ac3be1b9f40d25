package account_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/audit"
)

// What the fake is asked by us.
const (
	convertRoute  = "POST /app-manifests/{code}/conversions"
	tokenRoute    = "POST /login/oauth/access_token"
	userRoute     = "GET /user"
	emailsRoute   = "GET /user/emails"
	installsRoute = "GET /user/installations"
)

// hub is a world and a GitHub that knows it.
type hub struct {
	*accounttest.World
	GitHub *githubtest.Server
	Admin  account.Who
	App    int64 // of the app that was configured last
}

// publicly gives the world an address that GitHub can deliver to.
const publicly = "https://svc.example.com"

// newHub opens a world beside a fake GitHub. Its administrator has just signed in, and nothing is configured.
func newHub(t *testing.T, address string, o accounttest.Options) *hub {
	t.Helper()
	h := &hub{}
	h.GitHub = githubtest.New(t, githubtest.WithClock(func() time.Time { return h.Clock.Now() }))
	o.Edit = h.edit(o.Edit)
	h.World = accounttest.New(t, address, o)
	if _, err := h.CreateAdmin(t.Context(), account.Registration{Email: "root@svc.example.com", Password: password, Username: "root-admin"}); err != nil {
		t.Fatalf("create admin: %v", err)
	}
	in, err := h.Login(accounttest.From(t), "root@svc.example.com", password, "")
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	h.Admin = in.Who
	return h
}

func (h *hub) edit(more func(*account.Config)) func(*account.Config) {
	return func(c *account.Config) {
		c.GitHub.URL, c.GitHub.APIURL = h.GitHub.URL, h.GitHub.URL
		if more != nil {
			more(c)
		}
	}
}

// beside is another node of the same world.
func (h *hub) beside(t *testing.T, address string) *accounttest.World {
	t.Helper()
	return accounttest.New(t, address, accounttest.Options{Beside: h.World, Edit: h.edit(nil), Mail: h.Inbox != nil})
}

// eachHub runs a test on both databases with a GitHub that is configured.
func eachHub(t *testing.T, o accounttest.Options, fn func(t *testing.T, h *hub)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := newHub(t, address, o)
		h.configure(t)
		fn(t, h)
	})
}

// approve takes a manifest to GitHub, and returns what the browser brings back.
func (h *hub) approve(t *testing.T, form account.ManifestForm) url.Values {
	t.Helper()
	return h.visit(t, "POST", form.Action, "octocat", url.Values{"manifest": {form.Manifest}})
}

// configure goes the whole way of a manifest.
func (h *hub) configure(t *testing.T) {
	t.Helper()
	form, err := h.StartManifest(t.Context(), h.Admin, "github", "", false)
	if err != nil {
		t.Fatalf("start manifest: %v", err)
	}
	back := h.approve(t, form)
	if err := h.FinishManifest(t.Context(), h.Admin, "github", back.Get("code"), back.Get("state"), form.Browser); err != nil {
		t.Fatalf("finish manifest: %v", err)
	}
	h.App = h.appID(t)
}

// appID is the number of the app that is configured.
func (h *hub) appID(t *testing.T) int64 {
	t.Helper()
	var f struct{ ID int64 }
	err := h.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		var text string
		if err := tx.QueryRow("SELECT app FROM providers").Scan(&text); err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), &f)
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.ID
}

// query is one number of the database.
func (h *hub) query(t *testing.T, statement string, args ...any) (n int64) {
	t.Helper()
	err := h.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(statement, args...).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// visit opens a page of GitHub as a person there, and returns the query of where it sends the browser.
func (h *hub) visit(t *testing.T, method, address, as string, form url.Values) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "user", Value: as})
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("%s %s: %d and no way back", method, address, resp.StatusCode)
	}
	return to.Query()
}

// browser is somebody's.
type browser struct {
	h      *hub
	as     string // the login at GitHub
	value  string // of the cookie for GitHub
	token  string // of the session
	device string
}

// who is signed in.
func (b *browser) who(t *testing.T) *account.Who {
	t.Helper()
	if b.token == "" {
		return nil
	}
	who, found, err := b.h.Who(t.Context(), b.token)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return nil
	}
	return &who
}

// leave begins a visit, and goes to GitHub: what comes back is what GitHub sends.
func (b *browser) leave(t *testing.T, intent string) url.Values {
	t.Helper()
	to, err := b.h.StartSignIn(accounttest.From(t), "github", account.SignInRequest{ReturnTo: "/here", Intent: intent, Who: b.who(t), Browser: b.value})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	b.value = to.Browser
	return b.h.visit(t, "GET", to.URL, b.as, nil)
}

// callback is what a browser brings back, as the gateway hands it on.
func (b *browser) callback(t *testing.T, q url.Values) account.Callback {
	t.Helper()
	return account.Callback{Code: q.Get("code"), State: q.Get("state"), Error: q.Get("error"), Browser: b.value, Who: b.who(t)}
}

// comeBack ends a visit; a new session is kept.
func (b *browser) comeBack(t *testing.T, q url.Values) (account.Outcome, error) {
	t.Helper()
	out, err := b.h.FinishSignIn(accounttest.From(t), "github", b.callback(t, q))
	if err == nil && out.SignedIn != nil {
		b.token = out.SignedIn.Token
	}
	return out, err
}

// visit goes to GitHub and comes back.
func (b *browser) visit(t *testing.T, intent string) (account.Outcome, error) {
	t.Helper()
	return b.comeBack(t, b.leave(t, intent))
}

// signIn is a visit that must succeed.
func (b *browser) signIn(t *testing.T) account.SignedIn {
	t.Helper()
	out, err := b.visit(t, account.IntentSignIn)
	if err != nil || out.SignedIn == nil {
		t.Fatalf("sign in as %s: %+v, %v", b.as, out, err)
	}
	return *out.SignedIn
}

// login signs in by password.
func (b *browser) login(t *testing.T, email string) {
	t.Helper()
	in, err := b.h.Login(accounttest.From(t), email, password, b.device)
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	b.token, b.device = in.Token, in.Device
}

// person adds somebody to GitHub whose address is verified there, and gives them a browser.
func (h *hub) person(t *testing.T, login, email string) (*browser, int64) {
	t.Helper()
	u := githubtest.User{Login: login, Name: login + " of GitHub"}
	if email != "" {
		u.Emails = []githubtest.Email{{Email: email, Verified: true, Primary: true}}
	}
	return &browser{h: h, as: login}, h.GitHub.AddUser(u)
}

// actions are what the audit log tells of a scope, oldest first; "" is the service.
func (h *hub) actions(t *testing.T, scope string) []string {
	t.Helper()
	page, err := h.Log.Page(t.Context(), audit.Query{Scope: scope, Query: listing.Query{Limit: 200}})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range page.Items {
		all = append(all, e.Action)
	}
	slices.Reverse(all)
	return all
}

func has(all []string, want string) bool { return slices.Contains(all, want) }

func textLog(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// writeRows writes every column of every row.
func writeRows(b *strings.Builder, rows *sql.Rows) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for _, v := range values {
			fmt.Fprintf(b, "%s ", *v.(*any))
		}
	}
	return rows.Err()
}
