package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
	"svc.dev/svc/stream"
)

// chatRequest is the body of a turn. What only OpenAI itself understands is left out for others: some refuse it.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Tools               []chatTool    `json:"tools,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitempty"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"` // a text or []chatContent
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatContent struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL *exchange.Picture `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (p *Provider) chatRequest(r model.Request) chatRequest {
	q := chatRequest{
		Model: r.Model, Temperature: r.Temperature, ReasoningEffort: r.Reasoning,
		Stream: true, StreamOptions: streamOptions{true},
	}
	if p.official {
		q.MaxCompletionTokens, q.PromptCacheKey = r.MaxTokens, r.Affinity
	} else {
		q.MaxTokens = r.MaxTokens
	}
	if r.System != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: r.System})
	}
	for _, t := range r.Tools {
		tool := chatTool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, exchange.Schema(t.Input)
		q.Tools = append(q.Tools, tool)
	}
	q.Messages = append(q.Messages, chatMessages(exchange.History(r, p.wire.Name))...)
	return q
}

// chatMessages keeps the results of one turn's calls together: images that tools returned follow them, in a message of the
// user's, because a result of a tool can hold text only.
func chatMessages(history []model.Message) []chatMessage {
	var all []chatMessage
	var images []chatContent
	for _, m := range history {
		if m.Role == model.RoleTool {
			results, seen := chatResults(m)
			all, images = append(all, results...), append(images, seen...)
			continue
		}
		all, images = append(all, shown(images)...), nil
		if m.Role == model.RoleAssistant {
			all = append(all, chatAssistant(m)...)
		} else {
			all = append(all, chatMessage{Role: "user", Content: chatContents(m)})
		}
	}
	return append(all, shown(images)...)
}

func shown(images []chatContent) []chatMessage {
	if len(images) == 0 {
		return nil
	}
	return []chatMessage{{Role: "user", Content: images}}
}

func chatResults(m model.Message) (results []chatMessage, images []chatContent) {
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		text := resultText(p.Result)
		for _, i := range exchange.ImagesOf(p.Result) {
			images = append(images,
				chatContent{Type: "text", Text: "Image that the call " + p.Result.ID + " returned:"},
				chatContent{Type: "image_url", ImageURL: &imageURL{dataURL(i)}})
			text = cmp.Or(text, "(an image, which follows)")
		}
		results = append(results, chatMessage{Role: "tool", ToolCallID: p.Result.ID, Content: cmp.Or(text, "(no output)")})
	}
	return results, images
}

func chatAssistant(m model.Message) []chatMessage {
	said := chatMessage{Role: "assistant"}
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Text != nil:
			texts = append(texts, *p.Text)
		case p.Call != nil:
			said.ToolCalls = append(said.ToolCalls, chatCall{p.Call.ID, "function", chatFunction{p.Call.Name, string(exchange.Arguments(p.Call))}})
		}
	}
	if len(texts) > 0 {
		said.Content = strings.Join(texts, "\n\n")
	}
	if said.Content == nil && said.ToolCalls == nil {
		return nil
	}
	return []chatMessage{said}
}

// chatContents is a text where it can be: not every server takes a list.
func chatContents(m model.Message) any {
	if len(m.Parts) == 1 && m.Parts[0].Text != nil {
		return *m.Parts[0].Text
	}
	var all []chatContent
	for _, p := range m.Parts {
		switch {
		case p.Text != nil:
			all = append(all, chatContent{Type: "text", Text: *p.Text})
		case p.Image != nil:
			all = append(all, chatContent{Type: "image_url", ImageURL: &imageURL{dataURL(p.Image)}})
		}
	}
	return all
}

// chatChunk is one event of a stream.
type chatChunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content          string      `json:"content"`
			Refusal          string      `json:"refusal"`
			Reasoning        string      `json:"reasoning"`         // as some servers name it
			ReasoningContent string      `json:"reasoning_content"` // as others do
			ToolCalls        []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error *apiError `json:"error"`
}

// callDelta is more of a call. Not every server numbers them.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

const done = "[DONE]"

// maxCalls bounds the calls of one turn, whose numbers the provider chooses.
const maxCalls = 1024

// chatParser reads one answer. Calls arrive in pieces, mixed, and are whole when the turn ends.
type chatParser struct {
	finish model.Finish
	reason string
	calls  []*halfCall
}

type halfCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

func (p *chatParser) Next(e stream.Event, said *exchange.Transcript) error {
	if string(e.Data) == done {
		p.reason = cmp.Or(p.reason, "stop")
		return p.End(said)
	}
	var v chatChunk
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if v.Error != nil {
		return v.Error.refusal()
	}
	p.finish.ResponseID, p.finish.Model = cmp.Or(v.ID, p.finish.ResponseID), cmp.Or(v.Model, p.finish.Model)
	if v.Usage != nil {
		p.finish.Usage = counted(v.Usage.Prompt, v.Usage.Completion, v.Usage.Details.Cached, v.Usage.Details.Written)
	}
	if len(v.Choices) == 0 {
		return nil
	}
	choice := v.Choices[0]
	said.Reasoning(cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning))
	said.Text(cmp.Or(choice.Delta.Content, choice.Delta.Refusal))
	p.reason = cmp.Or(choice.FinishReason, p.reason)
	return p.gather(choice.Delta.ToolCalls)
}

func (p *chatParser) gather(deltas []callDelta) error {
	for _, d := range deltas {
		c, err := p.half(d)
		if err != nil {
			return err
		}
		c.id, c.name = cmp.Or(c.id, d.ID), cmp.Or(c.name, d.Function.Name)
		c.arguments.WriteString(d.Function.Arguments)
	}
	return nil
}

// half is the call that a piece belongs to: by its number, else a new one where it has a name, else the last.
func (p *chatParser) half(d callDelta) (*halfCall, error) {
	for _, c := range p.calls {
		if d.Index != nil && c.index == *d.Index {
			return c, nil
		}
	}
	if n := len(p.calls); d.Index == nil && d.Function.Name == "" && n > 0 {
		return p.calls[n-1], nil
	}
	if len(p.calls) == maxCalls {
		return nil, fmt.Errorf("more than %d calls", maxCalls)
	}
	c := &halfCall{index: -1}
	if d.Index != nil {
		c.index = *d.Index
	}
	p.calls = append(p.calls, c)
	return c, nil
}

// End finishes an answer that said why it stopped; one that did not was cut off.
func (p *chatParser) End(said *exchange.Transcript) error {
	if p.reason == "" {
		return nil
	}
	for _, c := range p.calls {
		said.Call(model.ToolCall{ID: c.id, Name: c.name, Input: json.RawMessage(c.arguments.String())})
	}
	switch p.reason {
	case "content_filter":
		return filtered
	case "length":
		p.finish.Reason = model.Length
	default:
		p.finish.Reason = model.Stop
	}
	return said.Finish(p.finish)
}
