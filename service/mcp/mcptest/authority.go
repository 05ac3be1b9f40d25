// Package mcptest is an authorization server and the MCP servers that want its tokens, for tests: faithful to the specification, and
// hostile where a test says so.
package mcptest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
)

// Options are what a test wants to be otherwise.
type Options struct {
	// Path is that of the issuer. Defaults to none.
	Path string
	// Metadata are the well-known places that have it, of oauth, openid and appended. Defaults to oauth.
	Metadata []string
	// Method is how clients prove who they are. Defaults to client_secret_basic.
	Method string
	// Silent: it does not say who it is when it sends somebody back.
	Silent bool
	// Life is that of an access token. Defaults to an hour.
	Life time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Edit makes other metadata of its own. Defaults to none.
	Edit func(metadata map[string]any)
	// Thinks is called before a refresh token is looked at. Defaults to none.
	Thinks func()
	// Instead answers the requests to a path, without the issuer's. Defaults to none.
	Instead map[string]http.HandlerFunc
}

// Authority is an authorization server. Its refresh tokens are spent with their use, and whoever shows one twice ends the sign-in.
type Authority struct {
	*httptest.Server
	o Options

	mu      sync.Mutex
	issuer  string
	clients map[string]client
	codes   map[string]code
	access  map[string]permit
	refresh map[string]permit
	spent   map[string]permit
	asked   []url.Values // for tokens
	deny    bool
	down    bool
}

type client struct {
	secret, method string
	redirects      []string
}

type code struct {
	permit
	redirect, challenge string
}

// badRequest is what an authorization server calls a request that it cannot read (RFC 6749 §5.2).
const badRequest = fault.InvalidRequest

// permit is what a token is for.
type permit struct {
	client, resource, scope string
	family                  string // a sign-in
	until                   time.Time
}

// NewAuthority starts one, which ends with the test.
func NewAuthority(t testing.TB, o Options) *Authority {
	t.Helper()
	a := &Authority{o: o, clients: map[string]client{}, codes: map[string]code{}, access: map[string]permit{}, refresh: map[string]permit{}, spent: map[string]permit{}}
	if a.o.Now == nil {
		a.o.Now = time.Now
	}
	if a.o.Metadata == nil {
		a.o.Metadata = []string{"oauth"}
	}
	if a.o.Method == "" {
		a.o.Method = "client_secret_basic"
	}
	if a.o.Life == 0 {
		a.o.Life = time.Hour
	}
	a.Server = httptest.NewServer(a)
	a.issuer = a.URL + o.Path
	t.Cleanup(a.Close)
	return a
}

// Issuer is who it says it is.
func (a *Authority) Issuer() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issuer
}

// Deny has it say that the person said no, from here on.
func (a *Authority) Deny(deny bool) { a.set(func() { a.deny = deny }) }

// Down has it answer nobody who asks for tokens, from here on.
func (a *Authority) Down(down bool) { a.set(func() { a.down = down }) }

// EndAccess ends all access tokens before their time. The sign-ins go on.
func (a *Authority) EndAccess() { a.set(func() { clear(a.access) }) }

// Revoke ends all sign-ins.
func (a *Authority) Revoke() {
	a.set(func() {
		clear(a.access)
		clear(a.refresh)
	})
}

// Spend uses up all refresh tokens, as whoever dies before the answer comes does.
func (a *Authority) Spend() {
	a.set(func() {
		for token, g := range a.refresh {
			a.spent[token] = g
		}
		clear(a.refresh)
	})
}

func (a *Authority) set(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fn()
}

// Asked are the requests for tokens of a grant type, as they came.
func (a *Authority) Asked(grantType string) (all []url.Values) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, form := range a.asked {
		if form.Get("grant_type") == grantType {
			all = append(all, form)
		}
	}
	return all
}

// Secrets are all tokens that it ever gave, and the secrets of its clients.
func (a *Authority) Secrets() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tokens := range []map[string]permit{a.access, a.refresh, a.spent} {
		for token := range tokens {
			all = append(all, token)
		}
	}
	for _, c := range a.clients {
		if c.secret != "" {
			all = append(all, c.secret)
		}
	}
	return all
}

// Lets reports whether a token opens a resource.
func (a *Authority) Lets(token, resource string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, found := a.access[token]
	return found && g.resource == resource && a.o.Now().Before(g.until)
}

// Visit is what a browser does that is sent to sign in: the person says yes at once. It returns where the browser is sent back to.
func (a *Authority) Visit(t testing.TB, address string) *url.URL {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil || answer.StatusCode != http.StatusFound {
		t.Fatalf("the authorization server answers %d: %v", answer.StatusCode, err)
	}
	return to
}

// ServeHTTP answers at its own address, and at that of a server that has it.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, a.o.Path)
	if instead := a.o.Instead[path]; instead != nil {
		instead(w, r)
		return
	}
	switch {
	case slices.Contains(a.documents(), r.URL.Path):
		a.describe(w)
	case path == "/register" && r.Method == http.MethodPost:
		a.register(w, r)
	case path == "/authorize" && r.Method == http.MethodGet:
		a.authorize(w, r)
	case path == "/token" && r.Method == http.MethodPost:
		a.token(w, r)
	case path == "/introspect" && r.Method == http.MethodPost:
		a.introspect(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (a *Authority) documents() (all []string) {
	for _, form := range a.o.Metadata {
		switch form {
		case "oauth":
			all = append(all, "/.well-known/oauth-authorization-server"+a.o.Path)
		case "openid":
			all = append(all, "/.well-known/openid-configuration"+a.o.Path)
		case "appended":
			all = append(all, a.o.Path+"/.well-known/openid-configuration")
		}
	}
	return all
}

func (a *Authority) describe(w http.ResponseWriter) {
	issuer := a.Issuer()
	metadata := map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token", "registration_endpoint": issuer + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"tools", "offline_access"},
		"token_endpoint_auth_methods_supported": []string{a.o.Method}, "authorization_response_iss_parameter_supported": !a.o.Silent,
	}
	if a.o.Edit != nil {
		a.o.Edit(metadata)
	}
	say(w, http.StatusOK, metadata)
}

func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Redirects) == 0 || asked.Method != a.o.Method {
		refuse(w, "invalid_client_metadata")
		return
	}
	id, c := "client-"+rand.Text(), client{method: asked.Method, redirects: asked.Redirects}
	made := map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method}
	if asked.Method != "none" {
		c.secret = "client-secret-" + rand.Text()
		made["client_secret"], made["client_secret_expires_at"] = c.secret, 0
	}
	a.set(func() { a.clients[id] = c })
	say(w, http.StatusCreated, made)
}

func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	c, found := a.clients[q.Get("client_id")]
	redirect := q.Get("redirect_uri")
	if !found || !slices.Contains(c.redirects, redirect) {
		http.Error(w, "another client, or another way back", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if !a.o.Silent {
		back.Set("iss", a.issuer)
	}
	switch {
	case a.deny:
		back.Set("error", "access_denied")
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") == "":
		back.Set("error", badRequest)
	default:
		value := "code-" + rand.Text()
		a.codes[value] = code{permit{q.Get("client_id"), q.Get("resource"), q.Get("scope"), rand.Text(), time.Time{}}, redirect, q.Get("code_challenge")}
		back.Set("code", value)
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, badRequest)
		return
	}
	if a.o.Thinks != nil && r.PostForm.Get("grant_type") == "refresh_token" {
		a.o.Thinks()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.PostForm)
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	c, found := a.clients[id]
	var g permit
	problem := "unsupported_grant_type"
	switch {
	case a.down:
		http.Error(w, "later", http.StatusServiceUnavailable)
		return
	case !found || c.secret != secret || basic != (c.method == "client_secret_basic"):
		problem = "invalid_client"
	case r.PostForm.Get("grant_type") == "authorization_code":
		g, problem = a.byCode(r.PostForm)
	case r.PostForm.Get("grant_type") == "refresh_token":
		g, problem = a.byRefresh(r.PostForm)
	}
	if problem == "" && (g.client != id || g.resource != r.PostForm.Get("resource")) {
		problem = "invalid_target"
	}
	if problem != "" {
		refuse(w, problem)
		return
	}
	a.give(w, g)
}

// introspect tells a server what a token is (RFC 7662). Any server may ask.
func (a *Authority) introspect(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, found := a.access[r.PostFormValue("token")]
	if !found || !a.o.Now().Before(g.until) {
		say(w, http.StatusOK, map[string]bool{"active": false})
		return
	}
	say(w, http.StatusOK, map[string]any{"active": true, "scope": g.scope, "exp": g.until.Unix(), "sub": "ada", "aud": g.resource})
}

func (a *Authority) byCode(form url.Values) (permit, string) {
	c, found := a.codes[form.Get("code")]
	delete(a.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if !found || c.redirect != form.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
		return permit{}, "invalid_grant"
	}
	return c.permit, ""
}

func (a *Authority) byRefresh(form url.Values) (permit, string) {
	token := form.Get("refresh_token")
	g, found := a.refresh[token]
	if !found {
		if again, spent := a.spent[token]; spent {
			a.end(again.family)
		}
		return permit{}, "invalid_grant"
	}
	delete(a.refresh, token)
	a.spent[token] = g
	return g, ""
}

// end ends a sign-in.
func (a *Authority) end(family string) {
	for _, tokens := range []map[string]permit{a.access, a.refresh} {
		for token, g := range tokens {
			if g.family == family {
				delete(tokens, token)
			}
		}
	}
}

func (a *Authority) give(w http.ResponseWriter, g permit) {
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	g.until = a.o.Now().Add(a.o.Life)
	a.access[access] = g
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(a.o.Life.Seconds()), "scope": g.scope}
	if strings.Contains(g.scope, "offline_access") {
		a.refresh[refresh] = g
		answer["refresh_token"] = refresh
	}
	say(w, http.StatusOK, answer)
}

func refuse(w http.ResponseWriter, problem string) {
	say(w, http.StatusBadRequest, map[string]string{"error": problem})
}

func say(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
