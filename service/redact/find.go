package redact

import (
	"math/bits"
	"slices"
)

// rounds is how often a text is looked at before all of it is redacted.
const rounds = 4

// Text is the text with Placeholder where a value or a credential stands.
func (r *Redactor) Text(text string) string {
	if out := r.bytes([]byte(text)); out != nil {
		return string(out)
	}
	return text
}

// bytes is the text without what must not be seen, or nil where there is no such thing. It looks again at what it made: a value
// can come about where Placeholder meets what stood beside it.
func (r *Redactor) bytes(text []byte) (out []byte) {
	for range rounds {
		found := r.find(text)
		if len(found) == 0 {
			return out
		}
		out = cut(text, found)
		text = out
	}
	return []byte(Placeholder)
}

// span is a part of a text, from one index to before another.
type span struct{ from, to int }

// find are the places to redact.
func (r *Redactor) find(text []byte) []span {
	all := credentials(text)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range []*known{r.older, r.newer} {
		if k != nil && len(k.values) > 0 {
			all = r.findKnown(k, text, all)
		}
	}
	return all
}

// findKnown looks at every place of the text for forms that begin there.
func (r *Redactor) findKnown(k *known, text []byte, all []span) []span {
	for i := 0; i+shortest <= len(text); i++ {
		if at, bit := r.gate(text[i:]); k.gate[at]&bit == 0 {
			continue
		}
		for lengths := k.heads[r.hash(text[i:i+shortest])]; lengths != 0; lengths &= lengths - 1 {
			to := i + bits.TrailingZeros64(lengths) + 1
			if to > len(text) {
				break
			}
			if base64, ok := k.forms[r.hash(text[i:to])]; ok {
				all = append(all, widen(text, span{i, to}, base64))
			}
		}
	}
	return all
}

// widen takes in the characters of base64 that hold some bits of the value and some of its neighbours.
func widen(text []byte, at span, base64 bool) span {
	if base64 && at.from > 0 && isBase64(text[at.from-1]) {
		at.from--
	}
	if base64 && at.to < len(text) && isBase64(text[at.to]) {
		at.to++
	}
	return at
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// cut puts one Placeholder in the place of spans that touch.
func cut(text []byte, all []span) (out []byte) {
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	at := -1
	for _, s := range all {
		if s.from > at {
			out = append(append(out, text[max(at, 0):s.from]...), Placeholder...)
		}
		at = max(at, s.to)
	}
	return append(out, text[at:]...)
}
