package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// role makes the test binary a server instead of a test.
const role = "MCP_TEST_ROLE"

// quick lets a process end at once also under the race detector.
const quick = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	switch r := os.Getenv(role); r {
	case "":
		goleak.VerifyTestMain(m)
	case "stdio":
		_ = honest().Run(context.Background(), &sdk.StdioTransport{})
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		_ = honest().Run(context.Background(), &sdk.StdioTransport{})
		takes(time.Minute)
	case "http":
		serve(os.Getenv("MCP_TEST_ADDRESS"), os.Getenv("MCP_TEST_TOKEN"))
	default:
		hostile(r)
	}
}

// honest is a server made with the official SDK.
func honest() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, &sdk.ServerOptions{PageSize: 3})
	var cancelled atomic.Int64
	type none struct{}
	type sum struct {
		Sum int `json:"sum"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ A, B int }) (*sdk.CallToolResult, any, error) {
		return said(fmt.Sprint(in.A + in.B)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "structured"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, sum, error) {
		return nil, sum{42}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "image"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a dot"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.ImageContent{MIMEType: "image/svg+xml", Data: []byte("<svg/>")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside a"}},
			&sdk.ResourceLink{Name: "b", URI: "file:///b"},
		}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "slow"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct{ Steps, Pause int }) (*sdk.CallToolResult, any, error) {
		for i := range in.Steps {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Steps), Message: "step",
			})
			if err := rest(ctx, time.Duration(in.Pause)*time.Millisecond); err != nil {
				cancelled.Add(1)
				return nil, nil, err
			}
		}
		return said("done"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "cancelled"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		return said(fmt.Sprint(cancelled.Load())), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
			return said("new here"), nil, nil
		})
		return said("ok"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "environment"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		return said(strings.Join(os.Environ(), "\n")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "pid"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		return said(fmt.Sprint(os.Getpid())), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "crash"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	return s
}

func said(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// serve is the same server over HTTP, until its input is closed. It says its address.
func serve(address, token string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	s := honest()
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		Stateless: os.Getenv("MCP_TEST_SESSIONS") == "", PropagateRequestCancellation: true,
	})
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, r)
	}))
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// webPeer starts a process that serves HTTP, on a free port if no address is given, and returns its address and its end.
func webPeer(t *testing.T, address string, env ...string) (string, func()) {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, quick, role+"=http", "MCP_TEST_ADDRESS="+address, "MCP_TEST_TOKEN=secret")...)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ended bool
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = in.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	return strings.TrimSpace(said), end
}

// hostile speaks the protocol by hand, and badly.
func hostile(how string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name   string
				Cursor string
			}
		}
		_ = json.Unmarshal(line, &r)
		if r.ID == nil || how == "mute" {
			continue
		}
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result) }
		switch r.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}}`)
		case "tools/list":
			if how == "failing" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not now"}}`+"\n", r.ID)
				continue
			}
			answer(strings.ReplaceAll(badTools(r.Params.Cursor), "\n", ""))
			if r.Params.Cursor == "2" && how == "deaf" {
				takes(time.Minute)
			}
			if r.Params.Cursor == "2" && how == "fickle" {
				how = "failing"
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		case "tools/call":
			badAnswer(answer, r.Params.Name)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", r.ID)
		}
	}
}

func badTools(cursor string) string {
	if cursor == "" {
		return `{"nextCursor":"2","tools":[
			{"name":"a.b","inputSchema":{"type":"object"}},
			{"name":"a_b","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}},
			{"name":"a/b","inputSchema":{}},
			{"name":"a/b","inputSchema":{}}
		]}`
	}
	wide := fmt.Sprintf(`{"type":"object","properties":{"x":{"description":"%s"}}}`, strings.Repeat("y", 100_000))
	return `{"tools":[
		{"name":"` + strings.Repeat("long", 30) + `","description":"` + strings.Repeat("ä", 10_000) + `","inputSchema":{"type":"object"}},
		{"name":"bare"},
		{"name":"text","inputSchema":"object"},
		{"name":"list","inputSchema":{"type":"array"}},
		{"name":"","inputSchema":{"type":"object"}},
		{"name":"wide","inputSchema":` + wide + `},
		{"name":"huge","inputSchema":{"type":"object"}},
		{"name":"endless","inputSchema":{"type":"object"}},
		{"name":"odd","inputSchema":{"type":"object"}},
		{"name":"babble","inputSchema":{"type":"object"}}
	]}`
}

func badAnswer(answer func(string), tool string) {
	switch tool {
	case "huge":
		answer(`{"content":[{"type":"text","text":"` + strings.Repeat("ä", 1<<20) + `"},{"type":"text","text":"more"}]}`)
	case "endless":
		fmt.Print(`{"jsonrpc":"2.0","text":"`)
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(0)
			}
		}
	case "odd":
		answer(`{"content":[{"type":"smell"}]}`)
	case "babble":
		fmt.Println("Listening on port 80")
	default:
		answer(`{"content":[{"type":"text","text":"` + tool + `"}]}`)
	}
}
