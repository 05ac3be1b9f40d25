package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"svc.dev/svc/fault"
)

// Tokens are what a person's consent is worth. They print as nothing.
type Tokens struct {
	Access         string
	Expires        time.Time // zero: never
	Refresh        string    // empty: the app opted out of expiry
	RefreshExpires time.Time // zero: never
}

// Format keeps the tokens out of every verb.
func (t Tokens) Format(s fmt.State, _ rune) { fmt.Fprint(s, "[redacted]") }

// LogValue keeps the tokens out of the log.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// AuthorizeURL is where the browser goes to consent. There is no scope: an app has permissions, and ignores scopes.
// The challenge is the S256 of the verifier that Exchange is given; a GitHub that does not know it ignores it. With
// selectAccount the person chooses who to be.
func (c *Client) AuthorizeURL(app App, redirect, state, challenge string, selectAccount bool) string {
	options := []oauth2.AuthCodeOption{
		oauth2.SetAuthURLParam("code_challenge", challenge), oauth2.SetAuthURLParam("code_challenge_method", "S256"),
	}
	if selectAccount {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	return c.oauth(app, redirect).AuthCodeURL(state, options...)
}

// Exchange turns the code of a callback into tokens. It asks once: a code is good for one attempt.
func (c *Client) Exchange(ctx context.Context, app App, code, redirect, verifier string) (Tokens, error) {
	if !usable(code) {
		return Tokens{}, exchangeFailed(errors.New("the code is not one"))
	}
	t, err := c.oauth(app, redirect).Exchange(c.over(ctx), code, oauth2.VerifierOption(verifier))
	return c.tokens("exchange code", t, err)
}

// Refresh turns a refresh token into a new pair. The old pair dies with it: two callers must not refresh the same one, and
// the new pair must be kept before it is used.
func (c *Client) Refresh(ctx context.Context, app App, refreshToken string) (Tokens, error) {
	if !usable(refreshToken) {
		return Tokens{}, exchangeFailed(BadRefreshToken)
	}
	t, err := c.oauth(app, "").TokenSource(c.over(ctx), &oauth2.Token{RefreshToken: refreshToken}).Token()
	return c.tokens("refresh token", t, err)
}

func (c *Client) oauth(app App, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{
			AuthURL:  c.page(nil, "login", "oauth", "authorize"),
			TokenURL: c.page(nil, "login", "oauth", "access_token"),
			// Told, not tried: a probe would spend the code.
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

func (c *Client) over(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c.pages)
}

// tokens checks what was handed out, and reads its times by our clock.
func (c *Client) tokens(what string, t *oauth2.Token, err error) (Tokens, error) {
	if err != nil {
		return Tokens{}, c.refused(what, err)
	}
	out := Tokens{Access: t.AccessToken, Expires: c.in(t.ExpiresIn)}
	// The library would repeat the old refresh token where there is no new one; that one is dead.
	out.Refresh, _ = t.Extra("refresh_token").(string)
	if seconds, ok := t.Extra("refresh_token_expires_in").(float64); ok {
		out.RefreshExpires = c.in(int64(min(seconds, year)))
	}
	if !usable(out.Access) || (out.Refresh != "" && !usable(out.Refresh)) || t.Type() != "Bearer" {
		return Tokens{}, exchangeFailed(errNotUnderstood)
	}
	return out, nil
}

// year is the longest life of a token, in seconds, that is believed.
const year = 366 * 24 * 3600

// in is the time that so many seconds lead to, and zero for none.
func (c *Client) in(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return c.now().Add(time.Duration(min(seconds, year)) * time.Second)
}

// refused names the failure of a token request without any text of the answer.
func (c *Client) refused(what string, err error) *fault.Error {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if _, broken := errors.AsType[*url.Error](err); broken {
			return exchangeFailed(fmt.Errorf("%s: %w", what, reason(err)))
		}
		return exchangeFailed(fmt.Errorf("%s: %w", what, errNotUnderstood))
	}
	a := response{status: r.Response.StatusCode, header: r.Response.Header, body: r.Body}
	if wait, ok := a.rateLimit(c.now()); ok {
		return limited(what, wait)
	}
	if r.ErrorCode == "" || a.status == http.StatusNotFound {
		return exchangeFailed(fmt.Errorf("%s: answered %d", what, a.status))
	}
	why := refusal(r.ErrorCode)
	if why == UnverifiedEmail {
		return fault.New(EmailUnverified, "Your e-mail address is not verified at GitHub.", "Verify it there, then sign in again.").Because(why)
	}
	return exchangeFailed(fmt.Errorf("%s: %w", what, why))
}
