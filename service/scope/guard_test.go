package scope

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
)

const (
	goodToken  = "a token of the runtime, thirty-two bytes"
	oldToken   = "the token of before, thirty-two bytes too"
	adminToken = "the token for staff, thirty-two bytes as well"
)

// pair is a gateway and the runtime that believes it, at one time.
type pair struct {
	*Forward
	*Guard
	now time.Time
}

func newPair(t testing.TB) *pair {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard([]string{goodToken, oldToken}, []string{adminToken}, []ed25519.PublicKey{public})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{Forward: &Forward{Token: goodToken, AdminToken: adminToken, Key: private}, Guard: g, now: time.Unix(1_800_000_000, 0)}
	p.Forward.Now = func() time.Time { return p.now }
	p.Guard.Now = p.Forward.Now
	return p
}

// ada asks for her own work.
var ada = Claims{Account: "ada", AccountID: "acc_1", Scope: "users/ada/personal", Actor: "ada", Authority: Customer, Base: "https://agents.example.com/v1/ada/personal", RequestID: "req_1"}

// accept is the claims as a guard that accepts them gives them on.
func accept(c Claims) Claims {
	c.Proven = true
	return c
}

// inside is a request of this process that brings claims along with a token of their authority.
func (p *pair) inside(c Claims) *http.Request {
	r := ask("{}")
	var sent *http.Request
	p.Within(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r })).ServeHTTP(nil, r.WithContext(With(r.Context(), c)))
	return sent
}

func ask(body string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/agents/central/a%20b?wait=result", strings.NewReader(body))
}

// signed is a request that the runtime believes.
func (p *pair) signed(t testing.TB, c Claims, body string) *http.Request {
	t.Helper()
	r := ask(body)
	if err := p.Sign(r, c); err != nil {
		t.Fatal(err)
	}
	return r
}

// refusal is the type of what the guard said; empty: it let the request pass.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Type
}

// TestTheGuardRefusesInTheOrderOfTheContract breaks everything that a row names and all that comes behind it, so that an
// answer also says what was looked at first.
func TestTheGuardRefusesInTheOrderOfTheContract(t *testing.T) {
	p := newPair(t)
	steps := []struct {
		want  string
		spoil func(http.Header)
	}{
		{fault.RuntimeUnauthorized, func(h http.Header) { h.Set(HeaderToken, goodToken+"x") }},
		{fault.InvalidHeader, func(h http.Header) { h["X_svc_scope"] = []string{"users/eve/personal"} }},
		{fault.InvalidScope, func(h http.Header) { h.Set(HeaderScope, "users/Ada/personal") }},
		{fault.ScopeMismatch, func(h http.Header) { h.Set(HeaderAccount, "eve") }},
		{fault.AdminRequired, func(h http.Header) { h.Set(HeaderAuthority, StaffAuth) }},
		{fault.AssertionInvalid, func(h http.Header) { h.Set(HeaderAssertion, "x") }},
		{"", func(http.Header) {}},
	}
	for i, step := range steps {
		r := p.signed(t, ada, "{}")
		for _, later := range slices.Backward(steps[i:]) {
			later.spoil(r.Header)
		}
		if _, err := p.Check(r); refusal(err) != step.want {
			t.Errorf("%q, want %q", refusal(err), step.want)
		}
	}
}

func TestTheGuardRefusesWhatIsNotOneGatewaysWord(t *testing.T) {
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	add := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = append(r.Header[name], value) }
	}
	p := newPair(t)
	for name, c := range map[string]struct {
		spoil func(*http.Request)
		want  string
	}{
		"as signed":           {func(*http.Request) {}, ""},
		"the token of before": {set(HeaderToken, oldToken), ""},
		"no token":            {func(r *http.Request) { r.Header.Del(HeaderToken) }, fault.RuntimeUnauthorized},
		"empty token":         {set(HeaderToken, ""), fault.RuntimeUnauthorized},
		"prefix of the token": {set(HeaderToken, goodToken[:32]), fault.RuntimeUnauthorized},
		"two tokens":          {add(HeaderToken, goodToken), fault.RuntimeUnauthorized},
		"tokens as a list":    {set(HeaderToken, goodToken+", "+goodToken), fault.RuntimeUnauthorized},
		"token misspelled": {func(r *http.Request) {
			r.Header.Del(HeaderToken)
			r.Header["X_svc_runtime_token"] = []string{goodToken}
		}, fault.RuntimeUnauthorized},
		"two scopes":                {add(HeaderScope, ada.Scope), fault.InvalidHeader},
		"two accounts":              {add(HeaderAccount, "ada"), fault.InvalidHeader},
		"two assertions":            {add(HeaderAssertion, "x"), fault.InvalidHeader},
		"two of a name to come":     {func(r *http.Request) { r.Header["X-Svc-New"] = []string{"a", "b"} }, fault.InvalidHeader},
		"underscore":                {add("X-Svc_scope", ada.Scope), fault.InvalidHeader},
		"no scope":                  {func(r *http.Request) { r.Header.Del(HeaderScope) }, fault.InvalidScope},
		"scope as a list":           {set(HeaderScope, "users/ada/personal, users/eve/personal"), fault.InvalidScope},
		"scope with another case":   {set(HeaderScope, "Users/ada/personal"), fault.InvalidScope},
		"scope of three":            {set(HeaderScope, "users/ada/personal/x"), fault.InvalidScope},
		"scope with dots":           {set(HeaderScope, "users/ada/.."), fault.InvalidScope},
		"scope escaped":             {set(HeaderScope, "users%2fada/personal"), fault.InvalidScope},
		"scope in another script":   {set(HeaderScope, "users/аda/personal"), fault.InvalidScope},
		"another's scope":           {set(HeaderScope, "users/eve/personal"), fault.ScopeMismatch},
		"prefix of the name":        {set(HeaderScope, "users/ad/personal"), fault.ScopeMismatch},
		"suffix of the name":        {set(HeaderScope, "users/adaa/personal"), fault.ScopeMismatch},
		"no account":                {func(r *http.Request) { r.Header.Del(HeaderAccount) }, fault.ScopeMismatch},
		"staff by customer's token": {set(HeaderAuthority, StaffAuth), fault.AdminRequired},
		"customer by staff's token": {set(HeaderToken, adminToken), fault.AdminRequired},
		"the staff's scope":         {set(HeaderScope, Admin), fault.AdminRequired},
		"another business":          {set(HeaderScope, "users/ada/shop"), fault.AssertionInvalid},
		"another account id":        {set(HeaderAccountID, "acc_2"), fault.AssertionInvalid},
		"another actor":             {set(HeaderActor, "eve"), fault.AssertionInvalid},
		"no actor":                  {func(r *http.Request) { r.Header.Del(HeaderActor) }, fault.AssertionInvalid},
		"an unknown authority":      {set(HeaderAuthority, "owner"), fault.AssertionInvalid},
		"another path":              {func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/agents/central/other", "" }, fault.AssertionInvalid},
		"a path escaped otherwise":  {func(r *http.Request) { r.URL.RawPath = "/agents/central/%61%20b" }, fault.AssertionInvalid},
		"another method":            {func(r *http.Request) { r.Method = http.MethodDelete }, fault.AssertionInvalid},
		"another body":              {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[]")) }, fault.AssertionInvalid},
		"a shorter body":            {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{")) }, fault.AssertionInvalid},
		"a longer body":             {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}{}")) }, fault.AssertionInvalid},
		"no body":                   {func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 }, fault.AssertionInvalid},
		"a body of unknown length":  {func(r *http.Request) { r.ContentLength = -1 }, fault.AssertionInvalid},
		"no assertion":              {func(r *http.Request) { r.Header.Del(HeaderAssertion) }, fault.AssertionInvalid},
	} {
		r := p.signed(t, ada, "{}")
		c.spoil(r)
		got, err := p.Check(r)
		if refusal(err) != c.want {
			t.Errorf("%s: %q, want %q", name, refusal(err), c.want)
		}
		if err != nil && (strings.Contains(err.Error(), goodToken) || strings.Contains(err.Error(), "users/ada") || c.want != "" && got != (Claims{})) {
			t.Errorf("%s: says too much: %v %+v", name, err, got)
		}
	}
}

// TestWhoMayActForWhom holds in both ways that claims travel.
func TestWhoMayActForWhom(t *testing.T) {
	for name, c := range map[string]struct {
		claims Claims
		want   string
	}{
		"oneself":                    {ada, ""},
		"a member":                   {Claims{Account: "ada", Scope: "users/ada/shop", Actor: "bob", Authority: Customer, Delegated: true}, ""},
		"a stranger":                 {Claims{Account: "ada", Scope: "users/ada/shop", Actor: "bob", Authority: Customer}, fault.ScopeMismatch},
		"nobody":                     {Claims{Account: "ada", Scope: "users/ada/shop", Authority: Customer}, fault.ScopeMismatch},
		"nobody, delegated":          {Claims{Account: "ada", Scope: "users/ada/shop", Authority: Customer, Delegated: true}, fault.ScopeMismatch},
		"a webhook":                  {Claims{Account: "ada", Scope: "users/ada/shop", Actor: Channel("hook"), Authority: Customer, Delegated: true}, ""},
		"a webhook by itself":        {Claims{Account: "ada", Scope: "users/ada/shop", Actor: Channel("hook"), Authority: Customer}, fault.ScopeMismatch},
		"staff":                      {Claims{Account: "ada", Scope: "users/ada/shop", Actor: "root2", Authority: StaffAuth}, ""},
		"staff on another's scope":   {Claims{Account: "eve", Scope: "users/ada/shop", Actor: "root2", Authority: StaffAuth}, fault.ScopeMismatch},
		"staff at home":              {Claims{Account: "root2", Scope: Admin, Actor: "root2", Authority: StaffAuth}, ""},
		"staff at home for another":  {Claims{Account: "ada", Scope: Admin, Actor: "root2", Authority: StaffAuth}, fault.AdminRequired},
		"staff at home, nobody":      {Claims{Scope: Admin, Authority: StaffAuth}, fault.AdminRequired},
		"a customer at staff's home": {Claims{Account: "ada", Scope: Admin, Actor: "ada", Authority: Customer}, fault.AdminRequired},
		"a scope that is none":       {Claims{Account: "ada", Scope: "users/ada", Actor: "ada", Authority: Customer}, fault.InvalidScope},
	} {
		p := newPair(t)
		c.claims.Base = ada.Base
		for way, r := range map[string]*http.Request{"over the wire": p.signed(t, c.claims, "{}"), "in process": p.inside(c.claims)} {
			got, err := p.Check(r)
			if refusal(err) != c.want || err == nil && got != accept(c.claims) || err != nil && got != (Claims{}) {
				t.Errorf("%s %s: %q, want %q; %+v", name, way, refusal(err), c.want, got)
			}
		}
	}
}

func TestAnUnknownAuthorityIsRefusedInProcess(t *testing.T) {
	c := ada
	c.Authority = "owner"
	p := newPair(t)
	if _, err := p.Check(p.inside(c)); refusal(err) != fault.InvalidHeader {
		t.Errorf("%v", err)
	}
}

// TestATokenIsAskedForInProcessToo has claims of this process without it, with another's, and with that of another authority.
func TestATokenIsAskedForInProcessToo(t *testing.T) {
	p, other := newPair(t), newPair(t)
	other.Token, other.AdminToken = adminToken, goodToken
	strangers, _ := NewPair()
	staff := Claims{Account: "root2", Scope: Admin, Actor: "root2", Authority: StaffAuth}
	bare := ask("{}")
	forged := ada
	forged.Proven = true
	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"the right one":              {p.inside(ada), ""},
		"the right one of the staff": {p.inside(staff), ""},
		"none":                       {bare.WithContext(With(bare.Context(), forged)), fault.RuntimeUnauthorized},
		"a stranger's":               {(&pair{Forward: strangers}).inside(ada), fault.RuntimeUnauthorized},
		"the staff's":                {other.inside(ada), fault.AdminRequired},
		"a customer's":               {other.inside(staff), fault.AdminRequired},
	} {
		if got, err := p.Check(c.r); refusal(err) != c.want || got.Proven != (c.want == "") {
			t.Errorf("%s: %q, want %q; %+v", name, refusal(err), c.want, got)
		}
	}
	f, g := NewPair()
	if len(f.Token) < MinToken || len(f.AdminToken) < MinToken || f.Token == f.AdminToken || f.Token == strangers.Token {
		t.Error("tokens that can be guessed")
	}
	if _, err := g.Check((&pair{Forward: f}).inside(ada)); err != nil {
		t.Error(err)
	}
}

// TestAWorkspaceIsAskedForLast holds in both ways: what the gateway says of a workspace is not taken for it.
func TestAWorkspaceIsAskedForLast(t *testing.T) {
	p := newPair(t)
	var asked []string
	gone := fault.New("workspace_not_found", "There is no such workspace.", "")
	p.Standing = func(_ context.Context, c Claims) error {
		if asked = append(asked, c.Scope); c.Scope == "users/ada/gone" {
			return gone
		}
		return nil
	}
	lost, wrong := ada, ada
	lost.Scope, wrong.Account = "users/ada/gone", "eve"
	staff := Claims{Account: "root2", Scope: Admin, Actor: "root2", Authority: StaffAuth, Base: "https://admin.example.com/v1/admin"}
	for _, c := range []struct {
		claims Claims
		want   string
	}{{ada, ""}, {lost, "workspace_not_found"}, {wrong, fault.ScopeMismatch}, {staff, ""}} {
		for _, r := range []*http.Request{p.signed(t, c.claims, "{}"), p.inside(c.claims)} {
			if _, err := p.Check(r); refusal(err) != c.want {
				t.Errorf("%s: %q, want %q", c.claims.Scope, refusal(err), c.want)
			}
		}
	}
	if len(asked) != 4 {
		t.Errorf("asked for %v", asked)
	}
}

// TestAGuardInProcessBelievesNoHeader sends what a gateway would, to a runtime that has no tokens.
func TestAGuardInProcessBelievesNoHeader(t *testing.T) {
	r := newPair(t).signed(t, ada, "{}")
	if _, err := new(Guard).Check(r); refusal(err) != fault.RuntimeUnauthorized {
		t.Errorf("%v", err)
	}
	r.Header.Set(HeaderToken, "")
	if _, err := new(Guard).Check(r); refusal(err) != fault.RuntimeUnauthorized {
		t.Errorf("an empty token: %v", err)
	}
}

func TestClaimsInProcessWinOverHeaders(t *testing.T) {
	p := newPair(t)
	r := p.signed(t, ada, "{}")
	eve := Claims{Account: "eve", Scope: "users/eve/personal", Actor: "eve", Authority: Customer}
	if got, err := p.Check(r.WithContext(p.inside(eve).Context())); err != nil || got != accept(eve) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWhatTheGatewaySaysTheRuntimeHears sends arbitrary claims, paths and bodies over a real connection.
func TestWhatTheGatewaySaysTheRuntimeHears(t *testing.T) {
	p := newPair(t)
	var got Claims
	var refused error
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, refused = p.Check(r)
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	const letters = "abz019"
	word := func(most int) string {
		b := make([]byte, 2+mathrand.IntN(most-1))
		for i := range b {
			b[i] = letters[mathrand.IntN(len(letters))]
		}
		return string(b)
	}
	for range 500 {
		c := Claims{Account: word(30), AccountID: "acc_" + word(20), Authority: Customer, Base: "https://" + word(40), RequestID: "req_" + word(20)}
		c.Scope = Of(c.Account, word(40)).String()
		c.Actor = c.Account
		switch mathrand.IntN(4) {
		case 0:
			c.Actor, c.Delegated = word(30), true
		case 1:
			c.Actor, c.Delegated = Channel(word(9)), true
		case 2:
			c.Actor, c.Authority = word(30), StaffAuth
		}
		id := make([]rune, 1+mathrand.IntN(20))
		for i := range id {
			id[i] = rune(0x20 + mathrand.IntN(0x5f))
		}
		sent := bytes.Repeat([]byte{'x'}, mathrand.IntN(3)*mathrand.IntN(1<<12))
		r, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawPath = "/agents/central/" + url.PathEscape(string(id))
		r.URL.Path = "/agents/central/" + string(id)
		if mathrand.IntN(4) == 0 {
			r.ContentLength = -1
		}
		if err := p.Sign(r, c); err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if refused != nil || got != accept(c) || !bytes.Equal(body, sent) {
			t.Fatalf("%q: heard %+v of %+v: %v", string(id), got, c, refused)
		}
	}
}

func TestSignTakesTheClientsWordAway(t *testing.T) {
	p := newPair(t)
	r := ask("{}")
	for _, name := range known {
		r.Header[name] = []string{"a", "b"}
	}
	if err := p.Sign(r, ada); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Check(r); err != nil || got != accept(ada) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARuntimeDoesNotStartWithoutItsTokens(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens, staff, keys := []string{goodToken}, []string{adminToken}, []ed25519.PublicKey{public}
	for name, c := range map[string]struct {
		tokens, staff []string
		keys          []ed25519.PublicKey
		ok            bool
	}{
		"all":                  {tokens, staff, keys, true},
		"two of each":          {[]string{goodToken, oldToken}, []string{adminToken, adminToken + "2"}, []ed25519.PublicKey{public, public}, true},
		"no token":             {nil, staff, keys, false},
		"no admin token":       {tokens, nil, keys, false},
		"no key":               {tokens, staff, nil, false},
		"empty token":          {[]string{""}, staff, keys, false},
		"short token":          {[]string{goodToken[:31]}, staff, keys, false},
		"short second token":   {[]string{goodToken, "short"}, staff, keys, false},
		"short admin token":    {tokens, []string{adminToken[:31]}, keys, false},
		"one token for both":   {tokens, tokens, keys, false},
		"shared by the second": {[]string{goodToken, adminToken}, staff, keys, false},
		"three tokens":         {[]string{goodToken, oldToken, goodToken + "3"}, staff, keys, false},
		"three keys":           {tokens, staff, []ed25519.PublicKey{public, public, public}, false},
		"a key that is none":   {tokens, staff, []ed25519.PublicKey{public[:31]}, false},
	} {
		if _, err := NewGuard(c.tokens, c.staff, c.keys); (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "thirty-two") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
