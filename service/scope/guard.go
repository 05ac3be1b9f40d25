package scope

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"svc.dev/svc/fault"
)

// MinToken is how long a runtime's token must be.
const MinToken = 32

// Guard is the runtime's side: it believes whoever proves to be our gateway, and only that the claims agree with each
// other. Within one process claims travel as a value and need no signature; all else is checked alike.
type Guard struct {
	// Tokens and AdminTokens are accepted for each authority, at most two each.
	Tokens, AdminTokens []string
	// Keys verify assertions, at most two.
	Keys []ed25519.PublicKey
	// Standing refuses claims on a workspace that is not there or is suspended. It is asked last. Defaults to no such question.
	Standing func(context.Context, Claims) error
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time

	seen seen
	next atomic.Pointer[Guard] // what counts instead; nil: this one
}

// maxAccepted is how many tokens and keys count at once: one, and the one that it replaces.
const maxAccepted = 2

// NewGuard is a guard for requests from another process. It refuses tokens that can be guessed.
func NewGuard(tokens, adminTokens []string, keys []ed25519.PublicKey) (*Guard, error) {
	if len(tokens) > maxAccepted || len(adminTokens) > maxAccepted || len(keys) > maxAccepted {
		return nil, errors.New("a runtime accepts at most two tokens of each authority and two public keys")
	}
	for _, key := range keys {
		if len(key) != ed25519.PublicKeySize {
			return nil, errors.New("a public key must be of Ed25519")
		}
	}
	for _, token := range slices.Concat(tokens, adminTokens) {
		if len(token) < MinToken {
			return nil, errors.New("a runtime token must be at least 32 bytes")
		}
	}
	if len(tokens) == 0 || len(adminTokens) == 0 || len(keys) == 0 {
		return nil, errors.New("a runtime needs its token, its admin token and the gateway's public key")
	}
	for _, token := range tokens {
		if slices.Contains(adminTokens, token) {
			return nil, errors.New("the admin token must be another than the customer's")
		}
	}
	return &Guard{Tokens: tokens, AdminTokens: adminTokens, Keys: keys}, nil
}

// Check is who asks for whose work. Claims of this process win over headers, which are then not looked at.
func (g *Guard) Check(r *http.Request) (Claims, error) {
	c, err := g.believe(r)
	if err == nil {
		err = c.check()
	}
	if err == nil && g.Standing != nil && c.Scope != Admin {
		err = g.Standing(r.Context(), c)
	}
	if err != nil {
		return Claims{}, err
	}
	c.Proven = true
	return c, nil
}

// believe goes through the checks in the order of the contract, as far as the claims hold.
func (g *Guard) believe(r *http.Request) (Claims, error) {
	now := g.present()
	if v, inside := r.Context().Value(voucherKey{}).(voucher); inside {
		staff, err := now.checkToken(v.token)
		if err != nil {
			return Claims{}, err
		}
		return v.claims, v.claims.checkToken(staff)
	}
	if len(r.Header.Values(HeaderToken)) != 1 {
		return Claims{}, errUnauthorized()
	}
	staff, err := now.checkToken(r.Header.Get(HeaderToken))
	if err != nil {
		return Claims{}, err
	}
	if err := checkHeaders(r.Header); err != nil {
		return Claims{}, err
	}
	c := claimsOf(r.Header)
	if err := c.checkToken(staff); err != nil {
		return Claims{}, err
	}
	a, err := g.verify(r, now.Keys)
	if err != nil || !a.agrees(c) {
		return Claims{}, fault.New(fault.AssertionInvalid, "The assertion is not valid.", "").Because(err)
	}
	c.ActorID, c.Key, c.Delegated, c.Base = a.ActorID, a.Key, a.Delegated, a.Base
	return c, nil
}

// checkToken reports whether a token is that of the staff, or else refuses one that is nobody's.
func (g *Guard) checkToken(token string) (staff bool, err error) {
	customer, staff := accepted(token, g.Tokens), accepted(token, g.AdminTokens)
	if !customer && !staff {
		return false, errUnauthorized()
	}
	return staff, nil
}

func errUnauthorized() error {
	return fault.New(fault.RuntimeUnauthorized, "This runtime is private.", "")
}

// accepted compares in constant time, whatever the lengths.
func accepted(token string, all []string) bool {
	given, found := sha256.Sum256([]byte(token)), 0
	for _, each := range all {
		want := sha256.Sum256([]byte(each))
		found |= subtle.ConstantTimeCompare(given[:], want[:])
	}
	return found == 1
}

// verify opens the assertion of a request, once.
func (g *Guard) verify(r *http.Request, keys []ed25519.PublicKey) (assertion, error) {
	var a assertion
	signed, err := jose.ParseSignedCompact(r.Header.Get(HeaderAssertion), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return a, err
	}
	text, err := open(signed, keys)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, err
	}
	return a, g.judge(a, r)
}

func open(signed *jose.JSONWebSignature, keys []ed25519.PublicKey) ([]byte, error) {
	for _, key := range keys {
		if signed.Signatures[0].Header.KeyID == keyID(key) {
			return signed.Verify(key)
		}
	}
	return nil, errors.New("the key is not known")
}

// judge compares what was signed with the request and the clock.
func (g *Guard) judge(a assertion, r *http.Request) error {
	now := time.Now()
	if g.Now != nil {
		now = g.Now()
	}
	issued, expires := time.Unix(a.IssuedAt, 0), time.Unix(a.ExpiresAt, 0)
	switch {
	case a.Issuer != issuer || a.Audience != audience:
		return errors.New("issuer or audience")
	case expires.Sub(issued) > life || expires.Before(issued) || now.Before(issued.Add(-Skew)) || now.After(expires.Add(Skew)):
		return errors.New("time")
	case a.Method != r.Method || a.Path != r.URL.EscapedPath():
		return errors.New("method or path")
	case a.Base == "":
		return errors.New("no public address")
	}
	body, err := hashBody(r)
	if err != nil {
		return err
	}
	if a.Body != body {
		return errors.New("body")
	}
	if a.ID == "" || !g.seen.first(a.ID, now) {
		return errors.New("seen before")
	}
	return nil
}

// agrees reports whether the plain headers say what was signed.
func (a assertion) agrees(c Claims) bool {
	return a.Subject == c.AccountID && a.Account == c.Account && a.Scope == c.Scope && a.Authority == c.Authority && a.Actor == c.Actor
}
