package surface

import (
	"strconv"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
)

// bare is the policy of answers that are no page.
const bare = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

// tokenPages are opened by links that hold a token.
var tokenPages = map[string]bool{
	page.ResetPath: true, page.VerifyPath: true, page.UndoPath: true, page.UndeletePath: true, page.SetupPath: true, page.LinkPath: true,
	page.InvitationPath: true,
}

// ResourcePolicy says whose pages may load an answer: below {base_url} everybody's, as far as they are let in, elsewhere our own.
const ResourcePolicy = "Cross-Origin-Resource-Policy"

// secure sets what keeps a browser from doing more with an answer than is meant.
func (x *Exchange) secure() {
	h := x.Out.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", bare)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set(ResourcePolicy, "same-site")
	if x.IsBase() {
		h.Set(ResourcePolicy, "cross-origin")
	}
	// Not "no-referrer": a form would then send "Origin: null", which browsers without Sec-Fetch-Site are refused for.
	h.Set("Referrer-Policy", "same-origin")
	if tokenPages[x.Request.URL.Path] {
		h.Set("Referrer-Policy", "no-referrer")
	}
	h.Set("X-Frame-Options", "DENY")
	if x.config.secure() {
		h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
	}
}

// CheckHeaders drops and counts headers that only we may set; one that is spelled to be mistaken for ours is refused.
func (x *Exchange) CheckHeaders() error {
	for name := range x.Request.Header {
		if scope.Spelled(name) {
			return fault.New(fault.InvalidHeader, "A header is not acceptable.", "")
		}
		if scope.Reserved(name) {
			x.Spoofed = true
			x.config.Spoofed()
		}
	}
	return nil
}

// maxKey is how long an Idempotency-Key may be.
const maxKey = 256

// IdempotencyKey is the key by which a request may come again; empty: it names none.
func (x *Exchange) IdempotencyKey() (string, error) {
	sent := x.Request.Header.Values("Idempotency-Key")
	if len(sent) == 0 {
		return "", nil
	}
	invisible := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(sent) > 1 || sent[0] == "" || len(sent[0]) > maxKey || strings.ContainsFunc(sent[0], invisible) {
		return "", fault.Invalid("Idempotency-Key must be 1 to %d visible characters.", maxKey)
	}
	return sent[0], nil
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// IfMatch is the version that the client means; zero is any.
func (x *Exchange) IfMatch() (int64, error) {
	given := x.Request.Header.Values("If-Match")
	if len(given) == 0 || len(given) == 1 && given[0] == "*" {
		return 0, nil
	}
	if len(given) == 1 {
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(given[0], `"`), `"`), 10, 64)
		if err == nil && n > 0 && etag(n) == given[0] {
			return n, nil
		}
	}
	return 0, fault.New(fault.InvalidHeader, "If-Match is not a version.", `Send it as "<version>".`)
}
