package github

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	userAgent  = "svc.dev/svc"
	apiVersion = "2022-11-28"
	maxAnswer  = 1 << 20
)

var errTooLong = errors.New("the answer is longer than 1 MiB")

// guarded is a client that never follows a redirect, keeps no cookie, and hands out only answers that arrived whole.
func guarded(timeout time.Duration, accept string) *http.Client {
	return &http.Client{
		Transport: &guard{accept: accept},
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// wire is ours alone: nobody else closes its connections.
var wire = http.DefaultTransport.(*http.Transport).Clone()

// guard adds the headers that GitHub asks for, and reads each answer to its end: what is longer than maxAnswer, cut off or
// a page for people is a failure for every reader above, whatever that reader would have made of it.
type guard struct{ accept string }

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept", g.accept)
	r.Header.Set("X-GitHub-Api-Version", apiVersion)
	resp, err := wire.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errTooLong
	}
	if ok := resp.StatusCode/100 == 2; ok && len(body) > 0 && !isJSON(resp.Header) {
		return nil, errNotUnderstood
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
