package surface

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/scope"
)

// CheckPath refuses a path of the API that can be read in two ways. It looks at the path as it was sent, decoded once.
// Segments from the one on that free counts may be escaped.
func (x *Exchange) CheckPath(free func(segments []string) int) error {
	path, api := x.SentPath(), strings.HasPrefix(x.Request.URL.Path, "/api/")
	if strings.Contains(path, `\`) {
		return WrongPath()
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	escaped := free(segments)
	for i, segment := range segments {
		if i >= escaped {
			if _, err := Decoded(segment); err != nil {
				return err
			}
		}
		text, err := url.PathUnescape(segment)
		if err != nil || text == "." || text == ".." || segment == "" && path != "/" && !IsPage(path) && !isRoot(segments, i) {
			return WrongPath()
		}
		if api && i < escaped && strings.ContainsAny(segment, "%;") {
			return WrongPath()
		}
	}
	return nil
}

// isRoot reports whether a segment is what follows the slash at the end of {base_url} itself: the root of a project's entrypoint.
func isRoot(segments []string, i int) bool {
	mount := 3
	if len(segments) > 1 && segments[1] == scope.Admin {
		mount = 2
	}
	return segments[0] == "v1" && i == mount && len(segments) == mount+1
}

// SentPath is the path as the client escaped it, also where that is not how one should.
func (x *Exchange) SentPath() string {
	if u := x.Request.URL; u.RawPath != "" {
		return u.RawPath
	}
	return x.Request.URL.EscapedPath()
}

// Path is what routes are matched with.
func (x *Exchange) Path() string {
	if strings.HasPrefix(x.Request.URL.Path, "/api/") {
		return x.SentPath() // CheckPath let nothing escaped pass but the segments of a path
	}
	return x.Request.URL.Path
}

// IsBase reports whether a request is one below {base_url}.
func (x *Exchange) IsBase() bool {
	return x.Surface != access.Platform && strings.HasPrefix(x.Request.URL.Path, "/v1/")
}

// IsPage reports whether a path is no part of the API; a slash at its end is then only not found.
func IsPage(path string) bool {
	return path != "/api" && !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/v1/") && !strings.Contains(path, "//")
}

// WrongPath is the refusal of a path that can be read in two ways.
func WrongPath() error {
	return fault.New(fault.InvalidPath, "The path is not acceptable.", "Segments must not be empty, dots or escaped here.")
}

// maxID is the longest segment that may be escaped, decoded, in bytes.
const maxID = 255

// Decoded is a segment that may be escaped, decoded once.
func Decoded(segment string) (string, error) {
	text, err := url.PathUnescape(segment)
	if err != nil || text == "" || len(text) > maxID || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }) {
		return "", WrongPath()
	}
	return text, nil
}
