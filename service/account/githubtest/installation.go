package githubtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// install is where a browser chooses an account for an app; where pages are not shown it has chosen.
func (s *Server) install(c *call) answer {
	a := s.world.appNamed(c.PathValue("slug"))
	if a == nil {
		return noPage()
	}
	if s.pages {
		return page(http.StatusOK, "Install "+a.Name, s.chooseAccount(c))
	}
	return s.installed(c, a, s.person(c, ""), s.knobs.install)
}

// decideInstall is the button of the page.
func (s *Server) decideInstall(c *call) answer {
	form, _ := url.ParseQuery(string(c.body))
	a := s.world.appNamed(c.PathValue("slug"))
	target, _ := strconv.ParseInt(form.Get("target"), 10, 64)
	if a == nil || form.Get("decision") != "approve" {
		return page(http.StatusOK, "Not installed", notice("Nothing was installed."))
	}
	return s.installed(c, a, s.person(c, form.Get("as")), target)
}

// installed installs an app, or changes what it reaches, and sends the browser to where the app wants it.
func (s *Server) installed(c *call, a *app, by *User, target int64) answer {
	if target == 0 {
		target = by.ID
	}
	to := url.Values{"setup_action": {"request"}}
	switch i := find(s.world.installations, func(i *installation) bool { return i.App == a.ID && i.Account == target }); {
	case s.knobs.request:
	case !s.world.mayActFor(by.ID, target):
		return noPage()
	case i != nil:
		to = url.Values{"installation_id": {strconv.FormatInt(i.ID, 10)}, "setup_action": {"update"}}
	default:
		id := s.addInstallation(Installation{App: a.ID, Account: target})
		to = url.Values{"installation_id": {strconv.FormatInt(id, 10)}, "setup_action": {"install"}}
	}
	return home(a.setup, to, c.URL.Query())
}

// granted is what an installation of the app lets it do: what it may read of a person is no part of it.
func (a *app) granted() map[string]string {
	out := maps.Clone(a.Permissions)
	delete(out, "emails")
	return out
}

func (s *Server) installationBody(i *installation) map[string]any {
	a, on := s.world.app(i.App), s.world.account(i.Account)
	selection, asleep := "all", any(nil)
	if i.Repositories != nil {
		selection = "selected"
	}
	if i.Suspended {
		asleep = stamp(i.asleep)
	}
	return map[string]any{
		"id": i.ID, "client_id": a.ClientID, "account": s.accountBody(on), "repository_selection": selection,
		"app_id": a.ID, "app_slug": a.Slug, "target_id": on.id, "target_type": on.kind,
		"permissions": a.granted(), "events": a.Events, "created_at": stamp(i.created), "updated_at": stamp(i.created),
		"suspended_by": nil, "suspended_at": asleep,
	}
}

func (s *Server) repositoryBody(r *Repository) map[string]any {
	owner := s.world.account(r.Owner)
	name := owner.login + "/" + r.Name
	return map[string]any{
		"id": r.ID, "node_id": "R_" + strconv.FormatInt(r.ID, 36), "name": r.Name, "full_name": name, "private": r.Private,
		"owner": s.accountBody(owner), "html_url": s.URL + "/" + name, "clone_url": s.URL + "/" + name + ".git", "default_branch": "main",
	}
}

func (s *Server) repositoryBodies(list []*Repository) []map[string]any {
	all := []map[string]any{}
	for _, r := range list {
		all = append(all, s.repositoryBody(r))
	}
	return all
}

func (s *Server) getUserInstallations(c *call) answer {
	return s.asPerson(c, func(g *grant) answer {
		all := []map[string]any{}
		for _, i := range s.world.installations {
			if i.App == g.app.ID && s.world.mayActFor(g.user, i.Account) {
				all = append(all, s.installationBody(i))
			}
		}
		return s.paged(c, all, func(page any) any { return map[string]any{"total_count": len(all), "installations": page} })
	})
}

func (s *Server) getUserRepositories(c *call) answer {
	return s.asPerson(c, func(g *grant) answer {
		i := s.installationOf(c, g.app)
		if i == nil || !s.world.mayActFor(g.user, i.Account) {
			return refuse(http.StatusNotFound, "Not Found")
		}
		all := s.repositoryBodies(s.world.repositoriesOf(i))
		return s.paged(c, all, func(page any) any { return map[string]any{"total_count": len(all), "repositories": page} })
	})
}

// installationOf is the installation of the app that a path names.
func (s *Server) installationOf(c *call, a *app) *installation {
	id, _ := strconv.ParseInt(c.PathValue("id"), 10, 64)
	if i := s.world.installation(id); i != nil && i.App == a.ID {
		return i
	}
	return nil
}

func (s *Server) getInstallation(c *call) answer {
	return s.asApp(c, func(a *app) answer {
		i := s.installationOf(c, a)
		if i == nil {
			return refuse(http.StatusNotFound, "Not Found")
		}
		return reply(http.StatusOK, s.installationBody(i))
	})
}

// reach is what an installation token is asked for.
type reach struct {
	Repositories  []string
	RepositoryIDs []int64 `json:"repository_ids"`
	Permissions   map[string]string
}

func (s *Server) newInstallationToken(c *call) answer {
	return s.asApp(c, func(a *app) answer {
		i := s.installationOf(c, a)
		if i == nil {
			return refuse(http.StatusNotFound, "Not Found")
		}
		if i.Suspended {
			return refuse(http.StatusForbidden, "This installation has been suspended")
		}
		var want reach
		if json.Unmarshal(c.body, &want) != nil {
			return refuse(http.StatusBadRequest, "Problems parsing JSON")
		}
		list, message := s.narrow(a, i, want)
		if message != "" {
			return refuse(http.StatusUnprocessableEntity, message)
		}
		token := "ghs_" + random(alnum, 36)
		if s.knobs.long {
			token = "ghs_" + strconv.FormatInt(a.ID, 10) + "_" + random(alnum, 60) + "." + random(alnum, 700) + "." + random(alnum, 342)
		}
		return reply(http.StatusCreated, map[string]any{
			"token": token, "expires_at": stamp(s.now().Add(time.Hour)), "permissions": want.Permissions,
			"repository_selection": "selected", "repositories": s.repositoryBodies(list),
		})
	})
}

// narrow is the list of repositories that a token is for, or why it cannot be. The real one gives everything to a client that
// names nothing; ours always does.
func (s *Server) narrow(a *app, i *installation, want reach) (list []*Repository, message string) {
	levels, granted := []string{"read", "write", "admin"}, a.granted()
	for name, level := range want.Permissions {
		if slices.Index(levels, granted[name]) < max(slices.Index(levels, level), 0) {
			return nil, "The permissions requested are not granted to this installation."
		}
	}
	for _, r := range s.world.repositoriesOf(i) {
		if slices.Contains(want.RepositoryIDs, r.ID) || slices.Contains(want.Repositories, r.Name) {
			list = append(list, r)
		}
	}
	if n := len(want.Repositories) + len(want.RepositoryIDs); n == 0 || n != len(list) {
		return nil, "There is at least one repository that does not exist or is not accessible to the parent installation."
	}
	return list, ""
}
