package project

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a path, in bytes and in segments.
const (
	maxPath    = 1024
	maxSegment = 255
	maxDepth   = 32
)

// tempPrefix begins the names of files that are not there yet.
const tempPrefix = ".svc-tmp-"

// CheckPath says whether a path can name a file of a project: segments between single slashes, each valid UTF-8 of at most
// 255 bytes, none of them "." or "..", without control characters and backslashes. It is taken literally: "%2e%2e" is a
// name. The refusal is of type invalid_path.
func CheckPath(path string) error {
	if problem := problemOfPath(path); problem != "" {
		return invalidPath(problem)
	}
	return nil
}

func problemOfPath(path string) string {
	switch {
	case path == "":
		return "It is empty."
	case len(path) > maxPath:
		return "It is too long."
	case strings.Count(path, "/") >= maxDepth:
		return "It is too deep."
	case !utf8.ValidString(path):
		return "It is not valid UTF-8."
	}
	for segment := range strings.SplitSeq(path, "/") {
		if problem := problemOfSegment(segment); problem != "" {
			return problem
		}
	}
	return ""
}

func problemOfSegment(segment string) string {
	switch {
	case segment == "":
		return "It has an empty segment."
	case segment == "." || segment == "..":
		return "It has a segment that is not a name."
	case len(segment) > maxSegment:
		return "It has a segment that is too long."
	case strings.ContainsRune(segment, '\\') || strings.ContainsFunc(segment, unicode.IsControl):
		return "It has a character that no name has."
	case isTemp(segment):
		return "It has a name that is reserved."
	}
	return ""
}

// temp matches the names that the writer uses, also for a file system that knows no case.
var temp = regexp.MustCompile("(?i)^" + regexp.QuoteMeta(tempPrefix))

func isTemp(segment string) bool { return temp.MatchString(segment) }

// folders are the folders above a path, the topmost first.
func folders(path string) []string {
	var all []string
	for i := range len(path) {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return all
}

// inFolder is the range of paths below a folder: from the first, before the second. '0' follows '/'.
func inFolder(path string) (from, before string) { return path + "/", path + "0" }
