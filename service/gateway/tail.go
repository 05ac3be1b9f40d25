package gateway

import (
	"slices"
	"strings"

	"svc.dev/svc/service/surface"
)

// tail is the name of the parameter that takes all that follows, if the route has one. It is the last.
func (r *line) tail() (name string, found bool) {
	name, found = strings.CutSuffix(r.segments[len(r.segments)-1], "...}")
	return strings.TrimPrefix(name, "{"), found
}

// joined is the path of segments that may be escaped, each decoded once.
func joined(segments []string) (path string, ok bool) {
	parts := make([]string, len(segments))
	for i, segment := range segments {
		text, err := surface.Decoded(segment)
		if err != nil {
			return "", false
		}
		parts[i] = text
	}
	return strings.Join(parts, "/"), true
}

// tails are what the paths of routes with a tail begin with, without their first slash.
var tails = func() (all [][]string) {
	for _, r := range routes {
		l := line{r, strings.Split(r.Path, "/")}
		if _, found := l.tail(); found {
			all = append(all, l.segments[1:len(l.segments)-1])
		}
	}
	return all
}()

// freeFrom is the number of the first segment that may be escaped, because it belongs to the tail of a route. Where there is
// none it is behind the last. Segments are those of a path without its first slash.
func freeFrom(segments []string) int {
	fits := func(want, segment string) bool { return want == segment || strings.HasPrefix(want, "{") }
	for _, fixed := range tails {
		if len(segments) > len(fixed) && slices.EqualFunc(fixed, segments[:len(fixed)], fits) {
			return len(fixed)
		}
	}
	return len(segments)
}
