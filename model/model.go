// Package model is what is asked of a language model: one turn, as a sequence of events. It has no clock and no network;
// the packages below it speak to providers.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Provider answers turns. A turn yields its events in order and ends with one Finish, or with one error after which nothing
// follows. Ending ctx, or the loop over it, ends the turn and reaches the provider's socket. Turns may run side by side.
type Provider interface {
	Turn(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Request is all that a model is given for one turn.
type Request struct {
	Model       string // as the provider names it
	System      string
	Messages    []Message
	Tools       []Tool
	MaxTokens   int      // zero: the provider's default
	Temperature *float64 // nil: the provider's default
	Reasoning   string   // how hard to think: low, medium, high; empty: not asked for, though some models always think
	Affinity    string   // requests that share it share a prefix, for the provider's cache
}

// Role is who speaks.
type Role string

// The roles of messages. The results of tools come from RoleTool.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of the conversation.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is one piece of a message; exactly one of its fields is set.
type Part struct {
	Text      *string
	Reasoning *Reasoning
	Image     *Image
	Call      *ToolCall
	Result    *ToolResult
}

// Text is a part of text.
func Text(s string) Part { return Part{Text: &s} }

// Reasoning is what a model thought. Signature is the provider's own, to be given back unread.
type Reasoning struct {
	Text      string
	Signature string
	Provider  string // whose signature it is; another provider is not given it
	Model     string // that signed; another model is not given it; empty: any of the provider's is
}

// Image is a picture.
type Image struct {
	MimeType   string
	Data       []byte
	Attachment string // where the bytes lie, while Data is not filled in
	Size       int64  // how many they are then
}

// Tool is something the model may call.
type Tool struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of an object
}

// ToolCall asks for a tool. Input is a JSON object.
type ToolCall struct {
	ID        string
	Name      string
	Input     json.RawMessage
	Signature string // the provider's own, to be given back unread
}

// ToolResult answers a call.
type ToolResult struct {
	ID      string
	Name    string
	Content []Part // text and images
	IsError bool
}

// EventType says what an Event is.
type EventType string

// The types of events. A model may think without showing it: such a block is a BlockEnd with a signature and no delta
// before it, and is kept like any other, because the provider wants it back.
const (
	TextDelta      EventType = "text"      // more of the text block
	ReasoningDelta EventType = "reasoning" // more of the reasoning block
	BlockEnd       EventType = "block_end" // the block is whole; another of its kind may begin
	Called         EventType = "call"      // a tool call, whole
	Finished       EventType = "finish"    // the turn is over
)

// Event is one thing that a model says.
type Event struct {
	Type      EventType
	Text      string
	Signature string // on the BlockEnd of a reasoning block
	Call      *ToolCall
	Finish    *Finish
}

// StopReason is why a turn ended.
type StopReason string

// The reasons to stop.
const (
	Stop    StopReason = "stop"
	Length  StopReason = "length"
	ToolUse StopReason = "toolUse"
)

// Finish is how a turn ended.
type Finish struct {
	Reason     StopReason
	Usage      Usage
	ResponseID string
	Model      string // that answered, where the provider says
}

// Usage counts tokens.
type Usage struct {
	Input       int  `json:"input"`
	Output      int  `json:"output"`
	CacheRead   int  `json:"cacheRead"`
	CacheWrite  int  `json:"cacheWrite"`
	TotalTokens int  `json:"totalTokens"`
	Cost        Cost `json:"cost"`
}

// Plus is the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		TotalTokens: u.TotalTokens + v.TotalTokens,
		Cost: Cost{
			Input: u.Cost.Input + v.Cost.Input, Output: u.Cost.Output + v.Cost.Output, CacheRead: u.Cost.CacheRead + v.Cost.CacheRead,
			CacheWrite: u.Cost.CacheWrite + v.Cost.CacheWrite, Total: u.Cost.Total + v.Cost.Total,
		},
	}
}

// Cost is what tokens cost, in US dollars; what is not known is 0.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// Name splits "provider/model" into its two halves; a model's own name may hold slashes.
func Name(name string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || provider == "" || model == "" {
		return "", "", &Error{Class: Rejected, Message: fmt.Sprintf("model %q is not written provider/model", name)}
	}
	return provider, model, nil
}

// Providers finds providers by name.
type Providers map[string]Provider

// Find returns the provider of a model's name, for any scope.
func (p Providers) Find(_ context.Context, _, name string) (Provider, error) {
	provider, _, err := Name(name)
	if err != nil {
		return nil, err
	}
	if found := p[provider]; found != nil {
		return found, nil
	}
	return nil, &Error{Class: Rejected, Message: fmt.Sprintf("no model provider %q", provider)}
}
