package httpapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
)

func TestAbortDuringAReplyIsHeardInOrder(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/abort"
	receipt := s.prompt(t, path, "n=1000 delay=20")
	begun, at := s.sse(t, path, receipt.Offset, func(u update) bool { return u.Type == "message-delta" })
	aborted := time.Now()
	if got := s.do(t, "POST", path+"/abort", nil); got.body != `{"aborted":true}` {
		t.Errorf("abort: %s", got.body)
	}
	rest, _ := s.sse(t, path, at, isSettled)
	if took := time.Since(aborted); took > 5*time.Second {
		t.Errorf("settled after %v", took)
	}
	rest = slices.DeleteFunc(rest, func(u update) bool { return u.Type == "message-delta" })
	if got := types(rest); got != "message-completed message-appended submission-settled" {
		t.Errorf("heard %s", got)
	}
	if len(rest) == 3 && (rest[1].Message.Purpose != "advisory" || rest[2].Outcome != "aborted" || rest[2].SubmissionID != receipt.SubmissionID) {
		t.Errorf("heard %+v", rest)
	}
	if got := types(begun); !strings.HasPrefix(got, "message-appended message-started message-delta") {
		t.Errorf("before it %s", got)
	}
}

// slowTool makes a call take as long as it is let.
func slowTool(begun chan<- struct{}) svc.Tool {
	return svc.NewTool("add", "Adds, if it is let.", func(ctx context.Context, _ struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

func TestAbortDuringAToolNamesIt(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "slow", Model: "scripted/words", Tools: []svc.Tool{slowTool(begun)}, Route: svc.Open})
	}})
	const path = "/agents/slow/x"
	s.prompt(t, path, "x")
	<-begun
	s.do(t, "POST", path+"/abort", nil)
	s.settles(t, path, 1)
	all, _ := s.updates(t, path, "-1")
	if got := types(all); got != "conversation-reset message-appended message-started tool-input message-completed tool-output-error message-appended submission-settled" {
		t.Fatalf("heard %s", got)
	}
	notice := all[6].Message
	if !strings.Contains(string(notice.Signal), `"interruptedTools":"[{\"name\":\"add\",\"id\":\"call_`) || notice.SubmissionID != "" {
		t.Errorf("advisory %+v, signal %s", notice, notice.Signal)
	}
}
