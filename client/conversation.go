package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Conversation is an agent's instance as its history shows it. Its JSON is the wire's.
type Conversation struct {
	V           int          `json:"v"`
	ID          string       `json:"conversationId"`
	Offset      string       `json:"offset"`
	Messages    []*Message   `json:"messages"`
	Settlements []Settlement `json:"settlements"`

	seen seenAt // of the last update that was taken in
}

// SnapshotVersion is the version of conversations that this client understands.
const SnapshotVersion = 1

// UnmarshalJSON reads a snapshot of a version that is understood.
func (c *Conversation) UnmarshalJSON(data []byte) error {
	type plain Conversation
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.V != SnapshotVersion {
		return &Error{Type: UnsupportedVersion, Message: fmt.Sprintf("The snapshot is of version %d.", p.V)}
	}
	if p.Messages == nil {
		p.Messages = []*Message{}
	}
	if p.Settlements == nil {
		p.Settlements = []Settlement{}
	}
	if slices.Contains(p.Messages, nil) {
		return &Error{Type: UnexpectedAnswer, Message: "A message is null."}
	}
	*c = Conversation(p)
	return nil
}

// Message is one entry of a conversation.
type Message struct {
	ID           string   `json:"id"`
	Role         string   `json:"role"`    // user, assistant or system
	Purpose      string   `json:"purpose"` // user, assistant, dispatch or advisory
	Display      string   `json:"display"` // visible, hidden or diagnostic
	SubmissionID string   `json:"submissionId,omitempty"`
	TurnID       string   `json:"turnId,omitempty"`
	Signal       *Signal  `json:"signal,omitempty"`
	Parts        []*Part  `json:"parts"`
	Metadata     Metadata `json:"metadata"`
}

// UnmarshalJSON reads a message whose parts are all there.
func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Parts == nil {
		p.Parts = []*Part{}
	}
	if slices.Contains(p.Parts, nil) {
		return &Error{Type: UnexpectedAnswer, Message: "A part of a message is null."}
	}
	*m = Message(p)
	return nil
}

// Text is what the message says: its text parts joined.
func (m *Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
)

// Signal is what of a signal is shown beside its text.
type Signal struct {
	TagName    string     `json:"tagName,omitempty"`
	Attributes Attributes `json:"attributes,omitzero"`
}

// Metadata is when a message came to be, and of a reply by whom and at what cost.
type Metadata struct {
	Timestamp    Time   `json:"timestamp"`
	Usage        *Usage `json:"usage,omitempty"`
	Model        *Model `json:"model,omitempty"`
	AgentVersion string `json:"agentVersion,omitempty"`
}

// Model names a language model.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// Usage is what a reply took, in tokens and US dollars.
type Usage struct {
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	CacheRead   int64 `json:"cacheRead"`
	CacheWrite  int64 `json:"cacheWrite"`
	TotalTokens int64 `json:"totalTokens"`
	Cost        Cost  `json:"cost"`
}

// Cost is in US dollars; what is not known is 0.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// Part is a piece of a message. Which fields count depends on its type.
type Part struct {
	Type string `json:"type"` // PartText, PartReasoning, PartFile or PartTool

	Text string `json:"text"` // of text and reasoning

	MediaType string `json:"mediaType"` // of a file
	ID        string `json:"id"`        // of a file: what Attachment downloads
	Size      int64  `json:"size"`      // of a file
	Filename  string `json:"filename"`  // of a file, may be empty

	ToolName   string          `json:"toolName"`   // of a tool call
	ToolCallID string          `json:"toolCallId"` // of a tool call
	Input      json.RawMessage `json:"input"`      // of a tool call
	Output     json.RawMessage `json:"output"`     // of a tool call that succeeded
	ErrorText  string          `json:"errorText"`  // of a tool call that failed
	DurationMs *int64          `json:"durationMs"` // of a tool call that has ended, where it is known

	// State is StateStreaming or StateDone of text and reasoning; StateInput, StateOutput or StateError of a tool call.
	State string `json:"state"`

	grown *strings.Builder // what Text is a view of while it grows
}

// The types of parts, and their states.
const (
	PartText      = "text"
	PartReasoning = "reasoning"
	PartFile      = "file"
	PartTool      = "dynamic-tool"

	StateStreaming = "streaming"
	StateDone      = "done"
	StateInput     = "input-available"
	StateOutput    = "output-available"
	StateError     = "output-error"
)

// MarshalJSON prints the fields that the part's type has.
func (p Part) MarshalJSON() ([]byte, error) {
	switch p.Type {
	case PartFile:
		return encode(struct {
			Type      string `json:"type"`
			MediaType string `json:"mediaType"`
			ID        string `json:"id"`
			Size      int64  `json:"size"`
			Filename  string `json:"filename,omitempty"`
		}{p.Type, p.MediaType, p.ID, p.Size, p.Filename})
	case PartTool:
		call := struct {
			Type       string          `json:"type"`
			ToolName   string          `json:"toolName"`
			ToolCallID string          `json:"toolCallId"`
			State      string          `json:"state"`
			Input      json.RawMessage `json:"input,omitempty"`
			Output     json.RawMessage `json:"output,omitempty"`
			ErrorText  *string         `json:"errorText,omitempty"`
			DurationMs *int64          `json:"durationMs,omitempty"`
		}{p.Type, p.ToolName, p.ToolCallID, p.State, p.Input, p.Output, nil, p.DurationMs}
		if p.State == StateError {
			call.ErrorText = &p.ErrorText
		}
		return encode(call)
	}
	return encode(struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		State string `json:"state"`
	}{p.Type, p.Text, p.State})
}

// Settlement is how a submission ended.
type Settlement struct {
	SubmissionID string     `json:"submissionId"`
	Outcome      string     `json:"outcome"` // Completed, Failed or Aborted
	Error        *WorkError `json:"error,omitempty"`
}

// The outcomes of a submission.
const (
	Completed = "completed"
	Failed    = "failed"
	Aborted   = "aborted"
)

// WorkError is why work did not complete.
type WorkError struct {
	Name    string          `json:"name"`
	Message string          `json:"message"`
	Type    string          `json:"type,omitempty"`
	Details string          `json:"details"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// Clone is a conversation that goes its own way.
func (c *Conversation) Clone() *Conversation {
	own := *c
	own.Settlements = slices.Clone(c.Settlements)
	own.Messages = make([]*Message, len(c.Messages))
	for i, m := range c.Messages {
		own.Messages[i] = m.clone()
	}
	return &own
}

func (m *Message) clone() *Message {
	own := *m
	own.Parts = make([]*Part, len(m.Parts))
	for i, p := range m.Parts {
		part := *p
		part.grown = nil
		own.Parts[i] = &part
	}
	return &own
}
