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
	if len(s) <= maxText && isPrintable(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		piece := escaped(s[i:], r)
		if b.Len()+len(piece) > maxText {
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

func isPrintable(s string) bool {
	for i, r := range s {
		if !unicode.IsPrint(r) || isBroken(s[i:], r) {
			return false
		}
	}
	return true
}

// isBroken reports whether r stands for a byte that is no text.
func isBroken(s string, r rune) bool {
	if r != utf8.RuneError {
		return false
	}
	_, size := utf8.DecodeRuneInString(s)
	return size == 1
}

// escaped is the rune r that s begins with, visible.
func escaped(s string, r rune) string {
	switch {
	case isBroken(s, r):
		return fmt.Sprintf(`\x%02x`, s[0])
	case unicode.IsPrint(r):
		return s[:utf8.RuneLen(r)]
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
