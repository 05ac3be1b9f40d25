package githubtest

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// code stands for a person's consent, once and for ten minutes.
type code struct {
	app       *app
	user      int64
	redirect  string
	challenge string
	emails    bool // what the app might read when the person consented
	at        time.Time
}

// person is who a browser is: who the page says, who its cookie says, or octocat.
func (s *Server) person(c *call, as string) *User {
	if cookie, err := c.Cookie("user"); as == "" && err == nil {
		as = cookie.Value
	}
	if u := s.world.userNamed(as); u != nil {
		return u
	}
	return s.world.user(Octocat)
}

// authorize asks a person for consent, and where pages are not shown has it.
func (s *Server) authorize(c *call) answer {
	q := c.URL.Query()
	a, refused := s.asked(q)
	if refused != nil {
		return *refused
	}
	if s.pages {
		return page(http.StatusOK, "Authorize "+a.Name, s.decision(c, q))
	}
	return s.consent(c, a, q)
}

// decideAuthorize is the button of the page.
func (s *Server) decideAuthorize(c *call) answer {
	q, _ := url.ParseQuery(string(c.body))
	a, refused := s.asked(q)
	if refused != nil {
		return *refused
	}
	if q.Get("decision") != "approve" {
		return back(redirectOf(a, q), q, "access_denied")
	}
	return s.consent(c, a, q)
}

// asked checks what an app asks a person.
func (s *Server) asked(q url.Values) (*app, *answer) {
	a := s.world.appOf(q.Get("client_id"))
	if a == nil || len(a.callbacks) == 0 {
		return nil, new(noPage())
	}
	if r := q.Get("redirect_uri"); r != "" && !slices.Contains(a.callbacks, r) {
		return nil, new(back(a.callbacks[0], q, "redirect_uri_mismatch"))
	}
	challenge, method := q.Get("code_challenge"), q.Get("code_challenge_method")
	if (challenge != "" && (method != "S256" || len(challenge) != 43)) || (challenge == "" && method != "") {
		return nil, new(page(http.StatusBadRequest, "Bad request", notice("Only a challenge of the method S256 is supported.")))
	}
	return a, nil
}

func redirectOf(a *app, q url.Values) string { return cmp.Or(q.Get("redirect_uri"), a.callbacks[0]) }

func (s *Server) consent(c *call, a *app, q url.Values) answer {
	if s.knobs.deny != "" {
		return back(redirectOf(a, q), q, s.knobs.deny)
	}
	by := s.person(c, cmp.Or(q.Get("as"), q.Get("login")))
	code := s.newCode(a, by.ID, redirectOf(a, q), q.Get("code_challenge"))
	return home(redirectOf(a, q), url.Values{"code": {code}}, q)
}

func (s *Server) newCode(a *app, user int64, redirect, challenge string) string {
	value := random(hexDigits, 20)
	s.world.codes[value] = &code{
		app: a, user: user, redirect: redirect, challenge: challenge, emails: a.Permissions["emails"] != "", at: s.now(),
	}
	return value
}

// Code is one that a person's consent gave, without a browser. An empty challenge is none.
func (s *Server) Code(clientID string, user int64, redirect, challenge string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newCode(s.world.appOf(clientID), user, redirect, challenge)
}

// back sends a browser home with an error.
func back(redirect string, q url.Values, code string) answer {
	return home(redirect, refusal(code, "What was asked is refused."), q)
}

// home sends a browser to the app, with more in the query of its address, and the state that it came with.
func home(address string, more, asked url.Values) answer {
	u, err := url.Parse(address)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	if state := asked.Get("state"); state != "" {
		more.Set("state", state)
	}
	q := u.Query()
	maps.Copy(q, more)
	u.RawQuery = q.Encode()
	return moved(u.String())
}

const docs = "https://docs.github.com/apps/troubleshooting/"
