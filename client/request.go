package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Request is any request to the API, for routes that have no method of their own.
type Request struct {
	// Method defaults to GET, with a body to POST.
	Method string
	// Path stands below the base address and begins with a slash; its segments are escaped (url.PathEscape).
	Path  string
	Query url.Values
	// Header is sent beside the client's, and wins over it.
	Header http.Header
	// JSON is the body, encoded; nil is no body.
	JSON any
	// Body opens a body that is sent as it is, once for each attempt, and Length is its length; -1 is unknown. It replaces JSON, and
	// goes without an idempotency key.
	Body   func() (io.ReadCloser, error)
	Length int64
	// Key makes a repeated request one. Defaults to a new one for every request that is neither GET nor HEAD and has no Body.
	Key string
}

// Do sends a request, and again where it was not answered and may be repeated. The answer is one of success, and its body the
// caller's to close; everything else is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) { panic("not yet") }

// Call is Do whose answer is JSON: it is decoded into a value, or dropped where that is nil. An answer that breaks off is asked for
// again.
func (c *Client) Call(ctx context.Context, r Request, into any) error { panic("not yet") }
