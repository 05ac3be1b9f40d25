package mcptest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Path is where a Server speaks the protocol.
const Path = "/mcp"

// Resource is how a Server says whose tokens it wants.
type Resource string

// The ways of saying it.
const (
	ByHeader Resource = "header" // of its refusals
	ByPath   Resource = "path"   // at the well-known place of its path
	ByRoot   Resource = "root"   // at the well-known place of its origin
	ByNone   Resource = "none"   // not at all: it is its own authorization server
)

// Server is an MCP server of the official SDK, behind the SDK's own check of tokens, with the tool echo.
type Server struct {
	*httptest.Server
	// Shut: it lets nobody in.
	Shut atomic.Bool
	// Calls of its tool.
	Calls atomic.Int64

	mcp *sdk.Server
}

// NewServer starts a server that wants tokens of an authority.
func NewServer(t testing.TB, a *Authority, by Resource) *Server {
	t.Helper()
	s := &Server{mcp: sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)}
	s.mcp.AddTool(&sdk.Tool{Name: "echo", Description: "Says it again.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.Calls.Add(1)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo " + string(r.Params.Arguments)}}}, nil
		})
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections() // a link that listens for changes would hold it up
		s.Close()
	})
	s.open(mux, a, by)
	return s
}

// Address is where the server is.
func (s *Server) Address() string { return s.URL + Path }

func (s *Server) open(mux *http.ServeMux, a *Authority, by Resource) {
	const document = "/.well-known/oauth-protected-resource"
	resource, options := s.Address(), &auth.RequireBearerTokenOptions{}
	if by == ByRoot {
		resource = s.URL
	}
	describe := auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: resource, AuthorizationServers: []string{a.Issuer()}, ScopesSupported: []string{"tools"},
	})
	switch by {
	case ByHeader:
		options.ResourceMetadataURL = s.URL + "/who"
		mux.Handle("/who", describe)
	case ByPath:
		mux.Handle(document+Path, describe)
	case ByRoot:
		mux.Handle(document, describe)
	case ByNone:
		a.set(func() { a.issuer = s.URL })
		mux.Handle("/", a)
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if s.Shut.Load() || !a.Lets(token, resource) {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, nil)
	mux.Handle(Path, auth.RequireBearerToken(verify, options)(handler))
}
