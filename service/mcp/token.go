package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"svc.dev/svc/internal/outward"
)

// longest is the longest life of a token that is believed, in seconds.
const longest = 366 * 24 * 3600

var (
	// errDeclined is that an authorization server said no, and will again.
	errDeclined = errors.New("the authorization server declines")
	// errUnanswered is that an authorization server gave no answer that can be used.
	errUnanswered = errors.New("the authorization server gave no usable answer")
)

// exchange turns the code that a browser brought back into tokens. It asks once: a code is good for one attempt.
func (s consents) exchange(ctx context.Context, c consent, code, verifier string) (consent, error) {
	client := s.client(c)
	client.RedirectURL = s.Callback
	return s.ask(ctx, c, client, code, oauth2.VerifierOption(verifier))
}

// renew turns a refresh token into new tokens; one that was not replaced stays. The resource has to be said, for which the library's
// own refresh has no place; a code that is empty is none (RFC 6749 §3.2).
func (s consents) renew(ctx context.Context, c consent) (consent, error) {
	if c.Refresh == "" {
		return consent{}, errDeclined
	}
	return s.ask(ctx, c, s.client(c), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", c.Refresh))
}

func (s consents) client(c consent) *oauth2.Config {
	// Told, not tried: a probe would spend the code.
	style := oauth2.AuthStyleInParams
	if c.Basic {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{ClientID: c.Client, ClientSecret: c.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: c.Endpoint, AuthStyle: style}}
}

// ask makes one request for tokens, which no redirect leads elsewhere.
func (s consents) ask(ctx context.Context, c consent, client *oauth2.Config, code string, options ...oauth2.AuthCodeOption) (consent, error) {
	ctx, cancel := context.WithTimeout(ctx, s.ConnectTimeout)
	defer cancel()
	ctx = context.WithValue(ctx, oauth2.HTTPClient, direct(s.Outward.Client()))
	t, err := client.Exchange(ctx, code, append(options, oauth2.SetAuthURLParam("resource", c.Resource))...)
	if err != nil {
		return consent{}, refusalOf(err)
	}
	c.Access, c.Refresh, c.Expires = t.AccessToken, t.RefreshToken, 0
	if !isToken(c.Access) || c.Refresh != "" && !isToken(c.Refresh) || t.Type() != "Bearer" {
		return consent{}, fmt.Errorf("%w: what it gave is not a token", errDeclined)
	}
	if t.ExpiresIn > 0 {
		c.Expires = s.Now().Add(time.Duration(min(t.ExpiresIn, longest)) * time.Second).UnixMilli()
	}
	return c, nil
}

func isToken(text string) bool { return len(text) <= maxToken && tokenForm.MatchString(text) }

// direct is a client that follows no redirect.
func direct(c *http.Client) *http.Client {
	client := *c
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// refusalOf names the failure of a request for tokens without any text of the answer, which may hold them.
func refusalOf(err error) error {
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch status := r.Response.StatusCode; {
		case r.ErrorCode == "" || r.ErrorCode == "temporarily_unavailable" || r.ErrorCode == "server_error":
		case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		default:
			return errDeclined
		}
		return fmt.Errorf("%w: status %d", errUnanswered, r.Response.StatusCode)
	}
	for _, known := range []error{outward.ErrForbidden, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return fmt.Errorf("%w: %w", errUnanswered, known)
		}
	}
	return errUnanswered
}
