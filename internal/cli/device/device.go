// Package device asks a service for a key in the way of RFC 8628: a code is shown, somebody compares and approves it in a browser,
// and the program that waits is given the key.
package device

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/internal/cli/screen"
)

const grantType = "urn:ietf:params:oauth:grant-type:device_code"

// Flow is where a key is asked for.
type Flow struct {
	// Platform is the address of the service's platform.
	Platform string
	// Client is what the page calls the program that asks, in 64 letters at most.
	Client string
	// HTTP follows no redirects: the code is for the platform alone.
	HTTP *http.Client
}

// Code is what is shown, and what is waited with.
type Code struct {
	DeviceCode      string  `json:"device_code"`
	UserCode        string  `json:"user_code"`
	Verification    string  `json:"verification_uri"`
	VerificationAll string  `json:"verification_uri_complete"`
	ExpiresIn       float64 `json:"expires_in"`
	Interval        float64 `json:"interval"`

	at time.Time
}

// Grant is the key, and what it is for.
type Grant struct {
	Key       string     `json:"key"`
	ID        string     `json:"id"`
	Workspace string     `json:"workspace"` // as username/business
	BaseURL   string     `json:"baseUrl"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// What a service may answer to a poll.
var (
	ErrDenied  = errors.New("it was denied in the browser")
	ErrExpired = errors.New("the code has expired, and nobody approved it")
	ErrLost    = errors.New("the key was given and did not arrive here, which ended it: sign in once more")
)

// Begin asks for a code.
func (f Flow) Begin(ctx context.Context) (Code, error) {
	began := time.Now()
	status, _, body, err := f.post(ctx, "/api/auth/device", map[string]string{"client": f.Client})
	if err != nil {
		return Code{}, fmt.Errorf("ask for a code: %w", err)
	}
	switch status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
		return Code{}, fmt.Errorf("this is not the address of a platform: %w", refusal(status, body))
	default:
		return Code{}, fmt.Errorf("ask for a code: %w", refusal(status, body))
	}
	c, err := ParseCode(body)
	c.at = began
	return c, err
}

// ParseCode reads what a service answers to the first request.
func ParseCode(body []byte) (c Code, err error) {
	err = json.Unmarshal(body, &c)
	switch {
	case err != nil, c.DeviceCode == "", c.UserCode == "", c.Verification == "":
		return Code{}, errors.New("ask for a code: this is not the answer of a svc")
	case !(c.Interval > 0):
		c.Interval = 5 // the RFC's default
	}
	c.Interval = min(c.Interval, 60)
	if !(c.ExpiresIn > 0 && c.ExpiresIn < 3600) {
		c.ExpiresIn = 600
	}
	return c, nil
}

// Await polls until somebody has approved or denied the code, or it expires. A service that does not answer is asked again, more and
// more seldom.
func (f Flow) Await(ctx context.Context, c Code) (Grant, error) {
	interval := time.Duration(c.Interval * float64(time.Second))
	end := c.at.Add(time.Duration(c.ExpiresIn * float64(time.Second)))
	unheard := false // a poll may have been answered, and the answer did not come
	for wait := interval; ; {
		if err := pause(ctx, wait); err != nil {
			return Grant{}, err
		}
		if time.Now().After(end) {
			return Grant{}, ErrExpired
		}
		status, after, body, err := f.post(ctx, "/api/auth/device/token", map[string]string{"grant_type": grantType, "device_code": c.DeviceCode})
		switch {
		case ctx.Err() != nil:
			return Grant{}, ctx.Err()
		case err != nil || status >= 500 || status == http.StatusTooManyRequests:
			unheard = unheard || err != nil
			wait = max(min(2*wait, time.Minute), after)
		case status == http.StatusOK:
			return ParseGrant(body)
		default:
			more, err := answered(status, body, unheard)
			if err != nil {
				return Grant{}, err
			}
			interval += more
			wait = interval
		}
	}
}

// answered reads a refusal: how much longer than before is to be waited, or that there is nothing to wait for.
func answered(status int, body []byte, unheard bool) (time.Duration, error) {
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // what is no JSON says nothing
	var code string
	_ = json.Unmarshal(said.Error, &code)
	switch code {
	case "authorization_pending":
		return 0, nil
	case "slow_down":
		return 5 * time.Second, nil
	case "access_denied":
		return 0, ErrDenied
	case "expired_token":
		if unheard {
			return 0, ErrLost
		}
		return 0, ErrExpired
	}
	return 0, fmt.Errorf("ask for the key: %w", refusal(status, body))
}

// ParseGrant reads the answer that holds the key.
func ParseGrant(body []byte) (g Grant, err error) {
	if err := json.Unmarshal(body, &g); err != nil || g.Key == "" || g.BaseURL == "" || strings.ContainsFunc(g.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Grant{}, errors.New("ask for the key: this is not the answer of a svc")
	}
	return g, nil
}

// refusal is what a service says in its envelope, or how it answered.
func refusal(status int, body []byte) error {
	var said struct {
		Error struct{ Message, Details string }
	}
	if json.Unmarshal(body, &said) == nil && said.Error.Message != "" {
		return errors.New(screen.Line(said.Error.Message + " " + said.Error.Details))
	}
	if status/100 == 3 {
		return errors.New("the service is elsewhere: name the address that a browser ends up at")
	}
	return fmt.Errorf("the service answers with %d %s", status, http.StatusText(status))
}

const (
	longest  = 1 << 20          // more than any answer has
	patience = 30 * time.Second // with one request
)

// post sends JSON, and reads what comes back and how long the service wants to be left alone.
func (f Flow) post(ctx context.Context, path string, body any) (status int, after time.Duration, answer []byte, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(f.Platform, "/")+path, bytes.NewReader(text))
	if err != nil {
		return 0, 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", f.Client)
	res, err := f.HTTP.Do(r)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address stands in the sentence around it
	}
	if err != nil {
		return 0, 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, longest))
	if seconds, wrong := strconv.Atoi(res.Header.Get("Retry-After")); wrong == nil {
		after = time.Duration(min(max(seconds, 0), 3600)) * time.Second
	}
	return res.StatusCode, after, answer, err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
