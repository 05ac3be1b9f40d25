package hook

import (
	"bytes"
	"encoding/json"
	"strings"

	"svc.dev/svc/conversation"
)

// maxText bounds the JSON that a model is given where no text is known, in bytes.
const maxText = 32 << 10

// Compact is JSON as text for a model: on one line, cut where it is too long.
func Compact(body []byte) (text string, cut bool) {
	var b bytes.Buffer
	if json.Compact(&b, body) != nil {
		return "", false
	}
	text = strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(text) <= maxText {
		return text, false
	}
	return strings.ToValidUTF8(text[:maxText], ""), true
}

// Attributes are pairs of names and values, without those that have no value.
func Attributes(pairs ...string) conversation.Attributes {
	var a conversation.Attributes
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			a = append(a, conversation.Attribute{Name: pairs[i], Value: pairs[i+1]})
		}
	}
	return a
}
