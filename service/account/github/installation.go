package github

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Installation is the app on somebody's account, with what they let it do there.
type Installation struct {
	ID          int64
	AppID       int64
	Account     Account
	Selection   string // of repositories: all or selected
	Permissions map[string]string
	Suspended   time.Time // zero: it is not
}

// Account is a person or an organization. An enterprise has no login.
type Account struct {
	ID    int64
	Login string
	Type  string
}

// Installations are some, and whether there are more than were read.
type Installations struct {
	Items []Installation
	More  bool
}

// What is read at most of the list.
const (
	installationPage  = 100
	installationPages = 10
)

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

// UserInstallations are those that a person can see.
func (c *Client) UserInstallations(ctx context.Context, token string) (Installations, error) {
	var all Installations
	more, err := c.eachInstallation(ctx, token, func(i Installation) bool {
		all.Items = append(all.Items, i)
		return true
	})
	all.More = more
	return all, err
}

// UserInstallation is the app's installation of that id if the person can see it and it is not suspended, else NotYours.
func (c *Client) UserInstallation(ctx context.Context, app App, token string, id int64) (Installation, error) {
	var found Installation
	_, err := c.eachInstallation(ctx, token, func(i Installation) bool {
		if i.ID == id {
			found = i
		}
		return i.ID != id
	})
	if err != nil {
		return Installation{}, err
	}
	if err := found.check(app, id); err != nil {
		return Installation{}, err
	}
	return found, nil
}

// check refuses an installation that is another's or asleep.
func (i Installation) check(app App, id int64) error {
	switch {
	case id <= 0 || i.ID != id:
		return notYours(errors.New("the person does not see it"))
	case i.AppID != app.ID:
		return notYours(errors.New("it is of another app"))
	case !i.Suspended.IsZero():
		return notYours(ErrSuspended)
	}
	return nil
}

// Installation is what the app itself knows of one; ErrNotFound is in the chain when it is none of the app's.
func (c *Client) Installation(ctx context.Context, app App, id int64) (Installation, error) {
	q := request{what: "read installation", method: http.MethodGet, path: "/app/installations/" + strconv.FormatInt(id, 10)}
	a, err := c.askAs(ctx, app, q)
	if err != nil {
		return Installation{}, err
	}
	if a.status != http.StatusOK {
		return Installation{}, a.failure(q.what, c.now())
	}
	i, err := parseInstallation(a.body)
	if err != nil || i.ID != id || i.AppID != app.ID {
		return Installation{}, unavailable(q.what, errNotUnderstood)
	}
	return i, nil
}

// VerifyInstallation believes an id that came with a redirect: the person sees the installation, may see into it, and the
// app knows it as the same account's. Anything else is NotYours.
func (c *Client) VerifyInstallation(ctx context.Context, app App, token string, id int64) (Installation, Repositories, error) {
	seen, err := c.UserInstallation(ctx, app, token, id)
	if err != nil {
		return Installation{}, Repositories{}, err
	}
	repositories, err := c.UserRepositories(ctx, token, id)
	if err != nil {
		return Installation{}, Repositories{}, err
	}
	known, err := c.Installation(ctx, app, id)
	if errors.Is(err, ErrNotFound) {
		return Installation{}, Repositories{}, notYours(err)
	}
	if err != nil {
		return Installation{}, Repositories{}, err
	}
	if known.Account.ID != seen.Account.ID {
		return Installation{}, Repositories{}, notYours(errors.New("it is on another account"))
	}
	if err := known.check(app, id); err != nil {
		return Installation{}, Repositories{}, err
	}
	return known, repositories, nil
}

func (c *Client) eachInstallation(ctx context.Context, token string, yield func(Installation) bool) (bool, error) {
	list := list{
		what: "list installations", path: "/user/installations", name: "installations",
		size: installationPage, pages: installationPages,
	}
	return c.each(ctx, bearer(token), list, func(raw json.RawMessage) (bool, error) {
		i, err := parseInstallation(raw)
		return err == nil && yield(i), err
	})
}

func parseInstallation(body []byte) (Installation, error) {
	var v struct {
		ID          int64
		AppID       int64 `json:"app_id"`
		Account     Account
		Selection   string `json:"repository_selection"`
		Permissions map[string]string
		Suspended   *time.Time `json:"suspended_at"`
	}
	if json.Unmarshal(body, &v) != nil || v.ID <= 0 || v.AppID <= 0 || v.Account.ID <= 0 {
		return Installation{}, errNotUnderstood
	}
	i := Installation{ID: v.ID, AppID: v.AppID, Account: v.Account, Selection: v.Selection, Permissions: v.Permissions}
	if v.Suspended != nil {
		i.Suspended = *v.Suspended
	}
	return i, nil
}
