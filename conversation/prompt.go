package conversation

import (
	"cmp"
	"strings"

	"svc.dev/svc/model"
)

// Messages are what the model is given: the thread's entries in its words. Images name their attachment; whoever calls the
// model fetches the bytes.
func (t *Thread) Messages() []model.Message {
	messages := make([]model.Message, 0, len(t.entries))
	for i := range t.entries {
		e := &t.entries[i]
		if e.rendered == nil {
			m := e.message()
			e.rendered = &m
		}
		if len(e.rendered.Parts) > 0 {
			messages = append(messages, *e.rendered)
		}
	}
	return messages
}

func (e entry) message() model.Message {
	switch e.Role {
	case roleUser:
		return e.user()
	case roleSignal:
		return userText(e.signal())
	case roleSummary:
		return userText(tagged("compaction", "context_summary", nil, e.Text))
	case roleResults:
		return e.results()
	}
	return e.said()
}

func userText(text string) model.Message {
	return model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text(text)}}
}

func (e entry) user() model.Message {
	text := e.Text
	if len(e.Files) > 0 {
		var lines []string
		for _, f := range e.Files {
			lines = append(lines, `<image id="`+escapeValue.Replace(f.ID)+`" mimeType="`+escapeValue.Replace(f.MimeType)+`" />`)
		}
		text += "\n\n<attachments>\n" + strings.Join(lines, "\n") + "\n</attachments>"
	}
	m := userText(text)
	for _, f := range e.Files {
		m.Parts = append(m.Parts, imagePart(f))
	}
	return m
}

func imagePart(f File) model.Part {
	return model.Part{Image: &model.Image{MimeType: f.MimeType, Attachment: f.ID, Size: f.Size}}
}

func (e entry) signal() string {
	var attributes Attributes
	if e.Attributes != nil {
		attributes = *e.Attributes
	}
	return tagged(cmp.Or(e.TagName, "signal"), e.SignalType, attributes, e.Text)
}

var (
	escapeBody  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeValue = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

// tagged renders a signal as the model reads it.
func tagged(tag, kind string, attributes Attributes, body string) string {
	var b strings.Builder
	b.WriteString("<" + tag + ` type="` + escapeValue.Replace(kind) + `"`)
	for _, a := range attributes {
		b.WriteString(" " + escapeValue.Replace(a.Name) + `="` + escapeValue.Replace(a.Value) + `"`)
	}
	b.WriteString(">\n" + escapeBody.Replace(body) + "\n</" + tag + ">")
	return b.String()
}

func (e entry) said() model.Message {
	m := model.Message{Role: model.RoleAssistant}
	for _, p := range e.Parts {
		switch p.Kind {
		case partText:
			if p.Text != "" {
				m.Parts = append(m.Parts, model.Text(p.Text))
			}
		case partReasoning:
			r := &model.Reasoning{Text: p.Text, Signature: p.Signature}
			if e.Model != nil {
				r.Provider, r.Model = e.Model.Provider, e.Model.ID
			}
			m.Parts = append(m.Parts, model.Part{Reasoning: r})
		case saidCall:
			m.Parts = append(m.Parts, model.Part{Call: &model.ToolCall{
				ID: p.Call.ID, Name: p.Call.Name, Input: p.Call.Input, Signature: p.Call.Signature,
			}})
		}
	}
	return m
}

func (e entry) results() model.Message {
	m := model.Message{Role: model.RoleTool}
	for _, o := range e.Results {
		m.Parts = append(m.Parts, model.Part{Result: &model.ToolResult{ID: o.Call, Name: o.Name, Content: o.Given(), IsError: o.IsError}})
	}
	return m
}

// Given is what the model gets of a result: its blocks, else its structured output as text.
func (o Outcome) Given() []model.Part {
	var parts []model.Part
	for _, b := range o.Content {
		if b.Attachment != nil {
			parts = append(parts, imagePart(*b.Attachment))
		} else {
			parts = append(parts, model.Text(b.Text))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, model.Text(cmp.Or(string(o.Output), "null")))
	}
	return parts
}
