package githubtest

import (
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

// login gives a browser a person of its own.
func (s *Server) login(c *call) answer {
	u := s.world.userNamed(c.URL.Query().Get("as"))
	if u == nil {
		return page(http.StatusNotFound, "Sign in to GitHub", notice("Nobody has that name."))
	}
	cookie := http.Cookie{Name: "user", Value: u.Login, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	return page(http.StatusOK, "Signed in", notice("You are "+u.Login+".")).with("Set-Cookie", cookie.String())
}

// person is who a browser is: who the page says, who its cookie says, or who is signed in.
func (s *Server) person(c *call, as string) *User {
	if u := s.world.userNamed(as); u != nil {
		return u
	}
	if cookie, err := c.Cookie("user"); err == nil {
		if u := s.world.userNamed(cookie.Value); u != nil {
			return u
		}
	}
	return s.world.user(s.world.current)
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
		return nil, new(page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for.")))
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

func redirectOf(a *app, q url.Values) string {
	if r := q.Get("redirect_uri"); r != "" {
		return r
	}
	return a.callbacks[0]
}

func (s *Server) consent(c *call, a *app, q url.Values) answer {
	if s.knobs.deny != "" {
		return back(redirectOf(a, q), q, s.knobs.deny)
	}
	as := q.Get("as")
	if as == "" {
		as = q.Get("login")
	}
	code := s.newCode(a, s.person(c, as).ID, redirectOf(a, q), q.Get("code_challenge"))
	return moved(withQuery(redirectOf(a, q), "code", code, "state", q.Get("state")))
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
	a := s.world.appOf(clientID)
	if a == nil || s.world.user(user) == nil {
		panic("githubtest: a code needs an app and a person that there are")
	}
	return s.newCode(a, user, redirect, challenge)
}

// back sends a browser home with an error.
func back(redirect string, q url.Values, code string) answer {
	text := map[string]string{
		"access_denied":         "The user has denied your application access.",
		"redirect_uri_mismatch": "The redirect_uri MUST match the registered callback URL for this application.",
		"application_suspended": "Your application has been suspended. Contact support@github.com.",
	}[code]
	return moved(withQuery(redirect, "error", code, "error_description", text, "error_uri", docs+code, "state", q.Get("state")))
}

const docs = "https://docs.github.com/apps/troubleshooting/"
