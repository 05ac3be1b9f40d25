package client

import (
	"encoding/json"
	"time"
)

// Error is the one error of this package: a refusal of the server, work that failed, or why nothing was answered. Its cause is
// found by errors.Is and errors.As; that of a context which ended is context.Canceled or context.DeadlineExceeded.
type Error struct {
	// Type is for machines: one of the API's, or one of those below.
	Type string
	// Message is a sentence for people, Details is more of it and may be empty.
	Message string
	Details string
	// Meta are facts of the API's error as JSON, nil where there are none.
	Meta json.RawMessage
	// Status is that of the answer; 0 where there was none.
	Status int
	// RequestID names the request in the server's log; empty where there was no answer.
	RequestID string
	// Target is the work that failed: TargetSubmission or TargetRun. Empty where a request failed.
	Target string
	// RetryAfter is how long the server wants to be left alone; 0 where it said nothing.
	RetryAfter time.Duration
	Cause      error
}

// The types of errors that come from the client itself.
const (
	Unreachable        = "unreachable"         // nothing was answered
	Cancelled          = "cancelled"           // the context ended
	TokenUnavailable   = "token_unavailable"   // Config.TokenFunc failed
	UnexpectedAnswer   = "unexpected_answer"   // what was answered is not of this API
	FrameTooLarge      = "frame_too_large"     // more than Config.MaxFrame
	UnsupportedVersion = "unsupported_version" // of an event or a snapshot
	InvalidInput       = "invalid_input"       // what was to be sent cannot be
	RunFailed          = "run_failed"          // with an error that has no type of its own
)

// The kinds of work that an Error can be of.
const (
	TargetSubmission = "agent_submission"
	TargetRun        = "workflow_run"
)

func (e *Error) Error() string { panic("not yet") }

func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether an error is of a type: one of the API's, or one of this package's.
func Is(err error, typ string) bool { panic("not yet") }
