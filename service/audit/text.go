package audit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable escapes what is not visible (control characters, line separators, marks that turn the direction of text,
// bytes that are no text) as \u000a, and cuts at maxText bytes. A database, a terminal and a line of JSON show the result
// alike.
func printable(s string) string {
	if len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		piece := escaped(s[:size], r)
		if b.Len()+len(piece) > maxText {
			break
		}
		b.WriteString(piece)
		s = s[size:]
	}
	return b.String()
}

// escaped is a character, visible. One byte that is read as RuneError is no text.
func escaped(char string, r rune) string {
	switch {
	case r == utf8.RuneError && len(char) == 1:
		return fmt.Sprintf(`\x%02x`, char[0])
	case unicode.IsPrint(r):
		return char
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
