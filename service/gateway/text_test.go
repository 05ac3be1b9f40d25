package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/page"
)

// vile is a text that some database, parser or pattern does not take.
type vile struct {
	name string
	text string
	json string // as a JSON string has it; empty: as json.Marshal writes it
	cut  bool   // it matters only where a text is cut
}

var viles = []vile{
	{name: "no UTF-8", text: "a\xffb", json: "\"a\xffb\""},
	{name: "a cut character", text: strings.Repeat("x", 254) + "\u20ac", cut: true},
	{name: "half a character", text: "ab\xe2\x82", cut: true},
	{name: "half a pair", text: "a\xed\xa0\x80b", json: `"a\ud800b"`},
	{name: "a zero byte", text: "a\x00b", json: `"a\u0000b"`},
	{name: "wildcards", text: `%_\`},
	{name: "60 KB", text: strings.Repeat("x", 60<<10)},
}

// sendable reports whether a header can hold the text at all.
func (v vile) sendable() bool { return !strings.ContainsAny(v.text, "\x00\r\n") }

func (v vile) asJSON() json.RawMessage {
	if v.json != "" {
		return json.RawMessage(v.json)
	}
	text, _ := json.Marshal(v.text) // a text always marshals
	return text
}

// headers are what a client can say about itself or its request. Those that decide nothing go together.
var headers = [][]string{
	{"User-Agent"}, {"Accept"}, {"If-Match"}, {"If-None-Match"}, {"Range"}, {"Idempotency-Key"}, {"Authorization"}, {"Cookie"}, {"Content-Type"},
	{"Referer", "Accept-Language", "Last-Event-ID", "Traceparent", "X-Forwarded-For", "X-Request-Id", "X-GitHub-Event", "X-GitHub-Delivery", "X-Hub-Signature-256"},
}

// target is a route with everything in it that can be said otherwise, and values by which it does something.
type target struct {
	on     gateway.Surface
	method string
	path   string            // with its parameters
	query  map[string]string // "" is not sent
	fields map[string]any    // of the body; nil: there is none
	form   bool              // the body is a page's form
}

func (t target) String() string { return fmt.Sprint(t.on, " ", t.method, " ", t.path) }

// assault is one request with one text that is not as it should be.
type assault struct {
	target
	what   string // which, and what is in its place
	at     string // the path
	query  string
	header http.Header
	body   string
}

var parameter = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// onslaught is the state of the attacks on one database.
type onslaught struct {
	*scene
	params  map[string]string
	cookie  string
	derived string // the password as it is stored
	result  map[string]int
	bodies  map[string]string
}

// TestNoTextIsTooVileToAnswer sends texts that databases and parsers stumble over in every header, query parameter, segment
// of a path and field of a body of every route: nothing is our fault, and both databases answer alike.
func TestNoTextIsTooVileToAnswer(t *testing.T) {
	t.Parallel()
	results := map[string]*onslaught{}
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := newOnslaught(t, address)
		results[string(s.DB.Dialect())] = s
		asked := 0
		for n, target := range s.targets(t) {
			s.Clock.Pass(time.Hour) // limits are for others to test
			s.signIn(t)
			for _, a := range s.attacks(n, target) {
				s.send(t, a)
				asked++
			}
		}
		succeeded := 0
		for name, status := range s.result {
			if strings.HasSuffix(name, asItShouldBe) && status < 400 {
				succeeded++
			}
		}
		// A request that is refused for another reason says little about its texts.
		least := 2000
		if soak {
			least = 5000
		}
		if asked < least || succeeded < 150 {
			t.Errorf("only %d requests, to %d routes that would do something", asked, succeeded)
		}
	})
	if len(results) < 2 {
		return
	}
	for name, status := range results["sqlite"].result {
		if other := results["postgres"].result[name]; status != other {
			t.Errorf("%s: %d on SQLite (%s), %d on PostgreSQL (%s)", name, status, results["sqlite"].bodies[name], other, results["postgres"].bodies[name])
		}
	}
}

func newOnslaught(t *testing.T, address string) *onslaught {
	t.Helper()
	edit := func(c *gateway.Config) {
		plenty(c)
		c.Verifications, c.WrongKeys, c.ChannelRate = 1e6, 1e6, 1e6
	}
	s := &onslaught{scene: open(t, address, accounttest.Options{Mail: true, Edit: lenient}, edit), result: map[string]int{}, bodies: map[string]string{}}
	execute(t, s.scene, `INSERT INTO providers (provider, version, app) VALUES ('github', 1, '{"id":1,"clientId":"client"}')`)
	s.start(t, false)
	s.furnish(t)
	return s
}

// furnish makes one of everything that a path can name.
func (s *onslaught) furnish(t *testing.T) {
	t.Helper()
	ada := s.enrol(t, "ada")
	execute(t, s.scene, "UPDATE accounts SET email_verified = 1")
	if _, err := s.Staff.Grant(t.Context(), ada.Account.ID, account.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	in := s.found(t, ada, "shop")
	lin := s.recruit(t, in, "lin", "builder")
	on := func(method, path string, body any) (made struct{ ID, RunID string }) {
		got := s.do(t, call{on: gateway.Agents, method: method, path: spaceOf(in) + path, cookie: ada.cookie, body: body})
		if got.StatusCode > 299 {
			t.Fatalf("%s %s: %d %s", method, path, got.StatusCode, got.body)
		}
		_ = json.Unmarshal([]byte(got.body), &made)
		return made
	}
	on("POST", "/projects", map[string]string{"slug": "site", "name": "Site"})
	on("PUT", "/projects/site/files/a.md", "text")
	on("PUT", "/secrets/TOKEN", map[string]string{"value": "a secret value"})
	team := on("POST", "/teams", map[string]string{"name": "Ops"})
	on("PUT", "/teams/"+team.ID+"/members/"+lin.Account.ID, nil)
	s.params = map[string]string{
		"username": "ada", "business": "shop", "account": lin.Account.ID, "team": team.ID, "slug": "site", "path": "a.md", "secret": "TOKEN", "provider": "github",
		"name": "central", "version": "1", "run": "run_01ARZ3NDEKTSV4RRFFQ69G5FAV", "id": lin.Account.ID, "file": "style.css", "business id": in.ID,
		"invitation": on("POST", "/invitations", map[string]string{"email": "guest@example.com", "role": "viewer"}).ID,
		"key":        s.issue(t, ada, in, nil, "agents:read").ID,
		"mcp":        on("POST", "/mcps", map[string]string{"name": "peer", "url": newPeer(t, "").URL}).ID, "tool": "echo",
	}
	read := func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT password FROM accounts WHERE username = 'ada'").Scan(&s.derived)
	}
	if err := s.DB.Read(t.Context(), read); err != nil {
		t.Fatal(err)
	}
}

// signIn gives the attacker everything that a browser of an administrator holds, and undoes what would keep it out.
func (s *onslaught) signIn(t *testing.T) {
	t.Helper()
	execute(t, s.scene, "DELETE FROM backoffs")
	execute(t, s.scene, "DELETE FROM throttles")
	execute(t, s.scene, "UPDATE accounts SET deleted_at = NULL, suspended_at = NULL")
	execute(t, s.scene, "UPDATE accounts SET service_role = 'admin', email = 'ada@example.com', email_verified = 1, password = $1 WHERE username = 'ada'", s.derived)
	execute(t, s.scene, "UPDATE workspaces SET deleted_at = NULL, suspended_at = NULL, archived_at = NULL, erase_at = NULL")
	in, err := s.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
	if err != nil {
		t.Fatal(err)
	}
	up, err := s.Staff.Elevate(t.Context(), in.Who, "")
	if err != nil {
		t.Fatal(err)
	}
	s.cookie = "svc_session=" + up.Token + "; svc_admin=" + up.Elevation
}

const newSecret = "another calm password"

// asItShouldBe names a request without a text that is not.
const asItShouldBe = "as it should be"

// samples are what the fields and parameters of that name can hold.
var samples = map[string]any{
	"email": "ada@example.com", "password": password, "currentPassword": password, "newPassword": newSecret, "username": "eve", "displayName": "Ada",
	"token": "x", "ticket": "x", "key": "x", "unlink": []string{}, "business": "corner", "name": "Name", "title": "Name", "slug": "other", "description": "text", "reason": "a good reason",
	"accountId": "acc_x", "role": "viewer", "scopes": []string{"agents:read"}, "expiresAt": nil, "confirm": "ada", "graceSeconds": 60, "value": "a secret value",
	"from": "a.md", "to": "b.md", "provider": "github", "owner": "octo", "branch": "main", "installationId": 1, "kind": "user", "body": "hello",
	"setup_action": "install", "intent": "signin", "workspace": "ada/shop", "installation_id": "1", "replace": "false", "version": "", "returnTo": "/account",
	"client": "laptop", "grant_type": deviceGrant, "device_code": "svcd_x", "tagName": "note", "type": "note", "text": "hello",
}

// targets are all routes there are: what is described, what lies below {base_url}, and the pages with their forms. What only
// reads comes first, and what deletes last.
func (s *onslaught) targets(t *testing.T) []target {
	t.Helper()
	var all []target
	for _, o := range described(t).Operations {
		query := map[string]string{}
		if slices.Contains(o.Parameters("query"), "cursor") {
			query = map[string]string{"q": "", "action": "", "actor": "", "status": ""}
		}
		for _, name := range o.Parameters("query") {
			query[name] = ""
			if text, ok := samples[name].(string); ok && name != "confirm" && name != "limit" {
				query[name] = text
			}
		}
		fields := fieldsOf(o.Fields())
		if _, ok := fields["accountId"]; ok {
			fields["accountId"] = s.params["account"]
		}
		if strings.HasSuffix(o.Path, "/grant") {
			fields["role"] = account.RoleSupport
		}
		for _, on := range o.Surfaces {
			all = append(all, target{on: gateway.Surface(on), method: o.Method, path: o.Path, query: query, fields: fields})
		}
	}
	all = append(all, s.baseTargets()...)
	all = append(all, s.pageTargets(t)...)
	order := []string{"GET", "PUT", "PATCH", "POST", "DELETE"}
	slices.SortStableFunc(all, func(a, b target) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.method), slices.Index(order, b.method)), strings.Compare(a.String(), b.String()))
	})
	return all
}

func fieldsOf(kinds map[string]string) map[string]any {
	if kinds == nil {
		return nil
	}
	fields := map[string]any{}
	for name, kind := range kinds {
		v, known := samples[name]
		switch v.(type) {
		case string:
			known = kind == "string"
		case []string:
			known = kind == "strings"
		case int:
			known = kind == "other"
		}
		if known && v != nil {
			fields[name] = v
		} else if kind == "string" && !known {
			fields[name] = "x"
		}
	}
	return fields
}

// baseTargets are the routes of the contract's API.
func (s *onslaught) baseTargets() (all []target) {
	query := map[string]string{"offset": "", "live": "", "tail": "", "view": "", "wait": "", "limit": "", "cursor": "", "status": "", "meta": "", "q": ""}
	for _, shape := range append(gateway.Shapes(), "channels/{name}/in") {
		path := "/v1/{username}/{business}/" + strings.Replace(shape, "{attachment}", "{path}", 1)
		all = append(all, target{on: gateway.Agents, method: "GET", path: path, query: query},
			target{on: gateway.Agents, method: "POST", path: path, query: query, fields: map[string]any{"kind": "user", "body": "hello", "tagName": "note", "type": "note", "text": "hello"}})
	}
	return all
}

var (
	formTag  = regexp.MustCompile(`(?s)<form[^>]*method="post"[^>]*action="([^"]+)"[^>]*>(.*?)</form>`)
	inputTag = regexp.MustCompile(`<(?:input|select|textarea)[^>]*\bname="([^"]+)"[^>]*`)
)

// pageTargets are the pages, and the forms that stand on them.
func (s *onslaught) pageTargets(t *testing.T) (all []target) {
	t.Helper()
	s.signIn(t)
	forms := map[string]map[string]any{}
	for _, l := range gateway.Lines() {
		if strings.HasPrefix(l.Path, "/api/") || l.Method != "GET" {
			continue
		}
		query := map[string]string{"returnTo": "", "error": "", "notice": "", "ticket": ""}
		for _, on := range l.Surfaces {
			all = append(all, target{on: on, method: "GET", path: l.Path, query: query})
			got := s.do(t, call{on: on, path: s.filled(l.Path), cookie: s.cookie, header: http.Header{"Accept": {"text/html"}}})
			for _, form := range formTag.FindAllStringSubmatch(got.body, -1) {
				forms[html.UnescapeString(form[1])] = inputs(form[2])
			}
		}
	}
	for _, l := range gateway.Lines() {
		if strings.HasPrefix(l.Path, "/api/") || l.Method != "POST" {
			continue
		}
		fields := forms[l.Path]
		for action, found := range forms { // one for each item of a list
			if ok, _ := regexp.MatchString("^"+parameter.ReplaceAllString(l.Path, "[^/]+")+"$", action); ok {
				fields = found
			}
		}
		if fields == nil {
			fields = map[string]any{}
		}
		for name, text := range extraFields[l.Path] {
			fields[name] = text
		}
		for _, on := range l.Surfaces {
			all = append(all, target{on: on, method: "POST", path: l.Path, fields: fields, form: true})
		}
	}
	return all
}

// extraFields are those of forms that stand on pages which only some people see.
var extraFields = map[string]map[string]any{
	page.SignInPath:       {"email": "ada@example.com", "password": password, "returnTo": "/account"},
	page.LinkPath:         {"ticket": "x", "email": "ada@example.com", "password": password, "returnTo": "/account"},
	page.LinkSeparatePath: {"ticket": "x", "returnTo": "/account"},
	page.SetupPath:        {"token": "x", "email": "eve@example.com", "password": password, "username": "eve"},
	page.ResetPath:        {"token": "x", "newPassword": newSecret},
	page.RotateKeyPath:    {"workspace": "ada/shop", "graceSeconds": "60"},
	page.RevokeKeyPath:    {"workspace": "ada/shop"},
	page.DevicePath:       {"user_code": "BCDF-GHJK", "workspace": "ada/shop", "scopes": "runs:read", "days": "30", "decision": "approve"},
}

func inputs(form string) map[string]any {
	fields := map[string]any{}
	for _, tag := range inputTag.FindAllStringSubmatch(form, -1) {
		switch v := samples[tag[1]].(type) {
		case string:
			fields[tag[1]] = v
		case []string:
			fields[tag[1]] = strings.Join(v, "")
		case nil:
			fields[tag[1]] = ""
		default:
			fields[tag[1]] = fmt.Sprint(v)
		}
	}
	return fields
}

// filled is a path whose parameters name what there is.
func (s *onslaught) filled(path string) string {
	return parameter.ReplaceAllStringFunc(path, func(name string) string {
		key := parameter.FindStringSubmatch(name)[1]
		switch {
		case key == "id" && strings.Contains(path, "/api/admin/workspaces"):
			key = "business id"
		case key == "name" && strings.Contains(path, "/workflows"):
			return "sample"
		}
		return url.PathEscape(s.params[key])
	})
}

// attacks are the requests to the n-th route, each with one text in one place. Outside the soak a route meets every fourth of what
// can stand in a header, each its own.
func (s *onslaught) attacks(n int, t target) (all []assault) {
	whole := assault{target: t, what: asItShouldBe, at: s.filled(t.path), query: t.encoded("", ""), body: t.encode("", vile{})}
	if t.method == http.MethodGet || t.fields != nil {
		all = append(all, whole)
	}
	// Beside other tests some of them are sent, others to the next route.
	passed := func(one int) bool {
		n++
		return !soak && n%one != 0
	}
	for _, v := range viles {
		for _, names := range headers {
			if !v.sendable() || names[0] != "User-Agent" && v.name != "no UTF-8" || passed(4) {
				continue
			}
			a := whole
			a.what, a.header = "header "+strings.Join(names, ", ")+": "+v.name, http.Header{}
			for _, name := range names {
				a.header[name] = []string{v.text}
			}
			all = append(all, a)
		}
		if v.cut {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.query)) {
			if passed(3) {
				continue
			}
			a := whole
			a.what, a.query = "query "+name+": "+v.name, t.encoded(name, v.text)
			all = append(all, a)
		}
		for _, found := range parameter.FindAllString(t.path, -1) {
			if passed(3) {
				continue
			}
			a := whole
			a.what, a.at = "path "+found+": "+v.name, s.filled(strings.Replace(t.path, found, "\x01", 1))
			a.at = strings.Replace(a.at, "\x01", url.PathEscape(v.text), 1)
			all = append(all, a)
		}
		for _, name := range slices.Sorted(maps.Keys(t.fields)) {
			if passed(3) {
				continue
			}
			a := whole
			a.what, a.body = "field "+name+": "+v.name, t.encode(name, v)
			all = append(all, a)
		}
	}
	return all
}

// encoded is the query, with a text in the place of one parameter.
func (t target) encoded(name, text string) string {
	q := url.Values{}
	for key, value := range t.query {
		if key == name {
			value = text
		}
		if value != "" {
			q.Set(key, value)
		}
	}
	return q.Encode()
}

// encode is the body, with a text in the place of one field.
func (t target) encode(name string, v vile) string {
	if t.fields == nil {
		return ""
	}
	if t.form {
		f := url.Values{}
		for key, value := range t.fields {
			f.Set(key, fmt.Sprint(value))
		}
		if name != "" {
			f.Set(name, v.text)
		}
		return f.Encode()
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(t.fields)) {
		text, _ := json.Marshal(t.fields[key]) // texts, numbers and lists always marshal
		if _, list := t.fields[key].([]string); key == name && list {
			text = []byte("[" + string(v.asJSON()) + "]")
		} else if key == name {
			text = v.asJSON()
		}
		fmt.Fprintf(&b, `,%q:%s`, key, text)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// send makes an attack, and fails where it is our fault.
func (s *onslaught) send(t *testing.T, a assault) {
	t.Helper()
	address := s.server.URL + a.at
	if a.query != "" {
		address += "?" + a.query
	}
	r, err := http.NewRequestWithContext(t.Context(), a.method, address, strings.NewReader(a.body))
	if err != nil {
		t.Fatalf("%s, %s: %v", a.target, a.what, err)
	}
	r.Host = s.hosts[a.on]
	r.Header = s.page(a.on)
	if a.form {
		r.Header = s.formHeader()
		r.Header.Set("Origin", "http://"+s.hosts[a.on])
	}
	r.Header.Set("Cookie", s.cookie)
	r.Header.Set("X-Forwarded-For", fresh())
	for name, values := range a.header {
		switch name {
		case "Cookie":
			values = []string{s.cookie + "; svc_device=" + values[0] + "; svc_oauth=" + values[0]}
		case "Authorization":
			values = []string{"Bearer " + values[0]}
		}
		r.Header[name] = values
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s, %s: %v", a.target, a.what, err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	name := a.target.String() + ", " + a.what
	s.result[name], s.bodies[name] = answer.StatusCode, fmt.Sprintf("%.200s", text)
	if answer.StatusCode >= 500 {
		t.Errorf("%s: %d %.300s", name, answer.StatusCode, text)
	}
	if answer.StatusCode < 300 && a.method != http.MethodGet {
		s.signIn(t)
	}
}

// TestASignInByAnOddBrowserIsOneLikeOthers has a User-Agent that is no text: the right password opens a session that shows it,
// the audit log tells of it, and the wrong one is refused as ever.
func TestASignInByAnOddBrowserIsOneLikeOthers(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		s.enrol(t, "ada")
		for sent, kept := range map[string]string{
			"\xff\xfe/1":                           "\ufffd\ufffd/1",
			strings.Repeat("x", 254) + "\u20ac":    strings.Repeat("x", 254),
			"odd \u202e/1 " + string([]byte{0x9b}): "odd  /1 \ufffd",
		} {
			login := func(secret string) reply {
				header := s.page(gateway.Platform)
				header["User-Agent"] = []string{sent}
				return s.do(t, call{method: "POST", path: loginPath, header: header, from: fresh(), body: map[string]string{"email": "ada@example.com", "password": secret}})
			}
			login("not the password").wants(t, 401, "invalid_credentials")
			in := login(password).wants(t, 200, "")
			told := s.events(t, "users/ada/personal", "login.password")
			if len(told) == 0 || told[0].Source.UserAgent != kept {
				t.Errorf("%q: the log tells %+v", sent, told)
			}
			var list struct {
				Items []struct {
					UserAgent string
					Current   bool
				}
			}
			s.do(t, call{path: "/api/account/sessions", cookie: in.cookies()}).read(t, &list)
			for _, one := range list.Items {
				if one.Current && one.UserAgent != kept {
					t.Errorf("%q is shown as %q", sent, one.UserAgent)
				}
			}
		}
	})
}

// TestAListTakesWildcardsAsTheyAre asks every list that can be searched for what no item is called.
func TestAListTakesWildcardsAsTheyAre(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := newOnslaught(t, address)
		s.signIn(t)
		searched := 0
		for _, o := range described(t).Operations {
			if o.Method != http.MethodGet || !slices.Contains(o.Parameters("query"), "q") || strings.HasSuffix(o.Path, "/audit") {
				continue
			}
			for _, on := range o.Surfaces {
				count := func(q string) int {
					var list struct{ Items []json.RawMessage }
					path := s.filled(o.Path) + "?q=" + url.QueryEscape(q)
					s.do(t, call{on: gateway.Surface(on), path: path, cookie: s.cookie}).wants(t, 200, "").read(t, &list)
					return len(list.Items)
				}
				if count("") > 0 {
					searched++
				}
				for _, q := range []string{"%", "_", `\`, "%%", "a%"} {
					if n := count(q); n > 0 && !(q == "_" && strings.HasSuffix(o.Path, "/tools")) { // names of tools have one
						t.Errorf("%s %s: %d items are called %q", on, o.Path, n, q)
					}
				}
			}
		}
		if searched < 12 {
			t.Errorf("only %d lists have anything in them", searched)
		}
	})
}
