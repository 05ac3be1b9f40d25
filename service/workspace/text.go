package workspace

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/service/strictjson"
)

// Lengths of texts, in code points.
const (
	maxName   = 80
	maxReason = 500
)

// idSize is the length of an id's ULID.
const idSize = 26

// checkText is what is wrong with a text that people chose; it is on one line and can be seen.
func checkText(text string, most int) string {
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return strictjson.TooShort
	case n > most:
		return strictjson.TooLong
	case !isVisible(text):
		return strictjson.Invalid
	}
	return ""
}

// isVisible reports whether a text hides nothing and turns nothing.
func isVisible(text string) bool {
	for _, char := range text {
		if !unicode.IsPrint(char) {
			return false
		}
	}
	return utf8.ValidString(text)
}

// isID reports whether a text could be an id of that prefix. What could not is unknown without asking the database, which
// takes no zero byte and no broken text.
func isID(prefix, id string) bool {
	rest, found := strings.CutPrefix(id, prefix)
	if !found || len(rest) != idSize {
		return false
	}
	for _, c := range []byte(rest) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
