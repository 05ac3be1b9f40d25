package githubtest

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// install is where a browser chooses an account for an app, or changes what the app reaches there. Where pages are not shown
// it is the one that the query names as target, or the person's own.
func (c *call) install() answer {
	a := find(c.apps, func(a *app) bool { return a.Slug == c.PathValue("slug") })
	by := c.browser()
	target := c.accountNamed(cmp.Or(c.FormValue("target"), by.Login)).id
	switch {
	case a == nil || !c.mayActFor(by.ID, target):
		return noPage()
	case c.undecided():
		return c.ask("Install "+a.Name, choice{"Account", "target", c.targets(by)})
	case c.canceled():
		return notice(http.StatusOK, "Nothing was installed.")
	case c.onlyRequests:
		return c.home(a.setup, url.Values{"setup_action": {"request"}})
	}
	i, action := find(c.installations, func(i *Installation) bool { return i.App == a.ID && i.Account == target }), "update"
	if i == nil {
		i, action = &Installation{ID: c.next(), App: a.ID, Account: target}, "install"
		c.installations = append(c.installations, i)
	}
	return c.home(a.setup, url.Values{"installation_id": {fmt.Sprint(i.ID)}, "setup_action": {action}})
}

func (i *Installation) reaches(r *Repository) bool { return r.Owner == i.Account }

// targets are the logins that a person may install apps for.
func (c *call) targets(by *User) (all []string) {
	for _, a := range c.accounts() {
		if c.mayActFor(by.ID, a.id) {
			all = append(all, a.login)
		}
	}
	return all
}

// granted is what an installation of the app lets it do: what it may read of a person is no part of it.
func (a *app) granted() map[string]string {
	out := maps.Clone(a.Permissions)
	delete(out, "emails")
	return out
}

func (w *world) installationBody(i *Installation) map[string]any {
	a, on := w.app(i.App), w.account(i.Account)
	body := map[string]any{
		"id": i.ID, "app_id": a.ID, "app_slug": a.Slug, "account": w.accountBody(on), "target_id": on.id, "target_type": on.kind,
		"repository_selection": "all", "permissions": a.granted(), "events": a.Events, "suspended_at": nil,
	}
	if i.Suspended {
		body["suspended_at"] = stamp(w.now())
	}
	return body
}

// paged is the page of a list that the query asks for.
func (c *call) paged(name string, all []any) answer {
	size, _ := strconv.Atoi(c.FormValue("per_page"))
	page, _ := strconv.Atoi(c.FormValue("page"))
	size = min(cmp.Or(size, 30), 100)
	from := min((max(page, 1)-1)*size, len(all))
	return reply(http.StatusOK, map[string]any{"total_count": len(all), name: all[from:min(from+size, len(all))]})
}

func (c *call) userInstallations(g *grant) answer {
	all := []any{}
	for _, i := range c.installations {
		if i.App == g.app.ID && c.mayActFor(g.user, i.Account) {
			all = append(all, c.installationBody(i))
		}
	}
	return c.paged("installations", all)
}

// about answers for the installation of an app that the path names.
func (c *call) about(a *app, handle func(*call, *Installation) answer) answer {
	id, _ := strconv.ParseInt(c.PathValue("id"), 10, 64)
	i := c.installationOf(id)
	if i == nil || i.App != a.ID {
		return c.nothing()
	}
	return handle(c, i)
}

func (c *call) userRepositories(g *grant) answer {
	return c.about(g.app, func(c *call, i *Installation) answer {
		if !c.mayActFor(g.user, i.Account) {
			return c.nothing()
		}
		return c.paged("repositories", c.repositoryBodies(i.reaches))
	})
}

func (c *call) installation(i *Installation) answer {
	return reply(http.StatusOK, c.installationBody(i))
}

// newInstallationToken makes a token for some repositories, by their names. The real one gives everything to a client that names
// nothing; ours always does.
func (c *call) newInstallationToken(i *Installation) answer {
	var want struct {
		Repositories []string
		Permissions  map[string]string
	}
	if i.Suspended {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	if json.Unmarshal(c.body, &want) != nil {
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	granted := c.app(i.App).granted()
	for name, level := range want.Permissions {
		if slices.Index(levels, granted[name]) < max(slices.Index(levels, level), 0) {
			return refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
		}
	}
	list := c.repositoryBodies(func(r *Repository) bool { return i.reaches(r) && slices.Contains(want.Repositories, r.Name) })
	if len(list) == 0 || len(list) != len(want.Repositories) {
		return refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
	}
	return reply(http.StatusCreated, map[string]any{
		"token": "ghs_" + rand.Text(), "expires_at": stamp(c.now().Add(time.Hour)), "permissions": want.Permissions,
		"repository_selection": "selected", "repositories": list,
	})
}
