package scope

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/oklog/ulid/v2"
)

// What an assertion says and how long it counts.
const (
	issuer   = "svc-gateway"
	audience = "svc-runtime"
	life     = 60 * time.Second
	Skew     = 30 * time.Second // two clocks that are further apart refuse each other
	MaxHash  = 1 << 20          // of a body that is hashed in, and held for that
)

// assertion is claims as they are signed, bound to one request.
type assertion struct {
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Subject   string `json:"sub"` // account id
	Account   string `json:"usr"`
	Scope     string `json:"scp"`
	Authority string `json:"auth"`
	Actor     string `json:"act"`
	ActorID   string `json:"aid,omitempty"`
	Key       string `json:"key,omitempty"`
	Delegated bool   `json:"dlg,omitempty"`
	Base      string `json:"bas"` // the public {base_url}
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	ID        string `json:"jti"`
	Method    string `json:"htm"`
	Path      string `json:"htu"`
	Body      string `json:"bsh,omitempty"`
}

// Forward is the gateway's side: it turns claims into what a runtime in another process believes.
type Forward struct {
	// Token and AdminToken are what the runtime accepts, for each authority.
	Token, AdminToken string
	// Key signs assertions.
	Key ed25519.PrivateKey
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time

	next atomic.Pointer[Forward] // what counts instead; nil: this one
}

// Sign replaces every identity header of an outbound request by the claims. A body of known length up to 1 MiB is hashed
// in, so that it is read here and can be read again.
func (f *Forward) Sign(r *http.Request, c Claims) error {
	now := time.Now()
	if f.Now != nil {
		now = f.Now()
	}
	a := assertion{
		Issuer: issuer, Audience: audience, Subject: c.AccountID, Account: c.Account, Scope: c.Scope, Authority: c.Authority, Actor: c.Actor,
		ActorID: c.ActorID, Key: c.Key, Delegated: c.Delegated, Base: c.Base, IssuedAt: now.Unix(), ExpiresAt: now.Add(life).Unix(), ID: ulid.Make().String(), Method: r.Method, Path: r.URL.EscapedPath(),
	}
	var err error
	if a.Body, err = hashBody(r); err != nil {
		return fmt.Errorf("hash body: %w", err)
	}
	with := f.present()
	signed, err := with.sign(a)
	if err != nil {
		return fmt.Errorf("sign assertion: %w", err)
	}
	c.Show(r.Header)
	r.Header.Set(HeaderAssertion, signed)
	r.Header.Set(HeaderToken, with.token(c.Authority))
	return nil
}

func (f *Forward) sign(a assertion) (string, error) {
	key := jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: f.Key, KeyID: keyID(f.Key.Public().(ed25519.PublicKey))}}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// keyID names a key by itself.
func keyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// hashBody is the hash of a body whose length is known and small, which is then whole again; else it is empty.
func hashBody(r *http.Request) (string, error) {
	if r.Body == nil || r.ContentLength <= 0 || r.ContentLength > MaxHash {
		return "", nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength+1))
	if err != nil {
		return "", err
	}
	if int64(len(body)) != r.ContentLength {
		return "", errors.New("the body is not as long as it says")
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// seen remembers the assertions of the last two minutes: each counts once on this node.
type seen struct {
	mu    sync.Mutex
	until map[string]time.Time
	swept time.Time
}

// first reports whether an assertion comes for the first time.
func (s *seen) first(id string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	if now.Sub(s.swept) > 10*time.Second {
		s.swept = now
		for id, until := range s.until {
			if now.After(until) {
				delete(s.until, id)
			}
		}
	}
	if _, again := s.until[id]; again {
		return false
	}
	s.until[id] = now.Add(2 * (life + Skew))
	return true
}
