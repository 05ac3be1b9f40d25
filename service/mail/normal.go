package mail

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Lengths of an e-mail address, in bytes.
const (
	maxAddress = 254
	maxLocal   = 64
)

var (
	errInvalid = errors.New("invalid")
	errLong    = errors.New("too_long")
)

// domains turns the name of a host into its ASCII form, as strictly as IDNA allows.
var domains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// Normal is the one form of an address by which accounts are found: lower case, its host in ASCII. Nothing is folded
// that two people could hold apart. The result is valid by the same rule, so normalising twice changes nothing.
func Normal(address string) (string, error) {
	if len(address) > 4*maxAddress {
		return "", errLong
	}
	local, domain, found := strings.Cut(address, "@")
	if !found || strings.Contains(domain, "@") {
		return "", errInvalid
	}
	local = LowerASCII(local)
	switch {
	case !validLocal(local):
		return "", errInvalid
	case len(local) > maxLocal:
		return "", errLong
	}
	domain, ok := normalDomain(domain)
	normal := local + "@" + domain
	switch {
	case ok && len(normal) <= maxAddress:
		return normal, nil
	case ok || len(address) > maxAddress: // a host that is too long is none
		return "", errLong
	}
	return "", errInvalid
}

// normalDomain is the name of a host in ASCII. What its own result would be refused for is refused here.
func normalDomain(domain string) (string, bool) {
	ascii, err := domains.ToASCII(domain)
	if err != nil || !utf8.ValidString(domain) || !strings.Contains(ascii, ".") || strings.HasSuffix(ascii, ".") || strings.ContainsFunc(ascii, isForeign) {
		return "", false
	}
	again, err := domains.ToASCII(ascii)
	return ascii, err == nil && again == ascii
}

// validLocal is a dot-atom: no quotes, comments, spaces or control characters.
func validLocal(local string) bool {
	if local == "" || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return false
	}
	return !strings.ContainsFunc(local, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~.", c)
	})
}

func isForeign(c rune) bool { return c > unicode.MaxASCII }

// LowerASCII leaves what is not ASCII as it is: some letters beyond it have a lower case within.
func LowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
