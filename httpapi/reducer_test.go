package httpapi_test

import (
	"encoding/json"
	"slices"

	"github.com/google/go-cmp/cmp"
)

func diff(want, got any) string { return cmp.Diff(want, got, cmp.AllowUnexported(projection{})) }

// projection is a conversation as a client holds it. It is what published clients do with updates, written down once more:
// wire.md section 4.
type projection struct {
	Conversation string       `json:"conversationId"`
	Messages     []*viewed    `json:"messages"`
	Settlements  []settlement `json:"settlements"`
	Offset       string       `json:"offset"`
	applied      [2]int       // batch and index of the last chunk
}

type viewed struct {
	ID           string          `json:"id"`
	Role         string          `json:"role"`
	Purpose      string          `json:"purpose"`
	Display      string          `json:"display"`
	SubmissionID string          `json:"submissionId,omitempty"`
	TurnID       string          `json:"turnId,omitempty"`
	Signal       json.RawMessage `json:"signal,omitempty"`
	Parts        []part          `json:"parts"`
	Metadata     metadata        `json:"metadata"`
}

type metadata struct {
	Timestamp string          `json:"timestamp,omitempty"`
	Usage     json.RawMessage `json:"usage,omitempty"`
	Model     json.RawMessage `json:"model,omitempty"`
}

type part struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	State      string          `json:"state,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
	DurationMs *int            `json:"durationMs,omitempty"`
	MediaType  string          `json:"mediaType,omitempty"`
	ID         string          `json:"id,omitempty"`
	Size       int             `json:"size,omitempty"`
	Filename   string          `json:"filename,omitempty"`
}

func (p part) spoken() bool { return p.Type == "text" || p.Type == "reasoning" }

type settlement struct {
	SubmissionID string          `json:"submissionId"`
	Outcome      string          `json:"outcome"`
	Error        json.RawMessage `json:"error,omitempty"`
}

// update is a chunk.
type update struct {
	Type         string          `json:"type"`
	Conversation string          `json:"conversationId"`
	Snapshot     *projection     `json:"snapshot"`
	Message      *viewed         `json:"message"`
	MessageID    string          `json:"messageId"`
	Timestamp    string          `json:"timestamp"`
	TurnID       string          `json:"turnId"`
	Model        json.RawMessage `json:"model"`
	Kind         string          `json:"kind"`
	Delta        string          `json:"delta"`
	ToolCallID   string          `json:"toolCallId"`
	ToolName     string          `json:"toolName"`
	Input        json.RawMessage `json:"input"`
	Output       json.RawMessage `json:"output"`
	ErrorText    string          `json:"errorText"`
	DurationMs   *int            `json:"durationMs"`
	Usage        json.RawMessage `json:"usage"`
	SubmissionID string          `json:"submissionId"`
	Outcome      string          `json:"outcome"`
	Error        json.RawMessage `json:"error"`
	Position     struct {
		Batch int `json:"batch"`
		Index int `json:"index"`
	} `json:"position"`
}

// after reports whether a chunk stands behind a place.
func (u update) after(batch, index int) bool {
	return u.Position.Batch > batch || u.Position.Batch == batch && u.Position.Index > index
}

// apply takes one chunk in; one that was applied before changes nothing.
func (p *projection) apply(u update) {
	if !u.after(p.applied[0], p.applied[1]) {
		return
	}
	p.applied = [2]int{u.Position.Batch, u.Position.Index}
	switch u.Type {
	case "conversation-reset":
		p.Conversation, p.Messages, p.Settlements = u.Snapshot.Conversation, u.Snapshot.Messages, u.Snapshot.Settlements
	case "message-appended":
		if i := slices.IndexFunc(p.Messages, func(m *viewed) bool { return m.ID == u.Message.ID }); i >= 0 {
			p.Messages[i] = u.Message
			return
		}
		p.Messages = append(p.Messages, u.Message)
	case "message-started":
		if p.find(u.MessageID) == nil {
			p.Messages = append(p.Messages, &viewed{
				ID: u.MessageID, Role: "assistant", Purpose: "assistant", Display: "visible", SubmissionID: u.SubmissionID, TurnID: u.TurnID,
				Parts: []part{}, Metadata: metadata{Timestamp: u.Timestamp, Model: u.Model},
			})
		}
	case "message-delta":
		if m := p.find(u.MessageID); m != nil {
			m.say(u.Kind, u.Delta)
		}
	case "tool-input":
		if m := p.find(u.MessageID); m != nil && m.call(u.ToolCallID) == nil {
			m.hush()
			m.Parts = append(m.Parts, part{Type: "dynamic-tool", ToolName: u.ToolName, ToolCallID: u.ToolCallID, Input: u.Input, State: "input-available"})
		}
	case "tool-output", "tool-output-error":
		p.answer(u)
	case "message-completed":
		if m := p.find(u.MessageID); m != nil {
			for i := range m.Parts {
				if m.Parts[i].spoken() {
					m.Parts[i].State = "done"
				}
			}
			m.Metadata.Usage = u.Usage
		}
	case "submission-settled":
		s := settlement{u.SubmissionID, u.Outcome, u.Error}
		if i := slices.IndexFunc(p.Settlements, func(s settlement) bool { return s.SubmissionID == u.SubmissionID }); i >= 0 {
			p.Settlements[i] = s
			return
		}
		p.Settlements = append(p.Settlements, s)
	}
}

func (p *projection) find(id string) *viewed {
	for _, m := range p.Messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// answer completes a call of the last message that made it.
func (p *projection) answer(u update) {
	for _, m := range slices.Backward(p.Messages) {
		if c := m.call(u.ToolCallID); c != nil {
			c.State, c.Output, c.ErrorText, c.DurationMs = "output-available", u.Output, u.ErrorText, u.DurationMs
			if u.Type == "tool-output-error" {
				c.State = "output-error"
			}
			return
		}
	}
}

func (m *viewed) say(kind, delta string) {
	if n := len(m.Parts); n > 0 && m.Parts[n-1].Type == kind && m.Parts[n-1].State == "streaming" {
		m.Parts[n-1].Text += delta
		return
	}
	m.hush()
	m.Parts = append(m.Parts, part{Type: kind, Text: delta, State: "streaming"})
}

// hush ends the part that is spoken.
func (m *viewed) hush() {
	if n := len(m.Parts); n > 0 && m.Parts[n-1].spoken() {
		m.Parts[n-1].State = "done"
	}
}

func (m *viewed) call(id string) *part {
	for i := range m.Parts {
		if m.Parts[i].Type == "dynamic-tool" && m.Parts[i].ToolCallID == id {
			return &m.Parts[i]
		}
	}
	return nil
}

// replies names the replies in progress.
func (p *projection) replies() map[string]bool {
	open := map[string]bool{}
	for _, m := range p.Messages {
		open[m.ID] = m.Role == "assistant" && m.Metadata.Usage == nil
	}
	return open
}

// normal leaves out what may differ between a snapshot and the updates up to it: adjacent parts of a kind are one, empty ones
// are none. Of a reply in progress it does not count whether its last part is still spoken, nor its model: a snapshot does not
// tell it, so one that was open where the updates began never gets it.
func (p *projection) normal(open map[string]bool) *projection {
	n := &projection{Conversation: p.Conversation, Settlements: slices.Clip(p.Settlements)}
	for _, m := range p.Messages {
		c := *m
		c.Parts = nil
		for _, p := range m.Parts {
			if last := len(c.Parts) - 1; p.spoken() && last >= 0 && c.Parts[last].Type == p.Type {
				c.Parts[last].Text += p.Text
				c.Parts[last].State = p.State
			} else if !p.spoken() || p.Text != "" {
				c.Parts = append(c.Parts, p)
			}
		}
		if m.Role == "assistant" && m.Metadata.Usage == nil {
			c.hush()
		}
		if m.Metadata.Usage == nil || open[m.ID] {
			c.Metadata.Model = nil
		}
		n.Messages = append(n.Messages, &c)
	}
	return n
}
