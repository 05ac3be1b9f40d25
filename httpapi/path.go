package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"svc.dev/svc/fault"
)

// pattern is a path in segments. Matching is strict: no segment is empty, "." or "..", and nothing is ever redirected.
type pattern []string

func parsePattern(path string) pattern { return strings.Split(path[1:], "/") }

// match compares an escaped path and returns its parameters as they stand there; the star's begins with its slash.
func (p pattern) match(path string) (params []string, ok bool) {
	for _, want := range p {
		if want == "*" {
			return append(params, path), strings.HasPrefix(path, "/")
		}
		segment, rest, ok := cutSegment(path)
		switch {
		case !ok:
			return nil, false
		case want[0] == ':':
			params = append(params, segment)
		case want != segment:
			return nil, false
		}
		path = rest
	}
	return params, path == ""
}

func cutSegment(path string) (segment, rest string, ok bool) {
	if !strings.HasPrefix(path, "/") {
		return "", "", false
	}
	segment, rest = path[1:], ""
	if i := strings.IndexByte(segment, '/'); i >= 0 {
		segment, rest = segment[:i], segment[i:]
	}
	return segment, rest, segment != "" && segment != "." && segment != ".."
}

// parameter decodes a segment; a slash that was escaped is part of it.
func parameter(segment string) (string, error) {
	value, err := url.PathUnescape(segment)
	if err != nil || !utf8.ValidString(value) {
		return "", fault.Invalid("The path is not well escaped.")
	}
	if strings.TrimSpace(value) == "" {
		return "", fault.Invalid("Name and id must not be blank.")
	}
	return value, nil
}

// receivedPath is the path that the client asked for, with the prefix that a mount has removed.
func receivedPath(r *http.Request) string {
	if !strings.HasPrefix(r.RequestURI, "/") {
		return r.URL.EscapedPath()
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

// publicURL is the address of what was asked for, as clients know it: without query, and escaped as they did.
func (a *api) publicURL(r *http.Request) string {
	if a.PublicURL != nil {
		return strings.TrimSuffix(a.PublicURL(r), "/") + r.URL.EscapedPath()
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + receivedPath(r)
}
