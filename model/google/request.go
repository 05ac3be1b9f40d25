package google

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
)

// request is the body of a turn.
type request struct {
	Contents          []content  `json:"contents"`
	SystemInstruction *content   `json:"systemInstruction,omitempty"`
	Tools             []tools    `json:"tools,omitempty"`
	GenerationConfig  generation `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is one piece, of a request and of an answer; one of its fields is set, and the marks of a thought.
type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *blob             `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MimeType string           `json:"mimeType"`
	Data     exchange.Picture `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []part            `json:"parts,omitempty"`
}

type tools struct {
	FunctionDeclarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type generation struct {
	MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
	Temperature     *float64  `json:"temperature,omitempty"`
	ThinkingConfig  *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	ThinkingBudget  int    `json:"thinkingBudget,omitempty"`
}

func (p *Provider) request(r model.Request) request {
	q := request{
		Contents: contents(exchange.History(r, p.wire.Name), older.MatchString(r.Model)),
		GenerationConfig: generation{
			MaxOutputTokens: r.MaxTokens, Temperature: r.Temperature, ThinkingConfig: think(r.Model, r.Reasoning),
		},
	}
	if r.System != "" {
		q.SystemInstruction = &content{Parts: []part{{Text: &r.System}}}
	}
	if len(r.Tools) > 0 {
		q.Tools = []tools{{}}
	}
	for _, t := range r.Tools {
		q.Tools[0].FunctionDeclarations = append(q.Tools[0].FunctionDeclarations, declaration{t.Name, t.Description, t.Input})
	}
	return q
}

// older are the models before the third generation. They think by a budget and want no signatures, and their results of
// tools hold no images.
var older = regexp.MustCompile(`gemini-[12]\.|gemma`)

// budgets are the tokens of each effort.
var budgets = map[string]int{"low": 1024, "medium": 8192, "high": 24576}

func think(name, effort string) *thinking {
	switch {
	case effort == "":
		return nil
	case older.MatchString(name):
		return &thinking{IncludeThoughts: true, ThinkingBudget: budgets[effort]}
	}
	return &thinking{IncludeThoughts: true, ThinkingLevel: strings.ToUpper(effort)}
}

// contents merges what one side says in a row. The results of tools come from the user's side, all those of one turn in
// one content, as the API wants them.
func contents(history []model.Message, older bool) []content {
	var all []content
	var images []part
	for _, m := range history {
		role := "user"
		if m.Role == model.RoleAssistant {
			role = "model"
		}
		if n := len(all); n == 0 || all[n-1].Role != role {
			all = append(shown(all, images), content{Role: role})
			images = nil
		}
		last := &all[len(all)-1]
		for _, p := range m.Parts {
			piece, seen := partOf(p, older)
			last.Parts, images = append(last.Parts, piece), append(images, seen...)
		}
		if role == "model" && !older {
			vouch(last.Parts)
		}
	}
	return shown(all, images)
}

// shown puts images that tools returned behind the results.
func shown(all []content, images []part) []content {
	if len(images) > 0 {
		last := &all[len(all)-1]
		last.Parts = append(last.Parts, images...)
	}
	return all
}

// unsigned stands for the signature of a call that another provider made; the API takes it for one.
const unsigned = "skip_thought_signature_validator"

// vouch signs the first of a turn's calls, if none is: without a signature the API refuses the turn.
func vouch(parts []part) {
	first := slices.IndexFunc(parts, func(p part) bool { return p.FunctionCall != nil })
	signed := slices.ContainsFunc(parts, func(p part) bool { return p.FunctionCall != nil && p.ThoughtSignature != "" })
	if first >= 0 && !signed {
		parts[first].ThoughtSignature = unsigned
	}
}

// partOf is a part, and the images that have to follow it.
func partOf(p model.Part, older bool) (part, []part) {
	switch {
	case p.Text != nil:
		return part{Text: p.Text}, nil
	case p.Image != nil:
		return image(p.Image), nil
	case p.Reasoning != nil:
		return part{Text: &p.Reasoning.Text, Thought: true, ThoughtSignature: p.Reasoning.Signature}, nil
	case p.Call != nil:
		call := &functionCall{ID: p.Call.ID, Name: p.Call.Name, Args: exchange.Arguments(p.Call)}
		return part{FunctionCall: call, ThoughtSignature: p.Call.Signature}, nil
	default:
		return result(p.Result, older)
	}
}

func image(i *model.Image) part {
	return part{InlineData: &blob{i.MimeType, exchange.Picture{Image: i}}}
}

func result(r *model.ToolResult, older bool) (part, []part) {
	key := "output"
	if r.IsError {
		key = "error"
	}
	answer := &functionResponse{ID: r.ID, Name: r.Name, Response: map[string]string{key: exchange.TextOf(r)}}
	var images []part
	for _, i := range exchange.ImagesOf(r) {
		images = append(images, image(i))
	}
	if !older {
		answer.Parts, images = images, nil
	}
	return part{FunctionResponse: answer}, images
}
