// Package offer is a workspace as an MCP server: its exposed agents and workflows are tools for any MCP client that comes with an
// API key.
//
// It keeps no session. A call admits its work before it waits for it, so a connection that drops loses nothing: the answer, and the
// first progress of a call, say by which id the tool get_result fetches what came of it, from any node. What a client calls its
// request is kept beside that id: a notification that cancels a request comes as another request, perhaps to another node, and finds
// the work by it.
package offer

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/scope"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("offer", migrations)

// Envelope is what a message may hold beside the arguments of a call.
const Envelope = 64 << 10

// Config is what an MCP server needs. DB, Runtime, Agents and May are required.
type Config struct {
	DB      *sqldb.DB
	Runtime *svc.Runtime
	Agents  *agent.Agents
	// May judges, by what is true now, whether those who make the claims may do what is needed.
	May func(ctx context.Context, c scope.Claims, n access.Need) error
	// Admit refuses new work in a workspace that is full. Defaults to no such question.
	Admit func(ctx context.Context, c scope.Claims) error
	// MaxBody bounds a message. Defaults to 8 MiB, the longest input of a workflow, and the envelope.
	MaxBody int64
	// Patience is how long a call waits for its result, where the client does not say. Defaults to 50 seconds: many clients give a
	// call up after 60, and cancel it.
	Patience time.Duration
	// Beat is how long a connection stands still before something is written to it. Defaults to 15 seconds.
	Beat time.Duration
	// Version is what clients are told of this program. Defaults to nothing.
	Version string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears of failures that nobody foresaw. Defaults to slog.Default().
	Log *slog.Logger
}

// Offer answers MCP clients.
type Offer struct {
	Config
	handler http.Handler
}

// New makes the MCP server of all workspaces.
func New(c Config) (*Offer, error) {
	if c.DB == nil || c.Runtime == nil || c.Agents == nil || c.May == nil {
		return nil, errors.New("an MCP server needs a database, a runtime, agents and somebody who judges")
	}
	if c.Admit == nil {
		c.Admit = func(context.Context, scope.Claims) error { return nil }
	}
	c.MaxBody = cmp.Or(c.MaxBody, 8<<20+Envelope)
	c.Patience = cmp.Or(c.Patience, 50*time.Second)
	c.Beat = cmp.Or(c.Beat, 15*time.Second)
	c.Now = iso.Clock(c.Now)
	c.Log = cmp.Or(c.Log, slog.Default())
	o := &Offer{Config: c}
	server := mcp.NewServer(&mcp.Implementation{Name: "svc", Title: "svc workspace", Version: cmp.Or(c.Version, "0")}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, Logger: slog.New(slog.DiscardHandler),
	})
	server.AddReceivingMiddleware(o.receive)
	// The gateway has looked at host and origin; in process there is no host to look at again.
	o.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: c.MaxBody,
	})
	return o, nil
}

const instructions = "The tools that begin with ask_ are agents of a workspace, those that begin with run_ its workflows. " +
	"Their work goes on by itself: an answer that says it is not done yet holds an id, and get_result waits for that. " +
	"To go on with a conversation, give an agent the conversation of its last answer."

// bodyTimes is what a message takes: read, and taken apart.
const bodyTimes = 3

// Serve answers one message of a client whose claims the guard has let pass.
func (o *Offer) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return fault.New(fault.MethodNotAllowed, r.Method+" is not allowed here.", "Allowed: POST.")
	}
	if err := checkHeader(r.Header); err != nil {
		return err
	}
	c, _ := scope.From(r.Context())
	r, done := o.Runtime.In(c.Scope).Counted(r, bodyTimes)
	defer done()
	m, err := o.read(r)
	if err != nil {
		return err
	}
	if m.room, err = o.Runtime.In(c.Scope).Room(memory.Bodies, memory.Decoded(m.body)); err != nil {
		return unread(err)
	}
	defer m.room.Release()
	if m.method == methodCancelled {
		if err := o.cancelled(r.Context(), c, m); err != nil {
			return err
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if m.begins() {
		w.Header().Set(sessionHeader, rand.Text())
	}
	m.gone, m.out = r.Context(), &outlet{ResponseWriter: w}
	o.handler.ServeHTTP(m.out, m.request(r))
	return m.out.refusal()
}

// receive answers what is about tools; the rest is the protocol's own.
func (o *Offer) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			return o.survived(ctx, func() (mcp.Result, error) { return o.list(ctx, r) })
		case *mcp.CallToolRequest:
			return o.survived(ctx, func() (mcp.Result, error) { return o.call(ctx, r) })
		}
		return next(ctx, method, req)
	}
}

// survived is what something answers; a panic is an answer too.
func (o *Offer) survived(ctx context.Context, answer func() (mcp.Result, error)) (result mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, _ := scope.From(ctx)
			o.Log.ErrorContext(ctx, "request panicked", "request_id", c.RequestID, "scope", c.Scope, "error", p, "stack", string(debug.Stack()))
			result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Something unexpected happened on the server."}
		}
	}()
	return answer()
}
