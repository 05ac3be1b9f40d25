package strictjson

import (
	"bytes"
	"encoding/json"
	"iter"
)

// members are the names and values of an object, as they are written and in their order. Like elements it reads a text that is
// known to be valid JSON.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		_, _ = d.Token() // the brace
		for d.More() {
			name, _ := d.Token()
			if !yield(name.(string), next(d)) {
				return
			}
		}
	}
}

// elements are the values of an array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		d := json.NewDecoder(bytes.NewReader(array))
		_, _ = d.Token() // the bracket
		for d.More() && yield(next(d)) {
		}
	}
}

func next(d *json.Decoder) (value json.RawMessage) {
	_ = d.Decode(&value)
	return value
}

// unquote is the text of a JSON string. It loses nothing: what encoding/json would replace was refused before.
func unquote(quoted []byte) (text string) {
	_ = json.Unmarshal(quoted, &text) // it is a string: the whole text was found valid
	return text
}
