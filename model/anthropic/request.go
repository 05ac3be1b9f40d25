package anthropic

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
)

// request is the body of a turn.
type request struct {
	Model        string    `json:"model"`
	MaxTokens    int       `json:"max_tokens"`
	System       []block   `json:"system,omitempty"`
	Messages     []message `json:"messages"`
	Tools        []tool    `json:"tools,omitempty"`
	Temperature  *float64  `json:"temperature,omitempty"`
	Thinking     *thinking `json:"thinking,omitempty"`
	OutputConfig *output   `json:"output_config,omitempty"`
	Stream       bool      `json:"stream"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a content block; Type says which of its fields count.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

type source struct {
	Type      string           `json:"type"`
	MediaType string           `json:"media_type"`
	Data      exchange.Picture `json:"data"`
}

type cache struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type output struct {
	Effort string `json:"effort"`
}

func (p *Provider) request(r model.Request) request {
	q := request{
		Model: r.Model, MaxTokens: cmp.Or(r.MaxTokens, p.maxTokens), Temperature: r.Temperature, Stream: true,
		Messages: messages(exchange.History(r, p.wire.Name)),
	}
	if r.System != "" {
		q.System = []block{{Type: "text", Text: r.System}}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{t.Name, t.Description, exchange.Schema(t.Input)})
	}
	q.think(r.Reasoning)
	if r.Affinity != "" {
		q.cache()
	}
	return q
}

// budgeted are the models that are told how many tokens to think; later ones decide it themselves, given an effort.
var budgeted = regexp.MustCompile(`^claude-(3-|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)`)

// budgets are the tokens of each effort.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16384}

// leastBudget is the smallest that the API takes.
const leastBudget = 1024

func (q *request) think(effort string) {
	if effort == "" {
		return
	}
	// A thinking model takes no other temperature than its own.
	q.Temperature = nil
	if !budgeted.MatchString(q.Model) {
		q.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		q.OutputConfig = &output{effort}
		return
	}
	budget := min(cmp.Or(budgets[effort], budgets["medium"]), q.MaxTokens/2)
	if budget >= leastBudget {
		q.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
	}
}

// cache marks what the next request will begin with: the instructions, and the conversation so far.
func (q *request) cache() {
	mark := &cache{"ephemeral"}
	if n := len(q.System); n > 0 {
		q.System[n-1].Cache = mark
	}
	if n := len(q.Messages); n > 0 {
		content := q.Messages[n-1].Content
		if last := &content[len(content)-1]; last.Type != "thinking" && last.Type != "redacted_thinking" {
			last.Cache = mark
		}
	}
}

// messages merges what one side says in a row: the API wants the sides to take turns. The results of tools come from the
// user's side.
func messages(history []model.Message) []message {
	var all []message
	for _, m := range history {
		role := "user"
		if m.Role == model.RoleAssistant {
			role = "assistant"
		}
		if len(all) == 0 || all[len(all)-1].Role != role {
			all = append(all, message{Role: role})
		}
		last := &all[len(all)-1]
		for _, part := range m.Parts {
			last.Content = append(last.Content, blockOf(part))
		}
	}
	return all
}

func blockOf(p model.Part) block {
	switch {
	case p.Text != nil:
		return block{Type: "text", Text: *p.Text}
	case p.Image != nil:
		return block{Type: "image", Source: &source{"base64", p.Image.MimeType, exchange.Picture{Image: p.Image}}}
	case p.Reasoning != nil:
		return thought(p.Reasoning)
	case p.Call != nil:
		return block{Type: "tool_use", ID: id(p.Call.ID), Name: p.Call.Name, Input: exchange.Arguments(p.Call)}
	default:
		return result(p.Result)
	}
}

func result(r *model.ToolResult) block {
	b := block{Type: "tool_result", ToolUseID: id(r.ID), IsError: r.IsError}
	for _, p := range r.Content {
		if p.Image != nil || p.Text != nil && *p.Text != "" {
			b.Content = append(b.Content, blockOf(p))
		}
	}
	return b
}

// redacted begins the signature of a thinking block that the API gives in cipher only.
const redacted = "redacted:"

func thought(r *model.Reasoning) block {
	if data, ok := strings.CutPrefix(r.Signature, redacted); ok {
		return block{Type: "redacted_thinking", Data: data}
	}
	return block{Type: "thinking", Thinking: &r.Text, Signature: r.Signature}
}

var strange = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// id is a call's id in the letters that the API takes; another provider may have made it.
func id(s string) string { return strange.ReplaceAllString(s, "_") }
