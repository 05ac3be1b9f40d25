package gateway

import (
	"context"
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// elevationCookie belongs to the Admin surface alone: a session that was tossed to a browser, or stolen from a page of a
// customer, has no part in it.
const elevationCookie = "svc_admin"

// isGated reports whether a route needs the authority of the staff. On Admin every part of the API does that does not say
// otherwise, so that one that is added without a word is closed.
func (x *exchange) isGated(r *route) bool {
	return x.surface == Admin && (!isPage(r.path) && r.needs&unelevated == 0 || r.needs&elevated != 0)
}

// staff is who is signed in, with a role over the service and the elevation of this very session, asked in this order.
func (x *exchange) staff() (*account.Who, error) {
	who, err := x.session()
	if err != nil {
		return nil, err
	}
	if who == nil {
		return nil, unauthenticated()
	}
	if x.elevated {
		return who, nil
	}
	if err := x.g.Accounts.NeedElevation(x.ctx(), *who, x.host(elevationCookie)); err != nil {
		return nil, err
	}
	x.elevated = true
	from := audit.From(x.ctx())
	from.Authority = scope.StaffAuth
	x.r = x.r.WithContext(audit.With(x.ctx(), from))
	return who, nil
}

// administer refuses staff who only read, and those who have not proven who they are for a while.
func (x *exchange) administer() error {
	if x.who.Account.Role != account.RoleAdmin {
		return readsOnly()
	}
	return x.g.Accounts.NeedFresh(*x.who)
}

func readsOnly() error {
	return fault.New(forbidden, "Your role does not allow this.", "Support reads everything and changes nothing.").With("role", account.RoleAdmin)
}

// asStaff is who asks about the workspace of the path by the authority of the service. What they read there is told to its
// people here, and what they change where it is changed.
func (x *exchange) asStaff() (workspace.Caller, error) {
	who, err := x.staff()
	if err != nil {
		return workspace.Caller{}, err
	}
	by := workspace.Caller{Actor: who.Account.Actor(), Staff: who.Account.Role}
	if !safe(x.r.Method) {
		if by.Staff != account.RoleAdmin {
			return by, readsOnly()
		}
		return by, nil
	}
	address := x.address()
	if address != scope.Admin {
		if _, found, err := x.g.Accounts.WorkspaceAt(x.ctx(), address); err != nil {
			return by, err
		} else if !found {
			return by, noWorkspace()
		}
	}
	return by, x.note(address, x.below())
}

// permit refuses who may not do that in the workspace of the path. The one of the staff is no business.
func (x *exchange) permit(by workspace.Caller, need workspace.Right) error {
	if x.address() != scope.Admin {
		_, err := x.g.Workspaces.Authorize(x.ctx(), by, x.address(), need)
		return err
	}
	if !staffMay(by.Staff, need) {
		return readsOnly()
	}
	return nil
}

// authorizeOwnKey lets a key into the staff's own workspace that was made there, as long as its maker is an administrator.
func (x *exchange) authorizeOwnKey(right workspace.Right, need string) (guest, error) {
	b, err := x.keyFor(scope.Admin, need)
	if err != nil {
		return guest{}, err
	}
	if !staffMay(b.Account.Role, right) {
		return guest{}, readsOnly()
	}
	from := audit.From(x.ctx())
	from.Authority = scope.StaffAuth
	x.r = x.r.WithContext(audit.With(x.ctx(), from))
	return guest{username: b.Account.Username, owner: b.Account.ID, authority: scope.StaffAuth, watch: x.watchKey()}, nil
}

// authorizeStaff lets staff into a workspace by the authority of the service. No key has that, so none is looked at.
func (x *exchange) authorizeStaff(address string, right workspace.Right) (guest, error) {
	if err := x.checkFrom(); err != nil {
		return guest{}, err
	}
	who, err := x.staff()
	if err != nil {
		return guest{}, err
	}
	if err := x.g.rates.take("account:" + who.Account.ID); err != nil {
		return guest{}, err
	}
	if !safe(x.r.Method) && who.Account.Role != account.RoleAdmin || !staffMay(who.Account.Role, right) {
		return guest{}, readsOnly()
	}
	g := guest{username: who.Account.Username, owner: who.Account.ID, authority: scope.StaffAuth, watch: x.watchStaff(right)}
	if address == scope.Admin {
		return g, nil
	}
	w, found, err := x.g.Accounts.WorkspaceAt(x.ctx(), address)
	if err != nil {
		return guest{}, err
	}
	if !found {
		return guest{}, noWorkspace()
	}
	g.owner = w.Owner
	return g, nil
}

// checkFrom judges where a request comes from that a cookie stands for.
func (x *exchange) checkFrom() error {
	if safe(x.r.Method) {
		return x.checkRead()
	}
	return x.checkOrigin()
}

// staffMay reports what a role over the service gives in every workspace.
func staffMay(role string, right workspace.Right) bool {
	switch role {
	case account.RoleAdmin:
		return workspace.Allows(workspace.Owner, right)
	case account.RoleSupport:
		return workspace.Allows(workspace.StaffSupport, right)
	}
	return false
}

// watchStaff tells whether somebody still has the authority of the staff. An open stream is not use: the idle time runs.
func (x *exchange) watchStaff(right workspace.Right) func(context.Context) bool {
	token, value, accounts := x.token, x.host(elevationCookie), x.g.Accounts
	return func(ctx context.Context) bool {
		who, found, err := accounts.Who(ctx, token)
		if err != nil {
			return true
		}
		if !found || !staffMay(who.Account.Role, right) {
			return false
		}
		err = accounts.StillElevated(ctx, who, value)
		return err == nil || !fault.Is(err, account.ReauthRequired) && !fault.Is(err, account.AdminRequired)
	}
}

// verifyAdmin runs the read-only workflow in the staff's own workspace.
func (x *exchange) verifyAdmin() error {
	if err := x.g.verifications.take(x.who.Account.ID); err != nil {
		return err
	}
	if x.r.Method == http.MethodHead {
		x.out.WriteHeader(http.StatusOK)
		return nil
	}
	g := guest{username: x.who.Account.Username, owner: x.who.Account.ID, authority: scope.StaffAuth}
	return x.report(g.claims(x.id, scope.Admin), x.who.Account.ID)
}
