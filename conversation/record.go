package conversation

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/iso"
	"svc.dev/svc/model"
)

// Type says what a record tells.
type Type string

// The types of records.
const (
	Created            Type = "conversation_created"
	UserMessage        Type = "user_message"
	SignalMessage      Type = "signal"
	AssistantStarted   Type = "assistant_message_started"
	TextStarted        Type = "assistant_text_started"
	TextDelta          Type = "assistant_text_delta"
	TextCompleted      Type = "assistant_text_completed"
	ReasoningStarted   Type = "assistant_reasoning_started"
	ReasoningDelta     Type = "assistant_reasoning_delta"
	ReasoningCompleted Type = "assistant_reasoning_completed"
	ToolCalled         Type = "assistant_tool_call"
	AssistantCompleted Type = "assistant_message_completed"
	ToolOutcome        Type = "tool_outcome"
	ResultsCommitted   Type = "tool_results_committed"
	Compaction         Type = "compaction"
	ChildRetained      Type = "child_session_retained"
	Settled            Type = "submission_settled"
	Retried            Type = "model_retry" // a failed model call waits to be repeated
)

// The kinds of conversations: the instance's own, and that of a sub-agent.
const (
	KindRoot = "root"
	KindTask = "task"
)

// DefaultSession is the session of an instance's own conversation: the only one that readers are shown.
const DefaultSession = "default"

// Record is one private fact of an agent's log. Fields that its type does not use are absent.
type Record struct {
	Type         Type   `json:"type"`
	Conversation string `json:"conversationId"`
	Session      string `json:"session,omitempty"` // empty: the default one
	At           int64  `json:"at"`                // unix milliseconds
	Submission   string `json:"submissionId,omitempty"`
	Turn         string `json:"turnId,omitempty"`

	Kind       string          `json:"kind,omitempty"`      // of a conversation, or of an aborted submission
	Message    string          `json:"messageId,omitempty"` // the message that this is about
	Text       string          `json:"text,omitempty"`      // body, delta or summary
	Files      []File          `json:"files,omitempty"`
	SignalType string          `json:"signalType,omitempty"`
	TagName    string          `json:"tagName,omitempty"`
	Attributes *Attributes     `json:"attributes,omitempty"`
	Advisory   bool            `json:"advisory,omitempty"` // the runtime speaks
	Hidden     bool            `json:"hidden,omitempty"`
	Model      *ModelName      `json:"model,omitempty"`
	Signature  string          `json:"signature,omitempty"`
	Call       *Call           `json:"call,omitempty"`
	Outcome    *Outcome        `json:"outcome,omitempty"`
	Outcomes   []Outcome       `json:"outcomes,omitempty"`
	Stop       StopReason      `json:"stopReason,omitempty"`
	Usage      *model.Usage    `json:"usage,omitempty"`
	Settlement *Settlement     `json:"settlement,omitempty"`
	Kept       json.RawMessage `json:"kept,omitempty"` // by a compaction: what the model is still given
	Child      string          `json:"childConversationId,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	Deadline   int64           `json:"deadline,omitempty"` // of the submission, unix milliseconds
	Version    string          `json:"version,omitempty"`  // of the agent, for the submission, a task, or a reply
	Label      string          `json:"label,omitempty"`    // of that version, where readers see another
}

// version is that of the agent as readers see it.
func (r Record) version() string { return cmp.Or(r.Label, r.Version) }

// File is an attachment as records name it.
type File struct {
	ID       string `json:"id"`
	MimeType string `json:"mimeType"`
	Size     int64  `json:"size"`
	Digest   string `json:"digest"` // sha256:<hex>
	Filename string `json:"filename,omitempty"`
}

// ModelName is which model spoke.
type ModelName struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// Call is a tool call, whole.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Signature string          `json:"signature,omitempty"`
}

// Outcome is what became of a tool call.
type Outcome struct {
	Call       string          `json:"toolCallId"`
	Name       string          `json:"toolName"`
	Output     json.RawMessage `json:"output,omitempty"`  // structured, if the tool had such
	Content    []Block         `json:"content,omitempty"` // what the model is given
	IsError    bool            `json:"isError,omitempty"`
	DurationMs *int64          `json:"durationMs,omitempty"`
}

// Block is a piece of a tool's result: text, or an attachment.
type Block struct {
	Type       string `json:"type"` // text or attachment
	Text       string `json:"text,omitempty"`
	Attachment *File  `json:"attachment,omitempty"`
}

// TextBlock is a piece of text.
func TextBlock(text string) Block { return Block{Type: "text", Text: Text(text)} }

// Text is what of a string is text: what the log gives back is what was shown at once, byte for byte.
func Text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// StopReason is why an assistant message ended.
type StopReason string

// The reasons for which a message ends.
const (
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopTools   StopReason = "toolUse"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Settlement is how a submission ended.
type Settlement struct {
	Submission string `json:"submissionId"`
	Outcome    string `json:"outcome"` // completed, failed or aborted
	Error      *Error `json:"error,omitempty"`
	Private    bool   `json:"private,omitempty"` // of a dispatched submission that was not aborted: not shown
}

// Error is why a submission did not complete.
type Error struct {
	Name    string         `json:"name"`
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Details string         `json:"details"`
	Meta    map[string]any `json:"meta,omitempty"`
}

// Public reports whether readers are shown the record's conversation.
func (r Record) Public() bool { return r.Session == "" }

func (r Record) time() string { return iso.Format(time.UnixMilli(r.At)) }

// The ids of messages that follow from what they are about.

// DirectID is the id of the message of a prompt.
func DirectID(submission string) string {
	return "entry_direct_" + base64.RawURLEncoding.EncodeToString([]byte(submission))
}

// DispatchID is the id of the message of a dispatch.
func DispatchID(dispatch string) string {
	return "entry_dispatch_" + base64.RawURLEncoding.EncodeToString([]byte(dispatch))
}

// AbortedID is the id of the advisory on an aborted submission.
func AbortedID(submission string) string { return "entry_submission_aborted_" + submission }

// InterruptedID is the id of the advisory on a submission that recovery gave up.
func InterruptedID(submission string) string { return "entry_submission_interrupted_" + submission }

const recoveryPrefix = "entry_recovery_"

// RecoveryIDs are the ids of the two advisories on a broken reply.
func RecoveryIDs(assistant string) (interrupted, continued string) {
	return recoveryPrefix + assistant + "_stream_interrupted", recoveryPrefix + assistant + "_stream_continued"
}

// ToolImageID is the id of an image in a tool's result.
func ToolImageID(assistant, call string, index int) string {
	enc := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf("att_entry_tool_outcome_%s_%s_%d", enc([]byte(assistant)), enc([]byte(call)), index)
}
