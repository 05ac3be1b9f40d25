package svc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/schema"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// Open is the guard that lets everyone in. A resource without a guard is not served at all.
func Open(next http.Handler) http.Handler { return next }

// Workflow is a function that survives: what it has recorded is not done again when it is interrupted.
type Workflow struct {
	Name        string
	Description string

	// Route guards invocation over HTTP. Defaults to nil: not served.
	Route func(http.Handler) http.Handler
	// Runs guards the runs of this workflow over HTTP. Defaults to nil: not served.
	Runs func(http.Handler) http.Handler

	input *schema.Schema // nil: the workflow takes no input
	call  func(ctx context.Context, w *Work, input json.RawMessage) (json.RawMessage, error)
}

// NewWorkflow declares a workflow. Its input is validated against the JSON Schema of In; a workflow whose In is struct{}
// takes none, and one whose Out is struct{} has no result.
//
// The function must be deterministic outside its steps: after an interruption it runs again from its start, and what its
// steps recorded is read. When the run cannot go on here (it sleeps, it was cancelled, another node has it) the function's
// goroutine ends at its next step, its deferred calls run, and it does not return.
func NewWorkflow[In, Out any](name string, fn func(ctx context.Context, w *Work, in In) (Out, error)) *Workflow {
	wf := &Workflow{Name: name}
	if !isNothing[In]() {
		wf.input = schema.Of[In]()
	}
	wf.call = func(ctx context.Context, w *Work, raw json.RawMessage) (json.RawMessage, error) {
		var in In
		// A run that must stop does so at its next step, not here: that its work is taken away is no outcome.
		if err := wf.CheckInput(context.WithoutCancel(ctx), raw); err != nil {
			return nil, err
		}
		if wf.input != nil && len(raw) > 0 {
			if err := decodeInput(raw, &in); err != nil {
				return nil, schema.Misfit(err.Error())
			}
		}
		out, err := fn(ctx, w, in)
		if err != nil {
			return nil, err
		}
		if isNothing[Out]() {
			return nil, nil
		}
		return encodeOutput(out)
	}
	return wf
}

// RawWorkflow declares a workflow by the JSON Schema of its input, an object, for one that is not known when the program is written;
// a nil schema takes no input. The function gets the input as it was validated, empty if there was none, and returns its result as
// JSON, nil for none. What NewWorkflow says of a function holds for it.
func RawWorkflow(name string, input json.RawMessage, fn func(ctx context.Context, w *Work, input json.RawMessage) (json.RawMessage, error)) (*Workflow, error) {
	wf := &Workflow{Name: name}
	if input != nil {
		var err error
		if wf.input, err = schema.Parse(input); err != nil {
			return nil, fmt.Errorf("workflow %q: input: %w", name, err)
		}
	}
	wf.call = func(ctx context.Context, w *Work, raw json.RawMessage) (json.RawMessage, error) {
		if err := wf.CheckInput(context.WithoutCancel(ctx), raw); err != nil {
			return nil, err
		}
		out, err := fn(ctx, w, raw)
		if err != nil || out == nil {
			return nil, err
		}
		return encodeOutput(out)
	}
	return wf, nil
}

// InputSchema is the JSON Schema of the input, nil for a workflow that takes none.
func (wf *Workflow) InputSchema() json.RawMessage {
	if wf.input == nil {
		return nil
	}
	return wf.input.Source
}

// CheckInput refuses an input that the workflow would not take; nil is no input. It ends when ctx does, with its error.
func (wf *Workflow) CheckInput(ctx context.Context, input json.RawMessage) error {
	if wf.input == nil {
		if len(input) > 0 {
			return fault.New(fault.InputUnexpected, "This workflow takes no input.", "")
		}
		return nil
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := checkShape(input); err != nil {
		return err
	}
	return wf.input.Check(ctx, input)
}

// Bounds of an input, beside its length: what it is taken apart into takes many times as much.
const (
	inputValues = 1_000_000
	inputDepth  = 1_000
)

func checkShape(input []byte) error {
	values, depth := memory.Shape(input)
	switch {
	case values > inputValues:
		return fault.New(fault.InvalidJSON, "The input has too many values.", fmt.Sprintf("At most %d.", inputValues))
	case depth > inputDepth:
		return fault.New(fault.InvalidJSON, "The input lies too deep.", fmt.Sprintf("At most %d.", inputDepth))
	}
	return nil
}

// decodeInput reads what was validated. encoding/json would join the values of a repeated key, or stumble over the first of
// them; the last counts. Numbers keep their digits on the way.
func decodeInput(raw json.RawMessage, in any) error {
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return err
	}
	once, err := stream.Encode(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(once, in)
}

func isNothing[T any]() bool { return reflect.TypeFor[T]() == reflect.TypeFor[struct{}]() }

func encodeOutput(v any) (json.RawMessage, error) {
	data, err := stream.Encode(v)
	if err != nil {
		return nil, fault.New(fault.OutputSerialization, "The result cannot be written as JSON.", "").Because(err)
	}
	if len(data) > maxResult {
		return nil, tooLarge()
	}
	return data, nil
}

// asFault finds the fault that a function returned, nil for a plain error.
func asFault(err error) *fault.Error {
	f, _ := errors.AsType[*fault.Error](err)
	return f
}
