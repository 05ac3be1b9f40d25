// Package fault is the error that every boundary of svc speaks: a type for machines, a sentence for
// people, details and meta where they help, and nothing about our insides.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is what crosses a boundary, as JSON where that speaks it. Its cause stays inside: it is found by errors.Is and
// errors.As, and never printed to a client.
type Error struct {
	Type    string         `json:"type"`           // what machines branch on, snake_case
	Message string         `json:"message"`        // one sentence for a person
	Details string         `json:"details"`        // longer text, may be empty
	Dev     string         `json:"dev,omitempty"`  // shown only to developers, where the boundary is told to
	Meta    map[string]any `json:"meta,omitempty"` // structured facts, may be nil
	Cause   error          `json:"-"`              // why, for our logs

	// RetryAfter is how long a client should wait before it comes again, told in a header. Zero says nothing.
	RetryAfter time.Duration `json:"-"`
}

// New makes an error of a type with its sentence; details may be empty.
func New(typ, message, details string) *Error {
	return &Error{Type: typ, Message: message, Details: details}
}

// Invalid is a malformed request; the details say what is wrong with it.
func Invalid(format string, args ...any) *Error {
	return New(InvalidRequest, "Malformed request.", fmt.Sprintf(format, args...))
}

// NotAvailable is a refusal that a client should repeat shortly; state is loading, draining, failed or busy.
func NotAvailable(state string) *Error {
	return New(Unavailable, "Temporarily unavailable.", "Try again shortly.").With("state", state)
}

// Unexpected hides a cause behind the one answer for failures that nobody foresaw.
func Unexpected(cause error) *Error {
	return &Error{Type: Internal, Message: "Internal error.", Details: "Something unexpected happened on the server.", Cause: cause}
}

// From finds the fault in an error's chain, or wraps the error as an unexpected one.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Unexpected(err)
}

// Is reports whether the error's chain holds a fault of that type.
func Is(err error, typ string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Type == typ
}

// With adds one fact to Meta and returns the same error.
func (e *Error) With(key string, value any) *Error {
	if e.Meta == nil {
		e.Meta = map[string]any{}
	}
	e.Meta[key] = value
	return e
}

// After says when a client may come again, and returns the same error.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Because attaches a cause and returns the same error.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Name is the type as an error name: run_cancelled is RunCancelled, an unexpected failure is plain Error.
func (e *Error) Name() string {
	if e.Type == Internal || e.Type == "" {
		return "Error"
	}
	var b strings.Builder
	for word := range strings.SplitSeq(e.Type, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]))
			b.WriteString(word[1:])
		}
	}
	return b.String()
}

func (e *Error) Error() string {
	text := e.Type + ": " + e.Message
	if e.Details != "" {
		text += " " + e.Details
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }
