package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc/service/gateway"
)

// keyed sends requests to the scene's server by an API key.
type keyed struct {
	host, key string
	next      http.RoundTripper
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = k.host
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// mcpClient is the official client at a workspace, and the progress that it has heard of.
type mcpClient struct {
	*mcp.ClientSession
	mu    sync.Mutex
	heard []*mcp.ProgressNotificationParams
}

func (c *mcpClient) progress() []*mcp.ProgressNotificationParams {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// mcp connects the official client to a workspace, with a version of the protocol; empty is its latest.
func (s *scene) mcp(t testing.TB, path, key, version string) *mcpClient {
	t.Helper()
	c := &mcpClient{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.heard = append(c.heard, r.Params)
		},
	})
	way := &http.Transport{}
	t.Cleanup(way.CloseIdleConnections)
	var err error
	c.ClientSession, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.server.URL + path, HTTPClient: &http.Client{Transport: keyed{s.hosts[gateway.Agents], key, way}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// mcpAnswer is what a call's answer holds.
type mcpAnswer struct {
	SubmissionID, RunID, Conversation, State, Status, Text string
	Result                                                 json.RawMessage
	Error                                                  struct {
		Type, Name string
		Meta       struct{ Required string }
	}
	Cancelled bool

	content string
	failed  bool
}

// calls calls a tool. Pairs of meta are what is said beside the arguments.
func (c *mcpClient) calls(t testing.TB, tool string, arguments any, meta ...any) mcpAnswer {
	t.Helper()
	got, err := c.asks(t.Context(), tool, arguments, meta...)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return got
}

func (c *mcpClient) asks(ctx context.Context, tool string, arguments any, meta ...any) (mcpAnswer, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments, Meta: mcp.Meta{}}
	for i := 0; i < len(meta); i += 2 {
		p.Meta[meta[i].(string)] = meta[i+1]
	}
	got, err := c.CallTool(ctx, p)
	if err != nil {
		return mcpAnswer{}, err
	}
	a := mcpAnswer{failed: got.IsError}
	for _, part := range got.Content {
		a.content += part.(*mcp.TextContent).Text
	}
	data, err := json.Marshal(got.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

func (c *mcpClient) tools(t testing.TB) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// said is the text of progress.
func said(heard []*mcp.ProgressNotificationParams) (text string) {
	for _, p := range heard {
		text += p.Message
	}
	return text
}

func words(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "word%d ", i)
	}
	return all.String()
}
