package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

// peerToken is the only credential that the MCP server of these tests takes.
const peerToken = "a-bearers-token-0123456789"

// startPeer runs an MCP server with one tool, and counts its calls.
func startPeer(t *testing.T) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "echo", Description: "Says it again.", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.Add(1)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "the peer heard " + string(r.Params.Arguments)}}}, nil
		})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+peerToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections() // a link that listens for changes would hold it up
		s.Close()
	})
	return s.URL, calls
}

// filed is a folder with one agent, which uses the server too.
func filed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "filed.md"), []byte("---\nmcps: [peer]\n---\nBe brief.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// usesPeer adds the server, switches its tool on, and has an agent call it.
func (c *customer) usesPeer(t *testing.T) {
	t.Helper()
	at := func(status int, method, path, body string) string {
		t.Helper()
		res := send(t, method, c.at.Agents+"/api/workspaces/"+c.provider+"-fan/personal"+path, http.Header{"Origin": {c.at.Agents}, "Cookie": {c.cookie}}, body)
		if c.heard.WriteString(res.body); res.status != status {
			t.Fatalf("%s %s: %d %s", method, path, res.status, res.body)
		}
		return res.body
	}
	url, calls := startPeer(t)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(at(201, "POST", "/mcps", `{"name":"peer","url":"`+url+`","token":"`+peerToken+`"}`)), &made); err != nil {
		t.Fatal(err)
	}
	at(200, "POST", "/mcps/"+made.ID+"/connect", "")
	at(200, "PATCH", "/mcps/"+made.ID+"/tools/echo", `{"enabled":true}`)
	if got := at(200, "GET", "/tools?q=peer__", ""); !strings.Contains(got, `"peer__echo"`) {
		t.Errorf("tools: %s", got)
	}
	at(201, "POST", "/agents", `{"name":"writer","mcps":["peer"],"exposed":true}`)
	s := modeltest.NewServer(t, providers[c.provider],
		modeltest.Reply{Calls: []model.ToolCall{{ID: "call_1", Name: "peer__echo", Input: json.RawMessage(`{"text":"hi"}`)}}}, modeltest.Reply{Text: []string{"All is well."}})
	c.set(t, s.URL, modeltest.Key)
	c.do(t, "POST", "/agents/writer/1", hello)
	var body string
	if !eventually(func() bool {
		body = c.do(t, "GET", "/agents/writer/1", "").body
		return strings.Contains(body, `"outcome"`)
	}) {
		t.Fatalf("it does not settle: %s", body)
	}
	if !strings.Contains(body, "the peer heard") || !strings.Contains(body, "All is well.") || calls.Load() != 1 {
		t.Errorf("%d calls: %s", calls.Load(), body)
	}
	if sent := s.Requests(); len(sent) != 2 || !strings.Contains(string(sent[0].Body), `"peer__echo"`) || !strings.Contains(string(sent[1].Body), "the peer heard") {
		t.Errorf("the model was asked %d times", len(sent))
	}
	if got := at(409, "DELETE", "/mcps/"+made.ID, ""); !strings.Contains(got, `"usedBy":["filed","writer"]`) {
		t.Errorf("who uses it: %s", got)
	}
	c.heard.WriteString(body)
}

// TestAnAgentCallsAToolOfAnMCPServerInOneProcessAndInTwo keeps the token in the workspace: in two processes the gateway seals it and
// the runtime opens it.
func TestAnAgentCallsAToolOfAnMCPServerInOneProcessAndInTwo(t *testing.T) {
	settings := append(modelSettings("openai"), "SVC_MCP_ALLOW_PRIVATE=127.0.0.0/8", "SVC_AGENTS_DIR="+filed(t))
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(t.TempDir(), "data")
		p := launch(t, slices.Concat(settings, []string{"SVC_LISTEN=127.0.0.1:" + freePort(t), "SVC_OPS_LISTEN=127.0.0.1:0"}), "serve", "--data", data)
		c := newCustomer(t, "openai", p.Serving, p)
		c.usesPeer(t)
		p.stop(t)
		c.hides(t, peerToken, data)
	})
	t.Run("split", func(t *testing.T) {
		t.Parallel()
		h := newHalves(t, "127.0.0.1:"+freePort(t))
		h.settings = append(h.settings, settings...)
		h.startRuntime(t)
		h.startGateway(t)
		c := newCustomer(t, "openai", h.gateway.Serving, h.gateway, h.runtime)
		c.usesPeer(t)
		c.hides(t, peerToken)
	})
}
