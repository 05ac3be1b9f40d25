// Package exchange is one HTTP exchange with a model provider: a JSON request, answered by server-sent events or refused.
// Each provider says what to send and how its events and its refusals read; how long to wait, what is too long, what a
// status means and what a person is told is the same for all, and stands here.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/prices"
	"svc.dev/svc/stream"
)

// IdleTimeout is how long a provider may be silent, unless it is told otherwise.
const IdleTimeout = 120 * time.Second

const (
	maxAnswer  = 64 << 20 // bytes of one turn
	maxRefusal = 64 << 10 // bytes of an error body that are read
	drainTime  = 100 * time.Millisecond
)

// Client makes exchanges with one provider. Turns may run side by side.
type Client struct {
	Name    string // of the provider, as in provider/model
	Key     string // never shown
	KeyName string // what a person sets the key under
	Keyless bool   // a turn is asked for without a key, too
	URL     string // what the paths of requests stand behind

	HTTP *http.Client
	Idle time.Duration // how long the provider may be silent; zero: IdleTimeout

	// Cost is what a turn costs; nil: prices.Cost.
	Cost func(provider, name string, u model.Usage) model.Cost
	// Refusal reads the body of an answer that refused.
	Refusal func(status int, body []byte) Refusal
	// Overflow reports whether a refusal says that the request is too long for the model.
	Overflow func(code, message string) bool
}

// New makes a client. Nothing is sent before its first turn.
func New(c Client) *Client {
	// A key that was read from a file may end its line.
	c.Key = strings.TrimSpace(c.Key)
	c.URL = strings.TrimRight(c.URL, "/")
	if c.Cost == nil {
		c.Cost = prices.Cost
	}
	return &c
}

// Request is what is sent, by POST.
type Request struct {
	Path   string
	Header http.Header
	Body   any           // encoded as JSON
	Turn   model.Request // whose messages hold the pictures of the body
}

// Parser reads the events of one answer, and puts down what they say.
type Parser interface {
	// Next reads one event. An error ends the turn: a Refusal is the provider's own, any other tells that the event
	// makes no sense.
	Next(e stream.Event, said *Transcript) error
	// End is called when the answer ends and no Finish has been put down.
	End(said *Transcript) error
}

// Turn sends the request and yields what its answer says, by the law of model.Provider.
func (c *Client) Turn(ctx context.Context, r Request, p Parser) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if c.Key == "" && !c.Keyless {
			yield(model.Event{}, &model.Error{Class: model.Unauthorized, Message: c.Name + " has no key; set " + c.KeyName})
			return
		}
		turn, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		idle := newWatch(c.Idle, cancel)
		body, err := c.open(turn, r, idle)
		if err != nil {
			yield(model.Event{}, c.fail(ctx, turn, err))
			return
		}
		defer body.Close()
		for e, err := range c.Read(idle.reader(body), r.Turn.Model, p) {
			if err != nil {
				yield(model.Event{}, c.fail(ctx, turn, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		drain(body, cancel)
	}
}

// Read yields what the body of a model's answer says: events that end with one Finish, or with one error. A *model.Error is
// final, any other error is that of the reader.
func (c *Client) Read(body io.Reader, name string, p Parser) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		said := &Transcript{cost: func(u model.Usage) model.Cost { return c.Cost(c.Name, name, u) }}
		for e, err := range stream.Events(&bounded{body, maxAnswer}) {
			if err != nil {
				yield(model.Event{}, err)
				return
			}
			if err := p.Next(e, said); !c.pass(said.take(), err, yield) {
				return
			}
		}
		if err := p.End(said); c.pass(said.take(), err, yield) {
			yield(model.Event{}, &model.Error{Class: model.Network, Message: "the answer of " + c.Name + " ended early"})
		}
	}
}

// pass yields what a parser put down and reports whether the turn goes on.
func (c *Client) pass(events []model.Event, err error, yield func(model.Event, error) bool) bool {
	for _, e := range events {
		if !yield(e, nil) || e.Type == model.Finished {
			return false
		}
	}
	if err != nil {
		yield(model.Event{}, c.refused(err))
		return false
	}
	return true
}

// open sends the request and returns the body of an answer that is a stream.
func (c *Client) open(ctx context.Context, r Request, idle *watch) (io.ReadCloser, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, &model.Error{Class: model.Rejected, Message: "the request cannot be sent to " + c.Name, Cause: err}
	}
	idle.start()
	resp, err := c.client().Do(req)
	idle.stop()
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(idle.reader(resp.Body), maxRefusal))
		return nil, c.answer(resp, body)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" || kind == "application/json" {
		resp.Body.Close()
		return nil, &model.Error{Class: model.Malformed, Message: c.Name + " answered " + kind + " and not a stream"}
	}
	return resp.Body, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	body, err := bodyOf(r.Body, r.Turn.Messages)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+r.Path, nil)
	if err != nil {
		return nil, errors.New("its address is malformed")
	}
	req.GetBody, req.ContentLength = body.open, body.size()
	if req.Body, err = body.open(); err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return req, nil
}

// client follows no redirect: the key would go with it to a host that nobody named.
func (c *Client) client() *http.Client {
	client := *cmp.Or(c.HTTP, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// drain reads what follows the last event, so that the connection can be used again, and gives up soon.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	stop := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}

// errTooLong tells that an answer passes the bound.
var errTooLong = errors.New("the answer is too long")

// bounded fails after n bytes, where io.LimitReader would pretend that the answer ended.
type bounded struct {
	r io.Reader
	n int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.n)])
	b.n -= n
	return n, err
}
