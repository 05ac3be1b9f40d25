package scripted_test

import (
	"testing"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/model/scripted"
)

// TestAnObedientModelDoesAsItIsTold calls the tool that the text names, and says the rest back.
func TestAnObedientModelDoesAsItIsTold(t *testing.T) {
	for text, want := range map[string]string{
		`look_up {"order":"7"}`: `look_up {"order":"7"}`,
		"look_up":               `look_up {}`,
		"look_up order 7":       `look_up {"text":"order 7"}`,
		"look up":               "You said: look up",
		"":                      "You said: ",
	} {
		r := ask(text)
		r.Tools = []model.Tool{{Name: "other"}, {Name: "look_up"}}
		h := modeltest.Hear(t, scripted.Obedient(), r)
		got := h.Text
		for _, c := range h.Calls {
			got += c.Name + " " + string(c.Input)
		}
		if h.Err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, h.Err)
		}
	}
	r := ask("look_up")
	r.Messages = append(r.Messages, model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.ToolResult{Content: []model.Part{model.Text("found")}}}}})
	if h := modeltest.Hear(t, scripted.Obedient(), r); h.Text != "The tool says found" {
		t.Errorf("of a tool it says %q", h.Text)
	}
}
