package conversation

import (
	"encoding/json"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// View is a message as readers are shown it. Fields stand in the order of the wire.
type View struct {
	ID         string      `json:"id"`
	Role       string      `json:"role"`
	Purpose    string      `json:"purpose"`
	Display    string      `json:"display"`
	Submission string      `json:"submissionId,omitempty"`
	Turn       string      `json:"turnId,omitempty"`
	Signal     *ViewSignal `json:"signal,omitempty"`
	Parts      []Part      `json:"parts"`
	Metadata   Metadata    `json:"metadata"`
}

// ViewSignal is what of a signal is shown beside its text.
type ViewSignal struct {
	TagName    string      `json:"tagName,omitempty"`
	Attributes *Attributes `json:"attributes,omitempty"`
}

// Metadata is when a message came to be, and of a completed reply what it cost.
type Metadata struct {
	Timestamp string       `json:"timestamp"`
	Usage     *model.Usage `json:"usage,omitempty"`
	Model     *ModelName   `json:"model,omitempty"`
	// AgentVersion is the version of the agent that a submission is worked by.
	AgentVersion string `json:"agentVersion,omitempty"`
}

// Part is a piece of a message.
type Part struct {
	Type       string          `json:"type"`
	Text       *string         `json:"text,omitempty"`
	MediaType  *string         `json:"mediaType,omitempty"`
	ID         string          `json:"id,omitempty"`
	Size       *int64          `json:"size,omitempty"`
	Filename   string          `json:"filename,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	State      string          `json:"state,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  *string         `json:"errorText,omitempty"`
	DurationMs *int64          `json:"durationMs,omitempty"`
}

// The types and states of parts.
const (
	partText      = "text"
	partReasoning = "reasoning"
	partFile      = "file"
	partTool      = "dynamic-tool"

	stateStreaming       = "streaming"
	stateDone            = "done"
	stateInputAvailable  = "input-available"
	stateOutputAvailable = "output-available"
	stateOutputError     = "output-error"
)

func textPart(kind, text, state string) Part { return Part{Type: kind, Text: &text, State: state} }

// viewOf is the message that a user_message or signal record makes, whole at once.
func viewOf(r Record) View {
	v := View{
		ID: r.Message, Submission: r.Submission, Metadata: Metadata{Timestamp: r.time(), AgentVersion: r.version()},
		Parts: []Part{textPart(partText, r.Text, stateDone)},
	}
	switch {
	case r.Type == UserMessage:
		v.Role, v.Purpose, v.Display = "user", "user", "visible"
	case r.Advisory:
		v.Role, v.Purpose, v.Display = "system", "advisory", "diagnostic"
	default:
		v.Role, v.Purpose, v.Display = "system", "dispatch", "diagnostic"
	}
	if r.Hidden {
		v.Display = "hidden"
	}
	for _, f := range r.Files {
		v.Parts = append(v.Parts, Part{Type: partFile, MediaType: &f.MimeType, ID: f.ID, Size: &f.Size, Filename: f.Filename})
	}
	if r.TagName != "" || r.Attributes != nil {
		v.Signal = &ViewSignal{TagName: r.TagName, Attributes: r.Attributes}
	}
	return v
}

// shown is the value that readers get for a tool's result: its structured output, else its one text, else its blocks.
func (o Outcome) shown() (json.RawMessage, error) {
	if o.Output != nil {
		return o.Output, nil
	}
	if len(o.Content) == 1 && o.Content[0].Type == "text" {
		return stream.Encode(o.Content[0].Text)
	}
	if o.Content == nil {
		return json.RawMessage("[]"), nil
	}
	return stream.Encode(o.Content)
}

// errorText is what readers get for a tool that failed.
func (o Outcome) errorText() string {
	var lines []string
	for _, b := range o.Content {
		if b.Type == "text" {
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n")
}
