package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/surface"
)

// exchange is one request and its answer, with what is known of whoever asks.
type exchange struct {
	*surface.Exchange
	g     *Gateway
	route string // the pattern that matched
	most  int    // longest body, where it is more than usual
	form  []byte // of a page, once it was read
	page  bool   // a person reads the answer: refusals are pages

	told scope.Claims // what the runtime was told, if it was asked
	at   place        // what a path below {base_url} means

	params map[string]string
	v      *access.Visitor // somebody who was let in; nil: everybody may, or nobody was
	asked  bool            // the session was looked up
	who    *account.Who

	slip *slip         // it may come again; nil: it names no key
	view *account.View // the staff look as the customer that who is; nil: who is who they are
}

func (g *Gateway) exchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{Exchange: surface.New(&g.Config.Config, w, r), g: g, route: "unmatched"}
}

// serve answers. A panic is an answer too.
func (x *exchange) serve() {
	defer x.Release()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v) // half an answer is broken off, so that the client knows
		} else if v != nil {
			x.g.Log.LogAttrs(x.Ctx(), slog.LevelError, "request panicked", append(x.known(), slog.String("route", x.route), slog.Any("error", v), slog.String("stack", string(debug.Stack())))...)
			x.fail(fault.Unexpected(errors.New("panic")))
		}
	}()
	if err := x.answer(); err != nil {
		x.fail(err)
	}
}

// answer finds the surface and what is asked of it.
func (x *exchange) answer() error {
	if !x.Arrive() {
		return x.Misdirect()
	}
	if x.g.Application.Built() {
		// A page of the release before learns by it that there is another.
		x.Out.Header().Set("Svc-Build", x.g.Application.Build())
	}
	x.page = surface.IsPage(x.Request.URL.Path) || x.Navigation() && !strings.HasPrefix(x.Request.URL.Path, "/v1/")
	path := func() error { return x.CheckPath(freeFrom) }
	for _, check := range []func() error{path, func() error { return checkURL(x) }, x.CheckHeaders, x.look} {
		if err := check(); err != nil {
			return err
		}
	}
	if x.IsBase() {
		return x.base()
	}
	return x.dispatch()
}

// acting tells the audit log who asks.
func (x *exchange) acting(who *account.Who) {
	x.Sourced(func(from *audit.Source) {
		from.Actor = audit.Actor{Kind: "account", ID: who.Account.ID, Username: who.Account.Username}
	})
}
