package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

const (
	registerPath = "/api/auth/password/register"
	loginPath    = "/api/auth/password/login"
)

// TestBodiesAreReadStrictly has the exact status of everything that a body can get wrong.
func TestBodiesAreReadStrictly(t *testing.T) {
	s := quick(t, trusting)
	for name, c := range map[string]struct {
		body   string
		header http.Header
		status int
		typ    string
	}{
		"duplicated key":       {`{"email":"a@b.co","password":"x","password":"y"}`, nil, 400, "invalid_json"},
		"escaped duplicate":    {`{"email":"a@b.co","password":"x","\u0070assword":"y"}`, nil, 400, "invalid_json"},
		"case-variant key":     {`{"email":"a@b.co","Password":"x"}`, nil, 400, "invalid_request"},
		"long s":               {`{"email":"a@b.co","paſſword":"x"}`, nil, 400, "invalid_request"},
		"unknown key":          {`{"email":"a@b.co","password":"x","admin":true}`, nil, 400, "invalid_request"},
		"missing key":          {`{"email":"a@b.co"}`, nil, 400, "invalid_request"},
		"null":                 {`{"email":"a@b.co","password":null}`, nil, 400, "invalid_request"},
		"number":               {`{"email":"a@b.co","password":1}`, nil, 400, "invalid_request"},
		"array":                {`{"email":"a@b.co","password":["x"]}`, nil, 400, "invalid_request"},
		"two documents":        {`{"email":"a@b.co","password":"x"}{}`, nil, 400, "invalid_json"},
		"no object":            {`["a@b.co"]`, nil, 400, "invalid_request"},
		"nothing":              {``, nil, 400, "invalid_json"},
		"lone surrogate":       {`{"email":"a@b.co","password":"\ud800aaaaaaaaaaaa"}`, nil, 400, "invalid_json"},
		"invalid UTF-8":        {"{\"email\":\"a@b.co\",\"password\":\"\xff\"}", nil, 400, "invalid_json"},
		"depth bomb":           {strings.Repeat("[", 5000), nil, 400, "invalid_json"},
		"malformed e-mail":     {`{"email":"ab.co","password":"x"}`, nil, 400, "invalid_request"},
		"16 384 bytes":         {sized(16384), nil, 401, "invalid_credentials"},
		"16 385 bytes":         {sized(16385), nil, 413, "body_too_large"},
		"text":                 {`{}`, http.Header{"Content-Type": {"text/plain"}}, 415, "unsupported_media_type"},
		"no type":              {`{}`, http.Header{}, 415, "unsupported_media_type"},
		"form":                 {`email=a`, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415, "unsupported_media_type"},
		"two types":            {`{}`, http.Header{"Content-Type": {"application/json", "application/json"}}, 415, "unsupported_media_type"},
		"gzip":                 {`{}`, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415, "unsupported_media_type"},
		"identity":             {`{}`, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}, 415, "unsupported_media_type"},
		"another charset":      {`{}`, http.Header{"Content-Type": {"application/json; charset=utf-16"}}, 415, "unsupported_media_type"},
		"UTF-8 said":           {`{"email":"a@b.co","password":"x"}`, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, 401, "invalid_credentials"},
		"wrong, and too large": {sized(16385), http.Header{"Content-Type": {"text/plain"}}, 415, "unsupported_media_type"},
	} {
		t.Run(name, func(t *testing.T) {
			header := c.header
			if header == nil {
				header = http.Header{"Content-Type": {"application/json"}}
			}
			header.Set("Origin", platformURL)
			s.do(t, call{method: "POST", path: loginPath, body: c.body, header: header, from: fresh()}).wants(t, c.status, c.typ)
		})
	}
}

// trusting believes the tests' word about where they come from.
func trusting(c *gateway.Config) { c.Trusted = append(c.Trusted, loopback) }

// sized is a sign-in that is so many bytes long.
func sized(n int) string {
	const head, tail = `{"email":"a@b.co","password":"`, `"}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

// raw sends bytes and returns the status and type of the answer.
func (s *scene) raw(t *testing.T, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return fmt.Sprint(answer.StatusCode)
}

func TestABodyThatLiesAboutItsLengthIsNoMoreThanItsCap(t *testing.T) {
	s := quick(t)
	head := "POST " + loginPath + " HTTP/1.1\r\nHost: svc.localhost:8080\r\nOrigin: " + platformURL + "\r\nContent-Type: application/json\r\n"
	body := sized(20000)
	for name, c := range map[string]struct{ request, status string }{
		"chunked":           {head + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body), "413"},
		"many chunks":       {head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10\r\n"+body[:16]+"\r\n", 1100) + "0\r\n\r\n", "413"},
		"announced":         {head + "Content-Length: 100000000\r\n\r\n{", "413"},
		"shorter than said": {head + "Content-Length: 10\r\n\r\n{}" + "        ", "400"},
		"negative":          {head + "Content-Length: -1\r\n\r\n", "400"},
		"two lengths":       {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.raw(t, c.request); got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
		})
	}
}

func TestARouteIsCheckedInTheOrderOfTheContract(t *testing.T) {
	s := quick(t, trusting)
	strange := http.Header{"Origin": {"http://evil.example"}, "Content-Type": {"text/plain"}}
	for _, path := range []string{registerPath, loginPath} {
		got := s.do(t, call{method: "PUT", path: path, body: sized(20000), header: strange.Clone()})
		got.wants(t, 405, "method_not_allowed")
		if got.Header.Get("Allow") != "POST" {
			t.Errorf("Allow: %s", got.Header.Get("Allow"))
		}
		s.do(t, call{method: "POST", path: path, body: sized(20000), header: strange.Clone()}).wants(t, 403, "cross_origin_request")
		strange.Set("Origin", platformURL)
		s.do(t, call{method: "POST", path: path, body: sized(20000), header: strange.Clone()}).wants(t, 415, "unsupported_media_type")
		strange.Set("Origin", "http://evil.example")
	}
	s.do(t, call{method: "TRACE", path: "/api/auth/session"}).wants(t, 405, "method_not_allowed")
	s.do(t, call{method: "POST", path: "/api/auth/session"}).wants(t, 405, "method_not_allowed")
	s.do(t, call{path: "/api/auth/session", method: "OPTIONS"}).wants(t, 405, "method_not_allowed")
	s.do(t, call{path: "/api/nothing"}).wants(t, 404, "route_not_found")
	s.do(t, call{on: gateway.Agents, method: "POST", path: loginPath}).wants(t, 404, "route_not_found")
}

// TestOnlyAPageOfThisSurfaceMayChangeAnything has every way to say, and not to say, where a request comes from.
func TestOnlyAPageOfThisSurfaceMayChangeAnything(t *testing.T) {
	s := quick(t, trusting)
	for name, c := range map[string]struct {
		site, origin []string
		ok           bool
	}{
		"neither":                    {nil, nil, false},
		"this origin":                {nil, []string{platformURL}, true},
		"same-origin":                {[]string{"same-origin"}, nil, true},
		"same-origin, other origin":  {[]string{"same-origin"}, []string{"http://evil.example"}, true},
		"same-site":                  {[]string{"same-site"}, nil, false},
		"same-site, this origin":     {[]string{"same-site"}, []string{platformURL}, false},
		"cross-site":                 {[]string{"cross-site"}, nil, false},
		"none":                       {[]string{"none"}, nil, false},
		"empty site":                 {[]string{""}, []string{platformURL}, false},
		"two sites":                  {[]string{"same-origin", "cross-site"}, nil, false},
		"two sites alike":            {[]string{"same-origin", "same-origin"}, nil, false},
		"capital site":               {[]string{"Same-Origin"}, nil, false},
		"null origin":                {nil, []string{"null"}, false},
		"empty origin":               {nil, []string{""}, false},
		"two origins":                {nil, []string{platformURL, "http://evil.example"}, false},
		"two origins alike":          {nil, []string{platformURL, platformURL}, false},
		"sibling":                    {nil, []string{agentsURL}, false},
		"admin":                      {nil, []string{adminURL}, false},
		"https":                      {nil, []string{"https://svc.localhost:8080"}, false},
		"no port":                    {nil, []string{"http://svc.localhost"}, false},
		"other port":                 {nil, []string{"http://svc.localhost:8081"}, false},
		"explicit default":           {nil, []string{"http://svc.localhost:80"}, false},
		"capital host":               {nil, []string{"http://SVC.localhost:8080"}, false},
		"with a path":                {nil, []string{platformURL + "/"}, false},
		"longer host":                {nil, []string{"http://svc.localhost:8080.evil.example"}, false},
		"list":                       {nil, []string{platformURL + ", " + platformURL}, false},
		"space":                      {nil, []string{" " + platformURL}, true}, // HTTP takes the space away
		"host header of an attacker": {nil, []string{"http://evil.example"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"application/json"}}
			for _, v := range c.site {
				header.Add("Sec-Fetch-Site", v)
			}
			for _, v := range c.origin {
				header.Add("Origin", v)
			}
			for _, path := range []string{loginPath, "/api/auth/logout"} {
				got := s.do(t, call{method: "POST", path: path, body: `{"email":"a@b.co","password":"x"}`, header: header.Clone(), from: fresh()})
				if refused := got.StatusCode == 403 && strings.Contains(got.body, "cross_origin_request"); refused == c.ok {
					t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
				}
			}
		})
	}
}

func TestAStrangersPageCannotReadTheAPI(t *testing.T) {
	s := quick(t)
	header := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"cors"}, "Origin": {"http://evil.example"}}
	got := s.do(t, call{path: "/api/auth/session", header: header})
	got.wants(t, 403, "cross_origin_request")
	if got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a stranger's page may read")
	}
	got = s.do(t, call{path: "/api/auth/session", header: http.Header{"Sec-Fetch-Site": {"same-site"}, "Sec-Fetch-Mode": {"cors"}, "Origin": {agentsURL}}})
	got.wants(t, 200, "")
	if got.Header.Get("Access-Control-Allow-Origin") != agentsURL || got.Header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("a sibling may not read: %v", got.Header)
	}
}

func TestAPathThatCanBeReadInTwoWaysIsRefused(t *testing.T) {
	s := quick(t)
	for _, path := range []string{
		"/api//auth/session", "/api/./auth/session", "/api/../api/auth/session", "/api/%2e%2e/auth/session", "/api/auth/%2e/session", "/api/auth%2fsession",
		"/api/auth/sess%69on", "/api/auth/session;x=1", "/api/auth/session/", "/api/workspaces/ada/personal/keys/..%2f..", `/api/a\b`, "/api/auth/session%00",
	} {
		status := s.raw(t, "GET "+path+" HTTP/1.1\r\nHost: svc.localhost:8080\r\nConnection: close\r\n\r\n")
		if status != "400" {
			t.Errorf("%s: %s", path, status)
		}
	}
	for path, want := range map[string]string{"/API/auth/session": "404", "/login/": "404", "/api/auth/session?x=//": "200", "http://svc.localhost:8080/api/auth/session": "200"} {
		if status := s.raw(t, "GET "+path+" HTTP/1.1\r\nHost: svc.localhost:8080\r\nConnection: close\r\n\r\n"); status != want {
			t.Errorf("%s: %s, want %s", path, status, want)
		}
	}
}

func TestAHostThatIsNoSurfaceIsMisdirected(t *testing.T) {
	s := quick(t)
	for _, host := range []string{"evil.example", "127.0.0.1:8080", "svc.localhost", "svc.localhost:8081", "svc.localhost.:8080", "x.svc.localhost:8080", ""} {
		s.hosts["other"] = host
		if host == "" {
			if got := s.raw(t, "GET / HTTP/1.0\r\n\r\n"); got != "421" {
				t.Errorf("no host: %s", got)
			}
			continue
		}
		s.do(t, call{on: "other", path: "/api/auth/session"}).wants(t, 421, "misdirected_request")
	}
	s.hosts["other"] = "SVC.localhost:8080"
	s.do(t, call{on: "other", path: "/api/auth/session"}).wants(t, 200, "")
	s.hosts["other"] = "localhost:8080"
	got := s.do(t, call{on: "other", path: "/login?x=1", header: http.Header{"Accept": {"text/html"}}})
	if got.StatusCode != 302 || got.Header.Get("Location") != platformURL+"/login?x=1" {
		t.Errorf("a person on localhost: %d %s", got.StatusCode, got.Header.Get("Location"))
	}
}

func TestARequestIDIsOursAndInNoBody(t *testing.T) {
	s := quick(t)
	got := s.do(t, call{path: "/api/nothing", header: http.Header{"X-Request-Id": {"req_mine"}}})
	id := got.Header.Get("X-Request-Id")
	if !strings.HasPrefix(id, "req_") || len(id) != 30 || id == "req_mine" || strings.Contains(got.body, "req_") {
		t.Errorf("id %q, body %s", id, got.body)
	}
	for _, path := range []string{"/nothing", "/login?returnTo=//evil", "/api/auth/oauth/gitlab/start"} {
		got := s.browse(t, path, "")
		if got.StatusCode < 400 || got.Header.Get("X-Request-Id") == "" || strings.Contains(got.body, "req_") {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

func TestACredentialInAnAddressIsRefusedAndItsOwnerTold(t *testing.T) {
	s := open(t, address(t), accounttest.Options{Mail: true, Edit: lenient})
	cookie, ada := s.session(t, "ada@example.com")
	var made struct{ Key string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/personal/keys", cookie: cookie, body: map[string]any{"name": "ci", "scopes": []string{"agents:read"}}}).
		wants(t, 201, "").read(t, &made)
	for range 2 {
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/x/y?key=" + made.Key}).wants(t, 400, "credential_in_url")
	}
	s.do(t, call{path: "/api/auth/session?t=" + ada.Token}).wants(t, 400, "credential_in_url")
	if m := s.Inbox.Next(t, "ada@example.com"); !strings.Contains(m.Text, "ci") || strings.Contains(m.Text, made.Key) {
		t.Errorf("mail: %s", m.Text)
	}
}

func TestOnlyHTTP1IsSpoken(t *testing.T) {
	s := quick(t)
	for name, request := range map[string]string{
		"upgrade": "GET /api/auth/session HTTP/1.1\r\nHost: svc.localhost:8080\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"version": "GET /api/auth/session HTTP/1.1\r\nHost: svc.localhost:8080\r\nConnection: close\r\n\r\n",
	} {
		if got := s.raw(t, request); got != "200" {
			t.Errorf("%s: %s", name, got)
		}
	}
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := conn.Read(answer); err == nil && !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
		t.Errorf("answered with %q", answer)
	}
	if got := s.raw(t, "GET / HTTP/1.1\r\nHost: svc.localhost:8080\r\nX-A: b\r\n\tc\r\nBad Name: x\r\n\r\n"); got != "400" {
		t.Errorf("a header that is none: %s", got)
	}
}

// TestALongAddressIsCalledTooLongEverywhere gives an address with a local part that is too long to everything that takes one.
func TestALongAddressIsCalledTooLongEverywhere(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{Mail: true, Edit: lenient})
	cookie, _ := s.session(t, "ada@example.com")
	s.do(t, call{method: "POST", path: "/api/workspaces", cookie: cookie, body: map[string]string{"business": "acme", "name": "Acme"}}).wants(t, 201, "")
	long := strings.Repeat("a", 65) + "@example.com"
	for _, c := range []call{
		{path: "/api/auth/password/register", body: map[string]string{"email": long, "password": password}},
		{path: "/api/auth/password/forgot", body: map[string]string{"email": long}},
		{path: "/api/account/email", cookie: cookie, body: map[string]string{"email": long}},
		{path: "/api/workspaces/ada/acme/invitations", on: gateway.Agents, cookie: cookie, body: map[string]string{"email": long, "role": "viewer"}},
	} {
		c.method = "POST"
		if got := s.do(t, c).wants(t, 400, "invalid_request"); !strings.Contains(got.body, `{"field":"email","type":"too_long"}`) {
			t.Errorf("%s: %s", c.path, got.body)
		}
	}
}
