package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
	"svc.dev/svc/stream"
)

// event is any event of a stream; its type says which of its fields count.
type event struct {
	Type    string `json:"type"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Data  string          `json:"data"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	apiError
}

func (e *event) known() bool {
	return slices.Contains([]string{"message_start", "content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop", "error"}, e.Type)
}

// usage is cumulative; what an event leaves out did not change.
type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// parser reads one answer. The API sends one block at a time.
type parser struct {
	finish model.Finish
	reason string

	kind      string // of the open block
	signature strings.Builder
	call      model.ToolCall
	arguments strings.Builder
}

// End finds the answer cut off: its last event is missing.
func (p *parser) End(*exchange.Transcript) error { return nil }

func (p *parser) Next(e stream.Event, said *exchange.Transcript) error {
	var v event
	if err := exchange.Decode(e.Data, &v, v.known); err != nil {
		return fmt.Errorf("event %s: %w", e.Name, err)
	}
	switch v.Type {
	case "message_start":
		p.finish.ResponseID, p.finish.Model = v.Message.ID, v.Message.Model
		p.count(v.Message.Usage)
	case "content_block_start":
		p.begin(v, said)
	case "content_block_delta":
		p.more(v, said)
	case "content_block_stop":
		p.end(said)
	case "message_delta":
		p.reason = v.Delta.StopReason
		p.count(v.Usage)
	case "message_stop":
		return p.stop(said)
	case "error":
		return v.refusal()
	}
	return nil
}

func (p *parser) begin(v event, said *exchange.Transcript) {
	b := v.ContentBlock
	p.kind = b.Type
	p.signature.Reset()
	p.arguments.Reset()
	switch b.Type {
	case "text":
		said.Text(b.Text)
	case "redacted_thinking":
		p.signature.WriteString(redacted + b.Data)
	case "tool_use":
		p.call = model.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input}
	}
}

func (p *parser) more(v event, said *exchange.Transcript) {
	switch v.Delta.Type {
	case "text_delta":
		said.Text(v.Delta.Text)
	case "thinking_delta":
		said.Reasoning(v.Delta.Thinking)
	case "signature_delta":
		p.signature.WriteString(v.Delta.Signature)
	case "input_json_delta":
		p.arguments.WriteString(v.Delta.PartialJSON)
	}
}

func (p *parser) end(said *exchange.Transcript) {
	switch p.kind {
	case "text":
		said.Close()
	case "thinking", "redacted_thinking":
		said.CloseReasoning(p.signature.String())
	case "tool_use":
		if p.arguments.Len() > 0 {
			p.call.Input = json.RawMessage(p.arguments.String())
		}
		said.Call(p.call)
	}
	p.kind = ""
}

func (p *parser) count(u usage) {
	all := &p.finish.Usage
	for to, n := range map[*int]*int{&all.Input: u.Input, &all.Output: u.Output, &all.CacheRead: u.CacheRead, &all.CacheWrite: u.CacheWrite} {
		if n != nil {
			*to = max(0, *n)
		}
	}
}

func (p *parser) stop(said *exchange.Transcript) error {
	switch p.reason {
	case "refusal":
		return exchange.Refusal{Code: "refusal", Message: "the model declines to answer", Final: true}
	case "max_tokens", "model_context_window_exceeded":
		p.finish.Reason = model.Length
	case "tool_use":
		p.finish.Reason = model.ToolUse
	default:
		p.finish.Reason = model.Stop
	}
	return said.Finish(p.finish)
}
