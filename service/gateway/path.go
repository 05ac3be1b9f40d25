package gateway

import (
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
)

// checkPath refuses a path of the API that can be read in two ways. It looks at the path as it was sent, decoded once.
func (x *exchange) checkPath() error {
	path, api := sentPath(x.r.URL), strings.HasPrefix(x.r.URL.Path, "/api/")
	if strings.Contains(path, `\`) {
		return errPath()
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	free := freeFrom(segments)
	for i, segment := range segments {
		if i >= free {
			if _, err := decoded(segment); err != nil {
				return err
			}
		}
		text, err := url.PathUnescape(segment)
		if err != nil || text == "." || text == ".." || segment == "" && path != "/" && !isPage(path) {
			return errPath()
		}
		if api && i < free && strings.ContainsAny(segment, "%;") {
			return errPath()
		}
	}
	return nil
}

// sentPath is a path as the client escaped it, also where that is not how one should.
func sentPath(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// isPage reports whether a path is no part of the API; a slash at its end is then only not found.
func isPage(path string) bool {
	return path != "/api" && !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/v1/") && !strings.Contains(path, "//")
}

func errPath() error {
	return fault.New(invalidPath, "The path is not acceptable.", "Segments must not be empty, dots or escaped here.")
}

// credentialPrefixes are how what a client shows with every request begins: none may stand in an address.
var credentialPrefixes = append([]string{apikey.Prefix}, account.Prefixes...)

// checkURL refuses a credential in an address, where logs and histories keep it, and tells its owner.
func (x *exchange) checkURL() error {
	query := readable(x.r.URL.RawQuery)
	if !slices.ContainsFunc(credentialPrefixes, func(prefix string) bool { return strings.Contains(query, prefix) }) {
		return nil
	}
	if key, found := apikey.Find(query); found {
		if err := x.g.Keys.Exposed(x.ctx(), key); err != nil {
			return err
		}
	}
	return fault.New(credentialInURL, "A credential stands in the address.", "Send it in the Authorization header. Replace this one: addresses are kept in logs.")
}

// readable is a query as whoever reads a log understands it: an escape hides nothing. What is no escape stays as it is.
func readable(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if text, err := url.QueryUnescape(part); err == nil {
			parts[i] = text
		}
	}
	return strings.Join(parts, "&")
}
