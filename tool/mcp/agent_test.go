package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
)

// start runs an agent named a until the test ends.
func start(t *testing.T, a *svc.Agent, p model.Provider) *svc.Runtime {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqldbtest.SQLite(t), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": p}.Find, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	rt.AddAgent(a)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		_ = store.Close()
	})
	return rt
}

type chunk struct {
	Type, ToolName, ErrorText, Outcome string
	Output                             json.RawMessage
}

// read follows an instance until a submission has settled.
func read(t *testing.T, rt *svc.Runtime, id string) []chunk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f := rt.Follow(rt.AgentStream("a", id))
	defer f.Close()
	var all []chunk
	for after := stream.Start; ; {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil {
			t.Fatal(err)
		}
		var chunks []chunk
		if err := json.Unmarshal(page.JSON(), &chunks); err != nil {
			t.Fatal(err)
		}
		all = append(all, chunks...)
		if n := len(all); n > 0 && all[n-1].Type == "submission-settled" {
			return all
		}
		if after = page.Next; !page.Tail {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			t.Fatalf("no settlement: %+v", all)
		}
	}
}

func TestReaderOfAgentSeesToolOutput(t *testing.T) {
	t.Parallel()
	c := stdio("stdio")
	c.Name = "peer"
	s := connect(t, c)
	p := scripted.New(
		scripted.Turn{scripted.Call("peer_add", map[string]int{"A": 2, "B": 40}), scripted.Call("peer_structured", map[string]any{})},
		scripted.Turn{scripted.Call("peer_crash", map[string]any{})},
		scripted.Turn{scripted.Call("peer_fail", map[string]any{})},
		scripted.Turn{scripted.Say("42")},
	)
	rt := start(t, &svc.Agent{Name: "a", Model: "scripted/test", Tools: s.Tools()}, p)
	if _, err := rt.Prompt(t.Context(), "a", "1", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "2 + 40?"}}); err != nil {
		t.Fatal(err)
	}
	var outputs, failures []string
	var outcome string
	for _, c := range read(t, rt, "1") {
		switch c.Type {
		case "tool-output":
			outputs = append(outputs, string(c.Output))
		case "tool-output-error":
			failures = append(failures, c.ErrorText)
		case "submission-settled":
			outcome = c.Outcome
		}
	}
	expect(t, "outcome", outcome, "completed")
	expect(t, "outputs", strings.Join(outputs, " "), `"42" {"sum":42}`)
	expect(t, "failures", strings.Join(failures, " "), "The connection to the MCP server broke. The call may or may not have taken effect. out of paper")
	asked := p.Requests()
	last := asked[len(asked)-1].Messages
	result := last[len(last)-1].Parts[0].Result
	expect(t, "what the model was told", *result.Content[0].Text, "out of paper")
	expect(t, "as an error", result.IsError, true)
}
