package githubtest

import (
	"net/http"
	"strconv"
)

// asPerson answers whoever a token speaks for.
func (s *Server) asPerson(c *call, answered func(*grant) answer) answer {
	token := c.bearer()
	g := find(s.world.grants, func(g *grant) bool { return token != "" && g.access == token })
	if g == nil || (!g.expires.IsZero() && s.now().After(g.expires)) {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	return answered(g)
}

// inaccessible refuses for want of a permission.
func inaccessible(status int, permission string) answer {
	message := "Resource not accessible by integration"
	if status == http.StatusNotFound {
		message = "Not Found"
	}
	return refuse(status, message).with("X-Accepted-GitHub-Permissions", permission)
}

func (s *Server) getUser(c *call) answer {
	return s.asPerson(c, func(g *grant) answer {
		u := s.world.user(g.user)
		body := s.accountBody(account{u.ID, u.Login, "User"})
		body["name"], body["email"], body["created_at"] = null(u.Name), null(u.Email), "2011-01-25T18:44:36Z"
		return reply(http.StatusOK, body)
	})
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) accountBody(a account) map[string]any {
	return map[string]any{
		"login": a.login, "id": a.id, "node_id": "U_" + strconv.FormatInt(a.id, 36), "type": a.kind, "site_admin": false,
		"avatar_url": s.URL + "/avatars/" + strconv.FormatInt(a.id, 10), "html_url": s.URL + "/" + a.login,
	}
}

func (s *Server) getEmails(c *call) answer {
	return s.asPerson(c, func(g *grant) answer {
		if !g.emails {
			return inaccessible(s.knobs.denial, "emails=read")
		}
		all := []map[string]any{}
		for _, e := range s.world.user(g.user).Emails {
			all = append(all, map[string]any{
				"email": e.Email, "verified": e.Verified, "primary": e.Primary, "visibility": null(e.Visibility),
			})
		}
		return s.paged(c, all, func(page any) any { return page })
	})
}

// paged is the page of a list that the query asks for, with the header that leads on.
func (s *Server) paged(c *call, all []map[string]any, body func(page any) any) answer {
	q := c.URL.Query()
	size, _ := strconv.Atoi(q.Get("per_page"))
	page, _ := strconv.Atoi(q.Get("page"))
	if size < 1 {
		size = 30
	}
	size, page = min(size, 100), max(page, 1)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	a := reply(http.StatusOK, body(all[from:to]))
	if to == len(all) {
		return a
	}
	q.Set("page", strconv.Itoa(page+1))
	return a.with("Link", "<"+s.URL+c.URL.Path+"?"+q.Encode()+`>; rel="next"`)
}
