package servicetest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/internal/front"
	"svc.dev/svc/service/scope"
)

// Workspace is ada's own, as a program sees it that has a key.
type Workspace struct {
	Site string // an address of the surface of agents for programs that find no *.localhost by themselves, such as Node
	API  string // of the API mount of the workspace, there
	Key  string
}

// SignUp makes an account, ada's, and a key of her workspace with these scopes.
func (s *Served) SignUp(t *testing.T, scopes ...string) Workspace {
	t.Helper()
	site := s.front(t)
	return Workspace{Site: site, API: site + "/v1/ada/personal", Key: s.Key(t, "ada", scopes...)}
}

// Key is one of somebody's own workspace, with these scopes.
func (s *Served) Key(t *testing.T, username string, scopes ...string) string {
	t.Helper()
	return s.KeyOf(t, username, scope.Personal, scopes...)
}

// KeyOf is Key for another business.
func (s *Served) KeyOf(t *testing.T, username, business string, scopes ...string) string {
	t.Helper()
	made := s.post(t, s.Agents, "/api/workspaces/"+username+"/"+business+"/keys", s.Session(t, username), map[string]any{"name": "test", "scopes": scopes})
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(made.Body), &key); err != nil || key.Key == "" {
		t.Fatalf("key: %s, %v", made.Body, err)
	}
	return key.Key
}

// Session is the cookie of somebody who is signed in, and signs up when they are first asked for.
func (s *Served) Session(t *testing.T, username string) string {
	t.Helper()
	if s.sessions[username] == "" {
		made := s.post(t, s.Platform, "/api/auth/password/register", "", map[string]any{"email": username + "@example.com", "password": "a calm and long password", "username": username})
		s.sessions[username], _, _ = strings.Cut(made.Header.Get("Set-Cookie"), ";")
	}
	return s.sessions[username]
}

// front passes on what it is asked, in the name of the surface of agents.
func (s *Served) front(t *testing.T) string {
	t.Helper()
	at, err := url.Parse(s.Agents)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, Transport: Client.Transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
	}})
	proxy.Listener = front.Listen(proxy.Listener, front.Limits{})
	front.Guard(proxy.Config)
	proxy.Start()
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func (s *Served) post(t *testing.T, origin, path, cookie string, body any) Answer {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+path, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Origin": {origin}, "Content-Type": {"application/json"}, "Cookie": {cmp.Or(cookie, "none=1")}}
	return Send(t, Client, r)
}
