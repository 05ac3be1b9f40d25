package browser

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc/service/mcp/mcptest"
)

// loopbackMCPs is the setting of a service that may call MCP servers on this machine.
const loopbackMCPs = "SVC_MCP_ALLOW_PRIVATE=127.0.0.0/8"

// offering is a tool of an MCP server as the script names it.
type offering struct {
	Name, Description string
	Destructive       bool
	Holds             bool // a call of it ends with whoever called
}

// withMCPs lets the script have MCP servers to add, and change what they offer.
func (s *scene) withMCPs(t *testing.T) {
	servers := map[string]*sdk.Server{}
	var calls atomic.Int64
	on(s, "mcp calls", func(struct{}) (any, error) { return calls.Load(), nil })
	on(s, "mcp server", func(of struct {
		Token string
		Tools []offering
	}) (any, error) {
		server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
		for _, tool := range of.Tools {
			tool.join(server, &calls)
		}
		address := listenMCP(t, server, of.Token)
		servers[address] = server
		return address, nil
	})
	on(s, "mcp offer", func(of struct {
		Address string
		Tools   []offering
	}) (any, error) {
		for _, tool := range of.Tools {
			tool.join(servers[of.Address], &calls)
		}
		return nil, nil
	})
	on(s, "mcp program", func(struct{}) (any, error) {
		self, err := os.Executable()
		return map[string]string{"command": self, "variable": mcptest.Speaks + "=yes"}, err
	})
	var authority *mcptest.Authority
	on(s, "mcp sign-in", func(struct{}) (any, error) {
		authority = mcptest.NewAuthority(t, mcptest.Options{})
		return map[string]string{"address": mcptest.NewServer(t, authority, mcptest.ByHeader).Address(), "authority": authority.Issuer()}, nil
	})
	on(s, "mcp deny", func(of struct{ On bool }) (any, error) {
		authority.Deny(of.On)
		return nil, nil
	})
}

// join adds a tool to a server, or makes another of it. Its calls are counted.
func (o offering) join(server *sdk.Server, calls *atomic.Int64) {
	tool := &sdk.Tool{Name: o.Name, Description: o.Description, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
	if o.Destructive {
		tool.Annotations = &sdk.ToolAnnotations{DestructiveHint: &o.Destructive}
	}
	server.AddTool(tool, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		if o.Holds {
			<-ctx.Done()
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
}

// listenMCP serves a server to those who have its token; an empty one lets everybody in.
func listenMCP(t *testing.T, server *sdk.Server, token string) string {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		listening.CloseClientConnections() // a link that listens for changes would hold it up
		listening.Close()
	})
	return listening.URL + mcptest.Path
}
