package model

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Class is what kind of failure a provider answered with.
type Class string

// The classes of failures. The first five may pass.
const (
	Overloaded  Class = "overloaded"
	RateLimited Class = "rate_limited"
	ServerError Class = "server_error"
	Network     Class = "network"
	Timeout     Class = "timeout"

	ContextOverflow Class = "context_overflow" // the request is longer than the model reads
	Unauthorized    Class = "unauthorized"     // the key is missing or refused
	Rejected        Class = "rejected"         // the request is not one the provider takes
	Malformed       Class = "malformed"        // the provider's answer could not be read
)

// Error is a turn that failed. Its message may be shown to a person; it holds no key.
type Error struct {
	Class      Class
	Status     int // of the HTTP answer that refused; 0 if none did
	Code       string
	Message    string
	RetryAfter time.Duration // what the provider asked for
	Cause      error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Class, e.Message)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same request may succeed later.
func Retryable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]Class{Overloaded, RateLimited, ServerError, Network, Timeout}, e.Class)
}

// IsOverflow reports whether the request was longer than the model reads.
func IsOverflow(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Class == ContextOverflow
}

// RetryAfter is how long the provider asked to wait, 0 if it did not.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
