package gateway_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
)

var surfaces = []gateway.Surface{gateway.Platform, gateway.Agents, gateway.Admin}

var description = sync.OnceValues(func() (*Description, error) {
	text, err := operation.JSON()
	if err != nil {
		return nil, err
	}
	return readDescription(text)
})

func described(t testing.TB) *Description {
	t.Helper()
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hold fails unless an exchange with the API is as described. Pages are no part of it.
func (s *scene) hold(t testing.TB, r reply) {
	t.Helper()
	x := s.exchange(r)
	if !strings.HasPrefix(r.Request.URL.Path, "/api/") && !s.isPassed(t, x) {
		return
	}
	if err := described(t).Check(x); err != nil {
		t.Errorf("%s %s on %s is not as described: %v; %d %.300s", r.Request.Method, r.Request.URL.Path, r.Request.Host, err, r.StatusCode, r.body)
	}
}

// isPassed reports whether an exchange is with the API of the contract. A method that a path there does not have is refused by the
// runtime, to those who may learn that, and what webhooks are answered is the provider's to know.
func (s *scene) isPassed(t testing.TB, x Exchange) bool {
	t.Helper()
	found, _, _ := described(t).Find(x.Surface, x.Request.Method, x.Request.URL.Path)
	return found != nil && strings.HasPrefix(found.Path, "/v1/") && !strings.Contains(found.Path, "/channels/")
}

func (s *scene) exchange(r reply) Exchange {
	x := Exchange{Request: r.Request, Status: r.StatusCode, Header: r.Header, Body: r.body}
	for _, on := range surfaces {
		if strings.EqualFold(s.hosts[on], r.Request.Host) {
			x.Surface = string(on)
		}
	}
	return x
}

func TestEveryRouteIsDescribedAndNoOther(t *testing.T) {
	table, document := map[string]string{}, map[string]string{}
	for _, l := range gateway.Lines() {
		if strings.HasPrefix(l.Path, "/api/") {
			on := slices.Clone(l.Surfaces)
			slices.Sort(on)
			table[l.Method+" "+l.Path] = fmt.Sprint(on)
		}
	}
	for _, o := range described(t).Operations {
		if !strings.HasPrefix(o.Path, "/v1/") { // the paths below it are made of what is described
			document[o.Method+" "+o.Path] = fmt.Sprint(o.Surfaces)
		}
	}
	for name, on := range table {
		if document[name] != on {
			t.Errorf("%s is on %s and described on %q", name, on, document[name])
		}
	}
	for name := range document {
		if table[name] == "" {
			t.Errorf("%s is described, and there is no such route", name)
		}
	}
}

func TestADescribedErrorHasTheStatusThatItIsAnsweredWith(t *testing.T) {
	d := described(t)
	for typ, status := range d.anywhere {
		if gateway.StatusOf(typ) != status {
			t.Errorf("%s is %d, described as %d", typ, gateway.StatusOf(typ), status)
		}
	}
	for _, o := range d.Operations {
		for _, typ := range slices.AppendSeq(slices.Clone(o.ErrorTypes), maps.Keys(d.anywhere)) {
			if !o.Describes(gateway.StatusOf(typ), typ) {
				t.Errorf("%s %s: %s with %d is not described", o.Method, o.Path, typ, gateway.StatusOf(typ))
			}
		}
	}
}

func TestTheDescriptionIsServedOnEverySurface(t *testing.T) {
	s := quick(t)
	text, err := operation.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range surfaces {
		got := s.do(t, call{on: on, path: "/api/openapi.json"}).wants(t, 200, "")
		if got.body != string(text) || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s serves another document: %v", on, got.Header)
		}
		if head := s.do(t, call{on: on, method: "HEAD", path: "/api/openapi.json"}); head.StatusCode != 200 || head.body != "" {
			t.Errorf("%s: HEAD is %d %s", on, head.StatusCode, head.body)
		}
	}
}

// TestAnAnswerThatIsNotDescribedIsNoticed changes good exchanges, one thing at a time.
func TestAnAnswerThatIsNotDescribedIsNoticed(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	login := func() Exchange {
		return s.exchange(s.do(t, call{method: "POST", path: loginPath, body: map[string]string{"email": "ada@example.com", "password": password}}))
	}
	session := func() Exchange { return s.exchange(s.do(t, call{path: "/api/auth/session", cookie: cookie})) }
	refused := func() Exchange { return s.exchange(s.do(t, call{path: "/api/account"})) }
	missing := func() Exchange { return s.exchange(s.do(t, call{method: "PUT", path: "/api/account"})) }
	replace := func(old, now string) func(*Exchange) {
		return func(x *Exchange) {
			if !strings.Contains(x.Body, old) {
				t.Errorf("%s is not in %s", old, x.Body)
			}
			x.Body = strings.Replace(x.Body, old, now, 1)
		}
	}
	for name, c := range map[string]struct {
		of   func() Exchange
		edit func(*Exchange)
	}{
		"another status":             {login, func(x *Exchange) { x.Status = 201 }},
		"no status of this API":      {login, func(x *Exchange) { x.Status = 418 }},
		"a field more":               {login, replace(`"account":{`, `"account":{"role":"admin",`)},
		"a field less":               {login, replace(`"emailVerified":false,`, ``)},
		"a field of another type":    {login, replace(`"emailVerified":false`, `"emailVerified":0`)},
		"a field that is null":       {login, replace(`"displayName":""`, `"displayName":null`)},
		"an id of another noun":      {login, replace(`"acc_`, `"ses_`)},
		"a time without its zone":    {login, replace(`Z"`, `"`)},
		"a value that is not listed": {login, replace(`["password"]`, `["passkey"]`)},
		"a role that there is not":   {session, replace(`"role":"owner"`, `"role":"king"`)},
		"a page":                     {login, func(x *Exchange) { x.Header.Set("Content-Type", "text/html; charset=utf-8") }},
		"no request id":              {login, func(x *Exchange) { x.Header.Del("X-Request-Id") }},
		"a header more":              {login, func(x *Exchange) { x.Header.Set("ETag", `"1"`) }},
		"a cookie of another name":   {login, func(x *Exchange) { x.Header["Set-Cookie"] = []string{"sid=1"} }},
		"a request that says too much": {login, func(x *Exchange) {
			x.Request = sent(t, x.Request, `{"email":"a@b.co","password":"p","admin":true}`)
		}},
		"a request that is no object": {login, func(x *Exchange) { x.Request = sent(t, x.Request, `[]`) }},
		"an error of another route":   {refused, replace("unauthenticated", "invalid_api_key")},
		"an error of another status":  {refused, replace("unauthenticated", "forbidden")},
		"an error nobody knows":       {refused, replace("unauthenticated", "strange")},
		"an error without details":    {refused, replace(`,"details":""`, ``)},
		"an error with other facts":   {refused, replace(`"details":""`, `"details":"","meta":{"sql":"SELECT"}`)},
		"an error as a page":          {refused, func(x *Exchange) { x.Header.Set("Content-Type", "text/html") }},
		"a person who gets no page":   {refused, func(x *Exchange) { x.Request.Header.Set("Accept", "text/html") }},
		"another surface":             {session, func(x *Exchange) { x.Surface = "" }},
		"another method":              {session, func(x *Exchange) { x.Request.Method = "PUT" }},
		"another path":                {session, func(x *Exchange) { x.Request.URL.Path = "/api/auth/sessions" }},
		"other methods":               {missing, func(x *Exchange) { x.Header.Set("Allow", "GET, HEAD") }},
		"no methods":                  {missing, replace("method_not_allowed", "route_not_found")},
	} {
		t.Run(name, func(t *testing.T) {
			x := c.of()
			x.Request, x.Header = x.Request.Clone(t.Context()), x.Header.Clone()
			if c.edit(&x); described(t).Check(x) == nil {
				t.Errorf("nobody notices: %d %s", x.Status, x.Body)
			}
		})
	}
}

// sent is a request with another body.
func sent(t *testing.T, r *http.Request, body string) *http.Request {
	t.Helper()
	other, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL.String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	other.Header, other.Host = r.Header, r.Host
	return other
}

// TestEveryOperationRefusesAsDescribed asks everything in every manner: as nobody and as somebody, as a program and as a
// person, from here and from elsewhere, and on surfaces that do not have it.
func TestEveryOperationRefusesAsDescribed(t *testing.T) {
	s := quick(t, trusting)
	s.start(t, false)
	headers := []http.Header{nil, {"Accept": {"text/html"}}, {"Origin": {"http://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}}
	for _, o := range described(t).Operations {
		path := strings.NewReplacer("{provider}", "github", "{username}", "ada", "{business}", "personal", "{name}", "central", "{run}", "run_x", "{account}", "acc_x", "{team}", "tem_x", "{secret}", "NAME", "{invitation}", "inv_x", "{id}", "acc_x", "{attachment}", "att_x", "{slug}", "site", "{version}", "1", "{path}", "a/b.md", "{mcp}", "mcp_x", "{tool}", "echo").Replace(o.Path)
		somebody, _ := s.session(t, "ada@example.com")
		for _, on := range surfaces {
			for _, query := range []string{"", "?state=x&setup_action=install&workspace=ada/personal", "?intent=link&owner=a--b&setup_action=x&workspace=x"} {
				for _, header := range headers {
					s.do(t, call{on: on, method: o.Method, path: path + query, header: header.Clone(), body: "{}", from: fresh()})
					s.do(t, call{on: on, method: o.Method, path: path + query, header: header.Clone(), body: "{}", from: fresh(), cookie: somebody})
				}
			}
		}
		s.do(t, call{on: gateway.Surface(o.Surfaces[0]), method: o.Method, path: strings.Replace(path, "github", "gitlab", 1), body: "{}", cookie: somebody})
	}
}

// way is somebody's way through the API.
type way struct {
	*scene
	jar  map[string]string
	seen map[string]bool // successes, by operation and status
}

// goes asks for something that must succeed with a status.
func (w *way) goes(t *testing.T, status int, c call) reply {
	t.Helper()
	c.from = fresh()
	for name, value := range w.jar {
		c.cookie += "; " + name + "=" + value
	}
	c.cookie = strings.TrimPrefix(c.cookie, "; ")
	got := w.do(t, c)
	x := w.exchange(got)
	o, _, _ := described(t).Find(x.Surface, x.Request.Method, x.Request.URL.Path)
	if got.StatusCode != status || o == nil {
		t.Fatalf("%s %s: %d %s, want %d", c.method, c.path, got.StatusCode, got.body, status)
	}
	w.seen[fmt.Sprint(o.ID, " ", status)] = true
	if tag := got.Header.Get("ETag"); status == 200 && tag != "" && slices.Contains(o.Statuses, 304) {
		w.seen[o.ID+" 304"] = w.again(t, c, tag)
	}
	for _, cookie := range got.Cookies() {
		if w.jar[cookie.Name] = cookie.Value; cookie.MaxAge < 0 {
			delete(w.jar, cookie.Name)
		}
	}
	return got
}

// throughBase is the API of the contract, below a base.
func (w *way) throughBase(t *testing.T, on gateway.Surface, base string) {
	t.Helper()
	const picture = `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`
	talk := base + "/agents/central/described"
	var taken struct{ Offset, SubmissionID string }
	w.goes(t, 202, call{on: on, method: "POST", path: talk, body: `{"kind":"user","body":"n=1","attachments":[` + picture + `]}`}).read(t, &taken)
	for told := ""; !strings.Contains(told, `"submission-settled"`); {
		got := w.goes(t, 200, call{on: on, path: talk + "?view=updates&live=long-poll&offset=" + taken.Offset})
		told, taken.Offset = got.body, got.Header.Get("Stream-Next-Offset")
	}
	w.goes(t, 200, call{on: on, path: talk})
	w.goes(t, 200, call{on: on, path: talk + "?view=updates&offset=-1"})
	w.goes(t, 200, call{on: on, path: talk + "/submissions"})
	w.goes(t, 200, call{on: on, path: talk + "/attachments/att_direct_" + taken.SubmissionID + "_0"})
	w.goes(t, 200, call{on: on, method: "POST", path: talk + "/abort?submission=" + taken.SubmissionID})

	var run struct{ RunID string }
	w.goes(t, 202, call{on: on, method: "POST", path: base + "/workflows/quick"})
	w.goes(t, 200, call{on: on, method: "POST", path: base + "/workflows/quick?wait=result"}).read(t, &run)
	w.goes(t, 200, call{on: on, path: base + "/runs?limit=1"})
	w.goes(t, 200, call{on: on, path: base + "/runs/" + run.RunID + "?meta"})
	end := w.goes(t, 200, call{on: on, path: base + "/runs/" + run.RunID}).Header.Get("Stream-Next-Offset")
	w.goes(t, 204, call{on: on, path: base + "/runs/" + run.RunID + "?live=long-poll&offset=" + end})

	speak := call{on: on, method: "POST", path: base + "/mcp", header: w.page(on), body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}
	speak.header.Set("Accept", "application/json, text/event-stream")
	w.goes(t, 200, speak)
	speak.body = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	w.goes(t, 202, speak)
}

// again reports whether nothing is sent to a client that has it already. What changes meanwhile is asked for once more.
func (w *way) again(t *testing.T, c call, tag string) bool {
	t.Helper()
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	var got reply
	eventually(t, c.path+" stands still", func() bool {
		c.header.Set("If-None-Match", tag)
		got = w.do(t, c)
		before := tag
		tag = got.Header.Get("ETag")
		return got.StatusCode != 200 || tag == before
	})
	return got.StatusCode == 304
}

// another is somebody else's way, with a browser of their own.
func (w *way) another() *way { return &way{w.scene, map[string]string{}, w.seen} }

// posts sends a body.
func (w *way) posts(t *testing.T, status int, path string, pairs ...string) reply {
	t.Helper()
	body := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		body[pairs[i]] = pairs[i+1]
	}
	return w.goes(t, status, call{method: "POST", path: path, body: body})
}

// token is that of the next mail to an address that has one.
func (w *way) token(t *testing.T, to string) string {
	t.Helper()
	for {
		if token := w.Inbox.Next(t, to).Token(); token != "" {
			return token
		}
	}
}

// unseen are the successes that no test can wait for.
var unseen = []string{
	"finishSignIn 302", // the session ends between its proof and its use

	"takeWebhook 200", "takeOwnWebhook 200", // the product has no channel whose answer is ours to describe
}

// TestEverySuccessIsAsDescribed goes through all of the API once.
func TestEverySuccessIsAsDescribed(t *testing.T) {
	w := &way{jar: map[string]string{}, seen: map[string]bool{}}
	hub := githubtest.New(t, githubtest.WithClock(func() time.Time { return w.Clock.Now() }))
	edit := func(c *account.Config) {
		lenient(c)
		c.Platform = "https://svc.example.com" // that deliveries can reach
	}
	w.scene = open(t, address(t), accounttest.Options{Mail: true, GitHub: hub.URL, Edit: edit}, trusting, roomy)
	w.start(t, false)
	w.throughPasswords(t)
	w.throughRuntime(t)
	w.throughWorkspaces(t)
	w.throughMails(t)
	w.throughAccount(t)
	w.throughKeys(t)
	w.throughProvider(t, hub)
	w.throughLinking(t, hub)
	w.throughSetup(t)
	w.throughSignInPages(t)
	w.throughStaff(t)
	w.throughProjects(t)
	w.throughAgents(t)
	w.throughDeletion(t)
	for _, o := range described(t).Operations {
		for _, status := range o.Statuses {
			if name := fmt.Sprint(o.ID, " ", status); w.seen[name] == slices.Contains(unseen, name) {
				t.Errorf("%s: seen is %t", name, w.seen[name])
			}
		}
	}
}

func (w *way) throughPasswords(t *testing.T) {
	w.goes(t, 200, call{path: "/api/auth/session"})
	w.posts(t, 201, registerPath, "email", "ada@example.com", "password", password, "username", "ada", "displayName", "Ada")
	w.posts(t, 200, registerPath, "email", "ada@example.com", "password", password)
	w.goes(t, 200, call{path: "/api/auth/session"})
	w.posts(t, 204, "/api/auth/reauth", "password", password)
	w.posts(t, 204, "/api/auth/password/change", "currentPassword", password, "newPassword", "another calm password")
	w.posts(t, 202, "/api/auth/password/forgot", "email", "ada@example.com")
	link := w.token(t, "ada@example.com")
	w.posts(t, 200, "/api/auth/password/reset/identities", "token", link)
	w.posts(t, 204, "/api/auth/password/reset", "token", link, "newPassword", password)
	w.posts(t, 200, loginPath, "email", "ada@example.com", "password", password)
}

func (w *way) throughRuntime(t *testing.T) {
	w.goes(t, 200, call{on: gateway.Agents, path: "/api/orchestration/workspace-verification"})
	const workspace = "/api/workspaces/ada/personal/"
	var run struct{ RunID string }
	w.goes(t, 202, call{on: gateway.Agents, method: "POST", path: workspace + "workflows/sample/run", body: verificationInput}).read(t, &run)
	for _, path := range []string{"agents", "agents/central", "agents/central/conversations", "channels", "workflows", "workflows/sample", "runs", "runs/" + run.RunID, "runs/" + run.RunID + "/events"} {
		w.goes(t, 200, call{on: gateway.Agents, path: workspace + path})
	}
	w.goes(t, 202, call{on: gateway.Agents, method: "POST", path: workspace + "runs/" + run.RunID + "/cancel"})
	w.goes(t, 202, call{on: gateway.Agents, method: "DELETE", path: workspace + "runs/" + run.RunID})
	w.throughBase(t, gateway.Agents, "/v1/ada/personal")
	w.goes(t, 202, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/erased", body: `{"kind":"user","body":"n=1"}`})
	w.goes(t, 202, call{on: gateway.Agents, method: "DELETE", path: workspace + "agents/central/conversations/erased"})
}

func (w *way) throughWorkspaces(t *testing.T) {
	on := func(method, path string, body any) call {
		return call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/northwind" + path, body: body}
	}
	w.goes(t, 201, call{method: "POST", path: "/api/workspaces", body: map[string]string{"business": "northwind", "name": "Northwind"}})
	w.goes(t, 200, call{path: "/api/workspaces"})
	w.goes(t, 200, on("GET", "", nil))
	w.goes(t, 200, on("PATCH", "", map[string]string{"name": "North"}))
	w.goes(t, 200, on("POST", "/archive", nil))
	w.goes(t, 200, on("POST", "/unarchive", nil))
	var people struct{ Items []struct{ Account string } }
	w.goes(t, 200, on("GET", "/people", nil)).read(t, &people)
	lin := w.another()
	lin.posts(t, 201, registerPath, "email", "lin@example.com", "password", password)
	execute(t, w.scene, "UPDATE accounts SET email_verified = 1 WHERE email = 'lin@example.com'")
	var invited struct{ ID string }
	w.goes(t, 201, on("POST", "/invitations", map[string]string{"email": "lin@example.com", "role": "builder"})).read(t, &invited)
	w.token(t, "lin@example.com") // each mail is awaited, since they may overtake each other
	w.goes(t, 200, on("GET", "/invitations", nil))
	w.goes(t, 200, on("POST", "/invitations/"+invited.ID+"/resend", nil))
	w.token(t, "lin@example.com")
	w.goes(t, 204, on("DELETE", "/invitations/"+invited.ID, nil))
	w.goes(t, 201, on("POST", "/invitations", map[string]string{"email": "lin@example.com", "role": "builder"}))
	lin.posts(t, 200, "/api/invitations/accept", "token", w.token(t, "lin@example.com"))
	w.goes(t, 200, on("GET", "/people", nil)).read(t, &people)
	other := people.Items[0].Account
	w.goes(t, 200, on("GET", "/people/"+other, nil))
	var team struct{ ID string }
	w.goes(t, 201, on("POST", "/teams", map[string]string{"name": "Ops"})).read(t, &team)
	w.goes(t, 200, on("GET", "/teams", nil))
	w.goes(t, 200, on("GET", "/teams/"+team.ID, nil))
	w.goes(t, 200, on("PATCH", "/teams/"+team.ID, map[string]string{"name": "Operations"}))
	w.goes(t, 200, on("PUT", "/teams/"+team.ID+"/members/"+other, nil))
	w.goes(t, 200, on("DELETE", "/teams/"+team.ID+"/members/"+other, nil))
	w.goes(t, 204, on("DELETE", "/teams/"+team.ID, nil))
	w.goes(t, 200, on("PATCH", "/people/"+other, map[string]string{"role": "viewer"}))
	w.goes(t, 204, on("DELETE", "/people/"+other, nil))
	w.goes(t, 201, on("PUT", "/secrets/API_KEY", map[string]string{"value": "a secret value"}))
	w.goes(t, 200, on("PUT", "/secrets/API_KEY", map[string]string{"value": "another value"}))
	w.goes(t, 200, on("GET", "/secrets", nil))
	w.goes(t, 200, on("GET", "/tools", nil))
	w.goes(t, 200, on("GET", "/secrets/API_KEY", nil))
	w.goes(t, 204, on("DELETE", "/secrets/API_KEY", nil))
	w.throughModels(t, on)
	w.throughMCPs(t, on)
	w.goes(t, 200, on("GET", "/audit", nil))
	w.goes(t, 200, on("GET", "/audit/export", nil))
	w.goes(t, 202, on("DELETE", "?confirm=northwind", nil))
	w.goes(t, 200, on("POST", "/restore", nil))
}

// throughModels sets, checks and forgets a provider of models.
func (w *way) throughModels(t *testing.T, on func(method, path string, body any) call) {
	w.goes(t, 200, on("PUT", "/models/google", map[string]string{"key": "a-key-of-a-provider"}))
	w.goes(t, 200, on("GET", "/models/google", nil))
	w.goes(t, 200, on("POST", "/models/google/test", nil))
	w.goes(t, 200, on("PUT", "/models", map[string]string{"default": "google/gemini-2.5-flash"}))
	w.goes(t, 200, on("GET", "/models", nil))
	w.goes(t, 204, on("DELETE", "/models/google", nil))
}

func (w *way) throughMails(t *testing.T) {
	eve := w.another()
	eve.posts(t, 201, registerPath, "email", "eve@example.com", "password", password)
	eve.goes(t, 202, call{method: "POST", path: "/api/auth/email/verification"})
	eve.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, "eve@example.com"))
	eve.posts(t, 202, "/api/account/email", "email", "evelyn@example.com")
	eve.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, "evelyn@example.com"))
	eve.posts(t, 204, "/api/auth/email/undo", "token", w.token(t, "eve@example.com"))
	strict := &way{open(t, address(t), accounttest.Options{Mail: true}, trusting), map[string]string{}, w.seen}
	strict.posts(t, 202, registerPath, "email", "ada@example.com", "password", password)
}

func (w *way) throughAccount(t *testing.T) {
	tag := w.goes(t, 200, call{path: "/api/account"}).Header.Get("ETag")
	header := w.page(gateway.Platform)
	header.Set("If-Match", tag)
	w.goes(t, 200, call{method: "PATCH", path: "/api/account", header: header, body: map[string]string{"displayName": "Ada Lovelace"}})
	w.another().posts(t, 200, loginPath, "email", "ada@example.com", "password", password)
	var list struct {
		Items []struct {
			ID      string
			Current bool
		}
	}
	w.goes(t, 200, call{path: "/api/account/sessions"}).read(t, &list)
	for _, s := range list.Items {
		if !s.Current {
			w.goes(t, 204, call{method: "DELETE", path: "/api/account/sessions/" + s.ID})
		}
	}
	w.goes(t, 200, call{method: "POST", path: "/api/account/sessions/revoke-others"})
}

func (w *way) throughKeys(t *testing.T) {
	var made struct{ ID, Key string }
	for _, body := range []string{
		`{"name":"ci","scopes":["agents:read","runs:read"]}`, `{"name":"ci","scopes":["agents:read"],"expiresAt":null,"confirm":true}`,
	} {
		w.goes(t, 201, call{on: gateway.Agents, method: "POST", path: keysPath, body: body}).read(t, &made)
	}
	w.goes(t, 201, call{on: gateway.Agents, method: "POST", path: keysPath + "/" + made.ID + "/rotate", body: `{"graceSeconds":60}`})
	w.goes(t, 200, call{on: gateway.Agents, path: keysPath})
	w.goes(t, 204, call{on: gateway.Agents, method: "DELETE", path: keysPath + "/" + made.ID})
	var asked askedDevice
	w.goes(t, 200, call{method: "POST", path: devicePath, header: http.Header{"Content-Type": {"application/json"}}, body: `{"client":"laptop"}`}).read(t, &asked)
	ada := w.person(t, "ada")
	if err := w.Devices.Approve(accounttest.From(t), ada.Who, w.Personal(t, ada.Who), device.Approval{UserCode: asked.UserCode, Scopes: []string{"runs:read"}, Life: time.Hour}); err != nil {
		t.Fatal(err)
	}
	w.posts(t, 200, devicePath+"/token", "grant_type", deviceGrant, "device_code", asked.DeviceCode)
	for _, on := range surfaces {
		w.goes(t, 202, call{on: on, method: "POST", path: "/api/keys/revoke", body: map[string]string{"key": made.Key}})
		w.goes(t, 200, call{on: on, path: "/api/openapi.json"})
		w.goes(t, 200, call{on: on, path: gateway.ProbePath})
	}
}

// atGitHub opens a page there as a person, and returns the query of where it sends the browser.
func atGitHub(t *testing.T, method, address, as string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "user", Value: as})
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		t.Fatalf("%s %s: %d and no way back", method, address, answer.StatusCode)
	}
	return "?" + to.RawQuery
}

const oauthPath = "/api/auth/oauth/github/"

var (
	formAction   = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	formManifest = regexp.MustCompile(`name="manifest" value="([^"]+)"`)
)

func (w *way) throughProvider(t *testing.T, hub *githubtest.Server) {
	link, err := w.Staff.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.posts(t, 204, "/api/setup", "token", link)
	w.goes(t, 200, call{path: oauthPath + "status"})
	body := w.goes(t, 200, call{path: oauthPath + "manifest"}).body
	action, manifest := html.UnescapeString(formAction.FindStringSubmatch(body)[1]), html.UnescapeString(formManifest.FindStringSubmatch(body)[1])
	w.goes(t, 303, call{path: oauthPath + "manifest/callback" + atGitHub(t, "POST", action, "octocat", url.Values{"manifest": {manifest}})})
	w.goes(t, 200, call{path: oauthPath + "status"})
	w.visits(t, "octocat", "link")
	w.installs(t)
	hub.RequestInstall(true)
	to := w.goes(t, 302, call{path: oauthPath + "install?workspace=ada/personal"}).Header.Get("Location")
	w.goes(t, 200, call{path: oauthPath + "setup" + atGitHub(t, "GET", to, "octocat", nil)})
	w.takesDelivery(t, hub)
	var list struct{ Items []struct{ ID string } }
	w.goes(t, 200, call{path: "/api/account/identities"}).read(t, &list)
	w.goes(t, 204, call{method: "DELETE", path: "/api/account/identities/" + list.Items[0].ID})
}

// visits goes to GitHub and comes back.
func (w *way) visits(t *testing.T, as, intent string) reply {
	t.Helper()
	to := w.goes(t, 302, call{path: oauthPath + "start?returnTo=/account&intent=" + intent}).Header.Get("Location")
	return w.goes(t, 303, call{path: oauthPath + "callback" + atGitHub(t, "GET", to, as, nil)})
}

func (w *way) installs(t *testing.T) {
	t.Helper()
	to := w.goes(t, 302, call{path: oauthPath + "install?workspace=ada/personal"}).Header.Get("Location")
	w.goes(t, 303, call{path: oauthPath + "setup" + atGitHub(t, "GET", to, "octocat", nil)})
}

// takesDelivery hands a delivery on twice.
func (w *way) takesDelivery(t *testing.T, hub *githubtest.Server) {
	t.Helper()
	var app struct{ ID int64 }
	var text string
	err := w.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT app FROM providers").Scan(&text) })
	if err == nil {
		err = json.Unmarshal([]byte(text), &app)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := call{method: "POST", path: oauthPath + "webhook"}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.header, c.body = r.Header, string(body)
	}))
	defer hook.Close()
	answer, err := hub.Deliver(t.Context(), app.ID, githubtest.Delivery{Event: "ping", Body: hub.PingPayload(app.ID), To: hook.URL})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	w.goes(t, 202, c)
	w.goes(t, 200, c)
}

// throughLinking is a newcomer by GitHub, and somebody whose address an account has.
func (w *way) throughLinking(t *testing.T, hub *githubtest.Server) {
	octo := w.another()
	hub.AddUser(githubtest.User{Login: "mona", Emails: []githubtest.Email{{Email: "mona@example.com", Verified: true, Primary: true}}})
	octo.visits(t, "mona", "signin")
	octo.posts(t, 204, "/api/auth/password/set", "newPassword", password)
	octo.goes(t, 204, call{method: "POST", path: "/api/auth/logout"})

	hubot := w.another()
	hubot.posts(t, 201, registerPath, "email", "hubot@example.com", "password", password)
	hubot.goes(t, 202, call{method: "POST", path: "/api/auth/email/verification"})
	hubot.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, "hubot@example.com"))
	to, err := hubot.visits(t, "hubot", "signin").Location()
	if err != nil || to.Query().Get("ticket") == "" {
		t.Fatalf("led to %v, %v", to, err)
	}
	hubot.posts(t, 200, loginPath, "email", "hubot@example.com", "password", password)
	hubot.posts(t, 204, "/api/auth/link", "ticket", to.Query().Get("ticket"))
}

func (w *way) throughSetup(t *testing.T) {
	first := &way{quick(t, trusting), map[string]string{}, w.seen}
	link, err := first.Staff.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first.posts(t, 201, "/api/setup", "token", link, "email", "root@example.com", "password", password, "username", "ada")
}

// throughSignInPages is a person who is led to the sign-in from everywhere.
func (w *way) throughSignInPages(t *testing.T) {
	nobody := w.another()
	for _, o := range described(t).Operations {
		if o.Method == "GET" && slices.Contains(o.Statuses, 302) && !slices.Contains(unseen, o.ID+" 302") {
			path := strings.NewReplacer("{provider}", "github", "{username}", "ada", "{business}", "personal", "{name}", "central", "{run}", "run_x", "{account}", "acc_x", "{team}", "tem_x", "{secret}", "NAME", "{invitation}", "inv_x", "{id}", "acc_x", "{attachment}", "att_x", "{slug}", "site", "{version}", "1", "{path}", "a/b.md", "{mcp}", "mcp_x", "{tool}", "echo").Replace(o.Path)
			nobody.goes(t, 302, call{on: gateway.Surface(o.Surfaces[0]), path: path, header: http.Header{"Accept": {"text/html"}}})
		}
	}
}

func (w *way) throughDeletion(t *testing.T) {
	w.goes(t, 202, call{method: "DELETE", path: "/api/account?confirm=ada"})
	w.posts(t, 204, "/api/auth/undelete", "token", w.token(t, "ada@example.com"))
}
