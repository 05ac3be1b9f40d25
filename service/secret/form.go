package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// window is the longest piece of a value that is looked for as a whole. A longer value is looked for window by window, so
// that no search takes long, and a part of it is found too.
const window = 64

// form is one encoding of a piece of a value.
type form struct {
	text        []byte
	left, right bool // the character before or behind also holds bits of the piece
}

// formsOf are all encodings of a value and of its parts, at most so many.
func formsOf(value []byte, limit int) []form {
	var all []form
	seen := map[string]bool{}
	for _, part := range partsOf(value) {
		for _, piece := range windows(part) {
			for _, f := range encodings(piece) {
				if len(all) == limit {
					return all
				}
				// Our own mark cannot be redacted.
				if !seen[string(f.text)] && !strings.Contains(redacted, string(f.text)) {
					seen[string(f.text)] = true
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// partsOf are the value itself and what of it may be printed alone: without the space around it, as text where it is not
// UTF-8, line by line, and the texts of a JSON document.
func partsOf(value []byte) [][]byte {
	parts := [][]byte{value, bytes.TrimSpace(value)}
	if !utf8.Valid(value) {
		parts = append(parts, replaced(value))
	}
	if bytes.ContainsAny(value, "\r\n") {
		for line := range bytes.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
			parts = append(parts, bytes.TrimSpace(line))
		}
	}
	var document any
	if start := bytes.TrimSpace(value); len(start) > 0 && (start[0] == '{' || start[0] == '[') && json.Unmarshal(value, &document) == nil {
		parts = texts(parts, document)
	}
	return parts
}

// replaced is the value as encoders of JSON print what is not UTF-8.
func replaced(value []byte) []byte {
	var out []byte
	for rest := value; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		out = utf8.AppendRune(out, r)
		rest = rest[n:]
	}
	return out
}

func texts(parts [][]byte, v any) [][]byte {
	switch v := v.(type) {
	case string:
		parts = append(parts, []byte(v))
	case []any:
		for _, item := range v {
			parts = texts(parts, item)
		}
	case map[string]any:
		for _, item := range v {
			parts = texts(parts, item)
		}
	}
	return parts
}

// windows cover a part from its beginning to its end; the last one may overlap the one before.
func windows(part []byte) (all [][]byte) {
	if len(part) < shortest {
		return nil
	}
	if len(part) <= window {
		return [][]byte{part}
	}
	for i := 0; i < len(part); i += window {
		i = min(i, len(part)-window)
		all = append(all, part[i:i+window])
	}
	return all
}

func encodings(piece []byte) []form {
	lower := hex.EncodeToString(piece)
	all := []form{{text: piece}, {text: []byte(lower)}, {text: []byte(strings.ToUpper(lower))}}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, inBase64(enc, piece, before))
		}
	}
	// How fmt and encoding/json print bytes that are not meant to be a text.
	for _, style := range []struct {
		prefix, between string
		base            int
	}{{"", " ", 10}, {"", ",", 10}, {"0x", ", ", 16}} {
		all = append(all, form{text: numbers(piece, style.prefix, style.between, style.base)})
	}
	return all
}

// inBase64 is the part of a longer base64 text that depends on the piece alone, where so many bytes (mod 3) stand before.
func inBase64(enc *base64.Encoding, piece []byte, before int) form {
	text := enc.EncodeToString(append(make([]byte, before), piece...))
	first := []int{0, 2, 3}[before]
	end := (before + len(piece)) * 8 / 6
	return form{text: []byte(text[first:end]), left: before > 0, right: (before+len(piece))%3 != 0}
}

func numbers(piece []byte, prefix, between string, base int) []byte {
	var b []byte
	for i, c := range piece {
		if i > 0 {
			b = append(b, between...)
		}
		b = append(b, prefix...)
		b = strconv.AppendUint(b, uint64(c), base)
	}
	return b
}

func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
