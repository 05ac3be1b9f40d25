package githubtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// code stands for a person's consent, once and for ten minutes.
type code struct {
	grant     // without tokens yet
	redirect  string
	challenge string
	at        time.Time
}

const (
	codeLife    = 10 * time.Minute
	accessLife  = 8 * time.Hour
	refreshLife = 184 * 24 * time.Hour
)

// grant is a pair of tokens. The pair dies together.
type grant struct {
	app            *app
	user           int64
	emails         bool // the app might read them when the person consented
	access         string
	refresh        string // empty: it does not expire
	expires        time.Time
	refreshExpires time.Time
}

// browser is the person of a browser: the one of its page, the one of its cookie, or octocat.
func (c *call) browser() *User {
	login := c.FormValue("as")
	if cookie, err := c.Cookie("user"); login == "" && err == nil {
		login = cookie.Value
	}
	if u := c.person(c.accountNamed(login).id); u != nil {
		return u
	}
	return c.person(Octocat)
}

// authorize asks a person for consent, and where pages are not shown has it. The real one lets an app name no address to come
// back to, and no challenge; ours always does.
func (c *call) authorize() answer {
	a, redirect, challenge := c.appOf(c.FormValue("client_id")), c.FormValue("redirect_uri"), c.FormValue("code_challenge")
	switch {
	case a == nil || !slices.Contains(a.callbacks, redirect):
		return noPage()
	case c.FormValue("code_challenge_method") != "S256" || len(challenge) != 43:
		return notice(http.StatusBadRequest, "Only a challenge of the method S256 is supported.")
	case c.undecided():
		return c.ask("Authorize "+a.Name, choice{"Signed in as", "as", c.people()})
	case c.canceled():
		return c.home(redirect, url.Values{"error": {"access_denied"}, "error_description": {"The user has denied your application access."}})
	}
	return c.home(redirect, url.Values{"code": {c.newCode(a, c.browser().ID, redirect, challenge)}})
}

// people are all logins, first that of the browser's person.
func (c *call) people() []string {
	me := c.browser()
	all := []string{me.Login}
	for _, u := range c.users {
		if u != me {
			all = append(all, u.Login)
		}
	}
	return all
}

func (w *world) newCode(a *app, user int64, redirect, challenge string) string {
	value := rand.Text()
	w.codes[value] = &code{grant{app: a, user: user, emails: a.Permissions["emails"] != ""}, redirect, challenge, w.now()}
	return value
}

// Code is one that a person's consent gave, without a browser. An empty challenge is none.
func (s *Server) Code(clientID string, user int64, redirect, challenge string) (value string) {
	s.change(func(w *world) { value = w.newCode(w.appOf(clientID), user, redirect, challenge) })
	return value
}

// accessToken is the token endpoint. Its refusals are 200.
func (c *call) accessToken() answer {
	a := c.appOf(c.FormValue("client_id"))
	switch {
	case a == nil:
		return reply(http.StatusNotFound, map[string]string{"error": "Not Found"})
	case a.ClientSecret != c.FormValue("client_secret"):
		return denied("incorrect_client_credentials")
	case c.FormValue("grant_type") == "refresh_token":
		return c.refresh(a)
	}
	return c.exchange(a)
}

func denied(code string) answer {
	return reply(http.StatusOK, map[string]string{
		"error": code, "error_description": "What was asked is refused.", "error_uri": "https://docs.github.com/apps/troubleshooting/" + code,
	})
}

// exchange spends a code. Whatever is wrong with the attempt, there is no second one.
func (c *call) exchange(a *app) answer {
	found := c.codes[c.FormValue("code")]
	if found == nil || found.app != a {
		return denied("bad_verification_code")
	}
	delete(c.codes, c.FormValue("code"))
	sum := sha256.Sum256([]byte(c.FormValue("code_verifier")))
	switch {
	case c.now().Sub(found.at) > codeLife:
		return denied("bad_verification_code")
	case c.FormValue("redirect_uri") != found.redirect:
		return denied("redirect_uri_mismatch")
	case found.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
		return denied("bad_verification_code")
	}
	c.grants = append(c.grants, &found.grant)
	return c.issue(&found.grant)
}

// refresh kills a pair for another.
func (c *call) refresh(a *app) answer {
	token := c.FormValue("refresh_token")
	g := find(c.grants, func(g *grant) bool { return token != "" && g.refresh == token && g.app == a })
	if g == nil || c.now().After(g.refreshExpires) {
		return denied("bad_refresh_token")
	}
	return c.issue(g)
}

// issue gives a grant new tokens.
func (c *call) issue(g *grant) answer {
	g.access, g.refresh, g.expires = "ghu_"+rand.Text(), "", time.Time{}
	out := map[string]any{"access_token": g.access, "scope": "", "token_type": "bearer"}
	if !c.eternal {
		g.refresh = "ghr_" + rand.Text()
		g.expires, g.refreshExpires = c.now().Add(accessLife), c.now().Add(refreshLife)
		out["refresh_token"] = g.refresh
		out["expires_in"], out["refresh_token_expires_in"] = accessLife.Seconds(), refreshLife.Seconds()
	}
	return reply(http.StatusOK, out)
}

// deleteToken ends a person's token, asked by the app itself.
func (c *call) deleteToken() answer {
	var asked struct {
		Token string `json:"access_token"`
	}
	_ = json.Unmarshal(c.body, &asked) // what cannot be read names nothing
	id, secret, ok := c.BasicAuth()
	a := c.appOf(id)
	if !ok || a == nil || a.ClientSecret != secret {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	g := find(c.grants, func(g *grant) bool { return asked.Token != "" && g.access == asked.Token && g.app == a })
	if g == nil || id != c.PathValue("client_id") {
		return c.nothing()
	}
	g.access, g.refresh = "", ""
	return answer{status: http.StatusNoContent, header: http.Header{}}
}

// Revoke ends what a person allowed an app. The real one then delivers what RevokedPayload is.
func (s *Server) Revoke(app, user int64) {
	s.change(func(w *world) {
		for _, g := range w.grants {
			if g.app.ID == app && g.user == user {
				g.access, g.refresh = "", ""
			}
		}
	})
}

// bearer is the token of a request, empty when there is none.
func (c *call) bearer() string {
	token, _ := strings.CutPrefix(c.Header.Get("Authorization"), "Bearer ")
	return token
}

// asPerson answers the person that a token speaks for.
func asPerson(handle func(*call, *grant) answer) handler {
	return func(c *call) answer {
		token := c.bearer()
		g := find(c.grants, func(g *grant) bool { return token != "" && g.access == token })
		if g == nil || !g.expires.IsZero() && c.now().After(g.expires) {
			return refuse(http.StatusUnauthorized, "Bad credentials")
		}
		return handle(c, g)
	}
}

func (c *call) user(g *grant) answer {
	u, body := c.person(g.user), c.accountBody(c.account(g.user))
	body["name"], body["email"] = null(u.Name), null(u.Email)
	return reply(http.StatusOK, body)
}

func (c *call) emails(g *grant) answer {
	if !g.emails {
		return refuse(http.StatusForbidden, "Resource not accessible by integration").with("X-Accepted-GitHub-Permissions", "emails=read")
	}
	all := []any{}
	for _, e := range c.person(g.user).Emails {
		all = append(all, map[string]any{"email": e.Email, "verified": e.Verified, "primary": e.Primary, "visibility": null(e.Visibility)})
	}
	return reply(http.StatusOK, all)
}
