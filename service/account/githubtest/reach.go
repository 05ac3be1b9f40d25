package githubtest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// granted is what an installation of the app lets it do: what it may read of a person is no part of it.
func (a *app) granted() map[string]string {
	out := maps.Clone(a.Permissions)
	delete(out, "emails")
	return out
}

func (s *Server) installationBody(i *installation) map[string]any {
	a, on := s.world.app(i.App), s.world.account(i.Account)
	id := strconv.FormatInt(i.ID, 10)
	selection, asleep := "all", any(nil)
	if i.Repositories != nil {
		selection = "selected"
	}
	if i.Suspended {
		asleep = stamp(i.asleep)
	}
	return map[string]any{
		"id": i.ID, "client_id": a.ClientID, "account": s.accountBody(on), "repository_selection": selection,
		"access_tokens_url": s.URL + "/app/installations/" + id + "/access_tokens",
		"repositories_url":  s.URL + "/installation/repositories", "html_url": s.URL + "/settings/installations/" + id,
		"app_id": a.ID, "app_slug": a.Slug, "target_id": on.id, "target_type": on.kind,
		"permissions": a.granted(), "events": a.Events, "created_at": stamp(i.created), "updated_at": stamp(i.created),
		"single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"suspended_by": nil, "suspended_at": asleep,
	}
}

func (s *Server) repositoryBody(r *Repository) map[string]any {
	owner := s.world.account(r.Owner)
	name := owner.login + "/" + r.Name
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	return map[string]any{
		"id": r.ID, "node_id": "R_" + strconv.FormatInt(r.ID, 36), "name": r.Name, "full_name": name, "private": r.Private,
		"owner": s.accountBody(owner), "html_url": s.URL + "/" + name, "description": nil, "fork": false,
		"url": s.URL + "/repos/" + name, "clone_url": s.URL + "/" + name + ".git", "default_branch": "main",
		"visibility": visibility, "archived": false, "disabled": false,
		"permissions": map[string]bool{"admin": true, "maintain": true, "push": true, "triage": true, "pull": true},
	}
}

func (s *Server) getUserInstallations(c *call) answer {
	g, refused := s.asPerson(c)
	if refused != nil {
		return *refused
	}
	all := []map[string]any{}
	for _, i := range s.world.installations {
		if i.App == g.app.ID && s.world.mayActFor(g.user, i.Account) {
			all = append(all, s.installationBody(i))
		}
	}
	items, link := paged(s, c, all)
	return reply(http.StatusOK, map[string]any{"total_count": len(all), "installations": items}).with("Link", link)
}

func (s *Server) getUserRepositories(c *call) answer {
	g, refused := s.asPerson(c)
	if refused != nil {
		return *refused
	}
	id, _ := strconv.ParseInt(c.vars["id"], 10, 64)
	i := s.world.installation(id)
	if i == nil || i.App != g.app.ID || !s.world.mayActFor(g.user, i.Account) {
		return refuse(http.StatusNotFound, "Not Found")
	}
	if i.Suspended {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	return s.repositories(c, s.world.repositoriesOf(i))
}

func (s *Server) repositories(c *call, list []*Repository) answer {
	all := []map[string]any{}
	for _, r := range list {
		all = append(all, s.repositoryBody(r))
	}
	items, link := paged(s, c, all)
	return reply(http.StatusOK, map[string]any{"total_count": len(all), "repositories": items}).with("Link", link)
}

// pass is an installation token.
type pass struct {
	installation *installation
	repositories []int64 // nil: all of the installation
	expires      time.Time
}

func (s *Server) getInstallationRepositories(c *call) answer {
	p := s.world.passes[c.bearer()]
	if p == nil || s.now().After(p.expires) || s.world.installation(p.installation.ID) == nil {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	if p.installation.Suspended {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	list := slices.DeleteFunc(s.world.repositoriesOf(p.installation), func(r *Repository) bool {
		return p.repositories != nil && !slices.Contains(p.repositories, r.ID)
	})
	return s.repositories(c, list)
}
