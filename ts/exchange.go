package ts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/internal/script"
)

// exchange is a request that a script answers: the application, a guard or a channel. Guards and channels of a request that came through the
// application have exchanges of their own in its act.
type exchange struct {
	p       *Project
	id      int64
	act     *script.Act
	w       http.ResponseWriter
	r       *http.Request
	body    *sentBody
	context int64        // the framework's context in the engine; 0 where there is none
	handler http.Handler // behind a guard
	outer   *exchange    // of the application, within whose act this is; nil: the act is its own
	kept    int64        // the id of the body in the engine

	replies chan scriptReply // at most one
	ended   chan error       // of a streamed answer
	open    chan struct{}    // closed when the head of a streamed answer is written

	writing sync.Mutex // of a piece, however long the client takes: the engine never waits for it

	mu     sync.Mutex
	late   *time.Timer // ends the wait for a head
	away   int         // how often the API has the request
	relays []*relay
	within int           // exchanges whose answers the script still makes
	held   int           // how much waitUntil waits for
	free   chan struct{} // closed when that is nothing
	closed bool          // nothing can be written any more
	ending sync.Once     // of the act, or of its part in another's
}

// scriptReply is what a script answered, or why it did not.
type scriptReply struct {
	status int
	header http.Header
	kind   string
	value  any
	err    error
}

// ServeHTTP lets the application answer. Without one the API does.
func (p *Project) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.app {
		p.api.ServeHTTP(w, r)
		return
	}
	p.through(w, r, nil, func(x *exchange, body int64) {
		address, headers := p.shown(r)
		x.act.Call("request", x.id, r.Method, address, headers, body)
	})
}

// shown is the address of a request as a script sees it: on the public host where there is one, and from the root on, whatever it is
// mounted below; and its headers with that host, which Go keeps apart.
func (p *Project) shown(r *http.Request) (address, headers string) {
	at := p.hostOf(r)
	_, host, _ := strings.Cut(at, "://")
	headers = "host\n" + host
	if others := script.Flat(r.Header); others != "" {
		headers += "\n" + others
	}
	return at + "/" + strings.TrimPrefix(r.URL.RequestURI(), "/"), headers
}

func (p *Project) hostOf(r *http.Request) string {
	if public := p.config.API.PublicURL; public != nil {
		if at, err := url.Parse(public(r)); err == nil && at.Host != "" {
			return at.Scheme + "://" + at.Host
		}
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + cmp.Or(r.Host, "localhost")
}

// passing is a request on its way through the API, for an application that has let it pass.
type passing struct {
	x       *exchange
	context int64
	prefix  string    // of the mount
	body    *sentBody // that came, or that the application has made
}

type passingKey struct{}

// through lets a script answer a request: in the engine that has it already, or in any. call is given the id of the body, 0 if there is none.
func (p *Project) through(w http.ResponseWriter, r *http.Request, behind http.Handler, call func(x *exchange, body int64)) {
	if in, ok := r.Context().Value(passingKey{}).(passing); ok {
		x := p.newExchange(in.x.act, w, r, in.body)
		x.context, x.handler, x.outer = in.context, behind, in.x
		in.x.needs(1)
		defer x.end()
		defer x.close()
		call(x, 0)
		x.answer()
		return
	}
	// The act may outlive the request, by waitUntil; it is ended here in any case.
	act, err := p.serving.beginAs(r.Context(), context.WithoutCancel(r.Context()), nil)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	x := p.newExchange(act, w, r, newSentBody(w, r, p.config.Limits.Body, &p.bodies))
	x.handler = behind
	act.Data = x
	defer x.leave()
	defer x.close()
	if r.Body != nil && r.Body != http.NoBody {
		x.kept = act.Keep(x.body)
	}
	call(x, x.kept)
	x.answer()
}

func (p *Project) newExchange(act *script.Act, w http.ResponseWriter, r *http.Request, body *sentBody) *exchange {
	x := &exchange{p: p, act: act, w: w, r: r, body: body, replies: make(chan scriptReply, 1), ended: make(chan error, 1), open: make(chan struct{})}
	x.late = time.AfterFunc(p.config.Limits.Head, x.timeOut)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	x.id = p.last
	p.exchanges[x.id] = x
	return x
}

// find is an exchange that is not over.
func (p *Project) find(id int64) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exchanges[id]
}

// origin is whose the request is.
func (x *exchange) origin(context.Context) (of origin, err error) {
	if x.p.config.API.Scope != nil {
		if of.scope, err = x.p.config.API.Scope(x.r); err != nil {
			return of, err
		}
	}
	if x.p.config.API.StartedBy != nil {
		of.by = x.p.config.API.StartedBy(x.r)
	}
	return of, nil
}

// close ends the exchange, and returns when nothing touches its request any more.
func (x *exchange) close() {
	x.p.mu.Lock()
	delete(x.p.exchanges, x.id)
	x.p.mu.Unlock()
	x.endStream()
	x.late.Stop()
	x.mu.Lock()
	relays := slices.Clone(x.relays)
	x.mu.Unlock()
	for _, r := range relays {
		r.Drop()
	}
	if x.isOuter() {
		x.body.Drop()
		x.body.wasRead()
	}
	for _, r := range relays {
		<-r.served
	}
}

// release ends the act of an answer that needs no script any more, however long it takes to write: a client that is slow, or follows a
// stream, takes nobody's place in an engine. What waitUntil waits for keeps the act, and so does a guard or channel within whose answer
// the script still makes.
func (x *exchange) release() {
	if !x.isNeeded() {
		x.end()
	}
}

// end ends the act, or the part in it of an exchange within another, once.
func (x *exchange) end() {
	x.ending.Do(func() {
		if !x.isOuter() {
			x.outer.needs(-1)
			return
		}
		// The API may still read the body.
		x.act.Engine.Let(x.kept)
		x.p.serving.end(x.act)
		x.body.free()
	})
}

// needs counts the exchanges within whose answers the script still makes.
func (x *exchange) needs(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.within += n
}

func (x *exchange) isNeeded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.within > 0 || x.held > 0
}

// waits is closed when waitUntil waits for nothing more; it is nil where it does not wait.
func (x *exchange) waits() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held == 0 {
		return nil
	}
	return x.free
}

// leave ends the act, or lets it go on for a while behind the answer, unless the engine was lost already.
func (x *exchange) leave() {
	free := x.waits()
	if free == nil || !x.act.Engine.Go(nil, func(ctx context.Context) { x.stay(ctx, free) }) {
		x.end()
	}
}

// stay keeps the act while waitUntil waits.
func (x *exchange) stay(ctx context.Context, free <-chan struct{}) {
	defer x.end()
	late := time.NewTimer(x.p.config.Limits.Late)
	defer late.Stop()
	select {
	case <-free:
	case <-late.C:
		x.reportLate(errLate)
	case <-ctx.Done():
		x.reportLate(x.act.Engine.Fault(x.act.ID))
	}
}

// reportFault tells that this request's script has ended its engine, where nobody is left to be answered with that.
func (x *exchange) reportFault(what string) {
	if err := x.act.Engine.Fault(x.act.ID); !unavailable(err) {
		report(x.r.Context(), x.p.config.Log, what, err, "method", x.r.Method, "path", x.r.URL.Path)
	}
}

// hold counts what waitUntil waits for.
func (x *exchange) hold(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held == 0 {
		x.free = make(chan struct{})
	}
	if x.held += n; x.held == 0 {
		close(x.free)
	}
}

var errHead = errors.New("the answer did not begin in time")

func (x *exchange) timeOut() {
	first(x.replies, scriptReply{err: fmt.Errorf("%w: %w", script.ErrTurn, errHead)})
}

// first gives what comes first to the one that waits for it.
func first[T any](waiting chan T, got T) {
	select {
	case waiting <- got:
	default:
	}
}

// lend stops the clock while the API has the request. The mutex is held.
func (x *exchange) lend() {
	if x.away++; x.away == 1 {
		x.late.Stop()
	}
}

func (x *exchange) takeBack() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.away--; x.away == 0 && !x.closed {
		x.late.Reset(x.p.config.Limits.Head)
	}
}

// replied takes what a script says of an exchange.
func (p *Project) replied(c script.Call) {
	if c.Op == "hold" {
		holds(c)
		return
	}
	x := p.find(c.Args.Int(0))
	if x == nil {
		return
	}
	// With an answer its act may end, so all of the turn is heard before: it may still begin what the act is kept for.
	switch c.Op {
	case "reply":
		got := scriptReply{status: int(c.Args.Int(1)), header: script.Unflat(c.Args.String(2)), kind: c.Args.String(3), value: c.Args[4]}
		c.AfterTurn(func() { first(x.replies, got) })
	case "fail":
		got := scriptReply{err: c.Engine.Thrown(c.Args.String(1))}
		c.AfterTurn(func() { first(x.replies, got) })
	case "end":
		var err error
		if !c.Args.Bool(1) {
			err = c.Engine.Thrown(c.Args.String(2))
		}
		c.AfterTurn(func() { first(x.ended, err) })
	}
}

// holds finds the exchange by the act that it began: what waitUntil waits for ends after the answer, and may end in another act's turn.
func holds(c script.Call) {
	act := c.Engine.Act(c.Args.Int(0))
	if act == nil {
		return
	}
	if x, ok := act.Data.(*exchange); ok {
		x.hold(int(c.Args.Int(1)))
	}
}

// answer writes what the script replies.
func (x *exchange) answer() {
	select {
	case got := <-x.replies:
		x.write(got)
	case <-x.act.Engine.Dead():
		x.writeOr(x.act.Engine.Fault(x.act.ID))
	case <-x.r.Context().Done():
		x.abort()
		// A client that was only too slow must not take nothing for an answer.
		panic(http.ErrAbortHandler)
	case got := <-x.overflowed():
		x.writeOr(got.Err)
	}
}

// writeOr writes what the script has replied, or refuses where it has not.
func (x *exchange) writeOr(err error) {
	select {
	case got := <-x.replies:
		x.write(got)
	default:
		x.p.refuse(x.w, x.r, err)
	}
}

// isOuter reports whether the act began with this exchange. Those of guards and channels behind the application lie within.
func (x *exchange) isOuter() bool { return x.outer == nil }

// abort tells the script that the client has gone.
func (x *exchange) abort() {
	if x.isOuter() {
		x.act.Abort(nil)
	}
}

// abortIfLeft tells it of an answer that others wrote: within, the script may still make it.
func (x *exchange) abortIfLeft() {
	if x.r.Context().Err() != nil {
		x.abort()
	}
}

// overflowed tells that the act ran out of memory. No script finishes the act of a request otherwise.
func (x *exchange) overflowed() <-chan script.Result {
	if !x.isOuter() {
		return nil
	}
	return x.act.Done()
}
