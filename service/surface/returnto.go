package surface

import (
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/strictjson"
)

// maxReturnTo is in bytes.
const maxReturnTo = 512

// ReturnTo is where a browser goes after a sign-in: a path of this surface, or an address on one of the three. Empty is the
// customer's surface; everything else is refused. What was checked is what is sent, byte for byte.
func (s Surfaces) ReturnTo(text string) (string, error) {
	if text == "" {
		return s.Origin(access.Agents) + "/", nil
	}
	if !s.Has(text) {
		return "", strictjson.Wrong("returnTo", strictjson.Invalid)
	}
	return text, nil
}

// Has reports whether an address is a path, or one on a surface.
func (s Surfaces) Has(text string) bool {
	if len(text) > maxReturnTo || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	if strings.HasPrefix(text, "/") {
		return !strings.HasPrefix(text, "//") && u.Host == "" && !hidesHost(u.Path)
	}
	origin := u.Scheme + "://" + u.Host
	return u.User == nil && slices.Contains(s.Origins(), origin) &&
		(text == origin || strings.HasPrefix(text, origin+"/") || strings.HasPrefix(text, origin+"?"))
}

// hidesHost reports whether a path, once decoded, is one that browsers take for another host. Nobody decodes it here, but
// something between us and a browser may.
func hidesHost(path string) bool {
	return strings.HasPrefix(path, "//") || strings.HasPrefix(path, `/\`)
}

// WithNotice adds what happened on the way to an address. It takes the text as it is: one that was taken apart and written
// anew could lead elsewhere than the one that was checked.
func WithNotice(address, notice string) string {
	if notice == "" {
		return address
	}
	address, fragment, marked := strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		return part == "" || name == "notice"
	})
	address = path + "?" + strings.Join(append(parts, "notice="+url.QueryEscape(notice)), "&")
	if marked {
		address += "#" + fragment
	}
	return address
}
