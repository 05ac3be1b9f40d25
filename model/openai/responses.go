package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
	"svc.dev/svc/stream"
)

// responsesRequest is the body of a turn. Nothing is stored with the provider: the conversation is ours.
type responsesRequest struct {
	Model           string          `json:"model"`
	Instructions    string          `json:"instructions,omitempty"`
	Input           []item          `json:"input"`
	Tools           []responsesTool `json:"tools,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	Reasoning       *effort         `json:"reasoning,omitempty"`
	Include         []string        `json:"include,omitempty"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitempty"`
	Store           bool            `json:"store"`
	Stream          bool            `json:"stream"`
}

type effort struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

// item is an item of the input; Type says which of its fields count.
type item struct {
	Type             string     `json:"type"`
	Role             string     `json:"role,omitempty"`
	Content          []content  `json:"content,omitempty"`
	ID               string     `json:"id,omitempty"`
	Summary          *[]content `json:"summary,omitempty"`
	EncryptedContent string     `json:"encrypted_content,omitempty"`
	CallID           string     `json:"call_id,omitempty"`
	Name             string     `json:"name,omitempty"`
	Arguments        string     `json:"arguments,omitempty"`
	Output           any        `json:"output,omitempty"` // a text or []content
}

type content struct {
	Type     string            `json:"type"`
	Text     string            `json:"text,omitempty"`
	ImageURL *exchange.Picture `json:"image_url,omitempty"`
	Detail   string            `json:"detail,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// signature is what has to be given back of a reasoning item.
type signature struct {
	ID               string `json:"id"`
	EncryptedContent string `json:"encrypted_content"`
}

func (p *Provider) responsesRequest(r model.Request) responsesRequest {
	q := responsesRequest{
		Model: r.Model, Instructions: r.System, MaxOutputTokens: r.MaxTokens, Temperature: r.Temperature,
		PromptCacheKey: r.Affinity, Stream: true,
	}
	if r.Reasoning != "" {
		q.Reasoning = &effort{r.Reasoning, "auto"}
	}
	if thinks(r.Model) {
		q.Include = []string{"reasoning.encrypted_content"}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, responsesTool{"function", t.Name, t.Description, exchange.Schema(t.Input), false})
	}
	for _, m := range exchange.History(r, p.wire.Name) {
		q.Input = append(q.Input, items(m)...)
	}
	return q
}

// thinks reports whether a model may be asked for its reasoning; an older one refuses the question.
func thinks(name string) bool {
	older := []string{"gpt-3", "gpt-4", "chatgpt-4"}
	return !slices.ContainsFunc(older, func(old string) bool { return strings.HasPrefix(name, old) })
}

// items are those of a message: texts and images that stand together are one, all else is one each.
func items(m model.Message) []item {
	var all []item
	for _, p := range m.Parts {
		switch {
		case p.Text != nil || p.Image != nil:
			if n := len(all); n == 0 || all[n-1].Type != "message" {
				all = append(all, item{Type: "message", Role: string(m.Role)})
			}
			last := &all[len(all)-1]
			last.Content = append(last.Content, contentOf(p, m.Role))
		case p.Reasoning != nil:
			all = append(all, thought(p.Reasoning)...)
		case p.Call != nil:
			arguments := string(exchange.Arguments(p.Call))
			all = append(all, item{Type: "function_call", CallID: p.Call.ID, Name: p.Call.Name, Arguments: arguments})
		case p.Result != nil:
			all = append(all, item{Type: "function_call_output", CallID: p.Result.ID, Output: output(p.Result)})
		}
	}
	return all
}

func contentOf(p model.Part, role model.Role) content {
	switch {
	case p.Image != nil:
		return content{Type: "input_image", ImageURL: dataURL(p.Image), Detail: "auto"}
	case role == model.RoleAssistant:
		return content{Type: "output_text", Text: *p.Text}
	}
	return content{Type: "input_text", Text: *p.Text}
}

func thought(r *model.Reasoning) []item {
	var s signature
	if json.Unmarshal([]byte(r.Signature), &s) != nil || s.ID == "" {
		return nil
	}
	summary := []content{}
	if r.Text != "" {
		summary = append(summary, content{Type: "summary_text", Text: r.Text})
	}
	return []item{{Type: "reasoning", ID: s.ID, Summary: &summary, EncryptedContent: s.EncryptedContent}}
}

// output is what a tool answered: a text, or contents where there are images.
func output(r *model.ToolResult) any {
	text := resultText(r)
	images := exchange.ImagesOf(r)
	if len(images) == 0 {
		return text
	}
	all := []content{}
	if text != "" {
		all = append(all, content{Type: "input_text", Text: text})
	}
	for _, i := range images {
		all = append(all, content{Type: "input_image", ImageURL: dataURL(i), Detail: "auto"})
	}
	return all
}

// resultText says that a result is an error where the API has no field for it.
func resultText(r *model.ToolResult) string {
	text := exchange.TextOf(r)
	if r.IsError {
		return "error: " + text
	}
	return text
}

// responsesEvent is any event of a stream; its type says which of its fields count.
type responsesEvent struct {
	Type         string `json:"type"`
	Delta        string `json:"delta"`
	SummaryIndex int    `json:"summary_index"`
	Item         struct {
		Type             string `json:"type"`
		ID               string `json:"id"`
		CallID           string `json:"call_id"`
		Name             string `json:"name"`
		Arguments        string `json:"arguments"`
		EncryptedContent string `json:"encrypted_content"`
	} `json:"item"`
	Response struct {
		ID         string    `json:"id"`
		Model      string    `json:"model"`
		Error      *apiError `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			Input   int `json:"input_tokens"`
			Output  int `json:"output_tokens"`
			Details struct {
				Cached  int `json:"cached_tokens"`
				Written int `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
		} `json:"usage"`
	} `json:"response"`

	// An error event is a failure itself, or holds one.
	Message string          `json:"message"`
	Code    json.RawMessage `json:"code"`
	Error   *apiError       `json:"error"`
}

func (e *responsesEvent) known() bool {
	return slices.Contains([]string{"response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_part.added",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.output_item.done",
		"response.completed", "response.incomplete", "response.failed", "error"}, e.Type)
}

// responsesParser reads one answer: each of its events says all that there is to know.
type responsesParser struct{}

// End finds the answer cut off: its last event is missing.
func (responsesParser) End(*exchange.Transcript) error { return nil }

func (responsesParser) Next(e stream.Event, said *exchange.Transcript) error {
	if string(e.Data) == done {
		return nil
	}
	var v responsesEvent
	if err := exchange.Decode(e.Data, &v, v.known); err != nil {
		return fmt.Errorf("event %s: %w", e.Name, err)
	}
	switch v.Type {
	case "response.output_text.delta", "response.refusal.delta":
		said.Text(v.Delta)
	case "response.reasoning_summary_part.added":
		if v.SummaryIndex > 0 {
			said.Reasoning("\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		said.Reasoning(v.Delta)
	case "response.output_item.done":
		v.item(said)
	case "response.completed":
		return v.finish(said, model.Stop)
	case "response.incomplete":
		if v.Response.Incomplete.Reason == "content_filter" {
			return filtered
		}
		return v.finish(said, model.Length)
	case "response.failed":
		if v.Response.Error == nil {
			v.Response.Error = &apiError{Message: "the response failed", Type: "server_error"}
		}
		return v.Response.Error.refusal()
	case "error":
		if v.Error == nil {
			v.Error = &apiError{Message: v.Message, Code: v.Code}
		}
		return v.Error.refusal()
	}
	return nil
}

func (e *responsesEvent) item(said *exchange.Transcript) {
	switch v := e.Item; v.Type {
	case "message":
		said.Close()
	case "reasoning":
		said.CloseReasoning(sign(v.ID, v.EncryptedContent))
	case "function_call":
		said.Call(model.ToolCall{ID: v.CallID, Name: v.Name, Input: json.RawMessage(v.Arguments)})
	}
}

// sign is the signature of a reasoning item. One that is stored nowhere and not encrypted cannot be given back.
func sign(id, encrypted string) string {
	if id == "" || encrypted == "" {
		return ""
	}
	text, _ := json.Marshal(signature{id, encrypted})
	return string(text)
}

func (e *responsesEvent) finish(said *exchange.Transcript, reason model.StopReason) error {
	u := e.Response.Usage
	usage := counted(u.Input, u.Output, u.Details.Cached, u.Details.Written)
	return said.Finish(model.Finish{Reason: reason, Usage: usage, ResponseID: e.Response.ID, Model: e.Response.Model})
}

// filtered is an answer that the provider withheld.
var filtered = exchange.Refusal{Code: "content_filter", Message: "the answer was withheld by the content filter", Final: true}
