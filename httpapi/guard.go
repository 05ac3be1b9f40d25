package httpapi

import (
	"context"
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
		g.made[what] = guard(http.HandlerFunc(passOn))
	}
	return g.made[what]
}

// guard asks a guard, which answers itself or lets the request through to next, once.
func (a *api) guard(x *response, r *http.Request, what guarded, guard func(http.Handler) http.Handler, next answerer) error {
	return x.pass(a.guards.of(what, guard), r, next)
}

// guardAgent asks an agent's guard. That of an agent which was not declared in code is built for every request: nobody
// knows how long such an agent lives, and it is another value each time it is found.
func (a *api) guardAgent(x *response, r *http.Request, agent *svc.Agent, resource string, guard func(http.Handler) http.Handler, next answerer) error {
	if a.rt.Declares(agent) {
		return a.guard(x, r, guarded{agent, resource}, guard, next)
	}
	return x.pass(guard(http.HandlerFunc(passOn)), r, next)
}

// pass lets a guard answer, or pass the request on to next.
func (x *response) pass(guard http.Handler, r *http.Request, next answerer) error {
	x.next = next
	return answerBy(guard, x, r.WithContext(context.WithValue(r.Context(), responseKey{}, x)))
}

// responseKey finds the response in the context of a request that a guard passes on.
type responseKey struct{}

// passOn stands behind every guard. What it does for this request is found by the context, so that one guard serves all.
func passOn(w http.ResponseWriter, r *http.Request) {
	x, _ := r.Context().Value(responseKey{}).(*response)
	if x == nil || x.passed.Add(1) > 1 {
		return
	}
	if err := x.next(w, r); err != nil {
		x.api.fail(w, r, err)
	}
}

// answerBy makes silence a failure: who neither writes nor passes on leaves nobody else to answer.
func answerBy(h http.Handler, x *response, r *http.Request) error {
	h.ServeHTTP(x, r)
	if !x.wrote {
		return fault.Unexpected(errSilent)
	}
	return nil
}
