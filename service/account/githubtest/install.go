package githubtest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// install is where a browser chooses an account for an app; where pages are not shown it has chosen.
func (s *Server) install(c *call) answer {
	a := find(s.world.apps, func(a *app) bool { return a.Slug == c.vars["slug"] })
	if a == nil {
		return page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for."))
	}
	if s.pages {
		return page(http.StatusOK, "Install "+a.Name, s.chooseAccount(c))
	}
	return s.installed(c, a, s.person(c, ""), s.knobs.install)
}

// decideInstall is the button of the page.
func (s *Server) decideInstall(c *call) answer {
	form, _ := url.ParseQuery(string(c.body))
	a := find(s.world.apps, func(a *app) bool { return a.Slug == c.vars["slug"] })
	target, _ := strconv.ParseInt(form.Get("target"), 10, 64)
	if a == nil || form.Get("decision") != "approve" {
		return page(http.StatusOK, "Not installed", notice("Nothing was installed."))
	}
	return s.installed(c, a, s.person(c, form.Get("as")), target)
}

// installed installs an app, or changes what it reaches, and sends the browser to where the app wants it.
func (s *Server) installed(c *call, a *app, by *User, target int64) answer {
	state := c.URL.Query().Get("state")
	if target == 0 {
		target = by.ID
	}
	if s.knobs.request {
		return s.setUp(a, "setup_action", "request", "state", state)
	}
	if !s.world.mayActFor(by.ID, target) {
		return page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for."))
	}
	if i := find(s.world.installations, func(i *installation) bool { return i.App == a.ID && i.Account == target }); i != nil {
		if !a.onUpdate {
			return page(http.StatusOK, "Saved", notice("The installation was saved."))
		}
		return s.setUp(a, "installation_id", strconv.FormatInt(i.ID, 10), "setup_action", "update", "state", state)
	}
	id := s.addInstallation(Installation{App: a.ID, Account: target})
	return s.setUp(a, "installation_id", strconv.FormatInt(id, 10), "setup_action", "install", "state", state)
}

func (s *Server) setUp(a *app, pairs ...string) answer {
	if a.setup == "" {
		return page(http.StatusOK, "Installed", notice("The app is installed."))
	}
	return moved(withQuery(a.setup, pairs...))
}

// accounts are those that a person may install on.
func (s *Server) accounts(user *User) []account {
	all := []account{{user.ID, user.Login, "User"}}
	for _, o := range s.world.organizations {
		if slices.Contains(o.Members, user.ID) {
			all = append(all, account{o.ID, o.Login, "Organization"})
		}
	}
	return all
}
