package gateway

import (
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/access"
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
	v, err := x.g.access.Admit(x.ctx(), c, n, at)
	x.recognise(v)
	if err != nil {
		return err
	}
	x.v = v
	x.r = x.r.WithContext(v.Guard(x.ctx()))
	if _, is := n.Inside(); is && x.spoofed {
		x.g.Audit.Refused(sqldb.Guard(x.ctx(), nil), audit.Event{Action: "access.spoofed_header", Scope: at.Scope})
	}
	return nil
}

// credential is what the request says of whoever sends it. A key goes before a cookie where one counts at all: nowhere on Admin,
// but below {base_url} of the staff's own workspace. A cookie counts only on a request that a page of ours has sent.
func (x *exchange) credential(n access.Need, at access.Place) (c access.Credential, err error) {
	c = access.Credential{Surface: x.surface, Safe: safe(x.r.Method), Source: x.source(), Elevation: x.host(elevationCookie)}
	if n.IsPublic() {
		return c, nil
	}
	keys := x.r.Header.Values("Authorization")
	if len(keys) > 0 && n.LooksAtKeys() && x.view == nil && (x.surface != Admin || at.Scope == scope.Admin && x.isBase()) {
		if len(keys) > 1 {
			return c, fault.New(invalidHeader, "Authorization stands there twice.", "")
		}
		c.Keyed, c.Key = true, bearer(keys[0])
		return c, nil
	}
	if err := x.checkFrom(); err != nil {
		return c, err
	}
	if c.Session, err = x.sessionValue(); x.view != nil {
		c.View = x.host(viewCookie)
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
		from := audit.From(x.ctx())
		from.Authority = scope.StaffAuth
		x.r = x.r.WithContext(audit.With(x.ctx(), from))
	}
}

// place is what the path is about: the workspace that it names, and the project where it names one. What names none is about the
// whole service, which the staff look after from their own.
func (x *exchange) place() access.Place {
	return access.Place{Scope: x.address(), Project: x.params["slug"]}
}

// still is why whoever asks would not be let in any more, where somebody was.
func (x *exchange) still() error {
	if x.v == nil {
		return nil
	}
	return x.v.Still(x.ctx())
}

// checkFrom judges where a request comes from that a cookie stands for.
func (x *exchange) checkFrom() error {
	if safe(x.r.Method) {
		return x.checkRead()
	}
	return x.checkOrigin()
}

// address is the scope that a path below W names.
func (x *exchange) address() string {
	if x.params["username"] == "" {
		return scope.Admin
	}
	return scope.Of(x.params["username"], x.params["business"]).String()
}
