package svc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/model/scripted"
)

// lines gathers what is logged.
type lines struct{ notepad.Pad }

// said are the lines of a message, and the first one read.
func (l *lines) said(t *testing.T, message string) map[string]any {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var read map[string]any
		if err := json.Unmarshal([]byte(line), &read); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if read["msg"] == message {
			return read
		}
	}
	t.Fatalf("nobody said %q: %s", message, l.String())
	return nil
}

// TestALineAboutWorkSaysWhoseItIs has everything go wrong that a person can cause, and reads what an operator is told of it.
func TestALineAboutWorkSaysWhoseItIs(t *testing.T) {
	var told lines
	broken := func(context.Context, sumIn) (int, error) { panic("boom") }
	declare, talk := talking(scripted.New(scripted.Turn{scripted.Call("add", sumIn{2, 3})}), func(a *svc.Agent) {
		a.Tools = []svc.Tool{svc.NewTool("add", "Adds.", broken)}
	})
	n := start(t, sqlite(t), func(rt *svc.Runtime) {
		declare(rt)
		declared("panicky", func(context.Context, *svc.Work, struct{}) (int, error) { panic("boom") })(rt)
		declared("stepping", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return svc.Step(ctx, w, "break", func(context.Context) (int, error) { panic("boom") })
		})(rt)
	}, talk, func(c *svc.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&told, nil))
		c.Holder = func(scope string) string { return strings.TrimPrefix(strings.TrimSuffix(scope, "/shop"), "users/") }
	})
	scoped := n.In("users/ada/shop")
	for _, c := range []struct{ workflow, message string }{{"panicky", "workflow panicked"}, {"stepping", "step panicked"}} {
		run, err := scoped.Invoke(t.Context(), c.workflow, svc.Invocation{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, c.message, func() bool { return strings.Contains(told.all(), c.message) })
		line := told.said(t, c.message)
		expect(t, c.message, fmt.Sprint(line["scope"], line["account"], line["stream"], line["run_id"], line["error"]), fmt.Sprint("users/ada/shop", "ada", "runs/"+run.RunID, run.RunID, "boom"))
	}
	sent, err := scoped.Prompt(t.Context(), "a", "x", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"tool panicked", "submission failed"} { // the script has no second turn
		eventually(t, message, func() bool { return strings.Contains(told.all(), message) })
		line := told.said(t, message)
		expect(t, message, fmt.Sprint(line["scope"], line["account"], line["stream"], line["submission_id"]), fmt.Sprint("users/ada/shop", "ada", "agents/a/x", sent.SubmissionID))
		if line["error"] == nil || line["run_id"] != nil {
			t.Errorf("%s: %v", message, line)
		}
	}
}

func (l *lines) all() string {
	return l.String()
}

// TestAStreamIsLoggedAsText holds the address to what product logs name.
func TestAStreamIsLoggedAsText(t *testing.T) {
	for want, s := range map[string]svc.Stream{
		"agents/central/x": {Scope: "users/ada/shop", Kind: svc.KindAgent, Name: "central", ID: "x"},
		"runs/run_1":       {Kind: svc.KindRun, Name: "digest", ID: "run_1"},
	} {
		var text bytes.Buffer
		slog.New(slog.NewJSONHandler(&text, nil)).Error("m", "stream", s, "error", errors.New("e"))
		if !strings.Contains(text.String(), `"stream":"`+want+`"`) {
			t.Errorf("logged as %s", text.String())
		}
	}
}
