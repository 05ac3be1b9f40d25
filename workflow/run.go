// Package workflow is the meaning of a run's stream: the run as it is listed, the events that readers see, the private
// records beside them, and the fold that says what an interrupted run has already done. It has no clock and no I/O.
package workflow

import (
	"encoding/json"
	"time"

	"svc.dev/svc/iso"
	"svc.dev/svc/stream"
)

// Status is where a run stands. It goes from Active to one of the others, once.
type Status string

// The three states of a run.
const (
	Active    Status = "active"
	Completed Status = "completed"
	Errored   Status = "errored"
)

// Run is a run as it is looked up.
type Run struct {
	ID        string
	Scope     string // whose it is
	Workflow  string
	Status    Status
	StartedAt time.Time
	StartedBy string          // the person or program that asked for it; empty where nobody said
	EndedAt   time.Time       // zero while active
	Input     json.RawMessage // nil when the invocation had none; a list leaves it out
	Result    json.RawMessage // set when completed; a list leaves it out
	Error     *Error          // set when errored; a list leaves out what is longer than 2 KiB
}

// Error is why a run failed. Name and Message are public; the rest renders the failure to a caller who waits for it.
type Error struct {
	Name    string         `json:"name"`
	Message string         `json:"message"`
	Type    string         `json:"type,omitempty"`
	Details string         `json:"details,omitempty"`
	Meta    map[string]any `json:"meta,omitempty"`
}

// Ended reports whether the run has come to its end.
func (r Run) Ended() bool { return r.Status != Active }

// Duration is how long the run took, in whole milliseconds; an active run has none.
func (r Run) Duration() int64 {
	if r.EndedAt.IsZero() {
		return 0
	}
	return r.EndedAt.UnixMilli() - r.StartedAt.UnixMilli()
}

// Pointer is a run as it is listed.
type Pointer struct {
	RunID        string `json:"runId"`
	WorkflowName string `json:"workflowName"`
	Status       Status `json:"status"`
	StartedAt    Time   `json:"startedAt"`
	EndedAt      *Time  `json:"endedAt,omitempty"`
	DurationMs   *int64 `json:"durationMs,omitempty"`
	IsError      *bool  `json:"isError,omitempty"`
}

// Pointer is the run without what only a look-up shows.
func (r Run) Pointer() Pointer {
	p := Pointer{RunID: r.ID, WorkflowName: r.Workflow, Status: r.Status, StartedAt: Time(r.StartedAt)}
	if r.Ended() {
		ended, ms, failed := Time(r.EndedAt), r.Duration(), r.Status == Errored
		p.EndedAt, p.DurationMs, p.IsError = &ended, &ms, &failed
	}
	return p
}

// MarshalJSON is the run record of the wire.
func (r Run) MarshalJSON() ([]byte, error) {
	record := struct {
		RunID        string          `json:"runId"`
		WorkflowName string          `json:"workflowName"`
		Status       Status          `json:"status"`
		StartedAt    Time            `json:"startedAt"`
		Input        json.RawMessage `json:"input,omitempty"`
		EndedAt      *Time           `json:"endedAt,omitempty"`
		IsError      *bool           `json:"isError,omitempty"`
		DurationMs   *int64          `json:"durationMs,omitempty"`
		Result       json.RawMessage `json:"result,omitempty"`
		Error        *publicError    `json:"error,omitempty"`
	}{RunID: r.ID, WorkflowName: r.Workflow, Status: r.Status, StartedAt: Time(r.StartedAt), Input: r.Input}
	if r.Ended() {
		p := r.Pointer()
		record.EndedAt, record.IsError, record.DurationMs = p.EndedAt, p.IsError, p.DurationMs
	}
	if r.Status == Completed {
		record.Result = orNull(r.Result)
	}
	record.Error = r.Error.public()
	return stream.Encode(record)
}

// publicError is the part of an error that the wire shows.
type publicError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

func (e *Error) public() *publicError {
	if e == nil {
		return nil
	}
	return &publicError{Name: e.Name, Message: e.Message}
}

// Time prints as the wire prints times.
type Time = iso.Time

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
