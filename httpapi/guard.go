package httpapi

import (
	"errors"
	"net/http"
	"sync"

	"svc.dev/svc"
	"svc.dev/svc/fault"
)

var errSilent = errors.New("nothing was answered")

// guards keeps the handler that each guard has made, so that a guard is built once and may keep state.
type guards struct {
	mu   sync.Mutex
	made map[guarded]http.Handler
}

// guarded is a resource behind a guard: a workflow's invocation or runs, an agent's conversations or attachments.
type guarded struct {
	owner    any
	resource string
}

func (g *guards) of(what guarded, guard func(http.Handler) http.Handler) http.Handler {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made[what] == nil {
		if g.made == nil {
			g.made = map[guarded]http.Handler{}
		}
		g.made[what] = guard(http.HandlerFunc(passOn))
	}
	return g.made[what]
}

// guard asks a guard, which answers itself or lets the request through to next, once.
func (a *api) guard(x *response, r *http.Request, what guarded, guard func(http.Handler) http.Handler, next http.HandlerFunc) {
	x.next = next
	a.answerBy(a.guards.of(what, guard), x, r.WithContext(x.in(r.Context())))
}

// guardAgent asks an agent's guard. That of an agent which was not declared in code is built for every request: nobody
// knows how long such an agent lives, and it is another value each time it is found.
func (a *api) guardAgent(x *response, r *http.Request, agent *svc.Agent, resource string, guard func(http.Handler) http.Handler, next http.HandlerFunc) {
	if a.rt.Declares(agent) {
		a.guard(x, r, guarded{agent, resource}, guard, next)
		return
	}
	x.next = next
	a.answerBy(guard(http.HandlerFunc(passOn)), x, r.WithContext(x.in(r.Context())))
}

// passOn stands behind every guard. What it does for this request is found by the context, so that one guard serves all.
func passOn(w http.ResponseWriter, r *http.Request) {
	if x := responseIn(r.Context()); x != nil && x.passed.Add(1) == 1 {
		x.next(w, r)
	}
}

// answerBy makes silence a failure: who neither writes nor passes on leaves nobody else to answer.
func (a *api) answerBy(h http.Handler, x *response, r *http.Request) {
	h.ServeHTTP(x, r)
	if !x.wrote {
		a.fail(x, r, fault.Unexpected(errSilent))
	}
}
