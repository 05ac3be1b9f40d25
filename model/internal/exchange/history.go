package exchange

import (
	"encoding/json"
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// History is the messages of a request as a provider may be given them: reasoning that it did not sign for this model is
// left out, and so is reasoning that nothing followed, as an aborted turn leaves it behind. A message that has nothing
// left is left out too, but for a user's: somebody did speak.
func History(r model.Request, provider string) []model.Message {
	var kept []model.Message
	for _, m := range r.Messages {
		parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p model.Part) bool {
			return empty(p) || p.Reasoning != nil && !signed(p.Reasoning, provider, r.Model)
		})
		for len(parts) > 0 && parts[len(parts)-1].Reasoning != nil {
			parts = parts[:len(parts)-1]
		}
		if len(parts) == 0 && m.Role == model.RoleUser {
			parts = []model.Part{model.Text("(no text)")}
		}
		if len(parts) > 0 {
			kept = append(kept, model.Message{Role: m.Role, Parts: parts})
		}
	}
	return kept
}

func empty(p model.Part) bool {
	return p.Text != nil && strings.TrimSpace(*p.Text) == "" ||
		p == model.Part{}
}

func signed(r *model.Reasoning, provider, name string) bool {
	return r.Signature != "" && r.Provider == provider && (r.Model == "" || r.Model == name)
}

// Schema is that of a tool's input, which may be any object where nothing is said of it.
func Schema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return s
}

// Arguments are those of a call, as an object whatever they are.
func Arguments(c *model.ToolCall) json.RawMessage {
	input, err := object(c.Input)
	if err != nil {
		return json.RawMessage("{}")
	}
	return input
}

// TextOf is the text of a tool's result.
func TextOf(r *model.ToolResult) string {
	var texts []string
	for _, p := range r.Content {
		if p.Text != nil {
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ImagesOf is the images of a tool's result.
func ImagesOf(r *model.ToolResult) []*model.Image {
	var images []*model.Image
	for _, p := range r.Content {
		if p.Image != nil {
			images = append(images, p.Image)
		}
	}
	return images
}
