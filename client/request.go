package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc/fault"
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

// silence is how long nothing may come of an answer that is not a stream.
const silence = time.Minute

// expectFrom is the length from which a body waits until the server wants it: a refusal would be lost among bytes that nobody reads.
const expectFrom = 1 << 20

// sendable is a request that can be sent, as often as need be.
type sendable struct {
	method string
	url    string
	header http.Header
	body   func() (io.ReadCloser, error) // nil: none
	length int64
	own    bool // the body is JSON that was encoded here
	again  bool // it may be sent twice
	first  time.Duration
	later  time.Duration
}

// prepare encodes a request.
func (c *Client) prepare(r Request) (*sendable, *Error) {
	p := &sendable{url: c.config.BaseURL + r.Path, header: http.Header{}, body: r.Body, length: r.Length, first: silence, later: silence}
	if len(r.Query) > 0 {
		p.url += "?" + r.Query.Encode()
	}
	p.method = cmp.Or(r.Method, http.MethodGet)
	if r.Method == "" && (r.Body != nil || r.JSON != nil) {
		p.method = http.MethodPost
	}
	p.header.Set("Accept", "application/json")
	p.header.Set("User-Agent", "svc-go")
	if r.Body == nil && r.JSON != nil {
		text, err := encode(r.JSON)
		if err != nil {
			return nil, &Error{Type: InvalidInput, Message: "What was to be sent is no JSON.", Cause: err}
		}
		p.body, p.length, p.own = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, int64(len(text)), true
		p.header.Set("Content-Type", "application/json")
	}
	safe := p.method == http.MethodGet || p.method == http.MethodHead
	if key := r.Key; !safe && r.Body == nil {
		p.header.Set("Idempotency-Key", cmp.Or(key, rand.Text()))
	}
	p.again = safe || p.method == http.MethodPut || p.method == http.MethodDelete || p.header.Get("Idempotency-Key") != ""
	if p.body != nil && p.length >= expectFrom {
		p.header.Set("Expect", "100-continue")
	}
	for _, more := range []http.Header{c.config.Header, r.Header} {
		for name, values := range more {
			p.header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return p, nil
}

// encode prints a value as JSON, without the escapes that only HTML needs. Raw text stays as it is.
func encode(v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if !json.Valid(raw) {
			return nil, errors.New("invalid JSON")
		}
		return raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Do sends a request, and again where it was not answered and may be repeated. The answer is one of success, and its body the
// caller's to close; everything else is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	p, err := c.prepare(r)
	if err != nil {
		return nil, err
	}
	var answer *http.Response
	if err := c.ask(ctx, p, c.config.Patience, func(got *http.Response) *Error {
		answer = got
		return nil
	}); err != nil {
		return nil, err
	}
	return answer, nil
}

// Call is Do whose answer is JSON: it is decoded into a value, or dropped where that is nil. An answer that breaks off is asked for
// again.
func (c *Client) Call(ctx context.Context, r Request, into any) error {
	p, err := c.prepare(r)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, p, c.config.Patience, c.decodes(into)); err != nil {
		return err
	}
	return nil
}

// decodes takes an answer whole.
func (c *Client) decodes(into any) func(*http.Response) *Error {
	return func(answer *http.Response) *Error {
		defer answer.Body.Close()
		if into != nil && !isJSON(answer) {
			return unexpected(answer, "Its content type is %q.", answer.Header.Get("Content-Type"))
		}
		text, err := c.readAll(answer)
		if err != nil || into == nil {
			return err
		}
		return read(answer, text, into)
	}
}

// read decodes an answer that is all there. What is no JSON was cut off on its way, and the next one is whole.
func read(answer *http.Response, text []byte, into any) *Error {
	err := json.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	if _, cut := errors.AsType[*json.SyntaxError](err); cut {
		e := unreachable(err)
		e.RequestID = answer.Header.Get("X-Request-Id")
		return e
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.of(answer)
	}
	return unexpected(answer, "%v.", err)
}

func isJSON(answer *http.Response) bool {
	return strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json")
}

// readAll reads a body that fits.
func (c *Client) readAll(answer *http.Response) ([]byte, *Error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, int64(c.config.MaxFrame)+1))
	if err != nil {
		return nil, failed(answer.Request.Context(), err)
	}
	if len(text) > c.config.MaxFrame {
		return nil, tooLarge(c.config.MaxFrame).of(answer)
	}
	return text, nil
}

// ask sends a call until take has an answer of success, or patience ends.
func (c *Client) ask(ctx context.Context, p *sendable, patience time.Duration, take func(*http.Response) *Error) *Error {
	pace, began, damaged := c.pace(), time.Now(), 0
	for {
		answer, err := c.send(ctx, p)
		if err == nil {
			err = take(answer)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return failed(ctx, ctx.Err())
		}
		// What was sent is JSON: a server that read something else did not read all of it.
		if p.own && err.Type == fault.InvalidJSON && damaged < 2 {
			damaged++
		} else if !err.passes() || !p.again && err.Status == 0 {
			return err
		}
		wait := pace.next(err.RetryAfter)
		if outOf(patience, began, wait) {
			return err
		}
		if !c.pause(ctx, err, wait) {
			return failed(ctx, ctx.Err())
		}
	}
}

// mostRenewals is how many tokens are refused in a row before that is the answer.
const mostRenewals = 2

// send sends a call once, and with a new token where the one that was sent is refused.
func (c *Client) send(ctx context.Context, p *sendable) (*http.Response, *Error) {
	for renewals := 0; ; renewals++ {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := c.exchange(ctx, p, token)
		if err == nil || err.Status != http.StatusUnauthorized || renewals == mostRenewals {
			return answer, err
		}
		another, trouble := c.tokens.refused(ctx, token)
		if trouble != nil {
			return nil, trouble
		}
		if !another {
			return nil, err
		}
	}
}

// exchange is one request and its answer, which is one of success.
func (c *Client) exchange(ctx context.Context, p *sendable, token string) (*http.Response, *Error) {
	watched, watch := newWatch(ctx, p.first)
	request, err := p.request(watched, watch, token)
	if err != nil {
		watch.stop()
		return nil, &Error{Type: InvalidInput, Message: "The request cannot be made.", Cause: err}
	}
	answer, err := c.http.Do(request)
	watch.headed.Store(true)
	watch.hush()
	if err != nil {
		defer watch.stop()
		if errors.Is(context.Cause(watched), errSilent) {
			err = errSilent
		}
		return nil, failed(ctx, err)
	}
	answer.Body = &answerBody{ReadCloser: answer.Body, ctx: watched, watch: watch, later: p.later}
	answer.Request = request.WithContext(ctx) // whose end is the caller's doing
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxEnvelope))
	if err != nil {
		return nil, failed(ctx, err)
	}
	return nil, refusal(answer, body)
}

func (p *sendable) request(ctx context.Context, watch *watch, token string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, p.method, p.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = p.header.Clone()
	if token != "" && !has(request.Header, "Authorization") {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if p.body == nil {
		return request, nil
	}
	request.ContentLength = p.length
	request.GetBody = func() (io.ReadCloser, error) {
		body, err := p.body()
		if err != nil {
			return nil, err
		}
		return &sentBody{body, watch}, nil
	}
	request.Body, err = request.GetBody()
	return request, err
}

func has(h http.Header, name string) bool { return len(h[name]) > 0 }
