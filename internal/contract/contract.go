// Package contract declares the modules of the contract program: what a client in any language may expect to find behind
// examples/contract, and what the transcripts of package httpapi are recorded against.
package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc.dev/svc"
)

// Declare adds the agents, workflows and channels of the contract to a runtime.
func Declare(rt *svc.Runtime) {
	rt.AddAgent(agents()...)
	rt.AddWorkflow(
		open(svc.NewWorkflow("summarize", summarize)),
		open(svc.NewWorkflow("trivial", trivial)),
		open(svc.NewWorkflow("chatty", chatty)),
		open(svc.NewWorkflow("failing", failing)),
		open(svc.NewWorkflow("steps", steps)),
		routed(svc.NewWorkflow("hidden", trivial)),
		guarded(svc.NewWorkflow("guarded", trivial)),
	)
	rt.AddChannel(&svc.Channel{Name: "echo", Routes: []svc.ChannelRoute{
		{Method: http.MethodGet, Path: "/ping", Handler: http.HandlerFunc(ping)},
		{Method: http.MethodPost, Path: "/in", Handler: inbox{rt}},
	}})
}

func routed(wf *svc.Workflow) *svc.Workflow {
	wf.Route = svc.Open
	return wf
}

func open(wf *svc.Workflow) *svc.Workflow {
	wf.Runs = svc.Open
	return routed(wf)
}

func guarded(wf *svc.Workflow) *svc.Workflow {
	wf.Runs = requireAllow
	return routed(wf)
}

// requireAllow lets through who says that it may.
func requireAllow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Allow") == "yes" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"blocked":true}`)
	})
}

type ok struct {
	OK bool `json:"ok"`
}

func trivial(context.Context, *svc.Work, struct{}) (ok, error) { return ok{true}, nil }

func failing(context.Context, *svc.Work, struct{}) (struct{}, error) {
	return struct{}{}, errors.New("failed on purpose")
}

type chat struct {
	N     int `json:"n"`
	Delay int `json:"delay,omitempty"` // milliseconds before each line
}

func chatty(ctx context.Context, w *svc.Work, in chat) (struct{}, error) {
	for i := range in.N {
		if in.Delay > 0 {
			if err := w.Sleep(ctx, time.Duration(in.Delay)*time.Millisecond); err != nil {
				return struct{}{}, err
			}
		}
		w.Log(fmt.Sprintf("line %d", i))
	}
	return struct{}{}, nil
}

type climb struct {
	N     int `json:"n"`
	Sleep int `json:"sleep,omitempty"` // milliseconds inside each step
}

type sum struct {
	Sum int `json:"sum"`
}

func steps(ctx context.Context, w *svc.Work, in climb) (sum, error) {
	var total sum
	for i := range in.N {
		n, err := svc.Step(ctx, w, fmt.Sprintf("step %d", i), func(ctx context.Context) (int, error) {
			return i, w.Sleep(ctx, time.Duration(in.Sleep)*time.Millisecond)
		})
		if err != nil {
			return total, err
		}
		total.Sum += n
	}
	return total, nil
}
