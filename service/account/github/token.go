package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// InstallationToken lets the bearer act as the app on an account for an hour. It prints as nothing.
type InstallationToken struct {
	Token       string
	Expires     time.Time
	Permissions map[string]string
}

// Format keeps the token out of every verb.
func (t InstallationToken) Format(s fmt.State, _ rune) { fmt.Fprint(s, "[redacted]") }

// LogValue keeps the token out of the log.
func (t InstallationToken) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// UseUntil is how long the token may be kept for the next use.
func (t InstallationToken) UseUntil() time.Time { return t.Expires.Add(-5 * time.Minute) }

// maxRepositories is how many repositories one token can be for.
const maxRepositories = 500

// InstallationToken makes a token for those repositories and permissions alone. Both must be named: GitHub would take
// neither for everything. The chain of the error holds ErrSuspended, ErrNotFound or ErrNotGranted where that is why.
func (c *Client) InstallationToken(
	ctx context.Context, app App, id int64, repositories []int64, permissions map[string]string,
) (InstallationToken, error) {
	const what = "make installation token"
	if len(repositories) == 0 || len(repositories) > maxRepositories || len(permissions) == 0 {
		return InstallationToken{}, fmt.Errorf("%s: for %d repositories and %d permissions", what, len(repositories), len(permissions))
	}
	a, err := c.askAs(ctx, app, request{
		what: what, method: http.MethodPost, path: "/app/installations/" + strconv.FormatInt(id, 10) + "/access_tokens",
		body: map[string]any{"repository_ids": repositories, "permissions": permissions},
	})
	switch {
	case err != nil:
		return InstallationToken{}, err
	case a.status == http.StatusUnprocessableEntity:
		return InstallationToken{}, unavailable(what, ErrNotGranted)
	case a.status != http.StatusCreated:
		return InstallationToken{}, a.failure(what, c.now())
	}
	t, err := parseToken(a.body)
	if err != nil {
		return InstallationToken{}, unavailable(what, err)
	}
	return t, nil
}

// RepositoryToken makes a token for one repository, by its name, and for those permissions alone. A repository that the
// installation does not reach, or that has another owner, is ErrNotGranted; the chain holds ErrSuspended and ErrNotFound as
// that of InstallationToken does.
func (c *Client) RepositoryToken(
	ctx context.Context, app App, id int64, owner, name string, permissions map[string]string,
) (InstallationToken, error) {
	const what = "make repository token"
	if name == "" || len(permissions) == 0 {
		return InstallationToken{}, fmt.Errorf("%s: for no repository, or no permissions", what)
	}
	a, err := c.askAs(ctx, app, request{
		what: what, method: http.MethodPost, path: "/app/installations/" + strconv.FormatInt(id, 10) + "/access_tokens",
		body: map[string]any{"repositories": []string{name}, "permissions": permissions},
	})
	switch {
	case err != nil:
		return InstallationToken{}, err
	case a.status == http.StatusUnprocessableEntity:
		return InstallationToken{}, unavailable(what, ErrNotGranted)
	case a.status != http.StatusCreated:
		return InstallationToken{}, a.failure(what, c.now())
	}
	var v struct {
		Repositories []json.RawMessage
	}
	t, err := parseToken(a.body)
	if err != nil || json.Unmarshal(a.body, &v) != nil || len(v.Repositories) != 1 {
		return InstallationToken{}, unavailable(what, errNotUnderstood)
	}
	r, err := parseRepository(v.Repositories[0])
	if err != nil || !strings.EqualFold(r.FullName, owner+"/"+name) {
		return InstallationToken{}, unavailable(what, ErrNotGranted)
	}
	return t, nil
}

func parseToken(body []byte) (InstallationToken, error) {
	var v struct {
		Token       string
		Expires     time.Time `json:"expires_at"`
		Permissions map[string]string
	}
	if json.Unmarshal(body, &v) != nil || !usable(v.Token) || v.Expires.IsZero() {
		return InstallationToken{}, errNotUnderstood
	}
	return InstallationToken(v), nil
}

// RevokeToken ends a person's access token. One that is already dead is no error.
func (c *Client) RevokeToken(ctx context.Context, app App, token string) error {
	_, err := c.ask(ctx, basic(app), request{
		what: "revoke token", method: http.MethodDelete, path: "/applications/" + url.PathEscape(app.ClientID) + "/token",
		body: map[string]string{"access_token": token}, want: http.StatusNoContent,
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
