// Package httpapi serves a svc.Runtime over HTTP: agents are prompted, workflows invoked, conversations and runs read and
// followed, channels take in what providers send. It is an http.Handler to be mounted anywhere; who may do what is decided
// by the guards of what is served.
package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// Config is how a Runtime is served. The zero value serves the empty scope.
type Config struct {
	// Scope says whose streams a request is about. It is asked before any guard; a fault that it returns is the answer,
	// another error is a 500. Defaults to the empty scope for every request.
	Scope func(*http.Request) (string, error)
	// PublicURL is the mount's address as clients know it, for links in answers. Defaults to the scheme, host and path of
	// the request as it was received.
	PublicURL func(*http.Request) string
	// RequestID names a request that something in front of us has named already. Defaults to a new req_<ULID>.
	RequestID func(*http.Request) string
	// StartedBy names the one who asks, in the records of runs and prompts. Defaults to nobody.
	StartedBy func(*http.Request) string
	// MaxBody is the longest body that is read, in bytes. Defaults to 64 MiB.
	MaxBody int64
	// MaxInput is the longest input of a workflow, in bytes. Defaults to 8 MiB.
	MaxInput int64
	// MaxBuffered bounds the bodies held at one time, in bytes, and a quarter of it those of one holder; a request that would
	// pass it is refused at once. Defaults to 256 MiB.
	MaxBuffered int64
	// LongPoll is how long a read waits for news. Defaults to 30 seconds.
	LongPoll time.Duration
	// Heartbeat is how often an open SSE connection shows that it lives. Defaults to 15 seconds.
	Heartbeat time.Duration
	// WriteTimeout is how long a reader may take to accept one frame before its SSE connection is ended. Defaults to 30
	// seconds.
	WriteTimeout time.Duration
	// Dev shows what faults tell developers. Defaults to false.
	Dev bool
	// Log hears of failures that nobody foresaw. Defaults to slog.Default().
	Log *slog.Logger
}

// withDefaults takes what is negative for what was not said.
func (c Config) withDefaults() Config {
	if c.Scope == nil {
		c.Scope = func(*http.Request) (string, error) { return "", nil }
	}
	if c.StartedBy == nil {
		c.StartedBy = func(*http.Request) string { return "" }
	}
	c.MaxBody = cmp.Or(max(c.MaxBody, 0), 64<<20)
	c.MaxInput = cmp.Or(max(c.MaxInput, 0), 8<<20)
	c.MaxBuffered = cmp.Or(max(c.MaxBuffered, 0), 256<<20)
	c.LongPoll = cmp.Or(max(c.LongPoll, 0), 30*time.Second)
	c.Heartbeat = cmp.Or(max(c.Heartbeat, 0), 15*time.Second)
	c.WriteTimeout = cmp.Or(max(c.WriteTimeout, 0), 30*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// routes are all there is. A colon stands for one segment, the star for all that follows, slashes too.
var routes = []route{
	{parsePattern("/agents/:name/:id"), atInstance((*instance).serve, http.MethodGet, http.MethodHead, http.MethodPost)},
	{parsePattern("/agents/:name/:id/abort"), atInstance((*instance).abort, http.MethodPost)},
	{parsePattern("/agents/:name/:id/submissions"), atInstance((*instance).submissions, http.MethodGet)},
	{parsePattern("/agents/:name/:id/attachments/:attachmentId"), (*api).attachment},
	{parsePattern("/workflows/:name"), (*api).workflow},
	{parsePattern("/runs/:runId"), (*api).run},
	{parsePattern("/channels/:name/*"), (*api).channel},
}

// route hands the requests of one pattern, whatever their method, to one endpoint.
type route struct {
	pattern pattern
	serve   endpoint
}

// endpoint answers a request, or returns the fault to answer with. The parameters are as received, not yet decoded.
type endpoint func(a *api, x *response, r *http.Request, params []string) error

type api struct {
	Config
	rt     *svc.Runtime
	bodies bodies
	large  *memory.Turns // of bodies that are taken apart
	guards guards

	readers atomic.Int64 // that wait or follow
}

// New serves what rt declares at the paths below "/"; mount it elsewhere with http.StripPrefix and a prefix that has no
// slash at its end. Every path that it does not know is a 404 in the API's own envelope.
func New(rt *svc.Runtime, c Config) http.Handler {
	c = c.withDefaults()
	return &api{
		Config: c, rt: rt, bodies: bodies{most: c.MaxBody, limit: c.MaxBuffered, by: map[string]int64{}},
		large: memory.NewTurns(memory.Half(), memory.Half()), guards: guards{made: map[guarded]http.Handler{}},
	}
}

// App is the application of those who need no other: the API at "/", and a 404 of its envelope elsewhere.
func App(rt *svc.Runtime, c Config) http.Handler { return New(rt, c) }

// NotFound answers every request with the API's own 404, for places where nothing is served.
func NotFound(c Config) http.Handler {
	a := &api{Config: c.withDefaults()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.fail(a.newResponse(w, r), r, noRoute(r))
	})
}

// Refuse answers a request with a fault in the API's own envelope, for handlers around it.
func Refuse(c Config, w http.ResponseWriter, r *http.Request, status int, f *fault.Error) {
	a := &api{Config: c.withDefaults()}
	a.refuse(a.newResponse(w, r), r, status, f)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := a.newResponse(w, r)
	defer a.rescue(x, r)
	if err := a.answer(x, r); err != nil {
		a.fail(x, r, err)
	}
}

func (a *api) answer(x *response, r *http.Request) error {
	path := r.URL.EscapedPath()
	for _, route := range routes {
		if params, ok := route.pattern.match(path); ok {
			return route.serve(a, x, r, params)
		}
	}
	return noRoute(r)
}
