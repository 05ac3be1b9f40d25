package surface

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
)

// Exchange is one request and its answer.
type Exchange struct {
	Out     *Answer
	Request *http.Request
	ID      string
	Surface access.Surface
	Spoofed bool         // it came with headers that only we may set
	Still   func() error // why whoever was let in would not be any more

	config *Config
	room   *memory.Grant // of what the request brings; nil: it takes none
}

// New gives a request its id. Whoever serves it calls Release in the end.
func New(c *Config, w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{
		config: c, Out: &Answer{ResponseWriter: w, each: c.WriteTimeout}, Request: r, ID: "req_" + ulid.Make().String(),
		Still: func() error { return nil },
	}
	w.Header().Set("X-Request-Id", x.ID)
	x.keepRest()
	return x
}

// Release gives back the memory that the body took.
func (x *Exchange) Release() { x.room.Release() }

// Arrive finds the surface by its host, and reports whether it is one of ours. The audit log is told where the request comes from.
func (x *Exchange) Arrive() (found bool) {
	x.Surface, found = x.config.Surfaces.find(x.Request.Host)
	x.secure()
	if found {
		// Headers hold any bytes: here they become text.
		x.Request = x.Request.WithContext(audit.With(x.Ctx(), audit.Source{
			RequestID: x.ID, IP: x.ClientIP(), UserAgent: sqldb.Text(x.Request.UserAgent(), maxAgent), Surface: string(x.Surface), Authority: "customer",
			Actor: audit.Actor{Kind: "anonymous"},
		}))
	}
	return found
}

// maxAgent is how much of a User-Agent is kept, in bytes.
const maxAgent = 256

// Sourced changes what the audit log is told of where the request comes from.
func (x *Exchange) Sourced(change func(*audit.Source)) {
	from := audit.From(x.Ctx())
	change(&from)
	x.Request = x.Request.WithContext(audit.With(x.Ctx(), from))
}

// Ctx is the context of the request as it is now.
func (x *Exchange) Ctx() context.Context { return x.Request.Context() }

// Safe reports whether the method changes nothing.
func (x *Exchange) Safe() bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}, x.Request.Method)
}

// noStore is the Cache-Control of what is for one reader, once.
const noStore = "no-store"

// Send answers with a body.
func (x *Exchange) Send(status int, contentType, cache string, body []byte) error {
	h := x.Out.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", cache)
	x.Out.WriteHeader(status)
	if x.Request.Method != http.MethodHead {
		_, _ = x.Out.Write(body) // who has gone needs no answer
	}
	return nil
}

// JSON answers with a value.
func (x *Exchange) JSON(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.tell(status, body)
}

// tell answers with JSON. Whoever only reads must still be allowed to when the answer goes out; of a change the answer tells
// what came of it.
func (x *Exchange) tell(status int, body []byte) error {
	if x.Safe() {
		if err := x.Still(); err != nil {
			return err
		}
	}
	return x.Send(status, TypeJSON, noStore, body)
}

// None answers with a status alone.
func (x *Exchange) None() error {
	x.Out.Header().Set("Cache-Control", noStore)
	x.Out.WriteHeader(http.StatusNoContent)
	return nil
}

// See sends a browser on.
func (x *Exchange) See(status int, address string) error {
	h := x.Out.Header()
	h.Set("Cache-Control", noStore)
	h.Set("Location", address)
	x.Out.WriteHeader(status)
	return nil
}

// Onward is the status that leads a browser on: a form becomes a GET.
func (x *Exchange) Onward() int {
	if x.Safe() {
		return http.StatusFound
	}
	return http.StatusSeeOther
}

// Envelope answers with a refusal, as programs read it.
func (x *Exchange) Envelope(status int, f *fault.Error) {
	told := *f
	if !x.config.Development {
		told.Dev = ""
	}
	body, err := json.Marshal(map[string]fault.Error{"error": told})
	if err != nil {
		told.Meta = nil
		body, _ = json.Marshal(map[string]fault.Error{"error": told})
	}
	x.Out.Header().Set("Content-Length", strconv.Itoa(len(body))) // by whichever way the answer goes
	_ = x.Send(status, TypeJSON, noStore, body)
}
