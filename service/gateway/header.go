package gateway

import "svc.dev/svc/service/page"

// bare is the policy of answers that are no page.
const bare = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

// tokenPages are opened by links that hold a token.
var tokenPages = map[string]bool{
	page.ResetPath: true, page.VerifyPath: true, page.UndoPath: true, page.UndeletePath: true, page.SetupPath: true, page.LinkPath: true,
	page.InvitationPath: true,
}

// resourcePolicy says whose pages may load an answer: below {base_url} everybody's, as far as they are let in, elsewhere our own.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// secure sets what keeps a browser from doing more with an answer than is meant.
func (x *exchange) secure() {
	h := x.out.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", bare)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set(resourcePolicy, "same-site")
	if x.isBase() {
		h.Set(resourcePolicy, "cross-origin")
	}
	// Not "no-referrer": a form would then send "Origin: null", which browsers without Sec-Fetch-Site are refused for.
	h.Set("Referrer-Policy", "same-origin")
	if tokenPages[x.r.URL.Path] {
		h.Set("Referrer-Policy", "no-referrer")
	}
	h.Set("X-Frame-Options", "DENY")
	if x.g.cookies.secure {
		h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
	}
}
