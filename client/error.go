package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
	Unreachable        = "unreachable"         // nothing was answered, or not all of it
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

func (e *Error) Error() string {
	text := e.Type + ": " + e.Message
	if e.Details != "" {
		text += " " + e.Details
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (%d", e.Status)
		if e.RequestID != "" {
			text += ", " + e.RequestID
		}
		text += ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether an error is of a type: one of the API's, or one of this package's.
func Is(err error, typ string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Type == typ
}

// passes reports whether the same request may be answered another time.
func (e *Error) passes() bool {
	switch e.Status {
	case 0:
		return e.Type == Unreachable || e.Type == TokenUnavailable && !e.settled()
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// settled reports whether a token was refused by somebody who will refuse it again.
func (e *Error) settled() bool {
	cause, ok := errors.AsType[*Error](e.Cause)
	return ok && !cause.passes()
}

// unreachable is that a request was not answered, or an answer broke off.
func unreachable(cause error) *Error {
	return &Error{Type: Unreachable, Message: "The server was not reached, or its answer broke off.", Cause: cause}
}

// failed is why a request came to nothing: its context ended, or nobody answered. What a watch has ended names its reason.
func failed(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Type: Cancelled, Message: "The request was given up.", Cause: ended(ctx)}
	}
	return unreachable(err)
}

// ended is why a context has: what it says, and the cause that somebody gave it.
func ended(ctx context.Context) error {
	if why := context.Cause(ctx); why != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), why)
	}
	return ctx.Err()
}

func unexpected(answer *http.Response, format string, args ...any) *Error {
	e := &Error{Type: UnexpectedAnswer, Message: "The server does not answer as this API does.", Details: fmt.Sprintf(format, args...)}
	return e.of(answer)
}

func tooLarge(most int) *Error {
	return &Error{Type: FrameTooLarge, Message: "The server sends more at once than this client holds.", Details: fmt.Sprintf("The limit is %d bytes.", most)}
}

// of says which answer the error is about.
func (e *Error) of(answer *http.Response) *Error {
	e.Status, e.RequestID = answer.StatusCode, answer.Header.Get("X-Request-Id")
	e.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	return e
}

// maxEnvelope is how much of a refusal is read.
const maxEnvelope = 256 << 10

// refusal is the error of an answer that is none of success. Its body has been read.
func refusal(answer *http.Response, body []byte) *Error {
	var envelope struct {
		Error struct {
			Type    string          `json:"type"`
			Message string          `json:"message"`
			Details string          `json:"details"`
			Meta    json.RawMessage `json:"meta"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &envelope); err == nil && envelope.Error.Type != "" {
		said := envelope.Error
		return (&Error{Type: said.Type, Message: said.Message, Details: said.Details, Meta: said.Meta}).of(answer)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return unexpected(answer, "%s is no answer of it.", http.StatusText(answer.StatusCode))
	}
	// Something between us and the server, or the guard of an application, answers in words of its own.
	return (&Error{
		Type: "http_" + strconv.Itoa(answer.StatusCode), Message: http.StatusText(answer.StatusCode) + ".", Details: excerpt(body),
	}).of(answer)
}

// excerpt is the beginning of a text that somebody else wrote, on one line.
func excerpt(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 2*most)]), "")), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// mostAsked is the longest that a server can make somebody wait. Whoever wants longer is asked in between.
const mostAsked = 10 * time.Minute

// retryAfter reads seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(mostAsked/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), mostAsked)
	}
	return 0
}
