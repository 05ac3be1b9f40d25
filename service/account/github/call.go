package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// signer is who a request is from.
type signer func(*http.Request)

func bearer(token string) signer {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func basic(app App) signer {
	return func(r *http.Request) { r.SetBasicAuth(app.ClientID, app.ClientSecret) }
}

func nobody(*http.Request) {}

// request is one question to the REST API.
type request struct {
	what   string // it is called in errors, where its path must not stand
	method string
	path   string
	query  url.Values
	body   any // nil: none
	want   int // the one status that is no failure
}

// ask sends the request once and returns the body of the wanted answer, or the fault that another answer means.
func (c *Client) ask(ctx context.Context, as signer, q request) ([]byte, error) {
	a, err := c.send(ctx, as, q)
	if err != nil {
		return nil, unavailable(q.what, reason(err))
	}
	if a.status != q.want {
		return nil, a.failure(q.what, c.now())
	}
	return a.body, nil
}

func (c *Client) send(ctx context.Context, as signer, q request) (response, error) {
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return response{}, fmt.Errorf("encode: %w", err)
		}
		body = bytes.NewReader(text)
	}
	u := *c.api
	u.Path += q.path
	u.RawQuery = q.query.Encode()
	r, err := http.NewRequestWithContext(ctx, q.method, u.String(), body)
	if err != nil {
		return response{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	as(r)
	resp, err := c.rest.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return response{status: resp.StatusCode, header: resp.Header, body: text}, err
}
