package gateway

import (
	"net/url"
	"slices"
	"strings"
)

// maxReturnTo is in bytes.
const maxReturnTo = 512

// returnTo is where a browser goes after a sign-in: a path of this surface, or an address on one of the three. Empty is the
// customer's surface; everything else is refused.
func (g *Gateway) returnTo(text string) (string, error) {
	if text == "" {
		return g.Surfaces.origin(Agents) + "/", nil
	}
	if !validReturnTo(text, g.Surfaces.origins()) {
		return "", refusedField("returnTo")
	}
	return text, nil
}

func validReturnTo(text string, origins []string) bool {
	if len(text) > maxReturnTo || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	if strings.HasPrefix(text, "/") {
		return !strings.HasPrefix(text, "//") && u.Host == ""
	}
	origin := u.Scheme + "://" + u.Host
	return u.User == nil && slices.Contains(origins, origin) &&
		(text == origin || strings.HasPrefix(text, origin+"/") || strings.HasPrefix(text, origin+"?"))
}

// withNotice adds what happened on the way to an address.
func withNotice(address, notice string) string {
	u, err := url.Parse(address)
	if err != nil || notice == "" {
		return address
	}
	q := u.Query()
	q.Set("notice", notice)
	u.RawQuery = q.Encode()
	return u.String()
}
