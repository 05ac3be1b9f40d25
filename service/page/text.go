package page

import (
	"html/template"
	"net/url"
	"strings"
	"unicode"
)

// visible replaces what would rearrange or hide the text around it, such as bidirectional overrides, by a mark that is
// seen. Typed text that goes back into its input stays as it was typed.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// TokenOf is the token in what a person pasted: the token itself, or the link of the mail that ends in it.
func TokenOf(pasted string) string {
	pasted = strings.TrimSpace(pasted)
	if _, token, found := strings.Cut(pasted, "#t="); found {
		return token
	}
	return pasted
}

// itemPath puts an id into the address of a verb.
func itemPath(pattern, id string) string {
	return strings.Replace(pattern, "{id}", url.PathEscape(id), 1)
}

// funcs are the words that templates may use.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"visible": visible, "moment": moment, "day": day, "machine": machine, "ago": p.ago, "left": p.left, "past": p.past,
		"device": device, "host": host, "control": newControl, "query": query, "item": itemPath, "terms": p.terms, "stays": p.stays,
	}
}

// query is a path with what it asks for; a key without a value is left out.
func query(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
