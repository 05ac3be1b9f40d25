package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// normalize is a JSON text as it is kept: on one line, without the space between its parts, in valid UTF-8. What cannot be
// a character, bytes and lone surrogates alike, becomes U+FFFD. Everything else stays as it was sent, to the digits of its
// numbers and the order and repetition of its keys.
//
// A text that is kept as it was sent, as most are, is returned itself.
func normalize(text []byte) (json.RawMessage, error) {
	compact, err := compacted(text)
	if err != nil {
		return nil, err
	}
	if utf8.Valid(compact) && !bytes.Contains(compact, []byte(`\u`)) {
		return compact, nil
	}
	return repair(compact), nil
}

// compacted copies a text only where there is space between its parts.
func compacted(text []byte) ([]byte, error) {
	if isCompact(text) && json.Valid(text) {
		return text, nil
	}
	var b bytes.Buffer
	b.Grow(len(text))
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// isCompact reports whether there is no white space outside strings. What is no JSON may be called either.
func isCompact(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = closing(text, i)
		case c <= ' ':
			return false
		}
	}
	return true
}

// closing is where the string ends that begins at an index. Escapes are looked at one by one, the rest as a whole.
func closing(text []byte, i int) int {
	quote := 0
	for i++; i < len(text); i += 2 {
		if quote < i {
			n := bytes.IndexByte(text[i:], '"')
			if n < 0 {
				break
			}
			quote = i + n
		}
		escape := bytes.IndexByte(text[i:quote], '\\')
		if escape < 0 {
			return quote
		}
		i += escape
	}
	return len(text)
}

// repair replaces what is not a character. The text is valid JSON otherwise, so what is not ASCII and what is escaped
// stands in a string.
func repair(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] == '\\' {
			escape, size := repairEscape(text)
			out, text = append(out, escape...), text[size:]
			continue
		}
		char, size := utf8.DecodeRune(text)
		out, text = utf8.AppendRune(out, char), text[size:]
	}
	return out
}

const lone = `\ufffd`

// repairEscape returns what the escape at the start of the text becomes, and how much of the text it was.
func repairEscape(text []byte) (escape []byte, size int) {
	high, ok := hexEscape(text)
	switch {
	case !ok:
		return text[:2], 2
	case !utf16.IsSurrogate(high):
		return text[:6], 6
	}
	if low, ok := hexEscape(text[6:]); ok && utf16.DecodeRune(high, low) != utf8.RuneError {
		return text[:12], 12
	}
	return []byte(lone), 6
}

// hexEscape reads a \uXXXX at the start of the text.
func hexEscape(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(r), err == nil
}
