package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/receipt"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/surface"
	"svc.dev/svc/service/vault"
	"svc.dev/svc/service/workspace"
)

// The surfaces of the tests.
const (
	platformURL = "http://svc.localhost:8080"
	agentsURL   = "http://agents.svc.localhost:8080"
	adminURL    = "http://admin.svc.localhost:8080"
	password    = "a calm and long password"
)

// scene is a front door with accounts behind it.
type scene struct {
	*accounttest.World
	address  string // of the database
	server   *httptest.Server
	hosts    map[gateway.Surface]string
	spaces   *workspace.Workspaces
	quotas   *storage.Quotas
	files    *project.Projects
	followed *repository.Repositories
	agents   *agent.Agents
	mcps     *mcp.Servers
	runtime  http.Handler   // as the gateway reaches it
	private  string         // where a runtime of its own listens
	forward  *scope.Forward // whom it believes
	gateway  *gateway.Gateway

	persons    map[string]account.Registered // by username, once somebody asked for them
	businesses int                           // how many were made
	devices    bool                          // keys are given to devices
}

// open sets the scene on a database; edit changes the front door.
func open(t testing.TB, address string, o accounttest.Options, edit ...func(*gateway.Config)) *scene {
	t.Helper()
	s := &scene{World: accounttest.New(t, address, o), address: address, persons: map[string]account.Registered{}}
	c := gateway.Config{
		Rooms: operation.Rooms{Accounts: s.Accounts, Keys: s.Keys, Devices: s.Devices, Apps: s.Apps, Manifests: s.Manifests, Installations: s.Installations, Audit: s.Log},
		DB:    s.DB, MailOff: !o.Mail,
		Config: surface.Config{
			Surfaces:     surface.Surfaces{Platform: parse(platformURL), Agents: parse(agentsURL), Admin: parse(adminURL)},
			CookieDomain: "svc.localhost", Development: true,
		},
		Log: s.Accounts.Log, ProbePause: time.Millisecond,
	}
	s.openWorkspaces(t)
	s.openProjects(t)
	c.Quotas, c.Projects, c.Repositories = s.quotas, s.files, s.followed
	c.Agents, c.MCPs = s.agents, s.mcps
	c.Workspaces, c.Vault = s.spaces, &vault.Vault{DB: s.DB, Secrets: s.Store, Audit: s.Log}
	c.Models = models.New(models.Config{DB: s.DB, Secrets: s.Store, Audit: s.Log, Guard: noWay(t)})
	c.Receipts = receipt.New(s.DB, s.Store, s.Clock.Now)
	s.runtime = http.NotFoundHandler()
	c.Runtime = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.runtime.ServeHTTP(w, r) })
	c.Health, c.Rotate = s.health, s.rotate
	for _, fn := range edit {
		fn(&c)
	}
	c.Pages = page.New(page.Config{
		Platform: c.Surfaces.Platform.String(), Agents: c.Surfaces.Agents.String(), Admin: c.Surfaces.Admin.String(), Development: c.Development,
	})
	s.hosts = map[gateway.Surface]string{gateway.Platform: c.Surfaces.Platform.Host, gateway.Agents: c.Surfaces.Agents.Host, gateway.Admin: c.Surfaces.Admin.Host}
	s.gateway = gateway.New(c)
	s.server = httptest.NewServer(s.gateway)
	t.Cleanup(func() {
		s.server.CloseClientConnections() // a stream that should have ended holds nothing up
		s.server.Close()
	})
	return s
}

// openWorkspaces makes the businesses of the scene.
func (s *scene) openWorkspaces(t testing.TB) {
	t.Helper()
	var err error
	s.spaces, err = workspace.New(workspace.Config{
		DB: s.DB, Audit: s.Log, Mail: s.Box, Platform: platformURL, Now: s.Clock.Now, HasProject: project.Has,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// quick sets the scene on SQLite.
func quick(t testing.TB, edit ...func(*gateway.Config)) *scene {
	t.Helper()
	return open(t, sqldbtest.SQLite(t), accounttest.Options{}, edit...)
}

// noWay is a way that leads to nobody: no name has an address.
func noWay(t testing.TB) *outward.Guard {
	t.Helper()
	none := func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no name server")
	}
	guard, err := outward.New(outward.Config{Resolver: &net.Resolver{PreferGo: true, Dial: none}})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func parse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// call is one request.
type call struct {
	on     gateway.Surface
	method string
	path   string
	body   any         // a string is sent as it is, anything else as JSON
	header http.Header // takes the place of the headers that a page would send
	cookie string
	from   string // where it comes from; needs a proxy that is trusted
}

// reply is one answer, read whole.
type reply struct {
	*http.Response
	body string
}

// page is what the scripts of a surface send with a request that changes something.
func (s *scene) page(on gateway.Surface) http.Header {
	return http.Header{"Origin": {"http://" + s.hosts[on]}, "Content-Type": {"application/json"}}
}

// formHeader is what a form of a page sends.
func (s *scene) formHeader() http.Header {
	return http.Header{"Origin": {platformURL}, "Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"navigate"}, "Accept": {"text/html"},
		"Content-Type": {"application/x-www-form-urlencoded"}}
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// do sends a request and reads the answer.
func (s *scene) do(t testing.TB, c call) reply {
	t.Helper()
	if c.on == "" {
		c.on = gateway.Platform
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequest(c.method, s.server.URL+c.path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = s.hosts[c.on]
	r.Header = c.header
	if r.Header == nil {
		r.Header = http.Header{}
		if c.method != http.MethodGet && c.method != http.MethodHead {
			r.Header = s.page(c.on)
		}
	}
	if c.cookie != "" {
		r.Header.Set("Cookie", c.cookie)
	}
	if c.from != "" {
		r.Header.Set("X-Forwarded-For", c.from)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{answer, string(text)}
	s.hold(t, got)
	got.tellsTime(t)
	return got
}

var (
	someTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^"]*"`)
	oneTime  = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$`)
)

// tellsTime fails if a time is written in another form than all others.
func (r reply) tellsTime(t testing.TB) {
	t.Helper()
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/") || strings.Contains(r.Request.URL.Path, "/files/") {
		return
	}
	for _, text := range someTime.FindAllString(r.body, -1) {
		if !oneTime.MatchString(text) {
			t.Errorf("%s %s has the time %s", r.Request.Method, r.Request.URL.Path, text)
		}
	}
}

// wants fails unless the answer has the status and, if it is an error, the type.
func (r reply) wants(t testing.TB, status int, typ string) reply {
	t.Helper()
	var envelope struct {
		Error struct{ Type string } `json:"error"`
	}
	_ = json.Unmarshal([]byte(r.body), &envelope)
	if r.StatusCode != status || envelope.Error.Type != typ {
		t.Errorf("%s %s: %d %q, want %d %q; %.300s", r.Request.Method, r.Request.URL.Path, r.StatusCode, envelope.Error.Type, status, typ, r.body)
	}
	return r
}

// read decodes the body.
func (r reply) read(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

// cookies are what the answer set, as a browser sends them back.
func (r reply) cookies() string {
	var all []string
	for _, c := range r.Cookies() {
		if c.MaxAge >= 0 {
			all = append(all, c.Name+"="+c.Value)
		}
	}
	return strings.Join(all, "; ")
}

// session is the cookie of somebody who just signed up.
func (s *scene) session(t testing.TB, email string) (cookie string, who account.Registered) {
	t.Helper()
	made, err := s.Registrations.Register(accounttest.From(t), account.Registration{Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return "svc_session=" + made.Token, made
}

// fields posts a page's form.
func (s *scene) fields(t testing.TB, path, cookie string, pairs ...string) reply {
	t.Helper()
	f := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		f.Add(pairs[i], pairs[i+1])
	}
	return s.do(t, call{method: "POST", path: path, body: f.Encode(), header: s.formHeader(), cookie: cookie})
}
