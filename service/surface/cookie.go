package surface

import (
	"net/http"
	"net/netip"
	"time"

	"svc.dev/svc/fault"
)

// SessionCookie is the name that the contract fixes.
const SessionCookie = "svc_session"

// secure reports whether the surfaces are on https.
func (c *Config) secure() bool { return c.Surfaces.Platform.Scheme == "https" }

// cookieDomain is where sessions belong; empty: to one host.
func (c *Config) cookieDomain() string {
	if _, err := netip.ParseAddr(c.CookieDomain); err == nil || c.CookieDomain == "localhost" {
		return ""
	}
	return c.CookieDomain
}

// hostCookie is the name of a cookie that belongs to one host.
func (c *Config) hostCookie(name string) string {
	if c.secure() {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie as the environment demands.
func (x *Exchange) setCookie(name, value, domain string, life time.Duration) {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", Domain: domain, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: x.config.secure(), SameSite: http.SameSiteLaxMode,
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(x.Out, c)
}

// SetSession gives the browser a session for all surfaces.
func (x *Exchange) SetSession(token string) {
	x.setCookie(SessionCookie, token, x.config.cookieDomain(), x.config.Absolute)
}

// ClearSession takes the session from the browser, whichever way it was set.
func (x *Exchange) ClearSession() {
	domain := x.config.cookieDomain()
	x.setCookie(SessionCookie, "", domain, 0)
	if domain != "" {
		x.setCookie(SessionCookie, "", "", 0)
	}
}

// SetHostCookie sets a cookie of this host alone.
func (x *Exchange) SetHostCookie(name, value string, life time.Duration) {
	x.setCookie(x.config.hostCookie(name), value, "", life)
}

// HostCookie is a cookie of this host; two of one name are none.
func (x *Exchange) HostCookie(name string) string {
	all := x.Request.CookiesNamed(x.config.hostCookie(name))
	if len(all) != 1 || all[0].Quoted {
		return ""
	}
	return all[0].Value
}

// SessionValue is what the browser presents as its session. Two values are somebody else's doing: neither counts, and the
// browser is told to forget both.
func (x *Exchange) SessionValue() (string, error) {
	all := x.Request.CookiesNamed(SessionCookie)
	switch {
	case len(all) == 0:
		return "", nil
	case len(all) > 1:
		x.ClearSession()
		return "", fault.New(fault.AmbiguousSession, "The browser sent two sessions.", "Both were removed. Sign in again.")
	case all[0].Quoted:
		return "", nil
	}
	return all[0].Value, nil
}
