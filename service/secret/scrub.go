package secret

import (
	"bytes"
	"encoding/json"
)

// scrubRounds is how often a text is looked at before all of it is redacted.
const scrubRounds = 4

// ScrubString is Scrub for a string.
func (s *Scrubber) ScrubString(text string) string {
	if out, changed := s.clean([]byte(text)); changed {
		return string(out)
	}
	return text
}

// Scrub puts [redacted] where a value or a credential stands, and returns text itself where none does. JSON objects and
// arrays stay JSON.
func (s *Scrubber) Scrub(text []byte) []byte {
	out, _ := s.clean(text)
	return out
}

func (s *Scrubber) clean(text []byte) (out []byte, changed bool) {
	out, changed = s.scrub(text)
	if changed && isDocument(text) && !json.Valid(out) {
		out = s.scrubLeaves(text)
	}
	return out, changed
}

func isDocument(text []byte) bool {
	start := bytes.TrimLeft(text, " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && json.Valid(text)
}

// scrub looks again at what it made: a value can come about where [redacted] meets what stood beside it.
func (s *Scrubber) scrub(text []byte) (out []byte, changed bool) {
	for range scrubRounds {
		found := s.spans(text)
		if len(found) == 0 {
			return text, changed
		}
		text, changed = cut(text, found), true
	}
	if len(s.spans(text)) > 0 {
		text = []byte(redacted)
	}
	return text, changed
}

func (s *Scrubber) scrubText(text string) string {
	if out, changed := s.scrub([]byte(text)); changed {
		return string(out)
	}
	return text
}

// spans are the places to redact, in order and apart from each other.
func (s *Scrubber) spans(text []byte) []span {
	if len(text) < shortest-1 {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []span
	for _, v := range viewsOf(text) {
		for _, found := range append(s.find(v.text), credentials(v.text)...) {
			all = append(all, v.origin(found))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return merge(whole(text, all))
}

// find looks at every place of the text for forms that begin there.
func (s *Scrubber) find(text []byte) (all []span) {
	if len(s.marks) == 0 {
		return nil
	}
	for i := 0; i+shortest <= len(text); i++ {
		head := s.hash(text[i : i+shortest])
		if s.closed(head) {
			continue
		}
		for _, l := range s.heads[head] {
			if i+l.bytes > len(text) {
				continue
			}
			form := s.hash(text[i : i+l.bytes])
			if s.closed(form) {
				continue
			}
			if m, ok := s.marks[form]; ok {
				all = join(all, widen(text, span{i, i + l.bytes}, m))
			}
		}
	}
	return all
}

// widen takes in the characters of base64 that hold some bits of the value and some of its neighbours.
func widen(text []byte, at span, m mark) span {
	if m.left && at.from > 0 && isBase64(text[at.from-1]) {
		at.from--
	}
	if m.right && at.to < len(text) && isBase64(text[at.to]) {
		at.to++
	}
	return at
}

// scrubLeaves scrubs the texts of a JSON document one by one, where a number or something across texts was a value.
func (s *Scrubber) scrubLeaves(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(`"` + redacted + `"`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s.leaves(v)) != nil {
		return []byte(`"` + redacted + `"`)
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if again, _ := s.scrub(out); json.Valid(again) {
		return again
	}
	return []byte(`"` + redacted + `"`)
}

func (s *Scrubber) leaves(v any) any {
	switch v := v.(type) {
	case string:
		return s.scrubText(v)
	case json.Number:
		if text := s.scrubText(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = s.leaves(v[i])
		}
	case map[string]any:
		fresh := make(map[string]any, len(v))
		for name, item := range v {
			fresh[s.scrubText(name)] = s.leaves(item)
		}
		return fresh
	}
	return v
}
