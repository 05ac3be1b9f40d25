package gateway

import (
	"context"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/surface"
)

// elevationCookie belongs to the Admin surface alone: a session that was tossed to a browser, or stolen from a page of a
// customer, has no part in it.
const elevationCookie = "svc_admin"

// deviceLife is how long a browser stays known.
const deviceLife = 365 * 24 * time.Hour

// browser is the one that asks, as operations see it.
type browser struct{ x *exchange }

func (b browser) Session() (*account.Who, context.Context, error) {
	who, err := b.x.session()
	return who, b.x.Ctx(), err
}

func (b browser) Known() (*account.Who, context.Context, error) {
	if len(b.x.Request.CookiesNamed(surface.SessionCookie)) > 1 {
		b.x.ClearSession()
		return nil, b.x.Ctx(), nil
	}
	return b.Session()
}

func (b browser) Device() string                         { return b.x.HostCookie("svc_device") }
func (b browser) Forget()                                { b.x.ClearSession() }
func (b browser) Traveller() string                      { return b.x.HostCookie("svc_oauth") }
func (b browser) Travel(mark string, life time.Duration) { b.x.SetHostCookie("svc_oauth", mark, life) }
func (b browser) Look(view string, life time.Duration)   { b.x.SetHostCookie(viewCookie, view, life) }
func (b browser) Elevation() string                      { return b.x.HostCookie(elevationCookie) }
func (b browser) Lower()                                 { b.x.SetHostCookie(elevationCookie, "", 0) }

// Know lets an account recognise the browser from now on; an empty mark changes nothing.
func (b browser) Know(mark string) {
	if mark != "" {
		b.x.SetHostCookie("svc_device", mark, deviceLife)
	}
}

// Begin gives a session to the browser that was just opened; the one it had before ends.
func (b browser) Begin(in account.SignedIn) error {
	if before, err := b.x.SessionValue(); err == nil {
		if err := b.x.g.Accounts.Sessions.Logout(b.x.Ctx(), before); err != nil {
			return err
		}
	}
	b.Renew(in)
	return nil
}

func (b browser) Renew(in account.SignedIn) {
	b.x.SetSession(in.Token)
	b.Know(in.Device)
}

func (b browser) Raise(up account.Elevated) {
	b.Renew(up.SignedIn)
	b.x.SetHostCookie(elevationCookie, up.Elevation, up.Life)
}

// Leave ends the session, if there is one. Two cookies are no reason to stay.
func (b browser) Leave() error {
	for _, c := range b.x.Request.CookiesNamed(surface.SessionCookie) {
		if err := b.x.g.Accounts.Sessions.Logout(b.x.Ctx(), c.Value); err != nil {
			return err
		}
	}
	b.x.ClearSession()
	for _, name := range []string{elevationCookie, viewCookie} {
		if b.x.HostCookie(name) != "" {
			b.x.SetHostCookie(name, "", 0)
		}
	}
	if b.x.Surface == Platform {
		b.x.Out.Header().Set("Clear-Site-Data", `"cookies","storage"`)
	}
	return nil
}
