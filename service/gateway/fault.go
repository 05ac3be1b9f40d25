package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/workspace"
)

// denials are the refusals of somebody who may not, which the audit log counts. Those of a sign-in are counted where it is
// refused. That a workspace is not there is what a stranger is told of one that is.
var denials = map[string]bool{
	apikey.Invalid: true, fault.CrossOrigin: true, fault.Forbidden: true, fault.AdminRequired: true, access.InsufficientScope: true,
	fault.InvalidSignature: true, github.NotYours: true, fault.CredentialInURL: true,
	account.ImpersonationForbidden: true, fault.WorkspaceNotFound: true, workspace.InvitationEmailMismatch: true,
}

// fail answers with an error, in the envelope or on a page. What nobody foresaw is logged under the request's id, and its
// text stays here.
func (x *exchange) fail(err error) {
	if x.Out.Status() != 0 {
		panic(http.ErrAbortHandler) // half an answer is broken off, so that the client knows
	}
	f, status := x.judge(err)
	if gone := x.stands(status); gone != nil {
		f, status = x.judge(gone)
	}
	h := x.Out.Header()
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
	x.Out.RetryAfter(f.RetryAfter)
	if denials[f.Type] {
		x.g.Audit.Refused(sqldb.Guard(x.Ctx(), nil), audit.Event{Action: "access." + f.Type, Scope: x.refusedIn(f.Type)})
	}
	if f.Type == account.Unauthenticated || f.Type == apikey.Invalid {
		h.Set("WWW-Authenticate", `Bearer realm="svc"`)
	}
	if status == http.StatusRequestEntityTooLarge {
		x.Out.Linger()
	}
	if x.page && (x.ReadsPages() || !isNowhere(f)) {
		x.failPage(status, f)
		return
	}
	x.Envelope(status, f)
}

// isNowhere reports whether nothing answers at the address, or not by that method: then nobody has said that a page does.
func isNowhere(f *fault.Error) bool {
	return f.Type == fault.RouteNotFound || f.Type == fault.MethodNotAllowed
}

// refusedIn is the workspace whose log tells of a refusal: one where whoever is refused has a place, by their role or by the
// key they bring. Strangers write into nobody's log.
func (x *exchange) refusedIn(typ string) string {
	member := typ == fault.Forbidden && x.who != nil && x.view == nil
	if x.Surface == Admin || !member && typ != access.InsufficientScope {
		return ""
	}
	if x.params["username"] != "" {
		return x.address()
	}
	at, err := parseBase(x.SentPath())
	if err != nil {
		return ""
	}
	return at.scope
}

// judge is the fault of an error, without secrets, and its status.
func (x *exchange) judge(err error) (*fault.Error, int) {
	f := fault.From(unwritable(unanswered(err)))
	status, known := operation.StatusOf(f.Type)
	if !known {
		status = http.StatusInternalServerError
		f = fault.Unexpected(err)
	}
	if status == http.StatusInternalServerError && x.Request.Context().Err() == nil {
		x.g.Log.LogAttrs(x.Ctx(), slog.LevelError, "request failed", append(x.known(), slog.String("method", x.Request.Method), slog.String("route", x.route), slog.Any("error", err))...)
	}
	return x.g.Redactor.Fault(f), status
}

// unwritable is the refusal of a request with a text that no check of a field has refused, and that cannot be stored.
func unwritable(err error) error {
	if !errors.Is(err, sqldb.ErrText) {
		return err
	}
	return fault.Invalid("The request holds text that cannot be stored: it is not UTF-8, or has a zero byte.").Because(err)
}

// unanswered is the refusal of a request that the database did not answer: it may come again.
func unanswered(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Type != fault.Internal || !sqldb.Unavailable(err) {
		return err
	}
	state := "failed"
	if errors.Is(err, sqldb.ErrBusy) {
		state = "busy"
	}
	return fault.NotAvailable(state).After(time.Second).Because(err)
}

func noRoute(r *http.Request) error {
	return fault.New(fault.RouteNotFound, "No route for "+r.Method+" "+r.URL.Path+".", "Check method and path.")
}
