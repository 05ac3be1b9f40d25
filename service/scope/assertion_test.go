package scope

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"svc.dev/svc/fault"
)

// claimed is what Sign would sign, for tests that sign something else.
func (p *pair) claimed(r *http.Request, c Claims) assertion {
	body, _ := hashBody(r)
	return assertion{
		Issuer: issuer, Audience: audience, Subject: c.AccountID, Account: c.Account, Scope: c.Scope, Authority: c.Authority, Actor: c.Actor, Delegated: c.Delegated, Base: c.Base,
		IssuedAt: p.now.Unix(), ExpiresAt: p.now.Add(life).Unix(), ID: rand.Text(), Method: r.Method, Path: r.URL.EscapedPath(), Body: body,
	}
}

func TestAnAssertionCountsForOneRequestAndOneMinute(t *testing.T) {
	at := func(issued, expires time.Duration) func(*assertion, time.Time) {
		return func(a *assertion, now time.Time) {
			a.IssuedAt, a.ExpiresAt = now.Add(issued).Unix(), now.Add(expires).Unix()
		}
	}
	for name, c := range map[string]struct {
		edit func(*assertion, time.Time)
		ok   bool
	}{
		"as it should be":           {func(*assertion, time.Time) {}, true},
		"just expired":              {at(-61*time.Second, -time.Second), true},
		"expired by the skew":       {at(-90*time.Second, -30*time.Second), true},
		"expired by more":           {at(-91*time.Second, -31*time.Second), false},
		"from soon":                 {at(30*time.Second, 90*time.Second), true},
		"from later":                {at(31*time.Second, 91*time.Second), false},
		"lives too long":            {at(0, 61*time.Second), false},
		"lives for ever":            {func(a *assertion, _ time.Time) { a.ExpiresAt = 1 << 62 }, false},
		"expires before it begins":  {at(0, -time.Second), false},
		"issued before all times":   {func(a *assertion, _ time.Time) { a.IssuedAt = -1 << 62 }, false},
		"no times":                  {func(a *assertion, _ time.Time) { a.IssuedAt, a.ExpiresAt = 0, 0 }, false},
		"another issuer":            {func(a *assertion, _ time.Time) { a.Issuer = "svc-runtime" }, false},
		"another audience":          {func(a *assertion, _ time.Time) { a.Audience = "svc-gateway" }, false},
		"no audience":               {func(a *assertion, _ time.Time) { a.Audience = "" }, false},
		"no id":                     {func(a *assertion, _ time.Time) { a.ID = "" }, false},
		"another method":            {func(a *assertion, _ time.Time) { a.Method = "GET" }, false},
		"another path":              {func(a *assertion, _ time.Time) { a.Path = "/agents/central/a b" }, false},
		"another body":              {func(a *assertion, _ time.Time) { a.Body = "x" }, false},
		"no body":                   {func(a *assertion, _ time.Time) { a.Body = "" }, false},
		"another person":            {func(a *assertion, _ time.Time) { a.Account = "eve" }, false},
		"another person's id":       {func(a *assertion, _ time.Time) { a.Subject = "acc_2" }, false},
		"another scope":             {func(a *assertion, _ time.Time) { a.Scope = "users/ada/shop" }, false},
		"another authority":         {func(a *assertion, _ time.Time) { a.Authority = StaffAuth }, false},
		"another actor":             {func(a *assertion, _ time.Time) { a.Actor = "eve" }, false},
		"no public address":         {func(a *assertion, _ time.Time) { a.Base = "" }, false},
		"delegated without a cause": {func(a *assertion, _ time.Time) { a.Delegated = true }, true},
	} {
		p := newPair(t)
		r := p.signed(t, ada, "{}")
		a := p.claimed(r, ada)
		c.edit(&a, p.now)
		text, err := p.sign(a)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(HeaderAssertion, text)
		if _, err := p.Check(r); (err == nil) != c.ok || err != nil && refusal(err) != fault.AssertionInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAssertionIsHeardOnce(t *testing.T) {
	p := newPair(t)
	r := p.signed(t, ada, "{}")
	if _, err := p.Check(r); err != nil {
		t.Fatal(err)
	}
	for _, pass := range []time.Duration{0, time.Second, time.Minute, 29 * time.Second} {
		p.now = p.now.Add(pass)
		if _, err := p.Check(r); refusal(err) != fault.AssertionInvalid {
			t.Errorf("again after %s: %v", pass, err)
		}
	}
	p.now = p.now.Add(10 * time.Minute)
	if _, err := p.Check(p.signed(t, ada, "{}")); err != nil {
		t.Error(err)
	}
	if len(p.seen.until) != 1 {
		t.Errorf("%d assertions are remembered", len(p.seen.until))
	}
}

// TestOnlyTheGatewaysKeySigns tries every other way to sign.
func TestOnlyTheGatewaysKeySigns(t *testing.T) {
	p := newPair(t)
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := p.Key.Public().(ed25519.PublicKey)
	known := keyID(public)
	by := func(alg jose.SignatureAlgorithm, key any, kid string, extra map[jose.HeaderKey]any) func([]byte) string {
		return func(text []byte) string {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, &jose.SignerOptions{ExtraHeaders: extra})
			if err != nil {
				t.Fatal(err)
			}
			signed, err := signer.Sign(text)
			if err != nil {
				t.Fatal(err)
			}
			compact, err := signed.CompactSerialize()
			if err != nil {
				t.Fatal(err)
			}
			return compact
		}
	}
	unsigned := func(head string) func([]byte) string {
		return func(text []byte) string {
			return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
		}
	}
	good := by(jose.EdDSA, p.Key, known, nil)
	for name, c := range map[string]struct {
		sign func([]byte) string
		ok   bool
	}{
		"the key":             {good, true},
		"none":                {unsigned(`{"alg":"none"}`), false},
		"None with its name":  {unsigned(`{"alg":"None","kid":"` + known + `"}`), false},
		"no algorithm":        {unsigned(`{"kid":"` + known + `"}`), false},
		"EdDSA, unsigned":     {unsigned(`{"alg":"EdDSA","kid":"` + known + `"}`), false},
		"HS256 by the public": {by(jose.HS256, []byte(public), known, nil), false},
		"HS256 by the token":  {by(jose.HS256, []byte(goodToken), known, nil), false},
		"RS256":               {by(jose.RS256, weak, known, nil), false},
		"another key":         {by(jose.EdDSA, other, keyID(other.Public().(ed25519.PublicKey)), nil), false},
		"another key, our id": {by(jose.EdDSA, other, known, nil), false},
		"the key without id":  {by(jose.EdDSA, p.Key, "", nil), false},
		"the key, another id": {by(jose.EdDSA, p.Key, "x", nil), false},
		"a key of its own":    {by(jose.EdDSA, other, known, map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: other.Public()}}), false},
		"a critical header":   {by(jose.EdDSA, p.Key, known, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}), false},
		"cut off":             {func(text []byte) string { s := good(text); return s[:len(s)-4] }, false},
		"one bit":             {func(text []byte) string { return flip(good(text)) }, false},
		"other claims": {func(text []byte) string {
			return swap(good(text), bytes.Replace(text, []byte("ada"), []byte("eve"), 1))
		}, false},
		"two":       {func(text []byte) string { return good(text) + "." + good(text) }, false},
		"JSON":      {func(text []byte) string { return string(text) }, false},
		"no claims": {func([]byte) string { return good([]byte("[]")) }, false},
		"nothing":   {func([]byte) string { return good(nil) }, false},
	} {
		r := p.signed(t, ada, "{}")
		text, err := json.Marshal(p.claimed(r, ada))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(HeaderAssertion, c.sign(text))
		if _, err := p.Check(r); (err == nil) != c.ok || err != nil && refusal(err) != fault.AssertionInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// flip changes the signature in its first character.
func flip(s string) string {
	i := strings.LastIndexByte(s, '.') + 1
	c := byte('A')
	if s[i] == c {
		c = 'B'
	}
	return s[:i] + string(c) + s[i+1:]
}

// swap puts other claims under a signature.
func swap(s string, text []byte) string {
	parts := strings.Split(s, ".")
	parts[1] = base64.RawURLEncoding.EncodeToString(text)
	return strings.Join(parts, ".")
}

// TestALargeBodyIsNotHeld passes a body on that is too long to be hashed, without reading it.
func TestALargeBodyIsNotHeld(t *testing.T) {
	p := newPair(t)
	r := ask(strings.Repeat("x", MaxHash+1))
	before := r.Body
	if err := p.Sign(r, ada); err != nil || r.Body != before {
		t.Fatalf("the body was read: %v", err)
	}
	if _, err := p.Check(r); err != nil || r.Body != before {
		t.Errorf("the body was read: %v", err)
	}
}

// claimsIn are the claims of an assertion, however it is spelled.
func claimsIn(text string) []byte {
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return nil
	}
	return signed.UnsafePayloadWithoutVerification()
}

// FuzzAssertion looks for a text that counts although the gateway did not sign it.
func FuzzAssertion(f *testing.F) {
	p := newPair(f)
	r := p.signed(f, ada, "{}")
	good := r.Header.Get(HeaderAssertion)
	for _, text := range []string{good, "", "..", "x.y.z", "eyJhbGciOiJub25lIn0.e30.", flip(good), good + ".", good[:len(good)-2], swap(good, []byte(`{"aud":"svc-runtime"}`)), `{"payload":"e30"}`} {
		f.Add(text, "{}")
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		p.seen.until = nil
		again := ask(body)
		again.Header = r.Header.Clone()
		again.Header.Set(HeaderAssertion, text)
		got, err := p.Check(again)
		if err == nil && (!bytes.Equal(claimsIn(text), claimsIn(good)) || body != "{}" || got != accept(ada)) {
			t.Fatalf("%q with %q counts as %+v", text, body, got)
		}
		if err != nil && got != (Claims{}) {
			t.Fatalf("a refusal gives away %+v", got)
		}
	})
}
