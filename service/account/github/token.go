package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// RepositoryToken makes a token that lets the bearer act as the app for an hour, on one repository, by its name, and with
// those permissions alone. Both must be named: GitHub would take neither for everything. A repository that the installation
// does not reach, or that has another owner, is ErrNotGranted; the chain holds ErrSuspended and ErrNotFound where that is why.
func (c *Client) RepositoryToken(
	ctx context.Context, app App, id int64, owner, name string, permissions map[string]string,
) (string, error) {
	q := request{
		what: "make repository token", as: proof(app), method: http.MethodPost, path: fmt.Sprintf("/app/installations/%d/access_tokens", id),
		body: map[string]any{"repositories": []string{name}, "permissions": permissions}, want: http.StatusCreated,
	}
	if name == "" || len(permissions) == 0 {
		return "", fmt.Errorf("%s: for no repository, or no permissions", q.what)
	}
	token, err := fetch(ctx, c, q, func(body []byte) (string, error) { return parseToken(body, owner+"/"+name) })
	if errors.Is(err, status(http.StatusUnprocessableEntity)) {
		return "", unavailable(q.what, ErrNotGranted)
	}
	return token, err
}

// parseToken reads a token that is for one repository, and for that one.
func parseToken(body []byte, repository string) (string, error) {
	var v struct {
		Token        string
		Expires      time.Time `json:"expires_at"`
		Repositories []json.RawMessage
	}
	if json.Unmarshal(body, &v) != nil || !usable(v.Token) || v.Expires.IsZero() || len(v.Repositories) != 1 {
		return "", errNotUnderstood
	}
	if name, err := parseRepository(v.Repositories[0]); err != nil || !strings.EqualFold(name, repository) {
		return "", ErrNotGranted
	}
	return v.Token, nil
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

// parseRepository is the name of a repository, as owner/name.
func parseRepository(body []byte) (string, error) {
	var v struct {
		ID       int64
		FullName string `json:"full_name"`
	}
	if json.Unmarshal(body, &v) != nil || v.ID <= 0 {
		return "", errNotUnderstood
	}
	if !repositoryName.MatchString(v.FullName) {
		return "", fmt.Errorf("repository %d: the name is not one", v.ID)
	}
	return v.FullName, nil
}

// RevokeToken ends a person's access token. One that is already dead is no error.
func (c *Client) RevokeToken(ctx context.Context, app App, token string) error {
	_, err := c.ask(ctx, request{
		what: "revoke token", as: basic(app), method: http.MethodDelete, path: "/applications/" + url.PathEscape(app.ClientID) + "/token",
		body: map[string]string{"access_token": token}, want: http.StatusNoContent,
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
