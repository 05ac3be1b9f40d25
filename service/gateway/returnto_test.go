package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/gateway"
)

// visitor is a person with a browser, an account and GitHub, who comes back to wherever they are told.
type visitor struct {
	*way
	hub *githubtest.Server
	app int64
	n   int
}

// newVisitor has an administrator who made the app.
func newVisitor(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{hub: githubtest.New(t)}
	v.way = &way{open(t, sqldbtest.SQLite(t), accounttest.Options{GitHub: v.hub.URL}, trusting), map[string]string{}, map[string]bool{}}
	v.posts(t, 201, registerPath, "email", "ada@example.com", "password", password, "username", "ada")
	v.makesApp(t)
	var text string
	err := v.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT app FROM providers").Scan(&text) })
	var app struct{ ID int64 }
	if err == nil {
		err = json.Unmarshal([]byte(text), &app)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.app = app.ID
	return v
}

// posting fills in a form of a page.
func (v *visitor) posting(t *testing.T, on gateway.Surface, path, cookie string, pairs ...string) reply {
	t.Helper()
	f, header := url.Values{}, v.formHeader()
	for i := 0; i < len(pairs); i += 2 {
		f.Add(pairs[i], pairs[i+1])
	}
	header.Set("Origin", "http://"+v.hosts[on])
	return v.do(t, call{on: on, method: "POST", path: path, body: f.Encode(), header: header, cookie: cookie, from: fresh()})
}

// signedIn are the cookies of ada, new: only so many of her sessions live at one time.
func (v *visitor) signedIn(t *testing.T) string {
	t.Helper()
	return v.posting(t, gateway.Platform, "/login", "", "email", "ada@example.com", "password", password).cookies()
}

// newcomer is a new person at GitHub.
func (v *visitor) newcomer() (login, email string) {
	v.n++
	login = fmt.Sprint("visitor", v.n)
	email = login + "@example.com"
	v.hub.AddUser(githubtest.User{Login: login, Emails: []githubtest.Email{{Email: email, Verified: true, Primary: true}}})
	return login, email
}

// signsIn goes to GitHub and comes back; a returnTo that is refused ends it before.
func (v *visitor) signsIn(t *testing.T, login, to string) (back reply, cookies string) {
	t.Helper()
	began := v.do(t, call{path: oauthPath + "start?returnTo=" + url.QueryEscape(to), from: fresh()})
	if began.StatusCode != 302 {
		return began, ""
	}
	back = v.do(t, call{path: oauthPath + "callback" + atGitHub(t, "GET", began.Header.Get("Location"), login, nil), cookie: began.cookies(), from: fresh()})
	return back, began.cookies()
}

// ticket is that of somebody whose address an account has, with the cookies of their browser.
func (v *visitor) ticket(t *testing.T) (ticket, email, cookies string) {
	t.Helper()
	login, email := v.newcomer()
	v.session(t, email)
	back, cookies := v.signsIn(t, login, "/account")
	to, err := back.Location()
	if err != nil || to.Query().Get("ticket") == "" {
		t.Fatalf("no ticket: %d %v", back.StatusCode, to)
	}
	return to.Query().Get("ticket"), email, cookies
}

// doors are all that take a returnTo and lead there.
var doors = map[string]struct {
	on   gateway.Surface
	path string
	pass func(v *visitor, t *testing.T, to string) reply
}{
	"the page for who is signed in": {gateway.Platform, "/login", func(v *visitor, t *testing.T, to string) reply {
		return v.browse(t, "/login?returnTo="+url.QueryEscape(to), v.signedIn(t))
	}},
	"signing in": {gateway.Platform, "/login", func(v *visitor, t *testing.T, to string) reply {
		return v.posting(t, gateway.Platform, "/login", "", "email", "ada@example.com", "password", password, "returnTo", to)
	}},
	"signing up": {gateway.Platform, "/signup", func(v *visitor, t *testing.T, to string) reply {
		v.n++
		return v.posting(t, gateway.Platform, "/signup", "", "email", fmt.Sprintf("new%d@example.com", v.n), "password", password, "returnTo", to)
	}},
	"proving again": {gateway.Platform, "/account/reauth", func(v *visitor, t *testing.T, to string) reply {
		return v.posting(t, gateway.Platform, "/account/reauth", v.signedIn(t), "password", password, "returnTo", to)
	}},
	"Admin": {gateway.Admin, "/elevate", func(v *visitor, t *testing.T, to string) reply {
		return v.posting(t, gateway.Admin, "/elevate", v.signedIn(t), "password", password, "returnTo", to)
	}},
	"GitHub": {gateway.Platform, oauthPath + "callback", func(v *visitor, t *testing.T, to string) reply {
		login, _ := v.newcomer()
		v.hub.SetPermission(v.app, "emails", "") // so that the way back tells something
		defer v.hub.SetPermission(v.app, "emails", "read")
		back, _ := v.signsIn(t, login, to)
		return back
	}},
	"the page to link": {gateway.Platform, "/login/link", func(v *visitor, t *testing.T, to string) reply {
		login, email := v.newcomer()
		v.session(t, email)
		back, cookies := v.signsIn(t, login, to)
		if back.StatusCode != 303 {
			return back
		}
		return v.do(t, call{path: back.Header.Get("Location"), cookie: cookies, header: http.Header{"Accept": {"text/html"}}})
	}},
	"linking": {gateway.Platform, "/login/link", func(v *visitor, t *testing.T, to string) reply {
		ticket, email, cookies := v.ticket(t)
		return v.posting(t, gateway.Platform, "/login/link", cookies, "ticket", ticket, "email", email, "password", password, "returnTo", to)
	}},
	"an account of its own": {gateway.Platform, "/login/link/separate", func(v *visitor, t *testing.T, to string) reply {
		ticket, _, cookies := v.ticket(t)
		return v.posting(t, gateway.Platform, "/login/link/separate", cookies, "ticket", ticket, "returnTo", to)
	}},
}

// hostile would lead away if anybody decoded, mended or trimmed them.
var hostile = []string{
	`/%2fevil.example/"`, "/%2fevil.example/ x", "/%2Fevil.example/é", `/%5cevil.example/"`, "/%2f%2fevil.example", `/%2e%2e//evil.example/"`,
	"//evil.example/", "///evil.example", `/\evil.example`, "/\t/evil.example", "\t//evil.example", " //evil.example", "https:evil.example", "http:/evil.example",
	"javascript:alert(1)//\"", agentsURL + "@evil.example/", agentsURL + ".evil.example/", agentsURL + `\@evil.example`, "@evil.example", ".evil.example", "evil.example",
	"/%0d%0aLocation:%20//evil.example", "/x#//evil.example", "/;//evil.example", "?//evil.example",
}

// harmless are odd, and arrive as they were sent.
var harmless = []string{"/account", `/a"b c`, "/a%2fb%22?x=%2F%2f&y=é#z?notice=no", "/a?b;c", agentsURL + `/x%2f"`, "/%0d%0ax"}

// landing is the origin at which a browser arrives.
func landing(t *testing.T, at, location string) string {
	t.Helper()
	base := parse(at)
	seen := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(strings.TrimSpace(location))
	u, err := base.Parse(seen)
	if err != nil {
		t.Errorf("Location %q: %v", location, err)
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// TestNoDoorLeadsAway tries every door with every returnTo that could be misread.
func TestNoDoorLeadsAway(t *testing.T) {
	v := newVisitor(t)
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			for _, to := range hostile {
				got := door.pass(v, t, to)
				if location := got.Header.Get("Location"); location != "" {
					if at := landing(t, "http://"+v.hosts[door.on]+door.path, location); !slices.Contains([]string{platformURL, agentsURL, adminURL}, at) {
						t.Errorf("returnTo=%q: %d to %q, which is %s", to, got.StatusCode, location, at)
					}
					if sent, _ := withoutNotice(location); sent != to {
						t.Errorf("returnTo=%q was sent as %q", to, location)
					}
				} else if got.StatusCode != 400 && !strings.Contains(name, "page to link") {
					t.Errorf("returnTo=%q: %d", to, got.StatusCode)
				}
			}
			for _, to := range harmless {
				got := door.pass(v, t, to)
				if strings.Contains(name, "page to link") {
					got.shows(t, 200)
					continue
				}
				if sent, told := withoutNotice(got.Header.Get("Location")); sent != to {
					t.Errorf("returnTo=%q: %d to %q (told %v)", to, got.StatusCode, got.Header.Get("Location"), told)
				}
			}
		})
	}
}

// withoutNotice is an address without what was added to it.
func withoutNotice(location string) (sent string, told bool) {
	head, rest, marked := strings.Cut(location, "#")
	at := max(strings.LastIndex(head, "&notice="), strings.LastIndex(head, "?notice="))
	if at < 0 {
		return location, false
	}
	if head = head[:at]; marked {
		head += "#" + rest
	}
	return head, true
}

// TestATargetWithoutAPathLeadsNowhereElse sends what no browser would.
func TestATargetWithoutAPathLeadsNowhereElse(t *testing.T) {
	s := quick(t)
	for _, target := range []string{"x:@evil.example/", "http:@evil.example", "x:.evil.example/", "//evil.example/", "/a?b"} {
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost:8080\r\nAccept: text/html\r\nConnection: close\r\n\r\n", target)
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if at := landing(t, platformURL, got.Header.Get("Location")); got.StatusCode == 302 && at != platformURL {
			t.Errorf("%s: to %s", target, got.Header.Get("Location"))
		}
	}
}
