package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/secret"
)

// way is how requests get to one server: through the guard, with its credential. It keeps in mind what was met there.
type way struct {
	base   http.RoundTripper
	origin string
	bearer secret.Secret // empty: there is none

	forbidden atomic.Bool // it led to where we do not go
}

// way leads to a server.
func (s *Servers) way(ctx context.Context, to Server) (*way, *http.Client, error) {
	client := *s.Outward.Client()
	w := &way{base: client.Transport, origin: to.URL}
	if to.Auth == AuthBearer {
		err := s.Secrets.With(ctx, to.owner(), to.secret(), func(value []byte) error {
			w.bearer = secret.Hide(string(value))
			return nil
		})
		if err != nil && !errors.Is(err, secret.ErrNotFound) {
			return nil, nil, err
		}
	}
	judge := client.CheckRedirect
	client.Transport = w
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error { return w.met(judge(r, via)) }
	return w, &client, nil
}

// RoundTrip makes one request. The credential goes to the server's own origin and nowhere else.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := w.bearer.Reveal(); token != "" && w.isOrigin(r.URL) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := w.base.RoundTrip(r)
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
