package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// longest is the longest form. A longer text is looked for piece by piece, so that no search takes long.
const longest = 64

// encodedPiece is a piece of an encoded value.
type encodedPiece struct {
	text   string
	base64 bool // the characters beside it may hold some of its bits
}

// formsOf are all that a value may be printed as.
func formsOf(value []byte) (all []encodedPiece) {
	for _, text := range textsOf(value) {
		for _, f := range encodings(text) {
			for _, piece := range pieces(f.text) {
				// Our own placeholder cannot be redacted.
				if !strings.Contains(Placeholder, piece) {
					all = append(all, encodedPiece{piece, f.base64})
				}
			}
		}
	}
	return all
}

// textsOf are the value, and what it holds if it is JSON. The space around it is often left out, and need not be found.
func textsOf(value []byte) []string {
	if bare := bytes.TrimSpace(value); len(bare) >= shortest {
		value = bare
	}
	all := []string{string(value)}
	var document any
	if (value[0] == '{' || value[0] == '[') && json.Unmarshal(value, &document) == nil {
		all = append(all, leaves(document)...)
	}
	return all
}

func leaves(v any) (all []string) {
	switch v := v.(type) {
	case string:
		if len(v) >= shortest {
			all = append(all, v)
		}
	case []any:
		for _, item := range v {
			all = append(all, leaves(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, leaves(item)...)
		}
	}
	return all
}

func encodings(text string) []encodedPiece {
	lower := hex.EncodeToString([]byte(text))
	all := []encodedPiece{{text: text}, {text: lower}, {text: strings.ToUpper(lower)}, {text: url.QueryEscape(text)}, {text: url.PathEscape(text)},
		{text: inJSON(text, true)}, {text: inJSON(text, false)}}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, encodedPiece{inBase64(enc, text, before), true})
		}
	}
	return all
}

// inJSON is the text as it stands between quotes.
func inJSON(text string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text) // a text always has JSON
	return b.String()[1 : b.Len()-2]
}

// inBase64 is the part of a longer base64 text that depends on this one alone, where so many bytes (mod 3) stand before.
func inBase64(enc *base64.Encoding, text string, before int) string {
	encoded := enc.EncodeToString([]byte(strings.Repeat("x", before) + text))
	return encoded[[]int{0, 2, 3}[before] : (before+len(text))*8/6]
}

// pieces cover a text from its beginning to its end; the last one may overlap the one before.
func pieces(text string) (all []string) {
	for len(text) > longest {
		all = append(all, text[:longest])
		text = text[min(longest, len(text)-longest):]
	}
	return append(all, text)
}
