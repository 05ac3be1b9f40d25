package gateway

import (
	"context"
	"time"

	"svc.dev/svc/service/account"
)

// browser is the one that asks, as operations see it.
type browser struct{ x *exchange }

func (b browser) Session() (*account.Who, context.Context, error) {
	who, err := b.x.session()
	return who, b.x.ctx(), err
}

func (b browser) Known() (*account.Who, context.Context, error) {
	if len(b.x.r.CookiesNamed(sessionCookie)) > 1 {
		b.x.clearSession()
		return nil, b.x.ctx(), nil
	}
	return b.Session()
}

func (b browser) Device() string                         { return b.x.host("svc_device") }
func (b browser) Know(mark string)                       { b.x.knowDevice(mark) }
func (b browser) Begin(in account.SignedIn) error        { return b.x.newSession(in) }
func (b browser) Renew(in account.SignedIn)              { b.x.setSession(in) }
func (b browser) Leave() error                           { return b.x.signOut() }
func (b browser) Forget()                                { b.x.clearSession() }
func (b browser) Traveller() string                      { return b.x.host("svc_oauth") }
func (b browser) Travel(mark string, life time.Duration) { b.x.setHost("svc_oauth", mark, life) }
func (b browser) Look(view string, life time.Duration)   { b.x.setHost(viewCookie, view, life) }
func (b browser) Lower()                                 { b.x.setHost(elevationCookie, "", 0) }

func (b browser) Raise(up account.Elevated) {
	b.x.setSession(up.SignedIn)
	b.x.setHost(elevationCookie, up.Elevation, b.x.g.Accounts.AdminAbsolute)
}
