package github

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// request is one question to the REST API.
type request struct {
	what   string // it is called in errors, where its path must not stand
	as     signer // zero: nobody asks
	method string // empty: GET
	path   string
	query  url.Values
	body   any // nil: none
	want   int // the one status that is no failure; 0: 200
}

// signer is the party that a request is from.
type signer struct {
	sign  func(r *http.Request, now time.Time) error
	dated bool // GitHub may refuse the signature for its times
}

func bearer(token string) signer {
	return signer{sign: func(r *http.Request, _ time.Time) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}}
}

func basic(app App) signer {
	return signer{sign: func(r *http.Request, _ time.Time) error {
		r.SetBasicAuth(app.ClientID, app.ClientSecret)
		return nil
	}}
}

// fetch is what parse makes of the wanted answer. What parse refuses is a failure of GitHub's.
func fetch[T any](ctx context.Context, c *Client, q request, parse func([]byte) (T, error)) (T, error) {
	var none T
	body, err := c.ask(ctx, q)
	if err != nil {
		return none, err
	}
	v, err := parse(body)
	if err != nil {
		return none, unavailable(q.what, err)
	}
	return v, nil
}

// ask sends the request once and returns the body of the wanted answer, or the fault that another answer means. Where GitHub
// refuses a signature for its times, its own clock is taken and it is asked once more: what was refused had no effect.
func (c *Client) ask(ctx context.Context, q request) ([]byte, error) {
	a, err := c.send(ctx, q, c.now())
	if theirs, refused := a.untimely(); refused && q.as.dated {
		a, err = c.send(ctx, q, theirs)
	}
	if err != nil {
		return nil, err
	}
	if a.status != cmp.Or(q.want, http.StatusOK) {
		return nil, a.failure(q.what, c.now())
	}
	return a.body, nil
}

// send asks as the request's signer, whose times are by the clock now.
func (c *Client) send(ctx context.Context, q request, now time.Time) (response, error) {
	r, err := c.newRequest(ctx, q)
	if err != nil {
		return response{}, unavailable(q.what, reason(err))
	}
	if q.as.sign != nil {
		if err := q.as.sign(r, now); err != nil {
			return response{}, unavailable(q.what, err)
		}
	}
	resp, err := c.rest.Do(r)
	if err != nil {
		return response{}, unavailable(q.what, reason(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return response{}, unavailable(q.what, reason(err))
	}
	return response{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

func (c *Client) newRequest(ctx context.Context, q request) (*http.Request, error) {
	u := *c.api
	u.Path += q.path
	u.RawQuery = q.query.Encode()
	if q.body == nil {
		return http.NewRequestWithContext(ctx, q.method, u.String(), nil)
	}
	text, err := json.Marshal(q.body)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, u.String(), bytes.NewReader(text))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}
