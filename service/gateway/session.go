package gateway

import "svc.dev/svc/service/account"

// signOut ends the session, if there is one. Two cookies are no reason to stay.
func (x *exchange) signOut() error {
	for _, c := range x.r.CookiesNamed(sessionCookie) {
		if err := x.g.Accounts.Sessions.Logout(x.ctx(), c.Value); err != nil {
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

// newSession gives a session to the browser that was just opened; the one it had before ends.
func (x *exchange) newSession(in account.SignedIn) error {
	if before, err := x.sessionValue(); err == nil {
		if err := x.g.Accounts.Sessions.Logout(x.ctx(), before); err != nil {
			return err
		}
	}
	x.setSession(in)
	return nil
}
