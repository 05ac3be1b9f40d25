package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/secret"
)

// way is how requests get to one server: through the guard, with its credential. It keeps in mind what was met there.
type way struct {
	base   http.RoundTripper
	origin string
	bearer bearer // nil: there is none

	forbidden  atomic.Bool              // it led to where we do not go
	challenges atomic.Pointer[[]string] // by which the server last wanted another credential
	trouble    atomic.Pointer[string]   // with the credential
}

// bearer is a token that may be another the next time. An empty one: there is none. The one that the server has just refused is
// not given again.
type bearer func(ctx context.Context, w *way, refused string) (string, error)

// way leads to a server.
func (s *Servers) way(ctx context.Context, to Server) (*way, *http.Client, error) {
	w := &way{origin: to.URL}
	switch to.Auth {
	case AuthOAuth:
		w.bearer = (&holder{servers: s, of: to}).token
	case AuthBearer:
		token, err := s.kept(ctx, to)
		if err != nil {
			return nil, nil, err
		}
		w.bearer = func(context.Context, *way, string) (string, error) { return token.Reveal(), nil }
	}
	return w, s.through(w), nil
}

// kept is the token that somebody gave for a server; empty: nobody did.
func (s *Servers) kept(ctx context.Context, of Server) (token secret.Secret, err error) {
	err = s.Secrets.With(ctx, of.owner(), of.secret(), func(value []byte) error {
		token = secret.Hide(string(value))
		return nil
	})
	if errors.Is(err, secret.ErrNotFound) {
		err = nil
	}
	return token, err
}

// through is a client that takes a way, which is the guard's.
func (s *Servers) through(w *way) *http.Client {
	client := *s.Outward.Client()
	judge := client.CheckRedirect
	w.base, client.Transport = client.Transport, w
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error { return w.met(judge(r, via)) }
	return &client
}

// RoundTrip makes one request. The credential goes to the server's own origin and nowhere else; one that is refused there is renewed
// once, if it can be.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.bearer == nil || !w.isOrigin(r.URL) {
		return w.send(r, "")
	}
	token, err := w.bearer(r.Context(), w, "")
	if err != nil {
		return nil, err
	}
	answer, err := w.send(r, token)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || token == "" {
		return answer, err
	}
	again, ok := repeated(r)
	if !ok {
		return answer, nil
	}
	next, err := w.bearer(r.Context(), w, token)
	if err == nil && (next == "" || next == token) {
		return answer, nil
	}
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	if answer, err = w.send(again, next); err == nil && answer.StatusCode == http.StatusUnauthorized {
		w.wrong(signInRefused)
	}
	return answer, err
}

// repeated is a request that is made once more, unless what it says is gone.
func repeated(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

func (w *way) send(r *http.Request, token string) (*http.Response, error) {
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := w.base.RoundTrip(r)
	if err == nil && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) && w.isOrigin(r.URL) {
		all := answer.Header.Values("WWW-Authenticate")
		w.challenges.Store(&all)
	}
	return answer, w.met(err)
}

func (w *way) isOrigin(u *url.URL) bool { return sameOrigin(w.origin, u.String()) }

// met keeps in mind that an error was the guard's.
func (w *way) met(err error) error {
	if errors.Is(err, outward.ErrForbidden) {
		w.forbidden.Store(true)
	}
	return err
}

// wrong keeps in mind what is wrong with the credential; empty: nothing is.
func (w *way) wrong(why string) { w.trouble.Store(&why) }

// why is what is wrong with the credential, or else otherwise.
func (w *way) why(otherwise string) string {
	if trouble := w.trouble.Load(); trouble != nil && *trouble != "" {
		return *trouble
	}
	return otherwise
}

// holder holds the token of a consent for a connection, so that not every request asks the database.
type holder struct {
	servers *Servers
	of      Server

	mu   sync.Mutex
	held consent
}

// token is a bearer. What is wrong with it is kept in mind: a request without a token is answered as the server does it.
func (h *holder) token(ctx context.Context, w *way, refused string) (string, error) {
	h.mu.Lock()
	c := h.held
	h.mu.Unlock()
	if c.Access != "" && h.servers.consents().usable(c, refused) {
		return c.Access, nil
	}
	c, err := h.servers.consents().access(ctx, h.of, refused)
	switch {
	case errors.Is(err, errUnanswered):
		w.wrong("The sign-in has to be renewed, and the authorization server cannot be reached, or its answer cannot be used.")
		return "", err
	case err != nil:
		return "", err
	case c.Access != "":
		w.wrong("")
	case refused != "" || h.of.TokenPresent:
		w.wrong(signInEnded)
	default:
		w.wrong(signInWanted)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = c
	return c.Access, nil
}
