package githubtest

import (
	"net/http"
	"strconv"
	"strings"
)

// bearer is the token of a request, empty when there is none.
func (c *call) bearer() string {
	kind, token, _ := strings.Cut(c.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "bearer") && !strings.EqualFold(kind, "token") {
		return ""
	}
	return token
}

// asPerson finds whom the token speaks for, or the refusal.
func (s *Server) asPerson(c *call) (*grant, *answer) {
	token := c.bearer()
	if token == "" {
		return nil, new(refuse(http.StatusUnauthorized, "Requires authentication"))
	}
	if s.world.passes[token] != nil {
		return nil, new(s.inaccessible("", http.StatusForbidden))
	}
	g := find(s.world.grants, func(g *grant) bool { return g.access == token })
	if g == nil || (!g.expires.IsZero() && s.now().After(g.expires)) {
		return nil, new(refuse(http.StatusUnauthorized, "Bad credentials"))
	}
	return g, nil
}

// inaccessible refuses for want of a permission.
func (s *Server) inaccessible(permission string, status int) answer {
	a := refuse(status, "Resource not accessible by integration")
	if status == http.StatusNotFound {
		a = refuse(status, "Not Found")
	}
	if permission != "" {
		a = a.with("X-Accepted-GitHub-Permissions", permission)
	}
	return a
}

func (s *Server) getUser(c *call) answer {
	g, refused := s.asPerson(c)
	if refused != nil {
		return *refused
	}
	u := s.world.user(g.user)
	body := s.accountBody(account{u.ID, u.Login, "User"})
	body["name"], body["email"] = null(u.Name), null(u.Email)
	body["company"], body["blog"], body["location"], body["bio"], body["hireable"] = nil, "", nil, nil, nil
	body["public_repos"], body["public_gists"], body["followers"], body["following"] = 2, 0, 20, 0
	body["created_at"], body["updated_at"] = "2011-01-25T18:44:36Z", "2026-01-14T04:33:35Z"
	return reply(http.StatusOK, body)
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) accountBody(a account) map[string]any {
	path := s.URL + "/users/" + a.login
	return map[string]any{
		"login": a.login, "id": a.id, "node_id": "U_" + strconv.FormatInt(a.id, 36), "type": a.kind, "site_admin": false,
		"avatar_url": s.URL + "/avatars/" + strconv.FormatInt(a.id, 10), "gravatar_id": "", "url": path,
		"html_url": s.URL + "/" + a.login, "repos_url": path + "/repos", "organizations_url": path + "/orgs",
	}
}

func (s *Server) getEmails(c *call) answer {
	g, refused := s.asPerson(c)
	if refused != nil {
		return *refused
	}
	if !g.emails {
		return s.inaccessible("emails=read", s.knobs.denial)
	}
	out := []map[string]any{}
	for _, e := range s.world.user(g.user).Emails {
		out = append(out, map[string]any{
			"email": e.Email, "verified": e.Verified, "primary": e.Primary, "visibility": null(e.Visibility),
		})
	}
	items, link := paged(s, c, out)
	return reply(http.StatusOK, items).with("Link", link)
}

// paged is the part of a list that the query asks for, and the header that leads on.
func paged[T any](s *Server, c *call, all []T) ([]T, string) {
	q := c.URL.Query()
	size, _ := strconv.Atoi(q.Get("per_page"))
	page, _ := strconv.Atoi(q.Get("page"))
	if size < 1 {
		size = 30
	}
	size, page = min(size, 100), max(page, 1)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	if to == len(all) {
		return all[from:to], ""
	}
	q.Set("page", strconv.Itoa(page+1))
	return all[from:to], "<" + s.URL + c.URL.Path + "?" + q.Encode() + `>; rel="next"`
}
