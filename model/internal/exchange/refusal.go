package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// Refusal is a failure as the provider words it. One that comes within a stream has the status that means the same.
type Refusal struct {
	Status     int
	Code       string
	Message    string
	RetryAfter time.Duration
	Final      bool // not to be tried again, whatever the status says
}

func (r Refusal) Error() string { return r.Code + ": " + r.Message }

// statusOverloaded is what some providers answer when they have no room; others answer 503.
const statusOverloaded = 529

// longest is how much of a provider's own words a message holds.
const longest = 1000

// answer is an HTTP answer that refused.
func (c *Client) answer(resp *http.Response, body []byte) *model.Error {
	r := c.Refusal(resp.StatusCode, body)
	r.Status = cmp.Or(r.Status, resp.StatusCode)
	r.Message = cmp.Or(r.Message, http.StatusText(resp.StatusCode), "no reason given")
	e := c.classify(r)
	e.Status = resp.StatusCode
	e.RetryAfter = cmp.Or(retryAfter(resp.Header, time.Now()), r.RetryAfter)
	return e
}

// refused is a failure within a stream.
func (c *Client) refused(err error) *model.Error {
	if r, ok := errors.AsType[Refusal](err); ok {
		return c.classify(r)
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Class: model.Malformed, Message: "the answer of " + c.Name + " makes no sense", Cause: err}
}

func (c *Client) classify(r Refusal) *model.Error {
	e := &model.Error{Class: c.class(r), Code: r.Code, RetryAfter: r.RetryAfter, Message: c.Name + ": " + c.shown(r.Message)}
	if e.Class == model.Unauthorized {
		e.Message = fmt.Sprintf("%s refuses the key; set %s to one that it takes: %s", c.Name, c.KeyName, c.shown(r.Message))
	}
	return e
}

func (c *Client) class(r Refusal) model.Class {
	switch {
	case r.Status < 500 && c.Overflow(r.Code, r.Message), r.Status == http.StatusRequestEntityTooLarge:
		return model.ContextOverflow
	case r.Final:
		return model.Rejected
	case r.Status == http.StatusTooManyRequests:
		return model.RateLimited
	case r.Status == statusOverloaded, r.Status == http.StatusServiceUnavailable:
		return model.Overloaded
	case r.Status == http.StatusRequestTimeout, r.Status == http.StatusGatewayTimeout:
		return model.Timeout
	case r.Status >= 500:
		return model.ServerError
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return model.Unauthorized
	}
	return model.Rejected
}

// shown is a provider's own words, cut, and without the key, should they repeat it.
func (c *Client) shown(text string) string {
	if c.Key != "" {
		text = strings.ReplaceAll(text, c.Key, "[key]")
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// fail says why an exchange broke. A caller that gave up is told its own reason, not a failure of the provider.
func (c *Client) fail(caller, turn context.Context, err error) error {
	if caller.Err() != nil {
		return fmt.Errorf("%s: %w", c.Name, context.Cause(caller))
	}
	if errors.Is(context.Cause(turn), errIdle) {
		return &model.Error{Class: model.Timeout, Message: c.Name + " fell silent"}
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	if errors.Is(err, errTooLong) || errors.Is(err, stream.ErrEventTooLarge) {
		return &model.Error{Class: model.Malformed, Message: "the answer of " + c.Name + " cannot be read", Cause: err}
	}
	return c.broken(err)
}

// broken is a connection that failed. The address is left out of the cause: it may hold a secret.
func (c *Client) broken(err error) *model.Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return &model.Error{Class: model.Timeout, Message: c.Name + " did not answer in time", Cause: err}
	}
	return &model.Error{Class: model.Network, Message: "the connection to " + c.Name + " broke", Cause: err}
}

// retryAfter is what the header asks for: milliseconds, seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms, time.Millisecond)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return wait(s, time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// wait is n units, from nothing to a day: more is not a wait but an error of the sender.
func wait(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(day)))
}
