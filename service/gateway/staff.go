package gateway

import (
	"net/http"
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
