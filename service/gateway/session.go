package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/operation"
)

// sessionView is a session as its own person sees it.
type sessionView struct {
	ID        string   `json:"id"`
	CreatedAt iso.Time `json:"createdAt"`
	ExpiresAt iso.Time `json:"expiresAt"`
	AuthTime  iso.Time `json:"authTime"`
}

func viewSession(s account.Session) sessionView {
	return sessionView{ID: s.ID, CreatedAt: iso.Time(s.CreatedAt), ExpiresAt: iso.Time(s.ExpiresAt), AuthTime: iso.Time(s.AuthTime)}
}

// getSession says who is signed in; nobody is an answer too.
func (x *exchange) getSession() error {
	who, err := x.session()
	if err != nil {
		return err
	}
	if who == nil {
		return x.json(http.StatusOK, map[string]any{"authenticated": false})
	}
	all, err := x.g.Accounts.Workspaces(x.ctx(), who.Account.ID)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, map[string]any{
		"authenticated": true, "account": who.Account.Profile(), "session": viewSession(who.Session),
		"workspaces": operation.RolesIn(all), "warnings": who.Account.Warnings(),
	})
}

func (x *exchange) logout() error {
	if err := x.signOut(); err != nil {
		return err
	}
	return x.none()
}

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

// reauth proves again who is signed in.
func (x *exchange) reauth() error {
	var body struct {
		Password string `json:"password" text:"any"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	in, err := x.g.Accounts.Reauth(x.ctx(), *x.who, body.Password)
	if err != nil {
		return err
	}
	x.setSession(in)
	return x.none()
}
