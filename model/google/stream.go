package google

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
	"svc.dev/svc/stream"
)

// generated is one event of a stream.
type generated struct {
	ResponseID   string `json:"responseId"`
	ModelVersion string `json:"modelVersion"`
	Candidates   []struct {
		Content       content `json:"content"`
		FinishReason  string  `json:"finishReason"`
		FinishMessage string  `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int `json:"promptTokenCount"`
		ToolPrompt int `json:"toolUsePromptTokenCount"`
		Cached     int `json:"cachedContentTokenCount"`
		Candidates int `json:"candidatesTokenCount"`
		Thoughts   int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	Error *apiError `json:"error"`
}

// parser reads one answer. Nothing marks its end but the end itself, after a chunk that says why.
type parser struct {
	finish model.Finish
	reason string
	why    string // in the provider's words
}

func (p *parser) Next(e stream.Event, said *exchange.Transcript) error {
	var v generated
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if v.Error != nil {
		r := v.Error.refusal()
		r.Status = cmp.Or(r.Status, http.StatusInternalServerError)
		return r
	}
	if reason := v.PromptFeedback.BlockReason; reason != "" {
		return withheld(reason, "the prompt was blocked")
	}
	p.finish.ResponseID = cmp.Or(v.ResponseID, p.finish.ResponseID)
	p.finish.Model = cmp.Or(v.ModelVersion, p.finish.Model)
	p.count(v)
	if len(v.Candidates) == 0 {
		return nil
	}
	c := v.Candidates[0]
	for _, piece := range c.Content.Parts {
		put(piece, said)
	}
	p.reason, p.why = cmp.Or(c.FinishReason, p.reason), cmp.Or(c.FinishMessage, p.why)
	return nil
}

func put(v part, said *exchange.Transcript) {
	switch {
	case v.FunctionCall != nil:
		f := v.FunctionCall
		said.Call(model.ToolCall{ID: f.ID, Name: f.Name, Input: f.Args, Signature: v.ThoughtSignature})
	case v.Text != nil && v.Thought:
		said.Reasoning(*v.Text)
		if v.ThoughtSignature != "" {
			said.CloseReasoning(v.ThoughtSignature)
		}
	case v.Text != nil:
		said.Text(*v.Text)
	}
}

// count takes the last counts that were given: each covers the whole turn. The prompt counts what was cached.
func (p *parser) count(v generated) {
	if v.Usage == nil {
		return
	}
	p.finish.Usage = model.Usage{
		Input:     max(0, v.Usage.Prompt+v.Usage.ToolPrompt-v.Usage.Cached),
		Output:    max(0, v.Usage.Candidates+v.Usage.Thoughts),
		CacheRead: max(0, v.Usage.Cached),
	}
}

// End finishes an answer that said why it stopped; one that did not was cut off.
func (p *parser) End(said *exchange.Transcript) error {
	switch p.reason {
	case "":
		return nil
	case "MAX_TOKENS":
		p.finish.Reason = model.Length
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return withheld(p.reason, cmp.Or(p.why, "the answer was withheld"))
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		// The model stumbled over its own call; asked again it mostly does not.
		return exchange.Refusal{Status: http.StatusInternalServerError, Code: p.reason, Message: cmp.Or(p.why, "the model made a call that cannot be read")}
	default:
		p.finish.Reason = model.Stop
	}
	return said.Finish(p.finish)
}

func withheld(code, message string) exchange.Refusal {
	return exchange.Refusal{Code: code, Message: message, Final: true}
}
