package githubtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	accessLife  = 8 * time.Hour
	refreshLife = 184 * 24 * time.Hour
)

// grant is a pair of tokens. The pair dies together.
type grant struct {
	app            *app
	user           int64
	emails         bool
	access         string
	refresh        string // empty: it does not expire
	expires        time.Time
	refreshExpires time.Time
}

// accessToken is the token endpoint. Its refusals are 200, and its language is what Accept asks for.
func (s *Server) accessToken(c *call) answer {
	form := c.form()
	out, status := url.Values{"error": {"Not Found"}}, http.StatusOK
	a := s.world.appOf(form.Get("client_id"))
	switch {
	case a == nil:
		status = http.StatusNotFound
	case a.ClientSecret != form.Get("client_secret"):
		out = refusal("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
	case form.Get("grant_type") == "refresh_token":
		out = s.refresh(a, form)
	case form.Get("grant_type") == "" || form.Get("grant_type") == "authorization_code":
		out = s.exchange(a, form)
	default:
		out = refusal("unsupported_grant_type", "The authorization grant type is not supported.")
	}
	if !strings.Contains(c.Header.Get("Accept"), "json") {
		return answer{status, http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}, []byte(out.Encode())}
	}
	return reply(status, typed(out))
}

// form is a body of either kind.
func (c *call) form() url.Values {
	if !strings.HasPrefix(c.Header.Get("Content-Type"), "application/json") {
		form, _ := url.ParseQuery(string(c.body))
		return form
	}
	var fields map[string]string
	_ = json.Unmarshal(c.body, &fields) // what cannot be read names nothing
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	return form
}

// typed is the answer in JSON, where seconds are numbers.
func typed(form url.Values) map[string]any {
	out := map[string]any{}
	for name := range form {
		out[name] = form.Get(name)
		if n, err := strconv.Atoi(form.Get(name)); err == nil && strings.HasSuffix(name, "expires_in") {
			out[name] = n
		}
	}
	return out
}

func refusal(code, text string) url.Values {
	return url.Values{"error": {code}, "error_description": {text}, "error_uri": {docs + code}}
}

// exchange spends a code. Whatever is wrong with the attempt, there is no second one.
func (s *Server) exchange(a *app, form url.Values) url.Values {
	bad := refusal("bad_verification_code", "The code passed is incorrect or expired.")
	found := s.world.codes[form.Get("code")]
	if found == nil || found.app != a {
		return bad
	}
	delete(s.world.codes, form.Get("code"))
	switch r := form.Get("redirect_uri"); {
	case s.now().Sub(found.at) > 10*time.Minute:
		return bad
	case r != "" && r != found.redirect:
		return refusal("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.")
	case !verified(found.challenge, form.Get("code_verifier")):
		return bad
	case s.world.user(found.user).Unverified:
		return refusal("unverified_user_email", "The user must have a verified primary email.")
	}
	g := &grant{app: a, user: found.user, emails: found.emails}
	s.world.grants = append(s.world.grants, g)
	return s.issue(g)
}

// verified holds a verifier against its challenge. Neither is good without the other.
func verified(challenge, verifier string) bool {
	if challenge == "" || verifier == "" {
		return challenge == verifier
	}
	sum := sha256.Sum256([]byte(verifier))
	return challenge == base64.RawURLEncoding.EncodeToString(sum[:])
}

// refresh kills a pair for another.
func (s *Server) refresh(a *app, form url.Values) url.Values {
	token := form.Get("refresh_token")
	g := find(s.world.grants, func(g *grant) bool { return token != "" && g.refresh == token && g.app == a })
	if g == nil || s.now().After(g.refreshExpires) {
		return refusal("bad_refresh_token", "The refresh token passed is incorrect or expired.")
	}
	return s.issue(g)
}

// issue gives a grant new tokens.
func (s *Server) issue(g *grant) url.Values {
	g.access, g.refresh = "ghu_"+random(alnum, 36), ""
	g.expires, g.refreshExpires = time.Time{}, time.Time{}
	out := url.Values{"access_token": {g.access}, "scope": {""}, "token_type": {"bearer"}}
	if s.knobs.expire {
		g.refresh = "ghr_" + random(alnum, 76)
		g.expires, g.refreshExpires = s.now().Add(accessLife), s.now().Add(refreshLife)
		out.Set("expires_in", strconv.Itoa(int(accessLife.Seconds())))
		out.Set("refresh_token", g.refresh)
		out.Set("refresh_token_expires_in", strconv.Itoa(int(refreshLife.Seconds())))
	}
	return out
}

// deleteToken ends a person's token, asked by the app itself.
func (s *Server) deleteToken(c *call) answer {
	id, secret, ok := c.BasicAuth()
	a := s.world.appOf(id)
	if !ok || a == nil || a.ClientSecret != secret {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	token := c.form().Get("access_token")
	g := find(s.world.grants, func(g *grant) bool { return token != "" && g.access == token && g.app == a })
	if g == nil || id != c.PathValue("client_id") {
		return refuse(http.StatusNotFound, "Not Found")
	}
	g.access, g.refresh = "", ""
	return answer{http.StatusNoContent, http.Header{}, nil}
}

// Revoke ends what a person allowed an app. The real one then delivers what RevokedPayload is.
func (s *Server) Revoke(app, user int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.world.grants {
		if g.app.ID == app && g.user == user {
			g.access, g.refresh = "", ""
		}
	}
}
