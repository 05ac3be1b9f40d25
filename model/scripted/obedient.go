package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"svc.dev/svc/model"
)

// Obedient does as the user's text says, so that an agent can be tried out without a key: a text that begins with the name of one of its tools
// calls that tool with the JSON object behind the name, or with an empty one; any other text is said back. What a tool answered is said, too.
func Obedient() model.Provider { return obedient{} }

type obedient struct{}

func (obedient) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { obey(r).play(ctx, yield) }
}

func obey(r model.Request) Turn {
	if len(r.Messages) > 0 {
		if said, ok := toolSaid(r.Messages[len(r.Messages)-1]); ok {
			return Turn{Say(said)}
		}
	}
	text := lastText(r.Messages)
	name, input, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, tool := range r.Tools {
		if tool.Name == name {
			return Turn{Call(name, objectOf(input))}
		}
	}
	return Turn{Say("You said: " + text)}
}

// objectOf is what a text gives a tool. What is no JSON is given as it is, for the tool to refuse.
func objectOf(text string) any {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return struct{}{}
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return map[string]string{"text": text}
}

// toolSaid is what the tools answered whom the model has called.
func toolSaid(m model.Message) (said string, ok bool) {
	if m.Role != model.RoleTool {
		return "", false
	}
	var all []string
	for _, part := range m.Parts {
		if part.Result == nil {
			continue
		}
		for _, content := range part.Result.Content {
			if content.Text != nil {
				all = append(all, *content.Text)
			}
		}
	}
	return "The tool says " + strings.Join(all, "\n"), true
}
