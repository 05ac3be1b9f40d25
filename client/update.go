package client

import "encoding/json"

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

	// Checkpoint is where a reader goes on that has taken this update: StreamOptions.After. It moves behind a batch with the batch's
	// last update, so that who is stopped in between gets the batch again, and Position tells which of it is new.
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
func (p Position) After(q Position) bool { panic("not yet") }
