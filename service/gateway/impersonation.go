package gateway

import (
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/surface"
)

// viewCookie belongs to the Agents surface alone, and counts beside the session that began the view.
const viewCookie = "svc_view"

// logoutPath is how a browser gets rid of its view.
const logoutPath = "/api/auth/logout"

// look finds out whether the staff look at the service as a customer, which every answer then says. They only read, and not
// everything; what they read the customer's log tells.
func (x *exchange) look() error {
	value := x.HostCookie(viewCookie)
	if x.Surface != Agents || value == "" || len(x.Request.CookiesNamed(surface.SessionCookie)) != 1 {
		return nil
	}
	who, err := x.session()
	if err != nil || who == nil {
		return err
	}
	v, found, err := x.g.Accounts.Views.Find(x.Ctx(), *who, value)
	if err != nil || !found {
		return err
	}
	own, path := x.Ctx(), x.Request.URL.Path
	x.lookAs(v)
	if !x.Safe() && path != logoutPath || isVeiled(path) {
		return fault.New(account.ImpersonationForbidden, "Nobody may do this in a customer's name.", "Whoever looks as a customer only reads.")
	}
	if !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/api/workspaces") {
		return nil
	}
	return x.g.Accounts.Staff.NoteReading(own, v.Reading(audit.Target{Kind: "path", ID: path}))
}

// lookAs answers as the customer from here on.
func (x *exchange) lookAs(v account.View) {
	subject, staff := v.Who(), v.Staff.Account.Actor()
	x.view, x.who = &v, &subject
	x.Out.Header().Set("Svc-Impersonation", v.ID)
	x.Sourced(func(from *audit.Source) { from.Actor, from.Impersonator = v.Subject.Actor(), &staff })
}

// veiled are the nouns of a workspace that nobody sees in a customer's name.
var veiled = map[string]bool{"secrets": true, "keys": true, "sessions": true, "billing": true, "invoices": true, "usage": true}

// isVeiled reports whether a path is hidden from whoever looks as a customer: what veiled names, the account itself, and
// what would change something although it is only read, as a verification does, which leaves a run.
func isVeiled(path string) bool {
	if strings.HasPrefix(path, "/api/orchestration/") || strings.HasPrefix(path, "/api/account") || path == operation.MCPCallbackPath {
		return true
	}
	rest, found := strings.CutPrefix(path, "/api/workspaces/")
	if !found {
		return false
	}
	segments := strings.Split(rest, "/")
	return len(segments) > 2 && veiled[segments[2]]
}
