package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mcp"
)

const space = "users/ada/shop"

var ada = audit.Actor{Kind: audit.Account, ID: "acc_ada", Username: "ada"}

// scene is the room on a database, and what it stands on.
type scene struct {
	*mcp.Servers
	*accounttest.World
}

// each runs a test on both databases, with a way out to this machine alone.
func each(t *testing.T, fn func(t *testing.T, s scene), edit ...func(*mcp.Config)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w := accounttest.New(t, address, accounttest.Options{})
		if err := w.DB.Migrate(t.Context(), mcp.Migrations); err != nil {
			t.Fatal(err)
		}
		fn(t, scene{beside(t, w, edit...), w})
	})
}

// beside is the room of one more node.
func beside(t *testing.T, w *accounttest.World, edit ...func(*mcp.Config)) *mcp.Servers {
	t.Helper()
	way, err := outward.New(outward.Config{Allow: []string{"127.0.0.1/32"}, Redirects: 3})
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.Config{DB: w.DB, Secrets: w.Store, Audit: w.Log, Outward: way, Log: slog.New(slog.DiscardHandler)}
	for _, change := range edit {
		change(&c)
	}
	s, err := mcp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// peer is an MCP server of the official SDK, whose tools tests change.
type peer struct {
	*httptest.Server
	mcp   *sdk.Server
	token string      // it wants; empty: none
	shut  atomic.Bool // it lets nobody in

	mu    sync.Mutex
	calls []string
	seen  []string // Authorization headers
}

func newPeer(t *testing.T, token string) *peer {
	t.Helper()
	p := &peer{mcp: sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil), token: token}
	p.offer("echo", "Says it again.", `{"type":"object","properties":{"text":{"type":"string"}}}`)
	p.offer("shout", "Says it louder.", `{"type":"object","properties":{"text":{"type":"string"}}}`)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.mcp }, nil)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Header.Get("Authorization"))
		p.mu.Unlock()
		if p.shut.Load() || p.token != "" && r.Header.Get("Authorization") != "Bearer "+p.token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.CloseClientConnections() // a link that listens for changes would hold it up
		p.Close()
	})
	return p
}

// credentials are the Authorization headers that came.
func (p *peer) credentials() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// offer adds a tool, or makes another of it.
func (p *peer) offer(name, description, schema string) {
	p.offerMarked(name, description, schema, false)
}

// offerMarked says of the tool whether it may destroy something; false says nothing.
func (p *peer) offerMarked(name, description, schema string, destructive bool) {
	marked := &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
	if destructive {
		marked.Annotations = &sdk.ToolAnnotations{DestructiveHint: &destructive}
	}
	p.mcp.AddTool(marked, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls = append(p.calls, name)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " " + string(r.Params.Arguments)}}}, nil
	})
}

func (p *peer) called() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (s scene) add(t *testing.T, d mcp.Draft) mcp.Detail {
	t.Helper()
	made, err := s.Create(t.Context(), ada, space, d)
	if err != nil {
		t.Fatalf("create %s: %v", d.Name, err)
	}
	return made
}

// connected adds a server and connects it.
func (s scene) connected(t *testing.T, name string, p *peer) mcp.Detail {
	t.Helper()
	made := s.add(t, mcp.Draft{Name: name, URL: p.URL, Token: p.token})
	d, err := s.Connect(t.Context(), ada, space, made.ID, 0, nil)
	if err != nil {
		t.Fatalf("connect %s: %v", name, err)
	}
	return d
}

func (s scene) enable(t *testing.T, d mcp.Detail, tool string) mcp.Detail {
	t.Helper()
	d, err := s.Enable(t.Context(), ada, space, d.ID, tool, 0, true)
	if err != nil {
		t.Fatalf("enable %s: %v", tool, err)
	}
	return d
}

// plant gives a server tools that are on, as if it had listed them.
func (s scene) plant(t *testing.T, server string, n int, schema string) {
	t.Helper()
	err := s.World.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range n {
			if err := tx.Do("plant", "INSERT INTO mcp_tools (server, name, description, input_schema, enabled) VALUES ($1, $2, '', $3, 1)", server, fmt.Sprintf("t%03d", i), schema); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// use calls the only tool that is on.
func use(t *testing.T, s *mcp.Servers, server string) (svc.ToolResult, error) {
	t.Helper()
	tools, err := s.Tools(t.Context(), space, []string{server})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	return tools[0].Call(t.Context(), json.RawMessage(`{"text":"hi"}`))
}

func toolOf(t *testing.T, d mcp.Detail, name string) mcp.Tool {
	t.Helper()
	for _, tool := range d.Tools {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s in %+v", name, d.Tools)
	return mcp.Tool{}
}

// acts are the actions that the workspace was told, the newest first.
func (s scene) acts(t *testing.T) (all []string) {
	t.Helper()
	page, err := s.Log.Page(t.Context(), audit.Query{Scope: space, Query: listing.Query{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Items {
		all = append(all, e.Action)
	}
	return all
}

func wants(t *testing.T, err error, typ string) {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Errorf("got %v, want a fault of type %s", err, typ)
	}
}

// eventually asks until it is told yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
