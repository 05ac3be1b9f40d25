package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// exchange is one request and its answer.
type exchange struct {
	g       *Gateway
	out     *answer
	r       *http.Request
	id      string
	surface Surface
	route   string // the pattern that matched
	most    int    // longest body, where it is more than usual
	page    bool   // a person reads the answer: refusals are pages
	spoofed bool   // it came with headers that only we may set

	told scope.Claims // what the runtime was told, if it was asked
	at   place        // what a path below {base_url} means

	params map[string]string
	v      *access.Visitor // somebody who was let in; nil: everybody may, or nobody was
	asked  bool            // the session was looked up
	who    *account.Who

	slip *slip         // it may come again; nil: it names no key
	room *memory.Grant // of what the request brings; nil: it takes none
	view *account.View // the staff look as the customer that who is; nil: who is who they are
}

// answer remembers the status, and waits for nobody who does not take what is written.
type answer struct {
	http.ResponseWriter
	status int
	rest   *remainder    // of the request's body; nil: there is none, or it is seen to
	each   time.Duration // what a client has to take the next part
	until  time.Time     // when it must have taken what is written now
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		a.leaveRest()
	}
	a.allow()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
		a.leaveRest()
	}
	a.allow()
	return a.ResponseWriter.Write(b)
}

// allow gives the client its time to take what is written next. A deadline that still leaves it is not set anew: that costs
// as much as a frame.
func (a *answer) allow() {
	if now := time.Now(); a.until.Sub(now) < a.each {
		a.until = now.Add(a.each * 5 / 4)
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.until) // where there is none the server's own has to do
	}
}

// Unwrap lets http.ResponseController reach what the inner writer can do.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (g *Gateway) exchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{g: g, out: &answer{ResponseWriter: w, each: g.WriteTimeout}, r: r, id: "req_" + ulid.Make().String(), route: "unmatched"}
	w.Header().Set("X-Request-Id", x.id)
	x.keepRest()
	return x
}

// serve finds the surface and what is asked of it. A panic is an answer too.
func (x *exchange) serve() {
	defer func() { x.room.Release() }()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v) // half an answer is broken off, so that the client knows
		} else if v != nil {
			x.g.Log.LogAttrs(x.ctx(), slog.LevelError, "request panicked", append(x.known(), slog.String("route", x.route), slog.Any("error", v), slog.String("stack", string(debug.Stack())))...)
			x.fail(fault.Unexpected(errors.New("panic")))
		}
	}()
	surface, found := x.g.Surfaces.find(x.r.Host)
	x.surface = surface
	x.secure()
	if !found {
		if err := x.misdirect(); err != nil {
			x.fail(err)
		}
		return
	}
	x.page = isPage(x.r.URL.Path) || x.navigation() && !strings.HasPrefix(x.r.URL.Path, "/v1/")
	x.r = x.r.WithContext(x.sourced(x.r.Context()))
	for _, check := range []func() error{x.checkPath, x.checkURL, x.checkSpoofed} {
		if err := check(); err != nil {
			x.fail(err)
			return
		}
	}
	x.dispatch()
}

// maxAgent is how much of a User-Agent is kept, in bytes.
const maxAgent = 256

// sourced tells the audit log where the request comes from. Headers hold any bytes: here they become text.
func (x *exchange) sourced(ctx context.Context) context.Context {
	return audit.With(ctx, audit.Source{
		RequestID: x.id, IP: x.clientIP(), UserAgent: sqldb.Text(x.r.UserAgent(), maxAgent), Surface: string(x.surface), Authority: "customer",
		Actor: audit.Actor{Kind: "anonymous"},
	})
}

// acting tells the audit log who asks.
func (x *exchange) acting(who *account.Who) {
	from := audit.From(x.r.Context())
	from.Actor = audit.Actor{Kind: "account", ID: who.Account.ID, Username: who.Account.Username}
	x.r = x.r.WithContext(audit.With(x.r.Context(), from))
}

func (x *exchange) ctx() context.Context { return x.r.Context() }

// json answers with a value.
func (x *exchange) json(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.write(status, body)
}

// write answers with JSON. Whoever only reads must still be allowed to when the answer goes out; of a change the answer tells
// what came of it.
func (x *exchange) write(status int, body []byte) error {
	if safe(x.r.Method) {
		if err := x.still(); err != nil {
			return err
		}
	}
	h := x.out.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	x.out.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.out.Write(body) // who has gone needs no answer
	}
	return nil
}

// none answers with a status alone.
func (x *exchange) none() error {
	x.out.Header().Set("Cache-Control", "no-store")
	x.out.WriteHeader(http.StatusNoContent)
	return nil
}

// see sends a browser on after a form was taken.
func (x *exchange) see(status int, address string) error {
	h := x.out.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", address)
	x.out.WriteHeader(status)
	return nil
}
