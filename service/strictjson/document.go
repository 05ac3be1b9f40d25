package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"svc.dev/svc/fault"
)

// maxDepth is how many arrays and objects may stand inside each other.
const maxDepth = 32

// check refuses a body that two readers could understand differently. None of its answers repeats a part of the body.
func check(body []byte) error {
	switch {
	case !utf8.Valid(body):
		return invalidJSON("It is not UTF-8.")
	case !json.Valid(body):
		return invalidJSON("It must be exactly one JSON document.")
	case hasHalfCharacter(body):
		return invalidJSON("An escaped surrogate stands alone.")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // one that is too large for a float64 is JSON too
	if detail := checkNext(d, 0); detail != "" {
		return invalidJSON(detail)
	}
	return nil
}

func invalidJSON(detail string) error {
	return fault.New(fault.InvalidJSON, "The body is not valid JSON.", detail)
}

// checkNext walks over the next value, inside so many others, and says what is wrong with it. The text is valid JSON.
func checkNext(d *json.Decoder, depth int) (detail string) {
	token, _ := d.Token()
	begin, nests := token.(json.Delim)
	if !nests {
		return ""
	}
	if depth == maxDepth {
		return "It is nested too deeply."
	}
	for seen := map[any]bool{}; d.More(); {
		if begin == '{' {
			name, _ := d.Token()
			if seen[name] {
				return "A key stands twice in one object."
			}
			seen[name] = true
		}
		if detail = checkNext(d, depth+1); detail != "" {
			return detail
		}
	}
	_, _ = d.Token() // the end
	return ""
}

// hasHalfCharacter finds an escaped surrogate that is not one of a pair. The text is valid JSON, so a backslash stands in a
// string and begins an escape.
func hasHalfCharacter(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		char, escaped := hexEscape(text[i:])
		switch {
		case !escaped:
			i++ // what is escaped may be a backslash
		case !utf16.IsSurrogate(char):
			i += 5
		default:
			low, _ := hexEscape(text[i+6:])
			if utf16.DecodeRune(char, low) == utf8.RuneError {
				return true
			}
			i += 11
		}
	}
	return false
}

// hexEscape reads a \uXXXX at the start of valid JSON.
func hexEscape(text []byte) (char rune, escaped bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
