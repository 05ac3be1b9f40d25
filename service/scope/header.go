package scope

import (
	"net/http"
	"strings"

	"svc.dev/svc/fault"
)

// Prefix begins the name of every header that only the gateway may set.
const Prefix = "X-Svc-"

// The headers between gateway and runtime.
const (
	HeaderToken     = Prefix + "Runtime-Token"
	HeaderAccount   = Prefix + "Account"
	HeaderAccountID = Prefix + "Account-Id"
	HeaderScope     = Prefix + "Scope"
	HeaderAuthority = Prefix + "Authority"
	HeaderActor     = Prefix + "Actor"
	HeaderRequestID = Prefix + "Request-Id"
	HeaderAssertion = Prefix + "Assertion"
)

// HeaderPassed is how a runtime says that its guard let a request in: what it answers then is an answer, whatever the status.
const HeaderPassed = Prefix + "Passed"

// HeaderBase is how a project learns where its workspace is found.
const HeaderBase = Prefix + "Base"

var known = []string{HeaderToken, HeaderAccount, HeaderAccountID, HeaderScope, HeaderAuthority, HeaderActor, HeaderRequestID, HeaderAssertion}

// Reserved reports whether a header's name would be taken for one of ours by anybody: some readers fold "_" into "-".
func Reserved(name string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), strings.ToLower(Prefix))
}

// Spelled reports whether a reserved name is spelled with an underscore, which can only be an attempt to slip it in.
func Spelled(name string) bool { return strings.Contains(name, "_") && Reserved(name) }

// checkHeaders refuses what can be read in two ways.
func checkHeaders(h http.Header) error {
	for name, values := range h {
		if Spelled(name) || Reserved(name) && len(values) > 1 {
			return fault.New(fault.InvalidHeader, "A header is not acceptable.", "")
		}
	}
	return nil
}

// claimsOf reads the plain headers.
func claimsOf(h http.Header) Claims {
	return Claims{
		Account: h.Get(HeaderAccount), AccountID: h.Get(HeaderAccountID), Scope: h.Get(HeaderScope), Actor: h.Get(HeaderActor),
		Authority: h.Get(HeaderAuthority), RequestID: h.Get(HeaderRequestID),
	}
}

// Show writes who asks into a header in plain words, in place of all that stood there: the token and the assertion too.
func (c Claims) Show(h http.Header) {
	for _, name := range known {
		h.Del(name)
	}
	h.Set(HeaderAccount, c.Account)
	h.Set(HeaderAccountID, c.AccountID)
	h.Set(HeaderScope, c.Scope)
	h.Set(HeaderAuthority, c.Authority)
	h.Set(HeaderActor, c.Actor)
	h.Set(HeaderRequestID, c.RequestID)
}
