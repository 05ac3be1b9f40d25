package githubtest

import (
	"net/http"
	"net/url"
	"strings"
)

// route is a path that is known, with {names} for its variable parts.
type route struct {
	name    string // METHOD /path
	program bool   // no browser goes there
	handle  func(*call) answer
}

// call is a request whose body was read.
type call struct {
	*http.Request
	body []byte
	vars map[string]string
}

func (s *Server) allRoutes() []route {
	page := func(name string, h func(*call) answer) route { return route{name, false, h} }
	api := func(name string, h func(*call) answer) route { return route{name, true, h} }
	return []route{
		page("GET /login", s.login),
		page("POST /settings/apps/new", s.newApp),
		page("POST /organizations/{org}/settings/apps/new", s.newApp),
		page("GET /login/oauth/authorize", s.authorize),
		page("POST /login/oauth/authorize", s.decideAuthorize),
		page("GET /apps/{slug}/installations/new", s.install),
		page("POST /apps/{slug}/installations/new", s.decideInstall),
		page("GET /github-apps/{slug}/installations/new", s.install),
		page("POST /github-apps/{slug}/installations/new", s.decideInstall),
		page("GET /apps/{slug}", s.appPage),
		api("POST /login/oauth/access_token", s.accessToken),
		api("POST /app-manifests/{code}/conversions", s.convert),
		api("GET /user", s.getUser),
		api("GET /user/emails", s.getEmails),
		api("GET /user/installations", s.getUserInstallations),
		api("GET /user/installations/{id}/repositories", s.getUserRepositories),
		api("GET /app", s.getApp),
		api("GET /app/installations/{id}", s.getInstallation),
		api("POST /app/installations/{id}/access_tokens", s.newInstallationToken),
		api("GET /installation/repositories", s.getInstallationRepositories),
		api("DELETE /applications/{client_id}/token", s.deleteToken),
	}
}

// find is the route of a call. Another method is as unknown as another path, and so is a slash at the end.
func (s *Server) find(c *call) route {
	for _, r := range s.routes {
		method, path, _ := strings.Cut(r.name, " ")
		if method != c.Method {
			continue
		}
		if vars, ok := match(path, c.URL.EscapedPath()); ok {
			c.vars = vars
			return r
		}
	}
	return route{program: true, handle: func(*call) answer { return refuse(http.StatusNotFound, "Not Found") }}
}

func match(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	vars := map[string]string{}
	for i, part := range want {
		name, variable := strings.CutPrefix(part, "{")
		value, err := url.PathUnescape(have[i])
		switch {
		case err != nil || (variable && value == ""):
			return nil, false
		case variable:
			vars[strings.TrimSuffix(name, "}")] = value
		case part != value:
			return nil, false
		}
	}
	return vars, true
}
