package script

import (
	"net/http"
	"strings"
)

// Flat is headers as they cross to scripts: names in small letters and values, each on a line of its own.
func Flat(h http.Header) string {
	var b strings.Builder
	for name, values := range h {
		for _, value := range values {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(strings.ToLower(oneLine(name)))
			b.WriteByte('\n')
			b.WriteString(fromLatin1(oneLine(value)))
		}
	}
	return b.String()
}

// oneLine keeps a value from being read as more than one: HTTP has no line ends in headers.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// Unflat reads headers that a script wrote.
func Unflat(s string) http.Header {
	h := http.Header{}
	for s != "" {
		var name, value string
		name, s, _ = strings.Cut(s, "\n")
		value, s, _ = strings.Cut(s, "\n")
		if name != "" {
			h.Add(name, toLatin1(value))
		}
	}
	return h
}

// fromLatin1 makes text of the bytes of a header: scripts see each byte as a character, as the web does.
func fromLatin1(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// toLatin1 makes bytes of the characters of a header. The prelude lets none through that has no byte; one that came all the same is a
// question mark, for its last byte could be a line end.
func toLatin1(s string) string {
	if isASCII(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			r = '?'
		}
		b = append(b, byte(r))
	}
	return string(b)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
