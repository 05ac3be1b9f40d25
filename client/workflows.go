package client

import (
	"context"
	"encoding/json"
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
	panic("not yet")
}

// Result is what a run has come to.
type Result struct {
	RunID string          `json:"runId"`
	Value json.RawMessage `json:"result"` // null where it returned nothing
}

// Run starts a run, follows it to its end, and returns its result. A run that failed is an *Error with Target TargetRun, beside a Result
// that has its id. Where runs of the workflow are not shown, the server is asked to hold the answer instead.
func (w *Workflows) Run(ctx context.Context, workflow string, in Invocation) (Result, error) {
	panic("not yet")
}
