package strictjson

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckLine says what is wrong with a text on one line, of so many code points at least and at most.
func CheckLine(text string, least, most int) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }) {
		return Invalid
	}
	return CheckText(text, least, most)
}

// CheckText says what is wrong with a text that somebody wrote.
func CheckText(text string, least, most int) string {
	n := utf8.RuneCountInString(strings.TrimSpace(text))
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }):
		return Invalid
	case n < least:
		return TooShort
	case n > most:
		return TooLong
	}
	return ""
}

// CheckRunes refuses a text of a field that is shorter or longer than it may be, in code points, or has one that is not visible.
func CheckRunes(field, text string, least, most int, visible func(rune) bool) error {
	n := 0
	for _, c := range text {
		if n++; !visible(c) || c == utf8.RuneError {
			return Wrong(field, Invalid)
		}
	}
	switch {
	case n < least:
		return Wrong(field, TooShort)
	case n > most:
		return Wrong(field, TooLong)
	}
	return nil
}
