package gateway

import (
	"net/http"
	"net/netip"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
)

// sessionCookie is the name that the contract fixes.
const sessionCookie = "svc_session"

// deviceLife is how long a browser stays known.
const deviceLife = 365 * 24 * time.Hour

// cookies writes cookies as the environment demands.
type cookies struct {
	domain string
	secure bool
	prefix string // of cookies that belong to one host
}

func newCookies(c Config) cookies {
	k := cookies{domain: c.CookieDomain, secure: c.Surfaces.Platform.Scheme == "https"}
	if k.secure {
		k.prefix = "__Host-"
	}
	if _, err := netip.ParseAddr(k.domain); err == nil || k.domain == "localhost" {
		k.domain = ""
	}
	return k
}

func (k cookies) cookie(name, value, domain string, life time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", Domain: domain, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: k.secure, SameSite: http.SameSiteLaxMode,
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	return c
}

// elevationCookie belongs to the Admin surface alone: a session that was tossed to a browser, or stolen from a page of a
// customer, has no part in it.
const elevationCookie = "svc_admin"

// setSession gives the browser a session for all surfaces.
func (x *exchange) setSession(in account.SignedIn) {
	k := x.g.cookies
	http.SetCookie(x.out, k.cookie(sessionCookie, in.Token, k.domain, x.g.Absolute))
	x.knowDevice(in.Device)
}

// knowDevice lets an account recognise the browser from now on; an empty mark changes nothing.
func (x *exchange) knowDevice(mark string) {
	if mark != "" {
		x.setHost("svc_device", mark, deviceLife)
	}
}

// clearSession takes the session from the browser, whichever way it was set.
func (x *exchange) clearSession() {
	k := x.g.cookies
	http.SetCookie(x.out, k.cookie(sessionCookie, "", k.domain, 0))
	if k.domain != "" {
		http.SetCookie(x.out, k.cookie(sessionCookie, "", "", 0))
	}
}

// setHost sets a cookie of this host alone.
func (x *exchange) setHost(name, value string, life time.Duration) {
	k := x.g.cookies
	http.SetCookie(x.out, k.cookie(k.prefix+name, value, "", life))
}

// host is a cookie of this host; two of one name are none.
func (x *exchange) host(name string) string {
	all := x.r.CookiesNamed(x.g.cookies.prefix + name)
	if len(all) != 1 || all[0].Quoted {
		return ""
	}
	return all[0].Value
}

// sessionValue is what the browser presents as its session. Two values are somebody else's doing: neither counts, and the
// browser is told to forget both.
func (x *exchange) sessionValue() (string, error) {
	all := x.r.CookiesNamed(sessionCookie)
	switch {
	case len(all) == 0:
		return "", nil
	case len(all) > 1:
		x.clearSession()
		return "", fault.New(ambiguousSession, "The browser sent two sessions.", "Both were removed. Sign in again.")
	case all[0].Quoted:
		return "", nil
	}
	return all[0].Value, nil
}

// session looks up who is signed in, once; nil is nobody.
func (x *exchange) session() (*account.Who, error) {
	if x.asked {
		return x.who, nil
	}
	value, err := x.sessionValue()
	if err != nil {
		return nil, err
	}
	who, found, err := x.g.Accounts.Sessions.Who(x.ctx(), value)
	if err != nil {
		return nil, err
	}
	x.asked = true
	if found {
		x.who = &who
		x.acting(&who)
	}
	return x.who, nil
}
