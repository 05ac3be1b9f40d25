package stream

import (
	"bytes"
	"encoding/json"
)

// Encode prints a value as items of a frame are printed: JSON on one line, without the escapes that only HTML needs.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return settled(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// settled writes the replacement character, which the encoder escapes where it stands for bytes that are no text, as it is
// written when the value is read and encoded again: what was printed once stays the same.
func settled(data []byte) []byte {
	escaped := []byte(`\ufffd`)
	if !bytes.Contains(data, escaped) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch {
		case bytes.HasPrefix(data[i:], escaped):
			out, i = append(out, "\ufffd"...), i+len(escaped)
		case data[i] == '\\':
			out, i = append(out, data[i], data[i+1]), i+2
		default:
			out, i = append(out, data[i]), i+1
		}
	}
	return out
}
