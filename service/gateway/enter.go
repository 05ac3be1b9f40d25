package gateway

import (
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// enter lets somebody in who has what is needed there. Every change that they make from here on is judged again in its own
// transaction.
func (x *exchange) enter(n access.Need, at access.Place) error {
	c, err := x.credential(n, at)
	if err != nil {
		return err
	}
	v, err := x.g.access.Admit(x.Ctx(), c, n, at)
	x.recognise(v)
	if err != nil {
		return err
	}
	x.v, x.Still = v, func() error { return v.Still(x.Ctx()) }
	x.Request = x.Request.WithContext(v.Guard(x.Ctx()))
	if _, is := n.Inside(); is && x.Spoofed {
		x.g.Audit.Refused(sqldb.Guard(x.Ctx(), nil), audit.Event{Action: "access.spoofed_header", Scope: at.Scope})
	}
	return nil
}

// stands is why an answer of that status must not go out any more: whoever reads something or is refused something must still be
// let in. Of a change the answer tells what came of it; a failure may be that the change was refused in its own transaction.
func (x *exchange) stands(status int) error {
	switch {
	case x.v == nil || status > http.StatusInternalServerError:
		return nil
	case status == http.StatusInternalServerError:
		return x.v.Again(x.Ctx())
	case x.Safe() || status >= 400:
		return x.Still()
	}
	return nil
}

// unattendedHeader is how a page says that it asks by itself: nobody has touched it for a while.
const unattendedHeader = "Svc-Unattended"

// unattended reports whether nobody is there who asks. What changes something somebody has asked for.
func unattended(x *exchange) bool {
	return x.Safe() && x.Request.Header.Get(unattendedHeader) != ""
}

// credential is what the request says of whoever sends it. A key goes before a cookie where one counts at all: nowhere on Admin,
// but below {base_url} of the staff's own workspace. A cookie counts only on a request that a page of ours has sent.
func (x *exchange) credential(n access.Need, at access.Place) (c access.Credential, err error) {
	c = access.Credential{Surface: x.Surface, Safe: x.Safe(), Source: x.Network(), Elevation: x.HostCookie(elevationCookie), Unattended: unattended(x)}
	if n.IsPublic() {
		return c, nil
	}
	keys := x.Request.Header.Values("Authorization")
	if len(keys) > 0 && n.LooksAtKeys() && x.view == nil && (x.Surface != Admin || at.Scope == scope.Admin && x.IsBase()) {
		if len(keys) > 1 {
			return c, fault.New(fault.InvalidHeader, "Authorization stands there twice.", "")
		}
		c.Keyed, c.Key = true, bearer(keys[0])
		return c, nil
	}
	if err := x.CheckFrom(); err != nil {
		return c, err
	}
	if c.Session, err = x.SessionValue(); x.view != nil {
		c.View = x.HostCookie(viewCookie)
	}
	return c, err
}

// recognise keeps who asks, also of those who are refused.
func (x *exchange) recognise(v *access.Visitor) {
	if v.Account.ID == "" {
		return
	}
	x.acting(&v.Who)
	if v.Key == nil {
		x.asked, x.who = true, &v.Who
	}
	if v.Staff != "" {
		x.Sourced(func(from *audit.Source) { from.Authority = scope.StaffAuth })
	}
}

// place is what the path is about: the workspace that it names, and the project where it names one. What names none is about the
// whole service, which the staff look after from their own.
func (x *exchange) place() access.Place {
	return access.Place{Scope: x.address(), Project: x.params["slug"]}
}

// address is the scope that a path below W names.
func (x *exchange) address() string {
	if x.params["username"] == "" {
		return scope.Admin
	}
	return scope.Of(x.params["username"], x.params["business"]).String()
}

// session looks up who is signed in, once; nil is nobody.
func (x *exchange) session() (*account.Who, error) {
	if x.asked {
		return x.who, nil
	}
	value, err := x.SessionValue()
	if err != nil {
		return nil, err
	}
	look := x.g.Accounts.Sessions.Who
	if unattended(x) {
		look = x.g.Accounts.Sessions.Known
	}
	who, found, err := look(x.Ctx(), value)
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
