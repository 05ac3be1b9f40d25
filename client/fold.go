package client

import (
	"slices"
	"strings"
)

// Apply takes one update in. One that was taken in before changes nothing. It reports whether the update was new; one of a type that
// is not known is, and changes nothing.
//
// A conversation that has taken in all updates up to an offset is the history of that offset, but that adjacent parts of one kind
// are one, that a part without text is none, and that a reply on its way tells its model, unless it was on its way in the history
// that one began with: then it never does.
func (c *Conversation) Apply(u Update) bool {
	if !c.seen.passes(u.Position) {
		return false
	}
	switch u.Type {
	case UpdateReset:
		if u.Snapshot == nil {
			break
		}
		snapshot := u.Snapshot.Clone()
		c.V, c.ID, c.Messages, c.Settlements = snapshot.V, snapshot.ID, snapshot.Messages, snapshot.Settlements
	case UpdateAppended:
		if u.Message != nil {
			c.put(u.Message.clone())
		}
	case UpdateStarted:
		c.start(u)
	case UpdateToolOutput, UpdateToolError:
		c.answer(u)
	case UpdateSettled:
		c.settle(u.settlement())
	default:
		if m := c.find(u.MessageID); m != nil {
			m.apply(u)
		}
	}
	return true
}

// find looks from the end: it is nearly always the last message that something happens to.
func (c *Conversation) find(id string) *Message {
	for _, m := range slices.Backward(c.Messages) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// put replaces the message of the same id in its place, or appends it.
func (c *Conversation) put(message *Message) {
	if i := slices.IndexFunc(c.Messages, func(m *Message) bool { return m.ID == message.ID }); i >= 0 {
		c.Messages[i] = message
		return
	}
	c.Messages = append(c.Messages, message)
}

func (c *Conversation) start(u Update) {
	if c.find(u.MessageID) != nil {
		return
	}
	c.Messages = append(c.Messages, &Message{
		ID: u.MessageID, Role: RoleAssistant, Purpose: "assistant", Display: "visible", SubmissionID: u.SubmissionID, TurnID: u.TurnID,
		Parts: []*Part{}, Metadata: Metadata{Timestamp: u.Timestamp, Model: u.Model, AgentVersion: u.AgentVersion},
	})
}

// answer completes a call of the last message that made it.
func (c *Conversation) answer(u Update) {
	for _, m := range slices.Backward(c.Messages) {
		if p := m.call(u.ToolCallID); p != nil {
			p.State, p.Output, p.ErrorText, p.DurationMs = StateOutput, u.Output, "", u.DurationMs
			if u.Type == UpdateToolError {
				p.State, p.Output, p.ErrorText = StateError, nil, u.ErrorText
			}
			return
		}
	}
}

func (c *Conversation) settle(s Settlement) {
	if i := slices.IndexFunc(c.Settlements, func(o Settlement) bool { return o.SubmissionID == s.SubmissionID }); i >= 0 {
		c.Settlements[i] = s
		return
	}
	c.Settlements = append(c.Settlements, s)
}

// apply is what happens to a reply.
func (m *Message) apply(u Update) {
	switch u.Type {
	case UpdateDelta:
		m.say(u.Kind, u.Delta)
	case UpdateToolInput:
		if m.call(u.ToolCallID) == nil {
			m.hush(len(m.Parts))
			m.Parts = append(m.Parts, &Part{Type: PartTool, ToolName: u.ToolName, ToolCallID: u.ToolCallID, Input: u.Input, State: StateInput})
		}
	case UpdateCompleted:
		for _, p := range m.Parts {
			p.end()
		}
		if u.Usage != nil {
			m.Metadata.Usage = u.Usage
		}
	}
}

func (m *Message) call(id string) *Part {
	for _, p := range m.Parts {
		if p.Type == PartTool && p.ToolCallID == id {
			return p
		}
	}
	return nil
}

// say adds to the part that is spoken, or begins another. What stands before it is whole: a snapshot may not have known that.
func (m *Message) say(kind, delta string) {
	if n := len(m.Parts); n > 0 && m.Parts[n-1].Type == kind && m.Parts[n-1].State == StateStreaming {
		m.hush(n - 1)
		m.Parts[n-1].grow(delta)
		return
	}
	m.hush(len(m.Parts))
	m.Parts = append(m.Parts, &Part{Type: kind, Text: delta, State: StateStreaming})
}

// hush ends what is still spoken of the first n parts.
func (m *Message) hush(n int) {
	for n--; n >= 0 && m.Parts[n].State == StateStreaming; n-- {
		m.Parts[n].end()
	}
}

// grow appends to a part. Its text is a view of what has grown, so that a long reply is not copied with each of its words.
func (p *Part) grow(delta string) {
	if p.grown == nil {
		p.grown = &strings.Builder{}
		p.grown.WriteString(p.Text)
	}
	p.grown.WriteString(delta)
	p.Text = p.grown.String()
}

// end says of a text that it is whole.
func (p *Part) end() {
	if p.State == StateStreaming {
		p.State = StateDone
	}
	if p.grown != nil {
		p.Text, p.grown = strings.Clone(p.Text), nil // without the room to grow
	}
}
