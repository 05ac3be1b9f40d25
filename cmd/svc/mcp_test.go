package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is the official MCP client at somebody's workspace, and the first that it was told of its call.
type desk struct {
	*mcp.ClientSession
	begun chan *mcp.ProgressNotificationParams
}

// bearing sends requests by an API key.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return client.Transport.RoundTrip(r)
}

func (p person) desk(t *testing.T) desk {
	t.Helper()
	d := desk{begun: make(chan *mcp.ProgressNotificationParams, 1)}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case d.begun <- r.Params:
			default:
			}
		},
	})
	var err error
	d.ClientSession, err = c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", HTTPClient: &http.Client{Transport: bearing{p.key}}}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestWhatAnMCPClientBeganSurvivesAKill pulls the plug in the middle of a call, and fetches what came of it.
func TestWhatAnMCPClientBeganSurvivesAKill(t *testing.T) {
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		data, port := filepath.Join(t.TempDir(), "data"), freePort(t)
		begin := func() *process {
			return launch(t, []string{"SVC_LISTEN=127.0.0.1:" + port, "SVC_OPS_LISTEN=127.0.0.1:0"}, "serve", "--data", data)
		}
		p := begin()
		survives(t, signUp(t, p.Serving, "ada"), func() {
			p.kill()
			begin()
		})
	})
	t.Run("split", func(t *testing.T) {
		t.Parallel()
		h := newHalves(t, "127.0.0.1:"+freePort(t))
		h.startRuntime(t)
		h.startGateway(t)
		survives(t, signUp(t, h.gateway.Serving, "ada"), func() {
			h.runtime.kill()
			h.startRuntime(t)
		})
	})
}

// survives calls, kills, and fetches.
func survives(t *testing.T, p person, kill func()) {
	t.Helper()
	d := p.desk(t)
	ended := make(chan error, 1)
	go func() {
		call := &mcp.CallToolParams{Name: "ask_central", Arguments: map[string]any{"message": "n=80 delay=20"}, Meta: mcp.Meta{"progressToken": "p"}}
		_, err := d.CallTool(t.Context(), call)
		ended <- err
	}()
	id := (<-d.begun).Meta["submissionId"]
	kill()
	var answer struct{ State, Text, SubmissionID string }
	if !eventually(func() bool {
		got, err := p.desk(t).CallTool(t.Context(), &mcp.CallToolParams{Name: "get_result", Arguments: map[string]any{"id": id}})
		if err != nil || got.IsError {
			return false // the runtime is not there yet
		}
		data, err := json.Marshal(got.StructuredContent)
		return err == nil && json.Unmarshal(data, &answer) == nil && answer.State != "running"
	}) {
		t.Fatalf("it does not go on: %+v", answer)
	}
	var want strings.Builder
	for i := range 80 {
		fmt.Fprintf(&want, "word%d ", i)
	}
	if answer.State != "completed" || answer.SubmissionID != id || answer.Text != want.String() {
		t.Errorf("%+v", answer)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the call whose server was killed was answered")
		}
	default: // the client waits for a stream that has broken off
	}
}
