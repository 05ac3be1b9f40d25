package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"svc.dev/svc/fault"
)

// Workflows are started.
type Workflows struct{ c *Client }

// Invocation is how a run is started. The zero value has no input.
type Invocation struct {
	// Input is encoded as JSON; a json.RawMessage is sent as it is. Defaults to none.
	Input any
	// Key makes a repeated invocation one, for seven days. Defaults to one of its own for every call.
	Key string
}

// Invoke starts a run and returns its id. One whose answer was lost is asked for again with the same key, and starts once.
func (w *Workflows) Invoke(ctx context.Context, workflow string, in Invocation) (runID string, err error) {
	var started Result
	if err := w.c.Call(ctx, in.request(workflow, nil), &started); err != nil {
		return "", err
	}
	return started.RunID, nil
}

func (in Invocation) request(workflow string, query url.Values) Request {
	return Request{Method: http.MethodPost, Path: path("workflows", workflow), Query: query, JSON: in.Input, Key: in.Key}
}

// Result is what a run has come to.
type Result struct {
	RunID string          `json:"runId"`
	Value json.RawMessage `json:"result"` // null where it returned nothing
}

// Run starts a run, follows it to its end, and returns its result. A run that failed is an *Error with Target TargetRun, beside a Result
// that has its id. Where runs of the workflow are not shown, the server is asked to hold the answer instead.
func (w *Workflows) Run(ctx context.Context, workflow string, in Invocation) (Result, error) {
	if in.Key == "" {
		in.Key = rand.Text() // both ways of asking are about one run
	}
	id, err := w.Invoke(ctx, workflow, in)
	if err != nil {
		return Result{}, err
	}
	for event, err := range w.c.Runs.Stream(ctx, id, StreamOptions{}) {
		if Is(err, fault.RunNotFound) {
			return w.await(ctx, workflow, in, id)
		}
		if err != nil {
			return Result{RunID: id}, err
		}
		if event.Type == EventEnd {
			return event.result()
		}
	}
	return w.recorded(ctx, id)
}

// result is that of a run_end.
func (e Event) result() (Result, error) {
	var end RunEnd
	if err := e.Decode(&end); err != nil {
		return Result{RunID: e.RunID}, &Error{Type: UnexpectedAnswer, Message: "An event cannot be read.", Cause: err}
	}
	if end.IsError {
		return Result{RunID: e.RunID}, end.Error.failure()
	}
	return Result{e.RunID, end.Result}, nil
}

// recorded is the result of a run whose end was not among what was read.
func (w *Workflows) recorded(ctx context.Context, id string) (Result, error) {
	run, err := w.c.Runs.Get(ctx, id)
	switch {
	case err != nil:
		return Result{RunID: id}, err
	case run.Status == RunErrored:
		return Result{RunID: id}, run.Error.failure()
	case run.Status != RunCompleted:
		return Result{RunID: id}, &Error{Type: UnexpectedAnswer, Message: "The stream of a run closed before it ended."}
	}
	return Result{id, run.Result}, nil
}

// await asks the server to hold its answer until the run has ended, and again where something on the way does not hold it so long.
func (w *Workflows) await(ctx context.Context, workflow string, in Invocation, id string) (Result, error) {
	p, err := w.c.prepare(in.request(workflow, url.Values{"wait": {"result"}}))
	if err != nil {
		return Result{RunID: id}, err
	}
	p.first = 0 // a run takes its time
	result := Result{RunID: id}
	if err := w.c.ask(ctx, p, -1, w.c.decodes(&result)); err != nil {
		if err.Status == http.StatusInternalServerError {
			err.Target = TargetRun
		}
		return Result{RunID: id}, err
	}
	return result, nil
}

// failure is why a run failed, as an error whose type is its name's: RunCancelled is run_cancelled.
func (e *RunError) failure() error {
	failed := &Error{Type: RunFailed, Message: "The run failed.", Target: TargetRun}
	if e == nil {
		return failed
	}
	failed.Message = e.Message
	if e.Name != "" && e.Name != "Error" {
		failed.Type = snake(e.Name)
	}
	return failed
}

// snake is a name in the form of types.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
