package gateway

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/workspace"
)

// The types of refusals that this room raises.
const (
	misdirected        = "misdirected_request"
	crossOrigin        = "cross_origin_request"
	ambiguousSession   = "ambiguous_session"
	credentialInURL    = "credential_in_url"
	invalidHeader      = "invalid_header"
	invalidPath        = "invalid_path"
	adminRequired      = "admin_required"
	unsupportedContent = fault.UnsupportedMediaType
)

// denials are the refusals of somebody who may not, which the audit log counts. Those of a sign-in are counted where it is
// refused. That a workspace is not there is what a stranger is told of one that is.
var denials = map[string]bool{
	apikey.Invalid: true, crossOrigin: true, access.Forbidden: true, adminRequired: true, access.InsufficientScope: true,
	"invalid_signature": true, "installation_not_yours": true, credentialInURL: true,
	account.ImpersonationForbidden: true, access.WorkspaceNotFound: true, workspace.InvitationEmailMismatch: true,
}

// fail answers with an error, in the envelope or on a page. What nobody foresaw is logged under the request's id, and its
// text stays here.
func (x *exchange) fail(err error) {
	if x.out.status != 0 {
		panic(http.ErrAbortHandler) // half an answer is broken off, so that the client knows
	}
	f, status := x.judge(err)
	h := x.out.Header()
	h.Set("Cache-Control", "no-store")
	x.retryAfter(f.RetryAfter)
	if denials[f.Type] {
		x.g.Audit.Refused(sqldb.Guard(x.ctx(), nil), audit.Event{Action: "access." + f.Type, Scope: x.refusedIn(f.Type)})
	}
	if f.Type == account.Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="svc"`)
	}
	if status == http.StatusRequestEntityTooLarge {
		x.linger()
	}
	if x.page {
		x.failPage(status, f)
		return
	}
	x.envelope(status, f)
}

// refusedIn is the workspace whose log tells of a refusal: one where whoever is refused has a place, by their role or by the
// key they bring. Strangers write into nobody's log.
func (x *exchange) refusedIn(typ string) string {
	member := typ == access.Forbidden && x.who != nil && x.view == nil
	if x.surface != Agents || !member && typ != access.InsufficientScope {
		return ""
	}
	if x.params["username"] != "" {
		return x.address()
	}
	at, err := parseBase(sentPath(x.r.URL))
	if err != nil {
		return ""
	}
	return at.scope
}

// retryAfter tells when to come again, in whole seconds.
func (x *exchange) retryAfter(d time.Duration) {
	if d > 0 {
		x.out.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}

// judge is the fault of an error, without secrets, and its status.
func (x *exchange) judge(err error) (*fault.Error, int) {
	f := fault.From(unwritable(unanswered(err)))
	status, known := operation.StatusOf(f.Type)
	if !known {
		status = http.StatusInternalServerError
		f = fault.Unexpected(err)
	}
	if status == http.StatusInternalServerError && x.r.Context().Err() == nil {
		x.g.Log.LogAttrs(x.ctx(), slog.LevelError, "request failed", append(x.known(), slog.String("method", x.r.Method), slog.String("route", x.route), slog.Any("error", err))...)
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

func (x *exchange) envelope(status int, f *fault.Error) {
	type content struct {
		Type    string         `json:"type"`
		Message string         `json:"message"`
		Details string         `json:"details"`
		Dev     string         `json:"dev,omitempty"`
		Meta    map[string]any `json:"meta,omitempty"`
	}
	c := content{Type: f.Type, Message: f.Message, Details: f.Details, Meta: f.Meta}
	if x.g.Development {
		c.Dev = f.Dev
	}
	body, err := json.Marshal(map[string]content{"error": c})
	if err != nil {
		c.Meta = nil
		body, _ = json.Marshal(map[string]content{"error": c})
	}
	h := x.out.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body))) // by whichever way the answer goes
	x.out.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.out.Write(body) // who has gone needs no answer
	}
}

// linger lets a client that still sends do so for a moment: it would not see the answer if it was cut off at once.
func (x *exchange) linger() {
	x.out.Header().Set("Connection", "close")
	x.out.rest = nil
	_ = http.NewResponseController(x.out).SetReadDeadline(time.Now().Add(500 * time.Millisecond))
}

func noRoute(r *http.Request) error {
	return fault.New(fault.RouteNotFound, "No route for "+r.Method+" "+r.URL.Path+".", "Check method and path.")
}
