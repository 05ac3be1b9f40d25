package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strconv"
)

// Runs are looked up, listed and followed.
type Runs struct{ c *Client }

// Run is a run as it is looked up. Its JSON is the wire's.
type Run struct {
	RunID        string          `json:"runId"`
	WorkflowName string          `json:"workflowName"`
	Status       string          `json:"status"` // RunActive, RunCompleted or RunErrored
	StartedAt    Time            `json:"startedAt"`
	Input        json.RawMessage `json:"input,omitempty"`
	EndedAt      *Time           `json:"endedAt,omitempty"`
	IsError      *bool           `json:"isError,omitempty"`
	DurationMs   *int64          `json:"durationMs,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Error        *RunError       `json:"error,omitempty"`
	Scope        string          `json:"scope,omitempty"`     // in a list: whose it is
	StartedBy    string          `json:"startedBy,omitempty"` // in a list: who asked for it
}

// The states of a run.
const (
	RunActive    = "active"
	RunCompleted = "completed"
	RunErrored   = "errored"
)

// RunError is why a run failed.
type RunError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Get looks a run up.
func (r *Runs) Get(ctx context.Context, id string) (Run, error) {
	var run Run
	err := r.c.Call(ctx, Request{Path: path("runs", id), Query: url.Values{"meta": {""}}}, &run)
	return run, err
}

// RunQuery says which runs are listed. The zero value is the first page of all.
type RunQuery struct {
	Status   string // defaults to all
	Workflow string // defaults to all
	Limit    int    // of a page, at most 200. Defaults to 50
	Cursor   string // RunPage.Next of the page before. Defaults to the first page
}

// RunPage is some of the runs of a workspace.
type RunPage struct {
	Items []Run  `json:"items"`
	Next  string `json:"nextCursor,omitempty"` // empty on the last page
}

// List lists runs, the newest first. It is a route of the product: a runtime that stands alone has none.
func (r *Runs) List(ctx context.Context, q RunQuery) (RunPage, error) {
	query := url.Values{}
	for name, value := range map[string]string{"status": q.Status, "workflow": q.Workflow, "cursor": q.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var found RunPage
	err := r.c.Call(ctx, Request{Path: "/runs", Query: query}, &found)
	return found, err
}

// Event is one thing that happened in a run. Its JSON is the wire's.
type Event struct {
	Type      string
	Index     int64 // grows with every event of a run
	RunID     string
	Timestamp Time
	// Raw is the event whole.
	Raw json.RawMessage
	// Checkpoint is where a reader goes on that has taken this event: StreamOptions.After. It moves behind a page with the page's last
	// event, so that a reader that stops in between gets some of them again, and Index tells which are new.
	Checkpoint string
}

// The types of events that every run has. wire.md section 7 has the others.
const (
	EventStart  = "run_start"
	EventResume = "run_resume"
	EventEnd    = "run_end"
	EventLog    = "log"
)

// Decode reads the fields of the event's type.
func (e Event) Decode(into any) error { return json.Unmarshal(e.Raw, into) }

// MarshalJSON is the event as it was told.
func (e Event) MarshalJSON() ([]byte, error) { return e.Raw, nil }

// RunEnd is what a run_end event says.
type RunEnd struct {
	IsError    bool            `json:"isError"`
	DurationMs int64           `json:"durationMs"`
	Result     json.RawMessage `json:"result"`
	Error      *RunError       `json:"error"`
}

// LogLine is what a log event says.
type LogLine struct {
	Level      string          `json:"level"` // info, warn or error
	Message    string          `json:"message"`
	Attributes json.RawMessage `json:"attributes"`
}

// Events gives the events that there are, and ends.
func (r *Runs) Events(ctx context.Context, id string, o StreamOptions) iter.Seq2[Event, error] {
	o.Live = CatchUp
	return r.Stream(ctx, id, o)
}

// Stream gives the events of a run as they come, each once, and ends with the run.
func (r *Runs) Stream(ctx context.Context, id string, o StreamOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		last := int64(-1)
		for p, err := range r.c.read(path("runs", id), nil, o).pages(ctx) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			for i, item := range p.items {
				event, err := readEvent(item)
				if err != nil {
					yield(Event{}, err)
					return
				}
				if event.Index <= last {
					continue
				}
				last, event.Checkpoint = event.Index, p.checkpoint(i)
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// EventVersion is the version of events that this client understands.
const EventVersion = 3

func readEvent(item json.RawMessage) (Event, *Error) {
	var head struct {
		V          int    `json:"v"`
		Type       string `json:"type"`
		EventIndex *int64 `json:"eventIndex"`
		RunID      string `json:"runId"`
		Timestamp  Time   `json:"timestamp"`
	}
	if err := json.Unmarshal(item, &head); err != nil || head.Type == "" || head.EventIndex == nil {
		return Event{}, &Error{Type: UnexpectedAnswer, Message: "An event cannot be read.", Details: excerpt(item), Cause: err}
	}
	if head.V != EventVersion {
		return Event{}, &Error{Type: UnsupportedVersion, Message: fmt.Sprintf("The event is of version %d.", head.V)}
	}
	return Event{Type: head.Type, Index: *head.EventIndex, RunID: head.RunID, Timestamp: head.Timestamp, Raw: item}, nil
}
