// Package engine is the private runtime of the product: what it declares, behind the guard that believes our gateway
// alone. It is called in process, or listens where only the gateway reaches it; the guard is the same.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/channel/github"
	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/scope"
)

// Config is what the private runtime needs. Runtime, Guard and Agents are required.
type Config struct {
	Runtime *svc.Runtime
	Guard   *scope.Guard
	// Agents are those that the runtime resolves.
	Agents *agent.Agents
	// Admit is asked before work is admitted to a scope: a full storage refuses it. Defaults to no such question.
	Admit func(ctx context.Context, claims scope.Claims) error
	// Project serves the API, and what the API does not know. Defaults to the API alone.
	Project Project
	// MCP answers MCP clients at MCPPath. Defaults to nothing: there is no such path.
	MCP func(http.ResponseWriter, *http.Request) error
	// MaxBody, MaxInput and MaxBuffered bound bodies, as in httpapi. They default as there.
	MaxBody, MaxInput, MaxBuffered int64
	// About is what the gateway's operator may know of this process's settings. Defaults to nothing.
	About About
	// Redact takes secrets out of the body of an error, which is JSON. Defaults to nothing.
	Redact func([]byte) []byte
	// Dev shows what faults tell developers. Defaults to false.
	Dev bool
	// Log hears of failures that nobody foresaw. Defaults to slog.Default().
	Log *slog.Logger
}

// Engine answers the gateway.
type Engine struct {
	Config
	api    http.Handler
	gitHub http.Handler // of deliveries that the gateway has believed
}

// New is the handler of a private runtime. It panics where code declares an agent of a name that is built in.
func New(c Config) *Engine {
	for _, d := range c.Runtime.ListAgents() {
		if c.Agents.IsBuiltIn(d.Name) {
			panic(fmt.Sprintf("engine: agent %q is built in", d.Name))
		}
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	e := &Engine{Config: c, gitHub: github.Handler(gitHub(c.Runtime, c.Log))}
	if c.Project != nil {
		e.api = c.Project.API()
	} else {
		e.api = c.Around(httpapi.New(c.Runtime, c.API()))
	}
	return e
}

// Around asks whether work is admitted before the API takes any.
func (c Config) Around(api http.Handler) http.Handler {
	if c.Admit == nil {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if admits(r) {
			if err := c.Admit(r.Context(), claims(r)); err != nil {
				c.fail(w, r, err)
				return
			}
		}
		api.ServeHTTP(w, r)
	})
}

// API is how the API is served: whose a request is, is what its claims say.
func (c Config) API() httpapi.Config {
	return httpapi.Config{
		Scope:     func(r *http.Request) (string, error) { return claims(r).Scope, nil },
		PublicURL: func(r *http.Request) string { return claims(r).Base },
		RequestID: func(r *http.Request) string { return claims(r).RequestID },
		StartedBy: func(r *http.Request) string { return claims(r).By().String() },
		MaxBody:   c.MaxBody, MaxInput: c.MaxInput, MaxBuffered: c.MaxBuffered, Dev: c.Dev, Log: c.Log,
	}
}

// claims are those that the guard has let pass.
func claims(r *http.Request) scope.Claims {
	c, _ := scope.From(r.Context())
	return c
}

// ServeHTTP lets claims pass that hold, and answers by the path: the contract's API, or what only the product asks.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.Redact != nil {
		w = &redacting{ResponseWriter: w, redact: e.Redact}
	}
	c, err := e.Guard.Check(r)
	if err != nil {
		e.fail(w, r, err)
		return
	}
	w.Header().Set(scope.HeaderPassed, "1")
	r = r.WithContext(context.WithValue(scope.With(r.Context(), c), admitKey{}, e.Admit))
	if e.Project != nil {
		r = introduced(r, c)
	}
	if inner := toEntrypoint(r); inner != nil {
		e.entrypoint(w, inner)
		return
	}
	if handle := e.own(r.URL.Path); handle != nil {
		err := checkQuery(r)
		if err == nil {
			err = handle(e, w, r)
		}
		if err != nil {
			e.fail(w, r, err)
		}
		return
	}
	e.api.ServeHTTP(w, r)
}

// admits reports whether a request asks the API for work that would grow the workspace. To end work is none, and a webhook is asked
// when its signature holds: before, strangers would learn how full a workspace is.
func admits(r *http.Request) bool {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	aborts := len(segments) == 5 && segments[1] == "agents" && segments[4] == "abort"
	return r.Method == http.MethodPost && !aborts && segments[1] != "channels"
}

// admitKey carries the question whether work is admitted to where it is asked.
type admitKey struct{}

// admit asks whether work is admitted for the claims that were let in.
func admit(ctx context.Context) error {
	ask, _ := ctx.Value(admitKey{}).(func(context.Context, scope.Claims) error)
	if ask == nil {
		return nil
	}
	c, _ := scope.From(ctx)
	return ask(ctx, c)
}

func (c Config) fail(w http.ResponseWriter, r *http.Request, err error) {
	if _, known := fault.Status(fault.From(err).Type); !known && r.Context().Err() == nil {
		of := claims(r)
		c.Log.ErrorContext(r.Context(), "request failed", "request_id", of.RequestID, "scope", of.Scope, "account", of.Account, "actor", of.Actor, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	refuse(w, err)
}

// refuse writes a fault in its envelope.
func refuse(w http.ResponseWriter, err error) {
	f := fault.From(err)
	status, known := fault.Status(f.Type)
	if !known {
		f, status = fault.Unexpected(err), http.StatusInternalServerError
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	told := *f
	told.Dev = ""
	if write(w, status, map[string]fault.Error{"error": told}) != nil {
		told.Meta = nil // facts that have no JSON are left out: the rest is text
		_ = write(w, status, map[string]fault.Error{"error": told})
	}
}

func write(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has gone needs no answer
	return nil
}
