package gateway

import (
	"context"

	"svc.dev/svc/service/account"
)

// signOut ends the session, if there is one. Two cookies are no reason to stay.
func (x *exchange) signOut() error {
	for _, c := range x.r.CookiesNamed(sessionCookie) {
		if err := x.g.Accounts.Logout(x.ctx(), c.Value); err != nil {
			return err
		}
	}
	x.clearSession()
	for _, name := range []string{elevationCookie, viewCookie} {
		if x.host(name) != "" {
			x.setHost(name, "", 0)
		}
	}
	if x.surface == Platform {
		x.out.Header().Set("Clear-Site-Data", `"cookies","storage"`)
	}
	return nil
}

// credentials is the body of a sign-in.
type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password" text:"any"`
}

// admitLogin counts a sign-in by where it comes from.
func (x *exchange) admitLogin(ctx context.Context) error {
	return x.g.Accounts.AdmitLogin(ctx, x.host("svc_device"))
}

// signIn opens a session by password and gives it to the browser.
func (x *exchange) signIn(c credentials) (account.SignedIn, error) {
	in, err := x.g.Accounts.Login(x.ctx(), c.Email, c.Password, x.host("svc_device"))
	if err != nil {
		return in, err
	}
	return in, x.newSession(in)
}

// newSession gives a session to the browser that was just opened; the one it had before ends.
func (x *exchange) newSession(in account.SignedIn) error {
	if before, err := x.sessionValue(); err == nil {
		if err := x.g.Accounts.Logout(x.ctx(), before); err != nil {
			return err
		}
	}
	x.setSession(in)
	return nil
}
