package peers

import (
	"encoding/json"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

const arguments = `{"city":"Zürich","days":[1,2,3]}`

// said is what every server says to its client.
var said = modeltest.Reply{
	Reasoning: []string{"Let me", " see."}, Signature: "c2lnbmVk",
	Text: []string{"Grüß", " Gott"},
	Calls: []model.ToolCall{
		{ID: "call_1", Name: "weather", Input: json.RawMessage(arguments), Signature: "c2lnbmVk"},
		{ID: "call_2", Name: "now", Input: json.RawMessage(`{}`)},
	},
}

var schema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}

var usage = modeltest.DefaultUsage
