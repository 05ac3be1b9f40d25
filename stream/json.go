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
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
