package client

import "encoding/json"

// Conversation is an agent's instance as its history shows it. Its JSON is the wire's.
type Conversation struct {
	V           int          `json:"v"`
	ID          string       `json:"conversationId"`
	Offset      string       `json:"offset"`
	Messages    []*Message   `json:"messages"`
	Settlements []Settlement `json:"settlements"`
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

// Text is what the message says: its text parts joined.
func (m *Message) Text() string { panic("not yet") }

// Signal is what of a signal is shown beside its text.
type Signal struct {
	TagName    string     `json:"tagName,omitempty"`
	Attributes Attributes `json:"attributes,omitempty"`
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
func (p *Part) MarshalJSON() ([]byte, error) { panic("not yet") }

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

// Apply takes one update in. One that was taken in before changes nothing, and neither does one of a type that is not known. It
// reports whether the conversation has changed.
func (c *Conversation) Apply(u Update) bool { panic("not yet") }

// Clone is a conversation that goes its own way.
func (c *Conversation) Clone() *Conversation { panic("not yet") }
