package github

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/fault"
)

// The types of the faults that this package raises.
const (
	ExchangeFailed  = "provider_exchange_failed"
	EmailUnverified = "provider_email_unverified"
	RateLimited     = "provider_rate_limited"
	ManifestFailed  = "manifest_exchange_failed"
	NotYours        = "installation_not_yours"
)

// The causes that a caller acts on. They stand in the chain of a fault.
var (
	ErrPermission   = errors.New("the app lacks a permission")
	ErrUnauthorized = errors.New("the credentials are not accepted")
	ErrNotFound     = errors.New("not found")
	ErrSuspended    = errors.New("the installation is suspended")
	ErrNotGranted   = errors.New("the installation does not grant that")
)

// Refusal is a code with which GitHub refuses to hand out a token.
type Refusal string

// The codes that GitHub documents. Any other is Refused: the text is GitHub's, and stays there.
const (
	BadVerificationCode Refusal = "bad_verification_code"
	BadCredentials      Refusal = "incorrect_client_credentials"
	RedirectMismatch    Refusal = "redirect_uri_mismatch"
	UnverifiedEmail     Refusal = "unverified_user_email"
	BadRefreshToken     Refusal = "bad_refresh_token"
	UnsupportedGrant    Refusal = "unsupported_grant_type"
	Refused             Refusal = "refused"
)

func (r Refusal) Error() string { return "refused with " + string(r) }

// refusal is the code as one that we know.
func refusal(code string) Refusal {
	switch r := Refusal(code); r {
	case BadVerificationCode, BadCredentials, RedirectMismatch, UnverifiedEmail, BadRefreshToken, UnsupportedGrant:
		return r
	}
	return Refused
}

// errNotUnderstood is an answer that is not what GitHub promises.
var errNotUnderstood = errors.New("the answer is not what was promised")

// unavailable is every failure of GitHub's that has no better name.
func unavailable(what string, cause error) *fault.Error {
	return fault.New(fault.ProviderUnavailable, "GitHub is not available.", "Try again later.").Because(fmt.Errorf("%s: %w", what, cause))
}

func exchangeFailed(cause error) *fault.Error {
	return fault.New(ExchangeFailed, "GitHub did not complete the sign-in.", "Start again.").Because(cause)
}

func limited(what string, after time.Duration) *fault.Error {
	return fault.New(RateLimited, "GitHub limits how often it may be asked.", "Try again later.").
		After(after).Because(fmt.Errorf("%s: asked to wait %v", what, after))
}

func manifestFailed(details string, cause error) *fault.Error {
	return fault.New(ManifestFailed, "GitHub did not hand over the app.", details).Because(cause)
}

func notYours(cause error) *fault.Error {
	return fault.New(NotYours, "This installation is not yours.", "Install the app from your own GitHub account, then come back.").Because(cause)
}

// reason is a broken exchange without what may hold a secret: the address, which can carry a code, and what came back.
func reason(err error) error {
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return context.DeadlineExceeded
	}
	for _, known := range []error{context.Canceled, errTooLong, errNotUnderstood} {
		if errors.Is(err, known) {
			return known
		}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op
	}
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return cert
	}
	return errors.New("no whole answer came")
}

// status is an answer that was not wanted.
type status int

func (s status) Error() string { return fmt.Sprintf("answered %d", int(s)) }

// response is what GitHub said.
type response struct {
	status int
	header http.Header
	body   []byte
}

// message is GitHub's own sentence, to compare and never to repeat; empty when the body is not JSON.
func (a response) message() string {
	var m struct{ Message string }
	if json.Unmarshal(a.body, &m) != nil {
		return ""
	}
	return m.Message
}

// failure names what an answer of another status than the wanted one means.
func (a response) failure(what string, now time.Time) *fault.Error {
	if wait, ok := a.rateLimit(now); ok {
		return limited(what, wait)
	}
	message, cause := a.message(), error(status(a.status))
	needed := a.header.Get("X-Accepted-GitHub-Permissions") != ""
	switch {
	case a.status == http.StatusUnauthorized:
		cause = fmt.Errorf("%w: %w", cause, ErrUnauthorized)
	case a.status == http.StatusForbidden && strings.Contains(message, "suspended"):
		cause = fmt.Errorf("%w: %w", cause, ErrSuspended)
	case a.status == http.StatusForbidden && (needed || strings.HasPrefix(message, "Resource not accessible by")):
		cause = fmt.Errorf("%w: %w", cause, ErrPermission)
	case a.status == http.StatusNotFound && (needed || message == "Not Found"):
		cause = fmt.Errorf("%w: %w", cause, ErrNotFound)
	}
	return unavailable(what, cause)
}

const (
	waitLeast = time.Second
	waitUsual = time.Minute
	waitMost  = time.Hour
)

// rateLimit reports whether the answer is about how often, not about what, and how long to wait.
func (a response) rateLimit(now time.Time) (time.Duration, bool) {
	if a.status != http.StatusForbidden && a.status != http.StatusTooManyRequests {
		return 0, false
	}
	after, reset := a.header.Get("Retry-After"), a.header.Get("X-RateLimit-Reset")
	spent := a.header.Get("X-RateLimit-Remaining") == "0"
	told := strings.Contains(strings.ToLower(a.message()), "rate limit")
	if a.status == http.StatusForbidden && after == "" && !spent && !told {
		return 0, false
	}
	if s, err := strconv.ParseInt(after, 10, 32); err == nil {
		return bounded(time.Duration(s) * time.Second), true
	}
	if s, err := strconv.ParseInt(reset, 10, 40); err == nil && spent {
		return bounded(time.Unix(s, 0).Sub(now)), true
	}
	return waitUsual, true
}

func bounded(d time.Duration) time.Duration { return min(max(d, waitLeast), waitMost) }
