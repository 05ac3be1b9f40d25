package gateway

import (
	"net/http"

	"svc.dev/svc/service/scope"
)

// elevationCookie belongs to the Admin surface alone: a session that was tossed to a browser, or stolen from a page of a
// customer, has no part in it.
const elevationCookie = "svc_admin"

// verifyAdmin runs the read-only workflow in the staff's own workspace.
func (x *exchange) verifyAdmin() error {
	if err := x.g.verifications.Take(x.who.Account.ID); err != nil {
		return err
	}
	if x.r.Method == http.MethodHead {
		x.out.WriteHeader(http.StatusOK)
		return nil
	}
	return x.report(x.v.Claims(x.id), x.who.Account.ID)
}

// getOwn is the workspace of the staff themselves.
func (x *exchange) getOwn() error {
	return x.json(http.StatusOK, map[string]string{"scope": scope.Admin, "name": "Admin", "role": x.v.Caller().Staff, "root": adminRoot})
}
