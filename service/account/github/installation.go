package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Installation is the app on somebody's account.
type Installation struct {
	ID        int64
	AppID     int64 `json:"app_id"`
	Account   Account
	Selection string    `json:"repository_selection"` // all or selected
	Suspended time.Time `json:"suspended_at"`         // zero: it is not
}

// Account is a person or an organization. An enterprise has no login.
type Account struct {
	ID    int64
	Login string
	Type  string
}

// ParseInstallationID reads the id of a setup redirect, which anybody can write.
func ParseInstallationID(s string) (int64, error) {
	id, ok := parseID(s)
	if !ok {
		return 0, invalidField("installation_id", "The installation is not a positive number.")
	}
	return id, nil
}

// InstallURL is where the browser goes to choose an account and its repositories.
func (c *Client) InstallURL(app App, state string) string {
	apps := "apps"
	if c.server {
		apps = "github-apps"
	}
	return c.page(url.Values{"state": {state}}, apps, app.Slug, "installations", "new")
}

// VerifyInstallation believes an id that came with a redirect: the person sees the installation, may see into it, and the
// app knows it as the same account's. Anything else is NotYours.
func (c *Client) VerifyInstallation(ctx context.Context, app App, token string, id int64) (Installation, error) {
	seen, err := c.UserInstallation(ctx, app, token, id)
	if err != nil {
		return Installation{}, err
	}
	if err := c.seesInto(ctx, token, id); err != nil {
		return Installation{}, err
	}
	known, err := c.Installation(ctx, app, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Installation{}, notYours(err)
	case err != nil:
		return Installation{}, err
	case known.Account.ID != seen.Account.ID:
		return Installation{}, notYours(errors.New("it is on another account"))
	}
	return known.of(app, id)
}

// UserInstallation is the app's installation of that id if the person can see it and it is not suspended, else NotYours.
func (c *Client) UserInstallation(ctx context.Context, app App, token string, id int64) (Installation, error) {
	found, err := c.findInstallation(ctx, token, id)
	if err != nil {
		return Installation{}, err
	}
	return found.of(app, id)
}

// of refuses an installation that is another's or asleep.
func (i Installation) of(app App, id int64) (Installation, error) {
	switch {
	case id <= 0 || i.ID != id:
		return Installation{}, notYours(errors.New("the person does not see it"))
	case i.AppID != app.ID:
		return Installation{}, notYours(errors.New("it is of another app"))
	case !i.Suspended.IsZero():
		return Installation{}, notYours(ErrSuspended)
	}
	return i, nil
}

// What is read at most of a list. A page of repositories is small: a hundred can be longer than an answer may be.
const (
	installationPage  = 100
	installationPages = 10
	repositoryPage    = 50
)

// findInstallation looks through what a person can see. A zero one is not there.
func (c *Client) findInstallation(ctx context.Context, token string, id int64) (Installation, error) {
	q := request{what: "list installations", as: bearer(token), path: "/user/installations"}
	for page, read := 1, 0; page <= installationPages; page++ {
		q.query = pageQuery(installationPage, page)
		l, err := fetch(ctx, c, q, listOf("installations"))
		if err != nil {
			return Installation{}, err
		}
		for _, item := range l.items {
			i, err := parseInstallation(item)
			if err != nil {
				return Installation{}, unavailable(q.what, err)
			}
			if i.ID == id {
				return i, nil
			}
		}
		// Counted, not followed: an address for the next page would be another thing to believe.
		if read += len(l.items); len(l.items) == 0 || read >= l.total {
			break
		}
	}
	return Installation{}, nil
}

// seesInto refuses an installation whose repositories are hidden from the person.
func (c *Client) seesInto(ctx context.Context, token string, id int64) error {
	q := request{
		what: "list repositories", as: bearer(token), path: fmt.Sprintf("/user/installations/%d/repositories", id), query: pageQuery(repositoryPage, 1),
	}
	_, err := fetch(ctx, c, q, listOf("repositories"))
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrPermission) {
		return notYours(err)
	}
	return err
}

// list is a page of the REST API: {total_count, NAME: […]}.
type list struct {
	total int
	items []json.RawMessage
}

func pageQuery(size, page int) url.Values {
	return url.Values{"per_page": {strconv.Itoa(size)}, "page": {strconv.Itoa(page)}}
}

// listOf reads a page of the list of that name.
func listOf(name string) func([]byte) (list, error) {
	return func(body []byte) (l list, err error) {
		o, err := parseObject(body)
		if err != nil || json.Unmarshal(o["total_count"], &l.total) != nil || json.Unmarshal(o[name], &l.items) != nil {
			return list{}, errNotUnderstood
		}
		return l, nil
	}
}

// Installation is what the app itself knows of one; ErrNotFound is in the chain when it is none of the app's.
func (c *Client) Installation(ctx context.Context, app App, id int64) (Installation, error) {
	q := request{what: "read installation", as: proof(app), path: fmt.Sprintf("/app/installations/%d", id)}
	return fetch(ctx, c, q, func(body []byte) (Installation, error) {
		i, err := parseInstallation(body)
		if err != nil || i.ID != id || i.AppID != app.ID {
			return Installation{}, errNotUnderstood
		}
		return i, nil
	})
}

func parseInstallation(body []byte) (i Installation, err error) {
	if json.Unmarshal(body, &i) != nil || i.ID <= 0 || i.AppID <= 0 || i.Account.ID <= 0 {
		return Installation{}, errNotUnderstood
	}
	return i, nil
}
