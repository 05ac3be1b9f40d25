package client

import (
	"encoding/json"
	"iter"
)

// Update is one change of a conversation. Which fields count depends on its type.
type Update struct {
	Type           string          `json:"type"`
	ConversationID string          `json:"conversationId"`
	Snapshot       *Conversation   `json:"snapshot,omitempty"`     // of UpdateReset
	Message        *Message        `json:"message,omitempty"`      // of UpdateAppended
	MessageID      string          `json:"messageId,omitempty"`    // of what happens to a reply
	Kind           string          `json:"kind,omitempty"`         // of UpdateDelta: PartText or PartReasoning
	Delta          string          `json:"delta,omitempty"`        // of UpdateDelta
	ToolCallID     string          `json:"toolCallId,omitempty"`   // of what happens to a tool call
	ToolName       string          `json:"toolName,omitempty"`     // of UpdateToolInput
	Input          json.RawMessage `json:"input,omitempty"`        // of UpdateToolInput
	Output         json.RawMessage `json:"output,omitempty"`       // of UpdateToolOutput
	ErrorText      string          `json:"errorText,omitempty"`    // of UpdateToolError
	DurationMs     *int64          `json:"durationMs,omitempty"`   // of UpdateToolOutput and UpdateToolError
	Timestamp      Time            `json:"timestamp,omitzero"`     // of UpdateStarted
	SubmissionID   string          `json:"submissionId,omitempty"` // of UpdateStarted and UpdateSettled
	TurnID         string          `json:"turnId,omitempty"`       // of UpdateStarted
	Model          *Model          `json:"model,omitempty"`        // of UpdateStarted
	AgentVersion   string          `json:"agentVersion,omitempty"` // of UpdateStarted
	Usage          *Usage          `json:"usage,omitempty"`        // of UpdateCompleted
	Outcome        string          `json:"outcome,omitempty"`      // of UpdateSettled
	Error          *WorkError      `json:"error,omitempty"`        // of UpdateSettled
	Position       Position        `json:"position"`

	// Checkpoint is where a reader goes on that has taken this update: StreamOptions.After. It moves behind a page with the page's
	// last update, so that a reader that stops in between gets some of them again, and Position tells which are new.
	Checkpoint string `json:"-"`
}

// The types of updates.
const (
	UpdateReset      = "conversation-reset"
	UpdateAppended   = "message-appended"
	UpdateStarted    = "message-started"
	UpdateDelta      = "message-delta"
	UpdateToolInput  = "tool-input"
	UpdateToolOutput = "tool-output"
	UpdateToolError  = "tool-output-error"
	UpdateCompleted  = "message-completed"
	UpdateSettled    = "submission-settled"
)

// Position is the place of an update in its stream.
type Position struct {
	Batch int64 `json:"batch"`
	Index int   `json:"index"`
}

// After reports whether a place stands behind another.
func (p Position) After(q Position) bool {
	return p.Batch > q.Batch || p.Batch == q.Batch && p.Index > q.Index
}

// seenAt is the last place that was seen, if any was.
type seenAt struct {
	at  Position
	set bool
}

// passes reports whether a place is a new one, and marks it.
func (m *seenAt) passes(p Position) bool {
	if m.set && !p.After(m.at) {
		return false
	}
	*m = seenAt{p, true}
	return true
}

func (u Update) settlement() Settlement { return Settlement{u.SubmissionID, u.Outcome, u.Error} }

// updates reads the items of a page.
func (p page) updates() iter.Seq2[Update, *Error] {
	return func(yield func(Update, *Error) bool) {
		for i, item := range p.items {
			var u Update
			if err := u.read(item); err != nil {
				yield(Update{}, err)
				return
			}
			u.Checkpoint = p.checkpoint(i)
			if !yield(u, nil) {
				return
			}
		}
	}
}

func (u *Update) read(item []byte) *Error {
	if err := json.Unmarshal(item, u); err != nil || u.Type == "" {
		return &Error{Type: UnexpectedAnswer, Message: "An update cannot be read.", Details: excerpt(item), Cause: err}
	}
	if u.Type == UpdateReset && u.Snapshot == nil || u.Type == UpdateAppended && u.Message == nil {
		return &Error{Type: UnexpectedAnswer, Message: "An update is not whole.", Details: excerpt(item)}
	}
	return nil
}
