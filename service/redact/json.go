package redact

import (
	"bytes"
	"encoding/json"

	"svc.dev/svc/fault"
)

// JSON is the document with Placeholder where a value or a credential stands: it stays JSON, and keeps its order.
func (r *Redactor) JSON(data []byte) []byte {
	// Escapes in escapes hide what is looked for: such texts are read first.
	if !bytes.Contains(data, []byte(`\\`)) && !bytes.Contains(data, []byte(`\u`)) && len(r.find(data)) == 0 {
		return data
	}
	if !json.Valid(data) {
		return []byte(r.Text(string(data)))
	}
	var out []byte
	for rest := data; len(rest) > 0; {
		token := rest[:tokenEnd(rest)]
		out = append(out, r.token(token)...)
		rest = rest[len(token):]
	}
	return out
}

// tokenEnd is where the text, the number or the run of other characters ends with which data begins.
func tokenEnd(data []byte) int {
	switch {
	case data[0] == '"':
		end := 1
		for data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		return end + 1
	case isNumber(rune(data[0])):
		return len(data) - len(bytes.TrimLeftFunc(data, isNumber))
	}
	if end := bytes.IndexAny(data, `"-0123456789`); end > 0 {
		return end
	}
	return len(data)
}

func isNumber(c rune) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// token is a token of JSON without what must not be seen: a number that is a secret becomes a text.
func (r *Redactor) token(token []byte) []byte {
	var text string
	if token[0] != '"' {
		text = string(token)
	} else if json.Unmarshal(token, &text) != nil {
		return token
	}
	clean := r.Text(text)
	if clean == text {
		return token
	}
	return []byte(`"` + inJSON(clean, false) + `"`)
}

// Fault is the fault as those outside may see it; its cause stays what it is.
func (r *Redactor) Fault(f *fault.Error) *fault.Error {
	clean := *f
	clean.Message, clean.Details, clean.Dev = r.Text(f.Message), r.Text(f.Details), r.Text(f.Dev)
	meta, err := json.Marshal(f.Meta)
	if err != nil {
		return &clean // whoever writes it leaves out what has no JSON
	}
	if out := r.JSON(meta); !bytes.Equal(out, meta) {
		clean.Meta = nil
		_ = json.Unmarshal(out, &clean.Meta) // it was made of such a map
	}
	return &clean
}
